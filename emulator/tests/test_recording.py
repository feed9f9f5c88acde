import asyncio
import json
from pathlib import Path

import httpx
import pytest
from websockets.asyncio.server import ServerConnection

from emulator import Endpoint, Server, Switches
from emulator.cli import main
from emulator.recording import Recorder, Recording, RecordingError
from emulator.replay import replay
from emulator.tests.client import END_OF_INPUT, RawClient, event
from emulator.tests.containers import Handler, container
from emulator.tests.stage import UNSIGNED, client_of

HEAD = '{"format": "sagemaker-bidi-session/1", "request_id": "r"}'


async def speak(connection: ServerConnection) -> None:
    """Answer every text with a start, some audio and an end."""
    async for message in connection:
        await connection.send(json.dumps({"type": "start", "elapsed_s": id(message)}))
        await connection.send(bytes(3000))
        await connection.send(json.dumps({"type": "complete", "said": str(message)}))


async def record(directory: Path, state: Path, handler: Handler = speak) -> Path:
    """Record one session of two texts, ended by the client."""
    async with (
        container(handler) as target,
        Server(
            {"ep": Endpoint(target.url)},
            switches=Switches(signatures="off"),
            state_directory=state,
            listener=Recorder(directory),
        ) as server,
        RawClient(int(server.url.rsplit(":", 1)[1]), server.certificates.ca) as client,
    ):
        stream = await client.open(headers={"x-amzn-sagemaker-model-invocation-path": "v1/speak"})
        for text in ("one", "two"):
            await client.send(stream, event(text.encode(), "UTF8"))
            for _ in range(3):
                await client.message(stream)
        await client.send(stream, END_OF_INPUT, end=True)
        await client.next(stream)
        await target.close_seen()
    (path,) = await asyncio.to_thread(lambda: list(directory.iterdir()))
    return path


async def test_a_recording_that_grew_too_long_says_so_and_is_not_replayed(
    tmp_path: Path, state_directory: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("emulator.recording._MAX_BYTES", 4000)
    path = await record(tmp_path, state_directory)
    recording = Recording.load(path)
    assert str(recording.entries[-1]).endswith("note      nothing more is recorded: the file has 256 MiB")
    assert caplog.text.count("nothing more is recorded") == 1
    with pytest.raises(RecordingError, match="can be shown but not replayed"):
        recording.frames("out")


async def test_a_session_is_recorded_whole_and_read_back(tmp_path: Path, state_directory: Path) -> None:
    recording = Recording.load(await record(tmp_path, state_directory))
    assert recording.target == "/v1/speak"
    assert [frame.data for _, frame in recording.frames("out")] == [b"one", b"two"]
    assert [frame.opcode.name for _, frame in recording.frames("in")] == ["TEXT", "BINARY", "TEXT"] * 2
    times = [at for at, _ in recording.frames("in")]
    assert times == sorted(times)


async def test_credentials_are_not_recorded(tmp_path: Path, state_directory: Path) -> None:
    path = await record(tmp_path, state_directory)
    assert "authorization" not in path.read_text().lower()


async def test_a_replay_against_the_same_container_gives_the_same(tmp_path: Path, state_directory: Path) -> None:
    recording = Recording.load(await record(tmp_path, state_directory))
    async with container(speak) as target:
        compared = await replay(recording, Endpoint(target.url))
        assert target.requests[0].path == "/v1/speak"
    assert compared.differences == []
    assert len(compared.replayed) == 7


async def test_a_replay_names_every_difference(tmp_path: Path, state_directory: Path) -> None:
    recording = Recording.load(await record(tmp_path, state_directory))

    async def worse(connection: ServerConnection) -> None:
        message = await connection.recv()
        await connection.send(json.dumps({"type": "start"}))
        await connection.send(bytes(2000))
        await connection.send(json.dumps({"type": "complete", "said": str(message)}))
        await connection.close(1011)

    async with container(worse) as target:
        compared = await replay(recording, Endpoint(target.url))
    assert compared.differences[0] == "answer 2: recorded BINARY, 3000 bytes; replayed BINARY, 2000 bytes"
    assert 'recorded TEXT {"type": "start"}; replayed closed with 1011' in compared.differences[1]


async def test_a_replay_of_a_container_that_stays_silent_ends(tmp_path: Path, state_directory: Path) -> None:
    recording = Recording.load(await record(tmp_path, state_directory))

    async def silent(connection: ServerConnection) -> None:
        await connection.wait_closed()

    async with container(silent) as target, asyncio.timeout(10):
        compared = await replay(recording, Endpoint(target.url), patience=0.1)
    assert compared.replayed == ["open"]
    assert not compared.same


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("", "first line is not of format"),
        ('{"format": "other"}\n', "first line is not of format"),
        (f"{HEAD}\nrubbish\n", "line 2 is no entry"),
        (f'{HEAD}\n{{"kind": "frame"}}\n', "line 2 is no entry"),
    ],
)
def test_another_file_is_refused_by_name_and_line(tmp_path: Path, content: str, text: str) -> None:
    path = tmp_path / "x.ndjson"
    path.write_text(content)
    with pytest.raises(RecordingError, match=text):
        Recording.load(path)


