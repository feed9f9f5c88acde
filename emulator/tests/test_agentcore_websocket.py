"""AgentCore's WebSocket through the emulator: the AgentCore SDK's own handshakes, and a browser's."""

import asyncio
import base64
import contextlib
import datetime
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from bedrock_agentcore.runtime import AgentCoreRuntimeClient
from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed, ConnectionClosedError, InvalidStatus
from websockets.http11 import Request, Response

from emulator.agentcore.frames import FrameMeter, FrameTooLargeError, close_frame
from emulator.agentcore.limits import AgentLimits
from emulator.server import Server
from emulator.switches import SignatureMode, Switches

SESSION = "session-" + "0" * 33
HEADER = "X-Amzn-Bedrock-AgentCore-Runtime-Session-Id"
Talk = Callable[[ServerConnection], Awaitable[None]]


def test_frames_pass_wherever_the_blocks_end() -> None:
    frames = [bytes((0x82, 3)) + b"abc", bytes((0x81, 0x80 | 2)) + b"MASKxy", bytes((0x82, 126, 1, 0)) + bytes(256)]
    frames += [bytes((0x82, 127)) + (256).to_bytes(8) + bytes(256), bytes((0x89, 0))]
    whole = b"".join(frames)
    for at in range(len(whole) + 1):
        meter = FrameMeter(256)
        assert meter.take(whole[:at]) + meter.take(whole[at:]) == whole
        assert meter.between_frames


@pytest.mark.parametrize("head", [bytes((0x82, 126, 1, 1)), bytes((0x82, 127)) + (1 << 40).to_bytes(8)])
def test_nothing_of_a_large_frame_passes(head: bytes) -> None:
    before = bytes((0x82, 1)) + b"x"
    for at in range(len(before + head)):
        meter = FrameMeter(256)
        passed = meter.take((before + head)[:at])
        with pytest.raises(FrameTooLargeError, match="256 in one frame") as caught:
            meter.take((before + head)[at:])
        assert passed + caught.value.passed == before
        assert meter.between_frames
    assert close_frame(1009, "r" * 200) == bytes((0x88, 125, 3, 241)) + b"r" * 123


class Clock:
    """The module ``datetime`` at another time."""

    UTC = datetime.UTC

    def __init__(self, now: datetime.datetime) -> None:
        self._now = now
        self.datetime = self

    def now(self, _: datetime.tzinfo) -> datetime.datetime:
        return self._now


@contextlib.asynccontextmanager
async def stage(
    talk: Talk,
    state: Path,
    monkeypatch: pytest.MonkeyPatch,
    upgrade: Callable[[ServerConnection, Request], Awaitable[Response | None] | Response | None] | None = None,
    switches: Switches | None = None,
) -> AsyncIterator[tuple[Server, str]]:
    def answer(connection: ServerConnection, request: Request) -> Awaitable[Response | None] | Response | None:
        if request.path == "/ping":
            return connection.respond(HTTPStatus.OK, '{"status": "Healthy"}')
        assert request.path == "/ws"
        return upgrade(connection, request) if upgrade is not None else None

    async with asyncio.timeout(30), serve(talk, "127.0.0.1", 0, process_request=answer) as container:
        url = f"http://127.0.0.1:{next(iter(container.sockets)).getsockname()[1]}"
        async with Server(agents={"voice": url}, switches=switches, state_directory=state, http_port=0) as server:
            for name, value in server.certificates.environment(server.url).items():
                monkeypatch.setenv(name, value)
            yield server, server.agents.runtimes.arn("voice")


async def echo(connection: ServerConnection) -> None:
    async for message in connection:
        await connection.send(message)
    await connection.close(1000, "bye")


@contextlib.asynccontextmanager
async def opened(server: Server, arn: str, **options: Any) -> AsyncIterator[ClientConnection]:
    """A client as a browser is one: plain, with the token in its subprotocols."""
    token = base64.urlsafe_b64encode(server.agents.token.encode()).decode().rstrip("=")
    names = [f"base64UrlBearerAuthorization.{token}", "base64UrlBearerAuthorization"]
    url = f"{server.http_url}/runtimes/{quote(arn, safe='')}/ws?qualifier=DEFAULT".replace("http:", "ws:")
    async with connect(url, subprotocols=names, **options) as socket:  # type: ignore[arg-type]  # they are strings
        yield socket


