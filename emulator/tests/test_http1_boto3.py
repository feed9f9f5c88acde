"""boto3's ``sagemaker-runtime``, unmodified, with nothing but environment variables."""

import asyncio
import contextlib
import datetime
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import boto3
import botocore.config
import pytest
from botocore.exceptions import ClientError, EventStreamError

from emulator import Emulator, Endpoint, Switches
from emulator.server import Server
from emulator.tests.http_container import HttpContainer, Script, Seen, chunk, http_container, reply


@contextlib.contextmanager
def runtime() -> Iterator[Any]:
    once = botocore.config.Config(retries={"total_max_attempts": 1}, read_timeout=20)
    client = boto3.session.Session().client("sagemaker-runtime", config=once)
    try:
        yield client
    finally:
        client.close()


@contextlib.asynccontextmanager
async def stage(
    script: Script, state: Path, monkeypatch: pytest.MonkeyPatch, switches: Switches | None = None
) -> AsyncIterator[tuple[HttpContainer, Any, Emulator]]:
    async with asyncio.timeout(30), http_container(script) as container:
        with Emulator({"ep": Endpoint(container.url)}, switches=switches, state_directory=state) as emulator:
            for name, value in emulator.environment.items():
                monkeypatch.setenv(name, value)
            with runtime() as client:
                yield container, client, emulator


async def say_hello(_: Seen, writer: asyncio.StreamWriter) -> None:
    writer.write(reply("200 OK", b"hello", "content-type: text/csv", "x-amzn-sagemaker-custom-attributes: back"))