async def test_what_utf8_cannot_hold_is_recorded_all_the_same(tmp_path: Path, state_directory: Path) -> None:
    directory = tmp_path / "sessions"
    async with (
        container() as target,
        Server(
            {"ep": Endpoint(target.url)},
            switches=UNSIGNED,
            state_directory=state_directory,
            http_port=0,
            listener=Recorder(directory),
        ) as server,
        client_of(server) as client,
        httpx.AsyncClient(base_url=server.http_url or "", trust_env=False) as http,
    ):
        stream = await client.open()
        assert await client.status(stream) == 200
        (trace,) = server.data_plane.traces
        trace.add("container", "in", "meter", "\ud83d: 1, and a line\u2028break\x85")
        await client.send(stream, event(b"after it"))
        await client.message(stream)
        answer = await http.get("/_emulator/traces")
    assert answer.status_code == 200
    (path,) = directory.iterdir()
    (recording,) = Recording.load_all(path)
    (meter,) = [entry for entry in recording.entries if entry.kind == "meter"]
    assert meter.text == "\ud83d: 1, and a line\u2028break\x85"
    assert [frame.data for _, frame in recording.frames("out")] == [b"after it"]
    saved = tmp_path / "saved.ndjson"
    saved.write_bytes(answer.content)
    assert meter.text in [entry.text for entry in Recording.load(saved).entries]


def test_a_file_with_line_breaks_of_unicode_inside_its_json_is_read(tmp_path: Path) -> None:
    entry = {
        "at": 0,
        "hop": "container",
        "direction": "in",
        "kind": "close",
        "text": "1011 'one\u2028two\x85three\x0b'",
    }
    path = tmp_path / "x.ndjson"
    path.write_text(f"{HEAD}\n{json.dumps(entry, ensure_ascii=False)}\n", "utf-8")
    assert [entry.text for entry in Recording.load(path).entries] == [entry["text"]]


def test_show_prints_also_what_a_terminal_cannot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entry = {"at": 0, "hop": "container", "direction": "in", "kind": "meter", "text": "\ud83d: 1"}
    path = tmp_path / "x.ndjson"
    path.write_text(f"{HEAD}\n{json.dumps(entry)}\n")
    assert main(["show", str(path)]) == 0
    assert "meter     \\ud83d: 1" in capsys.readouterr().out


async def test_show_prints_the_wire_log(
    tmp_path: Path, state_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = await record(tmp_path, state_directory, echo_three)
    assert main(["show", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "container path /v1/speak" in printed
    assert "SageMaker → container  frame     TEXT 3 B 'one'" in printed


async def echo_three(connection: ServerConnection) -> None:
    async for message in connection:
        for _ in range(3):
            await connection.send(message)


def test_show_and_replay_of_a_missing_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = str(tmp_path / "no.ndjson")
    assert main(["show", missing]) == 2
    assert main(["replay", missing, "--target", "ws://127.0.0.1:9"]) == 2
    assert capsys.readouterr().err.count("cannot be read") == 2


async def test_a_replay_to_nobody_says_so(
    tmp_path: Path, state_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(await record(tmp_path, state_directory, echo_three))
    status = await asyncio.to_thread(main, ["replay", path, "--target", "ws://127.0.0.1:9"])
    assert status == 2
    assert "nothing accepts connections" in capsys.readouterr().err


ECHO_ON_ANY_PATH = """\
from emulator.bench.container import app as echo

async def app(scope, receive, send):
    if scope["type"] == "websocket":
        scope = scope | {"path": "/invocations-bidirectional-stream"}
    await echo(scope, receive, send)
"""


async def test_a_replay_starts_an_app_and_ends_it(
    tmp_path: Path, state_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = await record(tmp_path, state_directory)
    (tmp_path / "other.py").write_text(ECHO_ON_ANY_PATH)
    status = await asyncio.to_thread(main, ["replay", str(path), "--target", f"{tmp_path}/other.py:app"])
    printed = capsys.readouterr().out
    assert "replayed TEXT 'one'" in printed
    assert status == 1


async def test_a_trace_is_short_where_it_is_printed(state_directory: Path) -> None:
    async with container() as target:
        server = Server(
            {"ep": Endpoint(target.url)}, switches=Switches(signatures="off"), state_directory=state_directory
        )
        async with server, RawClient(int(server.url.rsplit(":", 1)[1]), server.certificates.ca) as client:
            stream = await client.open()
            await client.send(stream, END_OF_INPUT, end=True)
            await client.next(stream)
            await target.close_seen()
        (trace,) = server.data_plane.traces
        assert repr(trace).startswith(f"<SessionTrace {trace.request_id} of 'ep': ")
        assert len(repr(trace)) < 200
