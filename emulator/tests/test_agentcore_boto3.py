"""boto3's ``bedrock-agentcore``, unmodified, with nothing but environment variables."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

import boto3
import botocore.config
import pytest
from botocore.exceptions import ClientError, ResponseStreamingError
from urllib3.exceptions import ProtocolError

from emulator import Switches
from emulator.agentcore.limits import AgentLimits
from emulator.agentcore.service import AgentPlane
from emulator.server import Emulator, Server
from emulator.tests.http_container import HttpContainer, Script, Seen, chunk, http_container, reply

HEALTHY = b'{"status": "Healthy", "time_of_last_update": 1}'
STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n"
SESSION = "session-" + "0" * 33


def agent(invoke: Script, pong: bytes = reply("200 OK", HEALTHY)) -> Script:
    async def serve(seen: Seen, writer: asyncio.StreamWriter) -> None:
        if seen.line.startswith("GET /ping "):
            writer.write(pong)
        else:
            await invoke(seen, writer)

    return serve


@contextlib.asynccontextmanager
async def stage(
    script: Script, state: Path, monkeypatch: pytest.MonkeyPatch, switches: Switches | None = None
) -> AsyncIterator[tuple[HttpContainer, Any, Server]]:
    async with (
        asyncio.timeout(30),
        http_container(script) as container,
        Server(agents={"voice": container.url}, switches=switches, state_directory=state, http_port=0) as server,
    ):
        for name, value in server.certificates.environment(server.url).items():
            monkeypatch.setenv(name, value)
        once = botocore.config.Config(retries={"total_max_attempts": 1}, read_timeout=20)
        client = boto3.session.Session().client("bedrock-agentcore", config=once)
        try:
            yield container, client, server
        finally:
            client.close()


async def invoke(client: Any, server: Server, **more: Any) -> Any:
    arn = server.agents.runtimes.arn("voice")
    return await asyncio.to_thread(
        client.invoke_agent_runtime, **{"agentRuntimeArn": arn, "payload": b'{"prompt": "Hi"}', **more}
    )


def raw_stream(response: Any) -> Any:
    """What gives bytes as they come; the reader of botocore waits until it has as many as were asked for."""
    return response["response"]._raw_stream  # noqa: SLF001  # there is no public way


async def say_two(_: Seen, writer: asyncio.StreamWriter) -> None:
    writer.write(STREAM + chunk(b'data: {"type":"one"}\n\n') + chunk(b'data: {"type":"two"}\n\n') + chunk(b""))


async def test_invoke_agent_runtime(state_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with stage(agent(say_two), state_directory, monkeypatch) as (container, client, server):
        response = await invoke(
            client,
            server,
            runtimeSessionId=SESSION,
            qualifier="DEFAULT",
            contentType="application/json",
            accept="text/event-stream",
            runtimeUserId="user-1",
        )
        assert await asyncio.to_thread(response["response"].read) == (
            b'data: {"type":"one"}\n\ndata: {"type":"two"}\n\n'
        )
        assert response["statusCode"] == 200
        assert response["contentType"] == "text/event-stream; charset=utf-8"
        assert response["runtimeSessionId"] == SESSION
        response["response"].close()
        again = await invoke(client, server, runtimeSessionId=SESSION)
        assert await asyncio.to_thread(again["response"].read)
    lines = [seen.line for seen in container.seen]
    assert lines == ["GET /ping HTTP/1.1", *["POST /invocations HTTP/1.1"] * 2]  # health is asked once for a session
    seen = container.seen[1]
    assert seen.body == b'{"prompt": "Hi"}'
    assert seen.headers["x-amzn-bedrock-agentcore-runtime-session-id"] == SESSION
    assert seen.headers["x-amzn-bedrock-agentcore-runtime-user-id"] == "user-1"
    assert seen.headers["x-amzn-bedrock-agentcore-runtime-request-id"]
    assert "authorization" not in seen.headers


async def test_frames_come_while_the_agent_still_works(state_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    had_first = asyncio.Event()

    async def slow(_: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM + chunk(b"data: 1\n\n"))
        await had_first.wait()
        writer.write(chunk(b"data: 2\n\n") + chunk(b""))

    async with stage(agent(slow), state_directory, monkeypatch) as (_, client, server):
        response = await invoke(client, server)
        blocks = raw_stream(response).stream(65536)
        assert await asyncio.to_thread(next, blocks) == b"data: 1\n\n"
        had_first.set()
        assert await asyncio.to_thread(b"".join, blocks) == b"data: 2\n\n"


async def test_the_answer_is_cut_where_it_is_told_to(state_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with stage(agent(say_two), state_directory, monkeypatch, Switches(agent_cut=5)) as (_, client, server):
        response = await invoke(client, server)
        raw = raw_stream(response)
        sizes = await asyncio.to_thread(lambda: [len(block) for block in raw.read_chunked()])
        assert sum(sizes) == 44
        assert set(sizes[:-1]) <= {5, 2}  # each read of the container's ends with a short one
        assert 5 in sizes


@pytest.mark.parametrize("status", ["500 Internal Server Error", "404 Not Found", "422 Unprocessable"])
async def test_the_agent_s_error_is_a_424_without_its_text(
    status: str, state_directory: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def refuse(_: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(reply(status, b"the reason"))

    async with stage(agent(refuse), state_directory, monkeypatch) as (_, client, server):
        with pytest.raises(client.exceptions.RuntimeClientError) as caught:
            await invoke(client, server)
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 424
    assert caught.value.response["Error"]["Message"] == (
        f"Received error ({status[:3]}) from runtime. Please check your CloudWatch logs for more information."
    )
    assert "the reason" in caplog.text


@pytest.mark.parametrize(
    ("pong", "why"),
    [(reply("503 Unavailable", b""), "answered 503"), (b"", "without a valid answer")],
)
async def test_an_agent_that_is_not_healthy_is_not_invoked(
    pong: bytes, why: str, state_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stage(agent(say_two, pong), state_directory, monkeypatch) as (container, client, server):
        with pytest.raises(
            client.exceptions.RuntimeClientError, match="Runtime initialization time exceeded"
        ) as caught:
            await invoke(client, server)
        assert why in str(caught.value)
        assert [seen.line for seen in container.seen] == ["GET /ping HTTP/1.1"]


async def test_an_agent_that_is_not_there(state_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with stage(agent(say_two), state_directory, monkeypatch) as (_, client, server):
        server.agents.runtimes.put("voice", "http://127.0.0.1:9")
        with pytest.raises(client.exceptions.RuntimeClientError, match="is the agent running"):
            await invoke(client, server)


@pytest.mark.parametrize("end", [b"", b"rubbish\r\n\r\n"])
async def test_an_agent_without_a_valid_answer(
    end: bytes, state_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def drop(_: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(end)

    async with stage(agent(drop), state_directory, monkeypatch) as (_, client, server):
        with pytest.raises(client.exceptions.RuntimeClientError, match=r"Received error \(500\)"):
            await invoke(client, server)


async def test_an_answer_that_breaks_off_does_not_look_whole(
    state_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def stop(_: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM + chunk(b"data: 1\n\n"))

    async with stage(agent(stop), state_directory, monkeypatch) as (_, client, server):
        response = await invoke(client, server)
        with pytest.raises((ProtocolError, ResponseStreamingError)):
            await asyncio.to_thread(response["response"].read)


async def test_an_agent_that_takes_too_long(state_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(seen: Seen, _: asyncio.StreamWriter) -> None:
        await seen.client_gone()

    async with stage(agent(hang), state_directory, monkeypatch) as (_, client, server):
        server.agents.limits = AgentLimits(request=0.1)
        with pytest.raises(client.exceptions.RuntimeClientError, match=r"within 0\.1 s"):
            await invoke(client, server)


async def test_unknown_agents_and_short_sessions(state_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with stage(agent(say_two), state_directory, monkeypatch) as (container, client, server):
        with pytest.raises(client.exceptions.ResourceNotFoundException, match="qualifier 'prod'"):
            await invoke(client, server, qualifier="prod")
        with pytest.raises(client.exceptions.ValidationException, match="agentRuntimeArn"):
            await invoke(client, server, agentRuntimeArn="arn:aws:bedrock-agentcore:us-west-2:1:agent/x")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
        wrong = boto3.session.Session().client("bedrock-agentcore")
        with contextlib.closing(wrong), pytest.raises(ClientError, match="does not match") as caught:
            await invoke(wrong, server)
        assert caught.value.response["Error"]["Code"] == "InvalidSignatureException"
        assert container.seen == []


async def test_stop_runtime_session_cuts_what_it_answers(
    state_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = asyncio.Event()

    async def endless(seen: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM + chunk(b"data: 1\n\n"))
        await seen.client_gone()
        gone.set()

    async with stage(agent(endless), state_directory, monkeypatch) as (_, client, server):
        response = await invoke(client, server, runtimeSessionId=SESSION)
        stop = {"agentRuntimeArn": server.agents.runtimes.arn("voice"), "runtimeSessionId": SESSION}
        stopped = await asyncio.to_thread(client.stop_runtime_session, **stop)
        assert (stopped["statusCode"], stopped["runtimeSessionId"]) == (200, SESSION)
        with pytest.raises((ProtocolError, ResponseStreamingError)):
            await asyncio.to_thread(response["response"].read)
        await gone.wait()
        with pytest.raises(client.exceptions.ResourceNotFoundException, match="is not running"):
            await asyncio.to_thread(client.stop_runtime_session, **stop)


async def test_a_client_that_hangs_up_ends_the_agent_s_request(
    state_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = asyncio.Event()

    async def endless(seen: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM + chunk(b"data: 1\n\n"))
        await seen.client_gone()
        gone.set()

    async with stage(agent(endless), state_directory, monkeypatch) as (_, client, server):
        response = await invoke(client, server)
        await asyncio.to_thread(raw_stream(response).close)
        await gone.wait()


async def test_sessions_that_are_idle_for_long_are_forgotten(
    state_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stage(agent(say_two), state_directory, monkeypatch) as (container, client, server):
        server.agents.limits = AgentLimits(idle=-1.0)
        for _ in range(2):
            response = await invoke(client, server, runtimeSessionId=SESSION)
            await asyncio.to_thread(response["response"].read)
    assert [seen.line[:4] for seen in container.seen] == ["GET ", "POST"] * 2


async def test_a_page_comes_with_the_emulator_s_token(state_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(server: Server, token: str) -> bytes:
        arn = quote(server.agents.runtimes.arn("voice"), safe="")
        headers = {"Authorization": f"Bearer {token}", "Origin": "http://127.0.0.1:1"}
        request = Request(f"{server.http_url}/runtimes/{arn}/invocations", b"{}", headers)  # noqa: S310  # it is ours
        with urlopen(request, timeout=10) as answer:  # noqa: S310
            body: bytes = answer.read()
            return body

    async with stage(agent(say_two), state_directory, monkeypatch) as (_, _, server):
        assert b"two" in await asyncio.to_thread(ask, server, server.agents.token)
        with pytest.raises(HTTPError) as caught:
            await asyncio.to_thread(ask, server, "wrong")
        assert caught.value.code == 403
        caught.value.close()


@pytest.mark.parametrize("session", [f"{SESSION}%0Ax", f"{SESSION}%E2%82%AC", f"{SESSION}%C3%A9", f"{SESSION}+"])
async def test_a_session_id_that_no_header_can_hold_is_a_validation_exception(
    session: str, state_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(server: Server) -> str:
        arn = quote(server.agents.runtimes.arn("voice"), safe="")
        query = f"X-Amzn-Bedrock-AgentCore-Runtime-Session-Id={session}"
        url = f"{server.http_url}/runtimes/{arn}/invocations?{query}"
        request = Request(url, b"{}", {"Authorization": f"Bearer {server.agents.token}"})  # noqa: S310  # it is ours
        with pytest.raises(HTTPError) as caught:
            urlopen(request, timeout=10)  # noqa: S310
        with caught.value as error:
            assert (error.code, error.headers["x-amzn-errortype"]) == (400, "ValidationException")
            return error.read().decode()

    async with stage(agent(say_two), state_directory, monkeypatch) as (container, _, server):
        said = await asyncio.to_thread(ask, server)
    assert "'runtimeSessionId' failed to satisfy constraint: Member must be printable ASCII" in said
    assert container.seen == []


def test_the_arn_is_there_for_the_test_of_a_user(state_directory: Path) -> None:
    with Emulator(agents={"voice": "http://127.0.0.1:9"}, state_directory=state_directory) as emulator:
        assert emulator.agent_arn("voice").endswith(":runtime/voice-emulator01")
        assert emulator.environment["AWS_ENDPOINT_URL_BEDROCK_AGENTCORE"] == emulator.url
        with pytest.raises(LookupError, match="no agent 'other'; it has: voice-emulator01"):
            emulator.agent_arn("other")
    assert not AgentPlane.serves("/endpoints/ep/invocations")
