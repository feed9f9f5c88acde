"""The data plane over real sockets: TLS and HTTP/2 on one side, a WebSocket on the other."""

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from h2.settings import SettingCodes
from websockets.asyncio.server import ServerConnection

from emulator import Endpoint, Server, SessionTrace, Switches, TraceEntry
from emulator.tests.client import END_OF_INPUT, RawClient, event
from emulator.tests.containers import Container, Handler, container, echo
from emulator.wire.eventstream import Message

UNSIGNED = Switches(signatures="off")


@dataclass
class Stage:
    """A client, the emulator and a container, connected."""

    client: RawClient
    server: Server
    container: Container

    async def open(self, **headers: str) -> int:
        stream = await self.client.open(headers=headers)
        assert await self.client.status(stream) == 200
        return stream


@contextlib.asynccontextmanager
async def stage(
    state: Path, handler: Handler = echo, switches: Switches = UNSIGNED, *, auto_credit: bool = True
) -> AsyncIterator[Stage]:
    async with (
        container(handler) as target,
        serving(target.url, state, switches) as server,
        client_of(server, auto_credit=auto_credit) as client,
    ):
        yield Stage(client, server, target)


def serving(url: str, state: Path, switches: Switches = UNSIGNED) -> Server:
    return Server({"ep": Endpoint(url)}, switches=switches, state_directory=state)


def client_of(server: Server, *, alpn: str = "h2", auto_credit: bool = True) -> RawClient:
    port = int(server.url.rsplit(":", 1)[1])
    return RawClient(port, server.certificates.ca, alpn=alpn, auto_credit=auto_credit)


def exception(message: Message | str) -> tuple[str | None, dict[str, str]]:
    assert isinstance(message, Message), message
    assert message.string(":message-type") == "exception"
    return message.string(":exception-type"), json.loads(message.payload)


async def test_headers_come_before_any_event_and_a_part_is_one_frame_each_way(state_directory: Path) -> None:
    async with stage(state_directory) as on:
        stream = await on.open()
        assert on.client.headers(stream)["x-amzn-invoked-production-variant"] == "AllTraffic"
        await on.client.send(stream, event(b'{"text": "hi"}'))
        reply = await on.client.message(stream)
        assert on.container.frames == ['BINARY b\'{"text": "hi"}\'']
        assert (reply.payload, reply.string("DataType")) == (b'{"text": "hi"}', "BINARY")
        await on.client.send(stream, event("é".encode(), "UTF8"))
        reply = await on.client.message(stream)
        assert on.container.frames[1] == f"TEXT {'é'.encode()!r}"
        assert (reply.string("DataType"), reply.string("CompletionState")) == ("UTF8", "COMPLETE")


async def test_a_run_of_partial_parts_reaches_the_container_as_fragments(state_directory: Path) -> None:
    async with stage(state_directory) as on:
        stream = await on.open()
        await on.client.send(stream, event(b"Hello ", "UTF8", "PARTIAL") + event(b"World", "UTF8", "COMPLETE"))
        assert (await on.client.message(stream)).payload == b"Hello World"
        assert on.container.frames == ["TEXT FIN=0 b'Hello '", "CONT b'World'"]


async def test_fragments_of_the_container_are_parts_of_their_own(state_directory: Path) -> None:
    async def fragments(connection: ServerConnection) -> None:
        await connection.send(["a", "b", "c"])
        await connection.wait_closed()

    async with stage(state_directory, fragments) as on:
        stream = await on.open()
        got = [await on.client.message(stream) for _ in range(4)]
        assert [message.payload for message in got] == [b"a", b"b", b"c", b""]
        assert [message.string("DataType") for message in got] == ["UTF8"] * 4
        assert [message.string("CompletionState") for message in got] == ["PARTIAL"] * 3 + ["COMPLETE"]


async def test_path_query_and_request_id_reach_the_container(state_directory: Path) -> None:
    async with stage(state_directory) as on:
        headers = {
            "x-amzn-sagemaker-model-invocation-path": "v1/listen",
            "x-amzn-sagemaker-model-query-string": "model=x",
        }
        stream = await on.open(**headers)
        (request,) = on.container.requests
        assert request.path == "/v1/listen?model=x"
        assert request.headers["X-Amzn-SageMaker-Request-Id"] == on.client.headers(stream)["x-amzn-requestid"]
        for absent in ("Origin", "Sec-WebSocket-Extensions", "Sec-WebSocket-Protocol"):
            assert absent not in request.headers


