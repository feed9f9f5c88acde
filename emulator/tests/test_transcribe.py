"""Amazon Transcribe as the recogniser of a benchmark, against a stand-in: nothing here reaches AWS."""

import asyncio
import contextlib
import dataclasses
import datetime
import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from http import HTTPStatus
from itertools import count
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.http11 import Request, Response

from emulator.bench import transport
from emulator.bench.codecs import CODECS, RATE
from emulator.bench.texts import CLIPS
from emulator.bench.transcribe import ENDPOINT, Transcribe, TranscribeError
from emulator.wire.eventstream import Decoder, Message, encode, string_header

KEY, SECRET, TOKEN = "AKIDOFNOBODY", "sec/ret+of=nobody", "to/k+en=="  # what has to be encoded in an address
PCM = bytes(range(250)) * 67 + bytes(50)  # 0.35 s
Talk = Callable[[ServerConnection, "Calls"], Awaitable[None]]


@dataclasses.dataclass
class Calls:
    """What the stand-in was sent: handshakes, and the messages of each."""

    requests: list[Request] = dataclasses.field(default_factory=list)
    messages: list[list[Message]] = dataclasses.field(default_factory=list)

    def audio(self, call: int) -> bytes:
        return b"".join(message.payload for message in self.messages[call])


def event(*results: tuple[bool, str]) -> bytes:
    """Encode results: whether each is partial, and its text."""
    listed = [{"IsPartial": partial, "Alternatives": [{"Transcript": text}]} for partial, text in results]
    payload = json.dumps({"Transcript": {"Results": listed}}).encode()
    return message("event", payload, **{":event-type": "TranscriptEvent"})


def message(kind: str, payload: bytes, **headers: str) -> bytes:
    named = {":message-type": kind, ":content-type": "application/json", **headers}
    return encode({name: string_header(value) for name, value in named.items()}, payload)


async def until_the_end(connection: ServerConnection, calls: Calls) -> None:
    """Read audio up to the empty event."""
    got: list[Message] = []
    calls.messages.append(got)
    decoder = Decoder()
    async for data in connection:
        assert isinstance(data, bytes)
        got += decoder.feed(data)
        if got and not got[-1].payload:
            return


async def hello_world(connection: ServerConnection, calls: Calls) -> None:
    await connection.send(event((True, "Hell")))
    await until_the_end(connection, calls)
    await connection.send(event())
    await connection.send(event((False, "Hello.")) + event((True, "the word")))
    await connection.send(event((False, "The world.")))
    await connection.close(1000, "Streaming completed successfully")


@contextlib.asynccontextmanager
async def stand_in(
    talk: Talk, monkeypatch: pytest.MonkeyPatch, refusal: tuple[HTTPStatus, str] | None = None
) -> AsyncIterator[Calls]:
    calls = Calls()

    async def run(connection: ServerConnection) -> None:
        await talk(connection, calls)

    def opened(connection: ServerConnection, request: Request) -> Response | None:
        calls.requests.append(request)
        return None if refusal is None else connection.respond(*refusal)

    async with asyncio.timeout(60), serve(run, "127.0.0.1", 0, process_request=opened) as server:
        monkeypatch.setenv(ENDPOINT, f"ws://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}")
        yield calls


@pytest.fixture(autouse=True)
def _credentials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", ENDPOINT):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_SESSION_TOKEN", TOKEN)
    monkeypatch.setenv("no_proxy", "127.0.0.1")


async def at_once(_: float) -> None: ...


async def never(_: float) -> None:
    await asyncio.Event().wait()


def ears(limit_s: float = 20.0, sleep: Callable[[float], Awaitable[None]] = at_once) -> Transcribe:
    return dataclasses.replace(Transcribe.found("eu-west-1", RATE), limit_s=limit_s, sleep=sleep)


async def test_the_final_results_are_heard_and_all_audio_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    async with stand_in(hello_world, monkeypatch) as calls:
        assert await ears().heard(PCM) == "Hello. The world."
    assert calls.audio(0) == PCM
    sent = calls.messages[0]
    assert [len(each.payload) for each in sent] == [4800, 4800, 4800, 2400, 0]
    for each in sent:
        assert {name: header.value for name, header in each.headers.items()} == {
            ":message-type": "event",
            ":event-type": "AudioEvent",
            ":content-type": "application/octet-stream",
        }


