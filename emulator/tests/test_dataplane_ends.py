"""How requests are refused and sessions fail: every client learns why, and other sessions go on."""

import asyncio
import json
import logging
from dataclasses import replace
from pathlib import Path

import pytest
from h2.settings import SettingCodes
from websockets.asyncio.server import ServerConnection

from emulator import Endpoint, Server, SessionTrace, TraceEntry
from emulator.sidecar import Sidecar
from emulator.tests.client import END_OF_INPUT, event
from emulator.tests.containers import container
from emulator.tests.stage import UNSIGNED, client_of, exception, serving, stage, upgraded

BAD_CRC = event(b"x")[:-1] + bytes([event(b"x")[-1] ^ 1])


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


async def test_what_fails_inside_the_emulator_at_the_very_end_ends_the_stream_with_an_error(
    state_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> bool:
        raise RuntimeError("no more ideas")

    async with stage(state_directory) as on:
        stream = await on.open()
        monkeypatch.setattr(Sidecar, "start_close", fails)
        await on.client.send(stream, END_OF_INPUT, end=True)
        async with asyncio.timeout(10):
            kind, members = exception(await on.client.next(stream))
            assert kind == "InternalStreamFailure"
            assert "RuntimeError('no more ideas')" in members["Message"]
            assert await on.client.next(stream) == "END_STREAM"


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


async def test_sessions_that_are_over_count_no_more_though_their_containers_are_slow_to_close(
    state_directory: Path,
) -> None:
    slow = asyncio.Event()

    async def deaf(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await upgraded(reader, writer)
        await slow.wait()
        writer.close()

    async with await asyncio.start_server(deaf, "127.0.0.1", 0) as listening:
        url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        async with (
            serving(url, state_directory, replace(UNSIGNED, max_streams=2)) as server,
            client_of(server) as client,
        ):
            try:
                for _ in range(5):
                    stream = await client.open()
                    assert await client.status(stream) == 200
                    await client.send(stream, END_OF_INPUT, end=True)
                    assert await client.next(stream) == "END_STREAM"
            finally:
                slow.set()


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