async def test_a_session_persists_over_many_messages_until_the_client_ends_it(state_directory: Path) -> None:
    async with stage(state_directory) as on:
        stream = await on.open()
        for number in range(50):
            await on.client.send(stream, event(b"%d" % number))
            assert (await on.client.message(stream)).payload == b"%d" % number
        await on.client.send(stream, END_OF_INPUT, end=True)
        assert await on.client.next(stream) == "END_STREAM"
        assert await on.container.close_seen() == (1000, "")


async def test_the_end_of_stream_alone_ends_the_input_too(state_directory: Path) -> None:
    async with stage(state_directory) as on:
        stream = await on.open()
        await on.client.send(stream, b"", end=True)
        assert await on.client.next(stream) == "END_STREAM"
        assert await on.container.close_seen() == (1000, "")


async def test_a_container_that_closes_with_1000_gives_a_clean_end_and_later_input_is_dropped(
    state_directory: Path,
) -> None:
    async def once(connection: ServerConnection) -> None:
        await connection.send(await connection.recv())

    async with stage(state_directory, once) as on:
        stream = await on.open()
        await on.client.send(stream, event(b"a"))
        assert (await on.client.message(stream)).payload == b"a"
        assert await on.client.next(stream) == "END_STREAM"
        # no RST_STREAM: the client may go on sending more than the window, and is never reset
        for _ in range(40):
            await on.client.send(stream, event(bytes(16_000)))
        await on.client.send(stream, END_OF_INPUT, end=True)
        other = await on.open()
        await on.client.send(other, event(b"b"))
        assert (await on.client.message(other)).payload == b"b"


async def test_a_close_code_becomes_a_model_stream_error_then_the_end(state_directory: Path) -> None:
    async def fail(connection: ServerConnection) -> None:
        await connection.close(1011, "out of memory")

    async with stage(state_directory, fail) as on:
        stream = await on.open()
        kind, members = exception(await on.client.next(stream))
        assert (kind, members) == ("ModelStreamError", {"Message": "out of memory", "ErrorCode": "1011"})
        assert await on.client.next(stream) == "END_STREAM"


async def test_a_dropped_connection_is_a_model_stream_error_never_a_clean_end(state_directory: Path) -> None:
    async def drop(connection: ServerConnection) -> None:
        await connection.recv()
        connection.transport.abort()

    async with stage(state_directory, drop) as on:
        stream = await on.open()
        await on.client.send(stream, event(b"x"))
        kind, members = exception(await on.client.next(stream))
        assert (kind, members["ErrorCode"]) == ("ModelStreamError", "1006")
        assert "without a Close frame" in members["Message"]
        assert await on.client.next(stream) == "END_STREAM"
        trace = on.server.data_plane.traces[-1]
        assert trace.container_eof_without_close
        assert trace.container_close is None


async def test_a_container_that_breaks_the_protocol_is_named(state_directory: Path) -> None:
    async def break_it(connection: ServerConnection) -> None:
        connection.transport.write(b"\x83\x00")  # opcode 3 is reserved
        await connection.wait_closed()

    async with stage(state_directory, break_it) as on:
        kind, members = exception(await on.client.next(await on.open()))
        assert kind == "ModelStreamError"
        assert "broke the WebSocket protocol" in members["Message"]