async def test_the_address_is_signed_for_the_host_that_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    async with stand_in(hello_world, monkeypatch) as calls:
        await ears().heard(PCM)
    request = calls.requests[0]
    path, _, query = request.path.partition("?")
    given = {name: value for name, (value,) in parse_qs(query, strict_parsing=True).items()}
    signature, at = given.pop("X-Amz-Signature"), given["X-Amz-Date"]
    scope = f"{at[:8]}/eu-west-1/transcribe/aws4_request"
    assert path == "/stream-transcription-websocket"
    assert given == {
        "language-code": "en-US",
        "media-encoding": "pcm",
        "sample-rate": "24000",
        "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
        "X-Amz-Credential": f"{KEY}/{scope}",
        "X-Amz-Date": at,
        "X-Amz-Expires": "300",
        "X-Amz-Security-Token": TOKEN,
        "X-Amz-SignedHeaders": "host",
    }
    made = datetime.datetime.strptime(at, "%Y%m%dT%H%M%S%z")
    assert abs(datetime.datetime.now(datetime.UTC) - made) < datetime.timedelta(minutes=5)
    # as the service recomputes it, of the header that did arrive
    ordered = "&".join(f"{quote(name, safe='')}={quote(value, safe='-_.~')}" for name, value in sorted(given.items()))
    canonical = "\n".join(
        ["GET", path, ordered, f"host:{request.headers['Host']}", "", "host", hashlib.sha256().hexdigest()]
    )
    key = f"AWS4{SECRET}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    assert signature == hmac.digest(key, f"AWS4-HMAC-SHA256\n{at}\n{scope}\n{digest}".encode(), "sha256").hex()
    assert request.headers["Origin"] == f"http://{request.headers['Host']}"


@pytest.mark.parametrize(
    ("region", "host"),
    [
        ("us-east-1", "transcribestreaming.us-east-1.amazonaws.com:8443"),
        ("cn-north-1", "transcribestreaming.cn-north-1.amazonaws.com.cn:8443"),
        ("us-gov-west-1", "transcribestreaming.us-gov-west-1.amazonaws.com:8443"),
    ],
)
def test_where_it_is(region: str, host: str) -> None:
    url = urlsplit(Transcribe.found(region, RATE).url())
    assert (url.scheme, url.netloc, url.path) == ("wss", host, "/stream-transcription-websocket")


