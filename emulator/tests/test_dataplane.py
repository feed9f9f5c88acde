"""The data plane over real sockets: TLS and HTTP/2 on one side, a WebSocket on the other."""

from dataclasses import replace
from pathlib import Path

from websockets.asyncio.server import ServerConnection

from emulator.tests.client import END_OF_INPUT, event
from emulator.tests.stage import UNSIGNED, stage


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


async def test_streams_go_on_after_a_goaway_of_the_client(state_directory: Path) -> None:
    async with stage(state_directory) as on:
        stream = await on.open()
        # what JavaScript clients send right after the response headers
        await on.client.write(b"\x00\x00\x08\x07\x00\x00\x00\x00\x00" + bytes(8))
        await on.client.send(stream, event(b"after"))
        assert (await on.client.message(stream)).payload == b"after"
        await on.client.send(stream, END_OF_INPUT, end=True)
        assert await on.client.next(stream) == "END_STREAM"


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


async def test_extra_upgrade_headers(state_directory: Path) -> None:
    async with stage(state_directory, switches=replace(UNSIGNED, upgrade_headers="extra")) as on:
        await on.open()
        assert "Origin" in on.container.requests[0].headers