async def test_the_sdk_s_signed_handshakes(state_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str | None] = []

    async def note(connection: ServerConnection) -> None:
        assert connection.request is not None
        seen.append(connection.request.headers.get(HEADER))
        assert "Authorization" not in connection.request.headers
        await echo(connection)

    async with stage(note, state_directory, monkeypatch) as (server, arn):
        port = server.url.rpartition(":")[2]
        monkeypatch.setattr(
            "bedrock_agentcore.runtime.agent_core_runtime_client.get_data_plane_endpoint",
            lambda _: f"https://127.0.0.1:{port}",
        )
        sdk = AgentCoreRuntimeClient("us-west-2")
        url, headers = sdk.generate_ws_connection(arn, session_id=SESSION, endpoint_name="DEFAULT")
        own = {name: value for name, value in headers.items() if name.lower().startswith(("x-amz", "authorization"))}
        tls = ssl.create_default_context(cafile=str(server.certificates.ca))
        async with connect(url, additional_headers=own, ssl=tls) as socket:
            await socket.send("hello")
            assert await socket.recv() == "hello"
        presigned = sdk.generate_presigned_url(arn, session_id=SESSION, endpoint_name="DEFAULT")
        async with connect(presigned, ssl=tls) as socket:
            await socket.send(b"\x00\x01")
            assert await socket.recv() == b"\x00\x01"
        with pytest.raises(InvalidStatus) as caught:
            async with connect(presigned[:-1] + ("1" if presigned.endswith("0") else "0"), ssl=tls):
                pass
        assert caught.value.response.status_code == 403
    assert seen == [SESSION, SESSION]