async def test_an_unknown_endpoint_is_400_and_the_reason_is_logged(
    state_directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with stage(state_directory) as on:
        with caplog.at_level(logging.WARNING, "emulator"):
            stream = await on.client.open("nope")
            assert await on.client.status(stream) == 400
            # frees SDK 0.4 and older, which wait for their own end of input otherwise
            assert await on.client.next(stream) == "END_STREAM"
            assert await on.client.next(stream) == "RST_STREAM 0"
        assert on.client.headers(stream)["x-amzn-errortype"] == "ValidationError"
        assert json.loads(on.client.body(stream))["Message"].startswith("Endpoint nope of account")
        assert "Endpoint nope of account" in caplog.text


async def test_an_unknown_variant_is_400(state_directory: Path) -> None:
    async with stage(state_directory) as on:
        stream = await on.client.open(headers={"x-amzn-sagemaker-target-variant": "B"})
        assert await on.client.status(stream) == 400


async def test_a_refused_upgrade_is_424_and_names_the_answer_of_the_container(state_directory: Path) -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 7\r\n\r\nno way!")
        await writer.drain()
        writer.close()

    listening = await asyncio.start_server(refuse, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    async with (
        listening,
        Server(
            {"ep": Endpoint(f"http://127.0.0.1:{port}")}, switches=UNSIGNED, state_directory=state_directory
        ) as server,
        client_of(server) as client,
    ):
        stream = await client.open()
        assert await client.status(stream) == 424
        assert client.headers(stream)["x-amzn-errortype"] == "ModelError"
        assert await client.next(stream) == "END_STREAM"
        body = json.loads(client.body(stream))
        assert "HTTP 403" in body["OriginalMessage"]
        assert "no way!" in body["OriginalMessage"]


async def test_nobody_listening_is_424(state_directory: Path) -> None:
    async with (
        serving("http://127.0.0.1:9", state_directory) as server,
        client_of(server) as client,
    ):
        stream = await client.open()
        assert await client.status(stream) == 424
        await client.next(stream)
        assert "nothing accepts connections" in json.loads(client.body(stream))["OriginalMessage"]


async def test_a_container_that_never_answers_the_upgrade_is_424_within_the_timeout(state_directory: Path) -> None:
    left = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        left.set()
        writer.close()

    listening = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    switches = replace(UNSIGNED, accept_timeout=0.05)
    async with (
        listening,
        serving(f"http://127.0.0.1:{port}", state_directory, switches) as server,
        client_of(server) as client,
    ):
        stream = await client.open()
        assert await client.status(stream) == 424
        async with asyncio.timeout(5):
            await left.wait()


BAD_CRC = event(b"x")[:-1] + bytes([event(b"x")[-1] ^ 1])


@pytest.mark.parametrize(
    ("raw", "end", "kind", "text"),
    [
        (BAD_CRC, False, "InternalStreamFailure", "CRC-32"),
        (b"not an event stream at all", False, "InternalStreamFailure", "prelude"),
        (event(b"x")[:40], True, "InternalStreamFailure", "the input ended inside"),
        (event(b"x", "TEXT"), False, "ModelStreamError", "allowed is UTF8 or BINARY"),
    ],
)
async def test_a_broken_event_stream_ends_its_own_session_in_order_and_no_other(
    state_directory: Path, raw: bytes, end: bool, kind: str, text: str
) -> None:
    async with stage(state_directory) as on:
        good, bad = await on.open(), await on.open()
        await on.client.send(bad, raw, end=end)
        got, members = exception(await on.client.next(bad))
        assert got == kind
        assert text in members["Message"]
        assert await on.client.next(bad) == "END_STREAM"
        assert (await on.container.close_seen())[0] == 1000
        await on.client.send(good, event(b"still here"))
        assert (await on.client.message(good)).payload == b"still here"


async def test_a_client_that_breaks_http2_is_told_and_other_connections_go_on(state_directory: Path) -> None:
    async with stage(state_directory) as on, client_of(on.server) as bad:
        good = await on.open()
        doomed = await bad.open()
        assert await bad.status(doomed) == 200
        await bad.write(b"\x00\x00\x04\x00\x00\x00\x00\x00\x63oops")  # DATA on a stream that was never opened
        async with asyncio.timeout(5):
            assert await bad.goaway == 1  # PROTOCOL_ERROR
            await bad.closed.wait()
        assert (await on.container.close_seen())[0] == 1000
        await on.client.send(good, event(b"still here"))
        assert (await on.client.message(good)).payload == b"still here"


async def test_a_reset_by_the_client_closes_the_container(state_directory: Path) -> None:
    async with stage(state_directory) as on:
        stream = await on.open()
        on.client.h2.reset_stream(stream, 8)
        await on.client.flush()
        assert (await on.container.close_seen())[0] == 1000


async def test_a_lost_client_connection_closes_the_container_even_while_it_floods(state_directory: Path) -> None:
    async def flood(connection: ServerConnection) -> None:
        while True:
            await connection.send(bytes(60_000))

    async with stage(state_directory, flood, auto_credit=False) as on:
        await on.open()
        on.client.writer.transport.abort()
        assert (await on.container.close_seen())[0] == 1000


async def test_streams_go_on_after_a_goaway_of_the_client(state_directory: Path) -> None:
    async with stage(state_directory) as on:
        stream = await on.open()
        # what JavaScript clients send right after the response headers
        await on.client.write(b"\x00\x00\x08\x07\x00\x00\x00\x00\x00" + bytes(8))
        await on.client.send(stream, event(b"after"))
        assert (await on.client.message(stream)).payload == b"after"
        await on.client.send(stream, END_OF_INPUT, end=True)
        assert await on.client.next(stream) == "END_STREAM"


async def test_a_container_that_does_not_read_slows_the_client_down(state_directory: Path) -> None:
    wake = asyncio.Event()

    async def sleepy(connection: ServerConnection) -> None:
        await wake.wait()
        async for message in connection:
            await connection.send(str(len(message)))

    async with stage(state_directory, sleepy, replace(UNSIGNED, window=65_535)) as on:
        stream = await on.open()
        chunk, sent = event(bytes(8_000)), 0
        # the kernel's socket buffers take some megabytes before anybody feels anything
        async with asyncio.timeout(20):
            while sent < 4000:
                if not await on.client.window(stream, len(chunk), patience=0.5):
                    break
                await on.client.send(stream, chunk)
                sent += 1
        assert sent < 4000, "32 MB were taken from the client although the container read nothing"
        wake.set()
        for _ in range(sent):
            assert (await on.client.message(stream)).payload == b"8000"


async def test_a_client_that_gives_no_window_slows_the_container_down(state_directory: Path) -> None:
    progress: list[int] = []
    stalled = asyncio.Event()

    async def eager(connection: ServerConnection) -> None:
        for number in range(1000):
            progress.append(number)
            try:
                async with asyncio.timeout(0.5):
                    await connection.send(bytes(64_000))
            except TimeoutError:
                stalled.set()
                return

    async with stage(state_directory, eager, auto_credit=False) as on:
        await on.open()
        async with asyncio.timeout(20):
            await stalled.wait()
        assert len(progress) < 1000


async def test_pings_of_the_container_are_answered(state_directory: Path) -> None:
    answered = asyncio.Event()

    async def pinging(connection: ServerConnection) -> None:
        await (await connection.ping(b"are you there"))
        answered.set()
        await connection.wait_closed()

    async with stage(state_directory, pinging) as on:
        await on.open()
        async with asyncio.timeout(5):
            await answered.wait()


async def test_a_container_that_answers_its_pings_is_not_cut(state_directory: Path) -> None:
    async with container() as target:
        pongs = asyncio.Queue[str]()
        server = Server(
            {"ep": Endpoint(target.url)},
            switches=replace(UNSIGNED, ping_interval=0.02, ping_misses=2),
            state_directory=state_directory,
            listener=lambda _, entry: pongs.put_nowait(entry.text) if entry.kind == "pong" else None,
        )
        async with server, client_of(server) as client:
            stream = await client.open()
            async with asyncio.timeout(5):
                assert [await pongs.get() for _ in range(6)] == ["1", "2", "3", "4", "5", "6"]
            await client.send(stream, event(b"still here"))
            assert (await client.message(stream)).payload == b"still here"


async def test_a_container_that_answers_no_ping_is_cut_with_an_error(state_directory: Path) -> None:
    async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from websockets.http11 import Request  # noqa: PLC0415
        from websockets.server import ServerProtocol  # noqa: PLC0415

        protocol = ServerProtocol()
        protocol.receive_data(await reader.readuntil(b"\r\n\r\n"))
        (request,) = protocol.events_received()
        assert isinstance(request, Request)
        protocol.send_response(protocol.accept(request))
        writer.writelines(protocol.data_to_send())
        await reader.read()
        writer.close()

    listening = await asyncio.start_server(mute, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    switches = replace(UNSIGNED, ping_interval=0.02, ping_misses=5, close_timeout=0.1)
    async with (
        listening,
        serving(f"http://127.0.0.1:{port}", state_directory, switches) as server,
        client_of(server) as client,
    ):
        stream = await client.open()
        assert await client.status(stream) == 200
        kind, members = exception(await client.next(stream))
        assert (kind, members["ErrorCode"]) == ("ModelStreamError", "PingTimeout")
        pings = [entry for entry in server.data_plane.traces[-1].entries if entry.kind == "ping"]
        assert len(pings) == 5


async def test_a_message_over_the_limit_is_an_error_with_a_reason(state_directory: Path) -> None:
    async def big(connection: ServerConnection) -> None:
        await connection.send(bytes(2000))
        await connection.wait_closed()

    async with stage(state_directory, big, replace(UNSIGNED, max_part_bytes=1000)) as on:
        kind, members = exception(await on.client.next(await on.open()))
        assert (kind, members["ErrorCode"]) == ("ModelStreamError", "1006")
        assert (await on.container.close_seen())[0] == 1009


async def test_sessions_that_are_open_when_the_emulator_stops_end_with_an_exception(state_directory: Path) -> None:
    async with container() as target:
        server = serving(target.url, state_directory)
        await server.__aenter__()
        async with client_of(server) as client:
            stream = await client.open()
            assert await client.status(stream) == 200
            await server.__aexit__(None, None, None)
            kind, members = exception(await client.next(stream))
            assert kind == "InternalStreamFailure"
            assert "emulator was stopped" in members["Message"]
            assert await client.next(stream) == "END_STREAM"
            assert await target.close_seen() == (1001, "")


async def test_a_client_that_speaks_http1_is_told_what_to_do(state_directory: Path) -> None:
    async with (
        container() as target,
        serving(target.url, state_directory) as server,
    ):
        client = client_of(server, alpn="http/1.1")
        reader, writer = await asyncio.open_connection("127.0.0.1", client.port, ssl=client.context)
        writer.write(
            b"POST /endpoints/ep/invocations-bidirectional-stream HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n"
        )
        async with asyncio.timeout(5):
            answer = await reader.read()
        writer.close()
        assert answer.startswith(b"HTTP/1.1 505 ")
        assert b"transport=AWSCRTHTTPClient()" in answer


async def test_the_wire_log_tells_the_whole_story(state_directory: Path) -> None:
    async with stage(state_directory) as on:
        stream = await on.open()
        await on.client.send(stream, event(b"hi"))
        await on.client.message(stream)
        await on.client.send(stream, END_OF_INPUT, end=True)
        await on.client.next(stream)
        await on.container.close_seen()
        (trace,) = on.server.data_plane.traces
        assert trace.request_id == on.client.headers(stream)["x-amzn-requestid"]
        told = [line.split("  ", 2)[2] if line[0].isspace() else line for line in trace.lines()]
        text = "\n".join(told)
        for expected in (
            "client    → SageMaker  part      no DataType, 2 B 'hi'",
            "SageMaker → container  frame     BINARY 2 B 'hi'",
            "SageMaker ← container  frame     BINARY 2 B 'hi'",
            "client    ← SageMaker  part      BINARY, COMPLETE",
            "SageMaker → container  close     1000",
            "client    ← SageMaker  end       END_STREAM",
        ):
            assert expected in text


async def test_a_session_ends_at_the_limit_of_its_duration(state_directory: Path) -> None:
    async with stage(state_directory, switches=replace(UNSIGNED, max_duration=0.05)) as on:
        kind, members = exception(await on.client.next(await on.open()))
        assert (kind, members["ErrorCode"]) == ("ModelStreamError", "SessionLimit")
        assert "reached its limit of 0.05 s" in members["Message"]
        assert await on.container.close_seen() == (1000, "")


async def test_a_reset_at_the_limit_is_a_reset(state_directory: Path) -> None:
    switches = replace(UNSIGNED, max_duration=0.05, max_duration_end="reset")
    async with stage(state_directory, switches=switches) as on:
        assert await on.client.next(await on.open()) == "RST_STREAM 2"


async def test_an_answer_in_the_grace_after_the_end_of_input_still_arrives(state_directory: Path) -> None:
    async with stage(state_directory, switches=replace(UNSIGNED, client_end_grace=0.2)) as on:
        stream = await on.open()
        await on.client.send(stream, event(b"last words") + END_OF_INPUT, end=True)
        assert (await on.client.message(stream)).payload == b"last words"
        assert await on.client.next(stream) == "END_STREAM"
        assert await on.container.close_seen() == (1000, "")


async def test_a_vanished_client_can_be_a_mere_disconnect(state_directory: Path) -> None:
    async with stage(state_directory, switches=replace(UNSIGNED, client_drop="disconnect")) as on:
        await on.open()
        on.client.writer.transport.abort()
        assert (await on.container.close_seen())[0] == 1006


async def test_switched_answers_before_the_stream(state_directory: Path) -> None:
    switches = replace(UNSIGNED, missing_endpoint="404", request_id_header="x-request", model_error_detail="absent")
    async with serving("http://127.0.0.1:9", state_directory, switches) as server, client_of(server) as client:
        missing = await client.open("nope")
        assert await client.status(missing) == 404
        assert "x-request" in client.headers(missing)
        refused = await client.open()
        assert await client.status(refused) == 424
        await client.next(refused)
        assert "OriginalMessage" not in json.loads(client.body(refused))


async def test_extra_upgrade_headers(state_directory: Path) -> None:
    async with stage(state_directory, switches=replace(UNSIGNED, upgrade_headers="extra")) as on:
        await on.open()
        assert "Origin" in on.container.requests[0].headers


async def test_sessions_of_one_connection_share_its_window_fairly(state_directory: Path) -> None:
    async def flood_or_echo(connection: ServerConnection) -> None:
        if await connection.recv() == b"flood":
            while True:
                await connection.send(bytes(60_000))
        async for message in connection:
            await connection.send(message)

    async with stage(state_directory, flood_or_echo) as on:
        floods = [await on.open() for _ in range(3)]
        last = await on.open()
        for stream in floods:
            await on.client.send(stream, event(b"flood"))
            await on.client.message(stream)
        await on.client.send(last, event(b"echo"))
        for number in range(20):
            await on.client.send(last, event(b"%d" % number))
            assert (await on.client.message(last)).payload == b"%d" % number
        counts = [on.client.received(stream) for stream in floods]
        assert min(counts) > max(counts) / 3


@pytest.mark.parametrize("url", ["http://a..b:8080", "http://[::1]:9", f"http://{'x' * 70}:8080"])
async def test_a_container_whose_address_cannot_be_dialled_is_424(state_directory: Path, url: str) -> None:
    async with serving(url, state_directory) as server, client_of(server) as client:
        assert await client.status(await client.open()) == 424


async def test_a_listener_that_fails_does_not_break_sessions(
    state_directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_: SessionTrace, entry: TraceEntry) -> None:
        if entry.kind == "frame":
            raise OSError(28, "No space left on device")

    async with container() as target:
        server = Server(
            {"ep": Endpoint(target.url)}, switches=UNSIGNED, state_directory=state_directory, listener=broken
        )
        async with server, client_of(server) as client:
            stream = await client.open()
            for data in (b"one", b"two"):
                await client.send(stream, event(data))
                assert (await client.message(stream)).payload == data
    assert caplog.text.count("its listener failed") == 1


async def test_a_stream_too_many_is_refused_alone(state_directory: Path) -> None:
    async with stage(state_directory, switches=replace(UNSIGNED, max_streams=2)) as on:
        first, _ = await on.open(), await on.open()
        # as a client does that has not read the SETTINGS yet
        on.client.h2.remote_settings[SettingCodes.MAX_CONCURRENT_STREAMS] = 100
        on.client.h2.remote_settings.acknowledge()
        third = await on.client.open()
        assert await on.client.next(third) == "RST_STREAM 7"  # REFUSED_STREAM
        await on.client.send(first, event(b"still here"))
        assert (await on.client.message(first)).payload == b"still here"


async def test_a_failure_behind_unread_audio_is_no_clean_end_for_a_client_that_ends_its_input(
    state_directory: Path,
) -> None:
    async def dies(connection: ServerConnection) -> None:
        for _ in range(20):
            await connection.send(bytes(10_000))
        await connection.close(1011, "model died")

    async with stage(state_directory, dies, auto_credit=False) as on:
        stream = await on.open()
        assert (await on.container.close_seen())[0] == 1011
        await on.client.send(stream, END_OF_INPUT, end=True)
        await on.client.credit()
        got = [await on.client.next(stream)]
        while got[-1] != "END_STREAM":
            got.append(await on.client.next(stream))
        assert exception(got[-2]) == ("ModelStreamError", {"Message": "model died", "ErrorCode": "1011"})


async def test_a_stop_while_a_container_is_dialled_is_an_answer(state_directory: Path) -> None:
    dialled = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        dialled.set()
        await reader.read()
        writer.close()

    listening = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    async with listening:
        server = serving(f"http://127.0.0.1:{port}", state_directory, replace(UNSIGNED, accept_timeout=3600))
        await server.__aenter__()
        async with client_of(server) as client:
            stream = await client.open()
            await dialled.wait()
            async with asyncio.timeout(5):
                await server.__aexit__(None, None, None)
            assert await client.status(stream) == 503
            assert client.headers(stream)["x-amzn-errortype"] == "ServiceUnavailableError"
