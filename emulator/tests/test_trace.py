"""Wire logs: what they hold of a session and of an invocation, that they are bounded, and that no secret is in them."""

import asyncio
import json
import logging
import ssl
from pathlib import Path

import boto3
import httpx
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from emulator import Emulator, Endpoint, Server, SessionTrace, Switches, TraceEntry
from emulator.cli import main
from emulator.recording import Recorder, lines_of
from emulator.tests.client import END_OF_INPUT, RawClient, event
from emulator.tests.containers import container
from emulator.tests.http_container import Seen, http_container, reply
from emulator.trace import Traces, without_secrets
from emulator.wire.frames import Frame, Opcode
from emulator.wire.parts import CompletionState, DataType, PayloadPart

TOKEN, SECRET = "FwoGZXIvYXdzEXAMPLETOKEN", "wJalrXUtnFEMISECRETKEYofAUser"  # invented


def test_an_entry_tells_type_size_first_bytes_and_state() -> None:
    now = iter([0.0, 1.0, 2.0, 3.0])
    trace = SessionTrace("id", "ep", lambda: next(now))
    trace.add_part("in", PayloadPart(b"x" * 100, DataType.UTF8, CompletionState.PARTIAL))
    trace.add_frame("out", Frame(Opcode.TEXT, b"x" * 100, fin=False))
    _, part, frame = [json.loads(line) for line in lines_of(trace)]
    assert (part["at"], part["hop"], part["direction"], part["kind"]) == (1.0, "client", "in", "part")
    assert (part["type"], part["state"], part["size"]) == ("UTF8", "PARTIAL", 100)
    assert bytes.fromhex(part["first"]) == b"x" * 32
    assert (frame["kind"], frame["type"], frame["size"]) == ("frame", "TEXT FIN=0", 100)


def test_all_logs_together_are_bounded_and_the_newest_stay() -> None:
    traces = Traces(sessions=3, entries=10)
    for number in range(5):
        trace = traces.begin(str(number), lambda: 0.0)
        for _ in range(4):
            trace.add("client", "in", "note", "x" * 100_000)
    assert [trace.request_id for trace in traces] == ["2", "3", "4"]
    assert [(len(trace.entries), trace.dropped) for trace in traces] == [(0, 4), (4, 0), (4, 0)]
    assert all(len(entry.text) < 2100 for trace in traces for entry in trace.entries)
    assert traces[0].lines() == ["… 4 more entries were not kept"]


@pytest.mark.parametrize("heard", [True, False])
def test_of_a_long_session_the_first_entries_are_kept_and_the_others_counted_and_told(heard: bool) -> None:
    told: list[str] = []
    trace = Traces((lambda _, entry: told.append(entry.text)) if heard else None).begin("long", lambda: 0.0)
    for number in range(1003):
        trace.add_frame("out", Frame(Opcode.TEXT, str(number).encode()))
        trace.add_part("out", PayloadPart(b"", DataType.UTF8))
    assert len(trace.entries) == 2000
    assert trace.lines()[-2:] == [str(trace.entries[-1]), "… 6 more entries were not kept"]
    assert trace.entries[-2].text == "TEXT 3 B '999'"
    assert told[-2:] == (["TEXT 4 B '1002'", "UTF8"] if heard else [])


def test_a_session_that_is_open_goes_on_though_its_log_was_given_up() -> None:
    traces = Traces(sessions=1, entries=10)
    old = traces.begin("old", lambda: 0.0)
    old.add("client", "in", "note", "a")
    new = traces.begin("new", lambda: 0.0)
    old.add("client", "in", "note", "b")
    new.add("client", "in", "note", "c")
    assert [entry.text for trace in traces for entry in trace.entries] == ["c"]


async def http_model(seen: Seen, writer: asyncio.StreamWriter) -> None:
    writer.write(reply("200 OK", b"you said " + seen.body))


async def test_invocations_over_http1_have_a_log_too(state_directory: Path) -> None:
    def ask() -> None:
        runtime = boto3.session.Session().client("sagemaker-runtime")
        runtime.invoke_endpoint(EndpointName="ep", Body=b"hello")
        response = runtime.invoke_endpoint_with_response_stream(EndpointName="ep", Body=b"hello")
        assert b"".join(each["PayloadPart"]["Bytes"] for each in response["Body"]) == b"you said hello"
        with pytest.raises(ClientError, match="not found"):
            runtime.invoke_endpoint(EndpointName="nope", Body=b"hello")

    async with http_container(http_model) as target:
        with (
            Emulator({"ep": Endpoint(target.url)}, state_directory=state_directory) as emulator,
            pytest.MonkeyPatch.context() as patch,
        ):
            for name, value in emulator.environment.items():
                patch.setenv(name, value)
            await asyncio.to_thread(ask)
            plain, stream, missing = emulator.traces
    assert [trace.operation for trace in (plain, stream)] == [
        "InvokeEndpoint",
        "InvokeEndpointWithResponseStream",
    ]
    told = [f"{entry.hop} {entry.direction} {entry.text}" for entry in plain.entries]
    assert told == [
        "client in POST /endpoints/ep/invocations",
        "container out POST /invocations, 5 B 'hello'",
        "container in 200",
        "client out 200, 14 B 'you said hello'",
    ]
    assert [entry.kind for entry in stream.entries] == ["http", "http", "http", "http", "part", "end"]
    assert missing.entries[-1].text.startswith("400 ValidationError: Endpoint nope")