async def test_a_browser_s_handshake_and_the_close(state_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def talk(connection: ServerConnection) -> None:
        assert connection.request is not None
        assert "Sec-WebSocket-Protocol" not in connection.request.headers
        assert len(connection.request.headers[HEADER]) >= 33
        await connection.send(await connection.recv())
        await connection.close(4001, "because")

    async with stage(talk, state_directory, monkeypatch) as (server, arn):
        async with opened(server, arn) as socket:
            assert socket.subprotocol == "base64UrlBearerAuthorization"
            await socket.send("é" * 1000)
            assert await socket.recv() == "é" * 1000
            with pytest.raises(ConnectionClosed) as closed:
                await socket.recv()
        assert closed.value.rcvd is not None
        assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (4001, "because")


async def test_a_header_outside_ascii_reaches_the_container_as_it_is(
    state_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def say(connection: ServerConnection) -> None:
        assert connection.request is not None
        await connection.send(connection.request.headers["baggage"])
        await connection.wait_closed()

    async with (
        stage(say, state_directory, monkeypatch) as (server, arn),
        opened(server, arn, additional_headers={"baggage": "city=Zürich"}) as socket,
    ):
        assert await socket.recv() == "city=Zürich"


async def test_a_client_that_hangs_up_and_a_stopped_session_end_the_container_s_socket(
    state_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends: asyncio.Queue[str] = asyncio.Queue()

    async def talk(connection: ServerConnection) -> None:
        await connection.send("ready")
        await connection.wait_closed()
        ends.put_nowait("end")

    async with stage(talk, state_directory, monkeypatch) as (server, arn):
        async with opened(server, arn) as socket:
            await socket.recv()
            socket.transport.abort()
            assert await ends.get() == "end"
        async with opened(server, arn) as socket:
            await socket.recv()
            server.agents.stop()
            with pytest.raises(ConnectionClosedError):
                await socket.recv()
        assert await ends.get() == "end"


@pytest.mark.parametrize("who", ["client", "container"])
async def test_a_frame_over_32_kb_is_closed_with_1009(
    who: str, state_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    got: list[str | bytes] = []

    async def talk(connection: ServerConnection) -> None:
        with contextlib.suppress(ConnectionClosed):
            got.append(await connection.recv())
            if who == "container":
                await connection.send(bytes(32_769))
            got.append(await connection.recv())

    async with stage(talk, state_directory, monkeypatch) as (server, arn), opened(server, arn) as socket:
        await socket.send(bytes(32_768))
        if who == "client":
            await socket.send(bytes(32_769))
        with pytest.raises(ConnectionClosedError) as closed:
            await socket.recv()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1009
    assert got == [bytes(32_768)]


async def test_a_container_that_refuses_is_a_424(state_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(connection: ServerConnection, _: Request) -> Response:
        return connection.respond(HTTPStatus.FORBIDDEN, "no")

    async with stage(echo, state_directory, monkeypatch, refuse) as (server, arn):
        with pytest.raises(InvalidStatus) as caught:
            async with opened(server, arn):
                pass
        assert caught.value.response.status_code == 424
        assert b"Received error (403) from runtime" in (caught.value.response.body or b"")


async def test_a_container_that_does_not_answer_the_upgrade_is_a_424(
    state_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_up = asyncio.Event()

    async def never(_: ServerConnection, __: Request) -> Response | None:
        await given_up.wait()
        return None

    async with stage(echo, state_directory, monkeypatch, never) as (server, arn):
        server.agents.limits = AgentLimits(request=0.1)
        try:
            with pytest.raises(InvalidStatus) as caught:
                async with opened(server, arn):
                    pass
        finally:
            given_up.set()
        assert caught.value.response.status_code == 424
        assert b"did not begin to answer within 0.1 s" in (caught.value.response.body or b"")


async def test_a_presigned_url_is_valid_for_its_own_time(
    state_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stage(echo, state_directory, monkeypatch) as (server, arn):
        monkeypatch.setattr(
            "bedrock_agentcore.runtime.agent_core_runtime_client.get_data_plane_endpoint", lambda _: server.url
        )
        sdk = AgentCoreRuntimeClient("us-west-2")
        tls = ssl.create_default_context(cafile=str(server.certificates.ca))

        async def answer(expires: int, age: float) -> int:
            url = sdk.generate_presigned_url(arn, session_id=SESSION, endpoint_name="DEFAULT", expires=expires)
            now = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=age)
            with monkeypatch.context() as patch:
                patch.setattr("emulator.agentcore.websocket.datetime", Clock(now))
                try:
                    async with connect(url, ssl=tls):
                        return 101
                except InvalidStatus as refused:
                    return refused.response.status_code

        assert await answer(300, 290) == 101
        assert await answer(60, 90) == 403  # the clocks may differ by more than that, the URL says less
        assert await answer(300, 310) == 403


@pytest.mark.parametrize("mode", ["log", "off"])
async def test_who_signs_nothing_is_let_in_where_signatures_are_not_enforced(
    mode: SignatureMode, state_directory: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with stage(echo, state_directory, monkeypatch, switches=Switches(signatures=mode)) as (server, arn):
        url = f"{server.http_url}/runtimes/{quote(arn, safe='')}/ws".replace("http:", "ws:")
        for options in ({}, {"additional_headers": {"Authorization": "Bearer wrong"}}):
            async with connect(url, **options) as socket:  # type: ignore[arg-type]
                await socket.send("hello")
                assert await socket.recv() == "hello"
    assert caplog.text.count("AWS would refuse the request") == (2 if mode == "log" else 0)


async def test_who_has_no_token_or_asks_without_an_upgrade_is_refused(
    state_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stage(echo, state_directory, monkeypatch) as (server, arn):
        url = f"{server.http_url}/runtimes/{quote(arn, safe='')}/ws".replace("http:", "ws:")
        for options in ({}, {"additional_headers": {"Authorization": "Bearer wrong"}}):
            with pytest.raises(InvalidStatus) as caught:
                async with connect(url, **options):  # type: ignore[arg-type]
                    pass
            assert caught.value.response.status_code == 403
        reader, writer = await asyncio.open_connection("127.0.0.1", int((server.http_url or "").rpartition(":")[2]))
        path = f"/runtimes/{quote(arn, safe='')}/ws"
        writer.write(f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n".encode())
        answer = await reader.read()
        writer.close()
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert b"expected is an upgrade" in answer