async def test_invoke_endpoint(state_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with stage(say_hello, state_directory, monkeypatch) as (container, client, _):
        for _ in range(2):  # the second one on the same connection
            response = await asyncio.to_thread(
                client.invoke_endpoint,
                EndpointName="ep",
                Body=b"a body",
                ContentType="application/json",
                Accept="text/csv",
                CustomAttributes="there",
                TargetVariant="AllTraffic",
            )
            assert response["Body"].read() == b"hello"
            assert response["ContentType"] == "text/csv"
            assert response["InvokedProductionVariant"] == "AllTraffic"
            assert response["CustomAttributes"] == "back"
            assert response["ResponseMetadata"]["RequestId"]
    seen = container.seen[0]
    assert (seen.line, seen.body) == ("POST /invocations HTTP/1.1", b"a body")
    assert seen.headers["content-type"] == "application/json"
    assert seen.headers["accept"] == "text/csv"
    assert seen.headers["x-amzn-sagemaker-custom-attributes"] == "there"
    assert "authorization" not in seen.headers


async def test_the_container_s_error_is_a_model_error(state_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(_: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(reply("422 Unprocessable", b"no such voice"))

    async with stage(refuse, state_directory, monkeypatch) as (_, client, _):
        for operation in (client.invoke_endpoint, client.invoke_endpoint_with_response_stream):
            with pytest.raises(client.exceptions.ModelError) as caught:
                await asyncio.to_thread(operation, EndpointName="ep", Body=b"x")
            assert caught.value.response["OriginalStatusCode"] == 422
            assert caught.value.response["OriginalMessage"] == "no such voice"
            assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 424


async def test_an_answer_over_the_limit_is_a_model_error_and_is_not_read_to_its_end(
    state_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = 0

    async def endless(_: Seen, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        while True:
            writer.write(chunk(bytes(100_000)))
            await writer.drain()
            sent += 100_000

    switches = Switches(invoke_body_max=1_000_000)
    async with stage(endless, state_directory, monkeypatch, switches) as (_, client, _):
        with pytest.raises(client.exceptions.ModelError, match="has more than 1000000 bytes") as caught:
            await asyncio.to_thread(client.invoke_endpoint, EndpointName="ep", Body=b"x")
        assert caught.value.response["OriginalStatusCode"] == 0
    assert sent < 100_000_000

    async def exact(_: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(reply("200 OK", bytes(1_000_000)))

    async with stage(exact, state_directory, monkeypatch, switches) as (_, client, _):
        response = await asyncio.to_thread(client.invoke_endpoint, EndpointName="ep", Body=b"x")
        assert response["Body"].read() == bytes(1_000_000)


@pytest.mark.parametrize(("end", "what"), [(b"", "ConnectionClosed"), (b"rubbish\r\n\r\n", "illegal status line")])
async def test_a_container_without_a_valid_answer_is_a_model_error(
    end: bytes, what: str, state_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def drop(_: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(end)

    async with stage(drop, state_directory, monkeypatch) as (_, client, _):
        with pytest.raises(client.exceptions.ModelError, match=what) as caught:
            await asyncio.to_thread(client.invoke_endpoint, EndpointName="ep", Body=b"x")
        assert caught.value.response["OriginalStatusCode"] == 0


async def test_a_container_that_answers_before_it_has_read_the_body(
    state_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(reply("413 Content Too Large", b"at most 1 MB"))
        await ended.wait()  # nobody reads on
        writer.transport.abort()

    ended = asyncio.Event()
    server = await asyncio.start_server(refuse, "127.0.0.1", 0, limit=4096)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with asyncio.timeout(30), server:
        with Emulator({"ep": Endpoint(url)}, state_directory=state_directory) as emulator:
            for name, value in emulator.environment.items():
                monkeypatch.setenv(name, value)
            with runtime() as client, pytest.raises(client.exceptions.ModelError, match="at most 1 MB") as caught:
                await asyncio.to_thread(client.invoke_endpoint, EndpointName="ep", Body=bytes(20_000_000))
        ended.set()
    assert caught.value.response["OriginalStatusCode"] == 413


async def test_unknown_endpoint_wrong_key_and_a_large_body(
    state_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stage(say_hello, state_directory, monkeypatch, Switches(invoke_body_max=1000)) as (container, client, _):
        with pytest.raises(ClientError, match="Endpoint nope of account 000000000000 not found") as caught:
            await asyncio.to_thread(client.invoke_endpoint, EndpointName="nope", Body=b"x")
        assert caught.value.response["Error"]["Code"] == "ValidationError"
        with pytest.raises(ClientError, match="at most 1000 are allowed"):
            await asyncio.to_thread(client.invoke_endpoint, EndpointName="ep", Body=bytes(20_000_000))
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
        with runtime() as wrong, pytest.raises(ClientError) as caught:
            await asyncio.to_thread(wrong.invoke_endpoint, EndpointName="ep", Body=b"x")
        assert caught.value.response["Error"]["Code"] == "InvalidSignatureException"
        assert container.seen == []


async def test_a_container_that_takes_too_long_is_the_reported_text(
    state_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang(seen: Seen, _: asyncio.StreamWriter) -> None:
        await seen.client_gone()

    async with stage(hang, state_directory, monkeypatch, Switches(model_timeout=0.1)) as (_, client, _):
        for operation in (client.invoke_endpoint, client.invoke_endpoint_with_response_stream):
            with pytest.raises(
                client.exceptions.ModelError,
                match=r'server error \(0\) from primary with message "Your invocation timed out',
            ):
                await asyncio.to_thread(operation, EndpointName="ep", Body=b"x")


def read(response: Any) -> list[bytes]:
    return [event["PayloadPart"]["Bytes"] for event in response["Body"]]


async def test_a_response_stream_does_not_follow_the_chunks(
    state_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [b'{"line": %d}\n' % number for number in range(1000)]

    async def stream(_: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/jsonlines\r\ntransfer-encoding: chunked\r\n\r\n")
        for line in lines:
            writer.write(chunk(line))
        writer.write(chunk(b""))

    async with stage(stream, state_directory, monkeypatch) as (container, client, _):
        response = await asyncio.to_thread(
            client.invoke_endpoint_with_response_stream, EndpointName="ep", Body=b"x", Accept="application/jsonlines"
        )
        assert response["ContentType"] == "application/jsonlines"
        assert response["InvokedProductionVariant"] == "AllTraffic"
        parts = await asyncio.to_thread(read, response)
    assert b"".join(parts) == b"".join(lines)
    assert not all(part.endswith(b"\n") for part in parts)
    assert max(map(len, parts)) <= 8192
    assert container.seen[0].headers["accept"] == "application/jsonlines"


async def test_parts_come_while_the_container_still_works(
    state_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = asyncio.get_running_loop()
    had_first = asyncio.Event()

    async def slow(_: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + chunk(b"first"))
        await had_first.wait()
        writer.write(chunk(b"second") + chunk(b""))

    def consume(client: Any) -> list[bytes]:
        parts = []
        for event in client.invoke_endpoint_with_response_stream(EndpointName="ep", Body=b"x")["Body"]:
            parts.append(event["PayloadPart"]["Bytes"])
            loop.call_soon_threadsafe(had_first.set)
        return parts

    async with stage(slow, state_directory, monkeypatch) as (_, client, _):
        assert await asyncio.to_thread(consume, client) == [b"first", b"second"]


@pytest.mark.parametrize(
    ("switches", "code", "text"),
    [
        (Switches(), "StreamBroken", "broke its response off"),
        (
            Switches(response_stream_max=0.2),
            "ModelInvocationTimeExceeded",
            "Your model primary did not complete sending the inference response in the allotted time",
        ),
    ],
)
async def test_a_failure_in_the_middle_is_an_exception_event(
    switches: Switches,
    code: str,
    text: str,
    state_directory: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def stream(seen: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + chunk(b"first"))
        if code != "StreamBroken":
            await seen.client_gone()

    async with stage(stream, state_directory, monkeypatch, switches) as (_, client, _):
        response = await asyncio.to_thread(client.invoke_endpoint_with_response_stream, EndpointName="ep", Body=b"x")
        events = iter(response["Body"])
        assert (await asyncio.to_thread(next, events))["PayloadPart"]["Bytes"] == b"first"
        with pytest.raises(EventStreamError, match=text) as caught:
            await asyncio.to_thread(next, events)
        response["Body"].close()
        assert caught.value.response["Error"]["Code"] == "ModelStreamError"
        assert f"ModelStreamError {code}: " in caplog.text  # botocore drops the member ErrorCode


async def test_a_stop_of_the_emulator_is_an_internal_stream_failure(
    state_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def stream(seen: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + chunk(b"first"))
        await seen.client_gone()

    async with (
        asyncio.timeout(30),
        http_container(stream) as container,
        Server({"ep": Endpoint(container.url)}, state_directory=state_directory) as server,
    ):
        for name, value in server.certificates.environment(server.url).items():
            monkeypatch.setenv(name, value)
        with runtime() as client:
            response = await asyncio.to_thread(
                client.invoke_endpoint_with_response_stream, EndpointName="ep", Body=b"x"
            )
            events = iter(response["Body"])
            assert (await asyncio.to_thread(next, events))["PayloadPart"]["Bytes"] == b"first"
            stopping = asyncio.create_task(server.__aexit__(None, None, None))
            with pytest.raises(EventStreamError, match="emulator was stopped"):
                await asyncio.to_thread(next, events)
            await stopping
            response["Body"].close()


@pytest.mark.parametrize(("skew", "refused"), [(300.0, True), (3600.0, False)])
async def test_a_clock_may_be_off_as_far_as_the_switch_says(
    skew: float, refused: bool, state_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = datetime.datetime.now(datetime.UTC) - datetime.timedelta(minutes=10)
    async with stage(say_hello, state_directory, monkeypatch, Switches(clock_skew=skew)) as (_, client, _):
        monkeypatch.setattr("botocore.crt.auth.get_current_datetime", lambda **_: late)
        monkeypatch.setattr("botocore.auth.get_current_datetime", lambda **_: late)
        with pytest.raises(ClientError, match="Signature expired") if refused else contextlib.nullcontext():
            await asyncio.to_thread(client.invoke_endpoint, EndpointName="ep", Body=b"x")