def test_a_file_of_several_sessions_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "all.ndjson"
    lines: list[str] = []
    for name in ("first", "second"):
        trace = SessionTrace(name, "ep", lambda: 0.0)
        trace.add("client", "in", "http", f"POST /{name}")
        lines += lines_of(trace)
    path.write_text("".join(lines))
    assert main(["trace", "show", str(path)]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in shown] == ["first", "/first", "second", "/second"]
    assert main(["replay", str(path), "--target", "http://127.0.0.1:9"]) == 2
    assert "holds 2 sessions, expected is one" in capsys.readouterr().err


@pytest.mark.parametrize("signatures", ["enforce", "log"])
async def test_no_secret_gets_into_a_log(
    signatures: str, state_directory: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    entries: list[TraceEntry] = []
    recorder = Recorder(tmp_path / "recorded")

    def listen(trace: SessionTrace, entry: TraceEntry) -> None:
        entries.append(entry)
        recorder(trace, entry)

    def ask(url: str, ca: str) -> list[str]:
        """Use credentials that the emulator does not know, in a header and in a query; returns what was secret."""
        session = boto3.session.Session("AKIAUSERSOWN", SECRET, TOKEN, "us-west-2")
        runtime = session.client("sagemaker-runtime", endpoint_url=url, verify=ca, config=Config(retries={"total_max_attempts": 1}))  # fmt: skip  # noqa: E501
        sent: list[str] = []
        runtime.meta.events.register(
            "before-send.*", lambda request, **_: sent.append(request.headers["Authorization"].decode())
        )
        presigned = runtime.generate_presigned_url("invoke_endpoint", {"EndpointName": "ep", "Body": b""})
        try:
            runtime.invoke_endpoint(EndpointName="ep", Body=b"hello")
        except ClientError as error:  # refused, or this container has no /invocations
            assert error.response["ResponseMetadata"]["HTTPStatusCode"] in (403, 424)  # noqa: PT017
        httpx.post(presigned, verify=ssl.create_default_context(cafile=ca), trust_env=False)
        (header,) = sent
        return [SECRET, TOKEN, header.rsplit("Signature=", 1)[-1], presigned.split("X-Amz-Signature=")[1].split("&")[0]]

    switches = Switches(signatures=signatures)  # type: ignore[arg-type]  # one of them
    async with (
        container() as target,
        Server(
            {"ep": Endpoint(target.url)}, switches=switches, state_directory=state_directory, listener=listen
        ) as server,
        RawClient(int(server.url.rsplit(":", 1)[1]), server.certificates.ca) as client,
    ):
        secrets = await asyncio.to_thread(ask, server.url, str(server.certificates.ca))
        signature = "f" * 64
        authorization = (
            "AWS4-HMAC-SHA256 Credential=AKIAUSERSOWN/20261129/us-west-2/sagemaker/aws4_request, "
            f"SignedHeaders=host, Signature={signature}"
        )
        stream = await client.open(headers={"authorization": authorization, "x-amz-security-token": TOKEN})
        await client.status(stream)
        if signatures == "log":
            await client.send(stream, event(b"x", "UTF8"))
            await client.send(stream, END_OF_INPUT, end=True)
        while not isinstance(await client.next(stream), str):
            pass
        traces = "".join(line for trace in server.data_plane.traces for line in lines_of(trace))
    logged = "\n".join(each.getMessage() for each in caplog.records if each.name.startswith("emulator"))
    recorded = "".join(path.read_text() for path in (tmp_path / "recorded").iterdir())
    assert "POST /endpoints/ep/invocations" in recorded
    assert "AKIAUSERSOWN" in logged  # an id is no secret, and says what is wrong
    for secret in [*secrets, signature, TOKEN]:
        for where in (traces, recorded, logged, "\n".join(map(str, entries))):
            assert secret not in where


def test_of_a_query_only_what_signs_is_taken_out() -> None:
    path = "/a?b=c&X-Amz-Signature=abc&X-Amz-Security-Token=t%2F&x-amz-credential=AKIA%2F1&d=e"
    assert without_secrets(path) == "/a?b=c&X-Amz-Signature=…&X-Amz-Security-Token=…&x-amz-credential=…&d=e"