async def test_audio_is_sent_as_fast_as_it_is_spoken(monkeypatch: pytest.MonkeyPatch) -> None:
    now, slept = [100.0], []

    async def pass_time(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds

    async with stand_in(hello_world, monkeypatch):
        await dataclasses.replace(ears(), clock=lambda: now[0], sleep=pass_time).heard(PCM)
    assert slept == pytest.approx([0.1, 0.1, 0.1])  # the last chunk begins after 0.3 s


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            message("exception", b'{"Message": "five at a time"}', **{":exception-type": "LimitExceededException"}),
            "LimitExceededException.*five at a time.*Let other streams end",
        ),
        (
            message("exception", b"", **{":exception-type": "UnrecognizedClientException"}),
            "UnrecognizedClientException: no reason.*StartStreamTranscriptionWebSocket",
        ),
        (message("error", b"", **{":error-code": "500", ":error-message": "oh"}), "answered 500: oh.*Run it again"),
        (message("event", b'{"Transcript": 1}'), 'otherwise than documented.*"Transcript": 1.*expected Transcript'),
        (message("event", b"\xff"), "otherwise than documented"),
        (b"not an event stream, long enough", "no event stream.*CRC"),
        ("text", "no event stream.*4 bytes"),
    ],
)
async def test_an_exception_is_told(answer: bytes | str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(connection: ServerConnection, _: Calls) -> None:
        await connection.recv()
        await connection.send(answer)
        await connection.close()

    async with stand_in(refuse, monkeypatch):
        with pytest.raises(TranscribeError, match=said):
            await ears(sleep=never).heard(PCM)


async def test_a_close_before_the_end_of_the_audio_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    async def enough(connection: ServerConnection, _: Calls) -> None:
        await connection.recv()
        await connection.send(event((False, "All of it?")))
        await connection.close(1000, "Streaming completed successfully")

    async with stand_in(enough, monkeypatch):
        with pytest.raises(
            TranscribeError, match=r"too early, before the end.*Close 1000 Streaming completed.*expected"
        ):
            await ears(sleep=never).heard(PCM)


@pytest.mark.parametrize("how", ["partial", "error", "drop"])
async def test_a_result_that_is_not_whole_is_no_result(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def half(connection: ServerConnection, calls: Calls) -> None:
        await until_the_end(connection, calls)
        await connection.send(event((how == "partial", "Half of")))
        if how == "drop":
            connection.transport.close()
        else:
            await connection.close(1011 if how == "error" else 1000)

    code = {"partial": 1000, "error": 1011, "drop": 1006}[how]
    async with stand_in(half, monkeypatch):
        with pytest.raises(TranscribeError, match=f"too early, after the end of the audio, with Close {code};"):
            await ears().heard(PCM)


async def test_silence_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    async def silent(connection: ServerConnection, calls: Calls) -> None:
        await until_the_end(connection, calls)
        await connection.wait_closed()

    async with stand_in(silent, monkeypatch) as calls, asyncio.timeout(10):
        with pytest.raises(TranscribeError, match=r"did not end in 0\.2 s after 0\.3 s of audio.*expected a final"):
            await ears(limit_s=0.2).heard(PCM)
    assert calls.audio(0) == PCM


async def test_no_handshake_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()  # up to the end
        writer.close()

    async with await asyncio.start_server(hold, "127.0.0.1", 0) as server, asyncio.timeout(10):
        monkeypatch.setenv(ENDPOINT, f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        with pytest.raises(TranscribeError, match=r"did not open a WebSocket in 0\.1 s"):
            await ears(limit_s=0.1).heard(PCM)
    with pytest.raises(TranscribeError, match=r"opens no WebSocket.*Is the region right"):
        await ears().heard(PCM)  # the port is closed now


async def test_a_refusal_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async with stand_in(hello_world, monkeypatch, (HTTPStatus.FORBIDDEN, "AccessDeniedException")):
        with pytest.raises(TranscribeError, match=r"refused: HTTP 403 AccessDeniedException\s.*Expected are"):
            await ears().heard(PCM)


@pytest.mark.parametrize(
    ("changed", "region", "said"),
    [
        ({}, None, "the AWS region is None; expected one like us-east-1: give --region"),
        ({}, "us-east-1/evil.example", "expected one like us-east-1"),
        ({ENDPOINT: "127.0.0.1:80"}, "us-east-1", f"{ENDPOINT}=127.0.0.1:80: expected wss://HOST"),
        ({"AWS_PROFILE": "nobody"}, "us-east-1", r"no AWS credentials: .*nobody.*aws sso login"),
    ],
)
def test_what_cannot_be_used_is_told(
    changed: dict[str, str], region: str | None, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in changed.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(TranscribeError, match=said):
        Transcribe.found(region, RATE)
    monkeypatch.setenv("AWS_REGION", "eu-west-2")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    monkeypatch.delenv(ENDPOINT, raising=False)
    assert Transcribe.found(None, RATE).region == "eu-west-2"


async def not_started(*_: object) -> list[bytes]:
    raise AssertionError("the container was started")


def test_without_credentials_nothing_starts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(transport, "_spoken", not_started)
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    assert transport.main(["--hear", "transcribe", "--yes", "--region", "us-east-1"]) == 2
    assert capsys.readouterr().err.startswith("bench: no AWS credentials, and Amazon Transcribe needs real ones.")


def test_without_consent_nothing_starts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(transport, "_spoken", not_started)
    assert transport.main(["--hear", "transcribe", "--region", "us-east-1"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"bench: Amazon Transcribe is sent 24 clips x {len(CODECS)} encodings, about ")
    assert "at least 15 s a request: 1080 s or more for these 72 requests" in said
    assert "agree with --yes" in said


@pytest.mark.parametrize("options", [["--hear", "transcribe", "--no-words"], ["--yes"], ["--region", "us-east-1"]])
def test_options_that_do_not_go_together(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        transport.main(options)
    assert "--hear transcribe" in capsys.readouterr().err.splitlines()[-1]


async def test_the_benchmark_says_who_heard_the_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clips = [PCM, PCM[:4800]]
    texts = ["Your table is ready!", "Please, hold the lime for a moment."]
    calls_made = count()

    async def listen(connection: ServerConnection, calls: Calls) -> None:
        await until_the_end(connection, calls)
        await connection.send(event((False, texts[next(calls_made) % 2])))

    async def spoken(_: str, wanted: tuple[str, ...]) -> list[bytes]:
        assert list(wanted) == list(CLIPS[:2])
        return clips

    monkeypatch.setattr(transport, "_spoken", spoken)
    out = tmp_path / "t.json"
    options = ["--hear", "transcribe", "--yes", "--region", "eu-west-1", "--clips", "2", "--json", str(out)]
    async with stand_in(listen, monkeypatch) as calls:
        where = f"Amazon Transcribe streaming at {ears().endpoint}"
        assert await asyncio.to_thread(transport.main, options) == 0
    written = json.loads(out.read_text())
    assert written["conditions"]["heard_by"] == where
    assert [row["wer"] for row in written["raw"]["rows"]] == pytest.approx([1 / 14] * 3)
    assert [calls.audio(0), calls.audio(1)] == clips
    assert len(calls.requests) == 2 * len(CODECS)
    said = capsys.readouterr()
    assert f"Words were heard by {where}." in said.out
    assert "90 s or more for these 6 requests" in said.err


async def test_a_failure_on_the_way_is_one_clear_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def full(connection: ServerConnection, _: Calls) -> None:
        await connection.send(message("exception", b"full", **{":exception-type": "LimitExceededException"}))

    async def spoken(*_: object) -> list[bytes]:
        return [PCM]

    monkeypatch.setattr(transport, "_spoken", spoken)
    options = ["--hear", "transcribe", "--yes", "--region", "eu-west-1", "--clips", "1"]
    async with stand_in(full, monkeypatch):
        assert await asyncio.to_thread(transport.main, options) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("bench: Amazon Transcribe streaming at ws://127.0.0.1:")
    assert "answered LimitExceededException: full" in last
