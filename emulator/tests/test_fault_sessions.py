"""Every fault by what a client and a container see of it, over real sockets."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection

from emulator import CloseFault, Emulator, Endpoint, Faults, Server
from emulator.tests.client import END_OF_INPUT, event
from emulator.tests.containers import container, echo
from emulator.tests.faulty import UNSIGNED, client_of, closed, descriptors, stage, works
from emulator.wire.eventstream import Message

# --- frames, client to container ---


@pytest.mark.parametrize(
    ("fault", "came", "seen"), [("omit", "UTF8", "BINARY"), ("UTF8", None, "TEXT"), ("BINARY", "UTF8", "BINARY")]
)
async def test_data_type(state_directory: Path, fault: Any, came: str | None, seen: str) -> None:
    async with stage(state_directory, Faults(data_type=fault)) as on:
        stream = await on.open()
        await on.client.send(stream, event(b"hi", came))
        assert (await on.client.message(stream)).string("DataType") == ("UTF8" if seen == "TEXT" else "BINARY")
        assert on.container.frames == [f"{seen} b'hi'"]
        on.noted(f"data_type={fault}")


async def test_never_complete_gives_the_container_no_whole_message(state_directory: Path) -> None:
    async with stage(state_directory, Faults(never_complete="run")) as on:
        stream = await on.open()
        await on.client.send(stream, event(b"whole"))
        assert (await on.client.message(stream)).payload == b"whole"
        await on.client.send(stream, event(b"a", "UTF8", "PARTIAL") + event(b"b", "UTF8") + event(b"c") + END_OF_INPUT)
        assert await on.rest(stream) == ["END_STREAM"]
        assert (await on.container.close_seen())[0] == 1000
        assert on.container.frames[1:4] == ["TEXT FIN=0 b'a'", "CONT FIN=0 b'b'", "CONT FIN=0 b'c'"]
        on.noted("never_complete=run")


@pytest.mark.parametrize(
    ("faults", "frames", "answers"),
    [
        (Faults(empty_frame=2), ["TEXT b'one'", "TEXT b''", "TEXT b'two'"], ["one", "", "two"]),
        (Faults(split=2), ["TEXT b'one'", "TEXT b't", "TEXT b"], ["one", "t", ""]),
        (Faults(merge=1), ["TEXT b'onetwo'"], ["onetwo"]),
    ],
)
async def test_frames_are_no_longer_one_to_one(
    state_directory: Path, faults: Faults, frames: list[str], answers: list[str]
) -> None:
    async with stage(state_directory, faults) as on:
        stream = await on.open()
        await on.client.send(stream, event(b"one", "UTF8") + event(b"two", "UTF8"))
        got = [(await on.client.message(stream)).payload.decode() for _ in answers]
        assert len(on.container.frames) == len(frames)
        for seen, expected in zip(on.container.frames, frames, strict=True):
            assert seen.startswith(expected)
        assert "".join(got) == "onetwo"
        on.noted(str(faults))


async def test_invalid_utf8_makes_the_container_close_with_1007(state_directory: Path) -> None:
    async with stage(state_directory, Faults(invalid_utf8=1)) as on:
        stream = await on.open()
        await on.client.send(stream, event(b"text", "UTF8"))
        message = await on.client.message(stream)
        assert json.loads(message.payload)["ErrorCode"] == "1007"
        assert "\\xff" in on.container.frames[0]
        on.noted("invalid_utf8=1")


# --- parts, container to client ---


@pytest.mark.parametrize(
    ("faults", "answers"),
    [
        (Faults(drop_part=2), ["1", "3", "END_STREAM"]),
        (Faults(duplicate_part=2), ["1", "2", "2", "3", "END_STREAM"]),
        (Faults(corrupt_crc=3), ["1", "2", "wrong CRC", "END_STREAM"]),
    ],
)
async def test_parts_are_lost_doubled_or_damaged(state_directory: Path, faults: Faults, answers: list[str]) -> None:
    async def count(connection: ServerConnection) -> None:
        async for message in connection:
            if message == "fresh":
                await connection.send(message)
                continue
            for number in "123":
                await connection.send(number)
            return

    async with stage(state_directory, faults, count) as on:
        stream = await on.open()
        await on.client.send(stream, event(b"go"))
        assert await on.rest(stream) == answers
        on.noted(str(faults))


# --- before the stream ---


async def test_throttle_is_the_answer_that_was_seen_on_aws(state_directory: Path) -> None:
    async with stage(state_directory, Faults(throttle=True)) as on:
        stream = await on.client.open()
        assert await on.client.status(stream) == 400
        assert await on.client.next(stream) == "END_STREAM"
        assert on.client.headers(stream)["x-amzn-errortype"] == "ThrottlingException"
        assert on.client.body(stream) == b'{"message":null}'
        assert on.container.requests == []
        on.noted("throttle")


async def test_refuse_upgrade_does_not_dial(state_directory: Path) -> None:
    async with stage(state_directory, Faults(refuse_upgrade=True)) as on:
        stream = await on.client.open()
        assert await on.client.status(stream) == 424
        await on.client.next(stream)
        assert "fault on demand: refuse_upgrade" in json.loads(on.client.body(stream))["OriginalMessage"]
        assert on.container.requests == []
        on.noted("refuse_upgrade")


async def test_accept_delay(state_directory: Path) -> None:
    async with stage(state_directory, Faults(accept_delay=0.3)) as on:
        await on.open()
        told = [entry.text for entry in on.server.data_plane.traces[0].entries]
        (accepted,) = [text for text in told if text.startswith("101 after")]
        assert 300 <= int(accepted.split()[2]) < 3000
        assert any("slower than the documented 250 ms" in text for text in told)
        on.noted("accept_delay=0.3")


async def test_an_accept_delay_beyond_the_limit_is_a_424(state_directory: Path) -> None:
    async with stage(state_directory, Faults(accept_delay=3600), echo, replace(UNSIGNED, accept_timeout=0.5)) as on:
        stream = await on.client.open()
        assert await on.client.status(stream) == 424
        await on.client.next(stream)
        assert "within 0.5 s (accept_delay)" in json.loads(on.client.body(stream))["OriginalMessage"]
        assert on.container.requests == []


# --- pings ---


async def test_withheld_pongs_leave_the_containers_pings_unanswered(state_directory: Path) -> None:
    async def ask(connection: ServerConnection) -> None:
        answered = await connection.ping(b"there?")
        assert isinstance(answered, asyncio.Future)
        async for message in connection:
            # whatever was sent before this message has come before it
            await connection.send("answered" if answered.done() and message != "fresh" else message)

    async with stage(state_directory, Faults(withhold_pongs="sent"), ask) as on:
        stream = await on.open()
        await on.entry("ping", b"there?".hex())
        await on.client.send(stream, event(b"unanswered", "UTF8"))
        assert (await on.client.message(stream)).payload == b"unanswered"
        assert "PONG b'there?'" not in on.container.frames
        on.noted("withhold_pongs")


async def test_pongs_that_do_not_count_lead_to_the_cut(state_directory: Path) -> None:
    switches = replace(UNSIGNED, ping_interval=0.02, ping_misses=3)
    async with stage(state_directory, Faults(withhold_pongs="received"), echo, switches) as on:
        stream = await on.open()
        message = await on.client.message(stream)
        assert json.loads(message.payload)["ErrorCode"] == "PingTimeout"
        assert await on.client.next(stream) == "END_STREAM"
        assert (await on.container.close_seen())[0] == 1000
        kinds = [entry.kind for entry in on.server.data_plane.traces[0].entries]
        assert kinds.count("pong") >= 2  # the container did answer
        on.noted("withhold_pongs")


async def test_ping_storm(state_directory: Path) -> None:
    async with stage(state_directory, Faults(ping_storm=0.005)) as on:
        stream = await on.open()
        for number in range(1, 6):
            await on.entry("pong", f"storm {number}")
        assert [frame for frame in on.container.frames if "storm" in frame][:2] == [
            "PING b'storm 1'",
            "PING b'storm 2'",
        ]
        await on.client.send(stream, event(b"still here"))
        assert (await on.client.message(stream)).payload == b"still here"
        on.noted("ping_storm=0.005")


# --- ends ---


async def test_close(state_directory: Path) -> None:
    async with stage(state_directory, Faults(close=CloseFault(1012, "maintenance", 2))) as on:
        stream = await on.open()
        await on.client.send(stream, event(b"one"))
        assert (await on.client.message(stream)).payload == b"one"
        await on.client.send(stream, event(b"two") + event(b"three") + END_OF_INPUT)
        assert await on.rest(stream) == ["InternalStreamFailure", "END_STREAM"]
        assert await on.container.close_seen() == (1012, "maintenance")
        assert on.container.frames[:2] == ["BINARY b'one'", "BINARY b'two'"]
        assert not [frame for frame in on.container.frames if "three" in frame]
        on.noted("close=1012")


async def test_close_before_the_first_part(state_directory: Path) -> None:
    async with stage(state_directory, Faults(close=CloseFault(3000))) as on:
        assert await on.rest(await on.open()) == ["InternalStreamFailure", "END_STREAM"]
        assert await on.container.close_seen() == (3000, "")


async def test_cut_after_is_the_end_of_the_longest_duration(state_directory: Path) -> None:
    async with stage(state_directory, Faults(cut_after=0.02)) as on:
        message = await on.client.message(await on.open())
        members = json.loads(message.payload)
        assert members["ErrorCode"] == "SessionLimit"
        assert "limit of 1800 s" in members["Message"]
        assert await on.container.close_seen() == (1000, "")
        on.noted("cut_after=0.02")


async def test_reset_after(state_directory: Path) -> None:
    async with stage(state_directory, Faults(reset_after=2)) as on:
        stream = await on.open()
        await on.client.send(stream, event(b"1") + event(b"2") + event(b"3"))
        assert await on.rest(stream) == ["1", "2", "RST_STREAM 2"]
        assert (await on.container.close_seen())[0] == 1000
        on.noted("reset_after=2")


async def test_drop_client_takes_the_whole_connection(state_directory: Path) -> None:
    async with stage(state_directory, Faults(drop_client=2)) as on:
        stream, other = await on.open(), await on.open()
        await on.client.send(stream, event(b"1"))
        assert (await on.client.message(stream)).payload == b"1"
        await on.client.send(stream, event(b"2"))
        assert (await on.rest(stream))[-1] == "TCP reset"
        assert await on.rest(other) == ["TCP reset"]
        assert [(await on.container.close_seen())[0] for _ in range(2)] == [1000, 1000]
        on.noted("drop_client=2")


# --- pace ---


@pytest.mark.parametrize("direction", ["to-container", "to-client"])
async def test_bandwidth_and_jitter_slow_one_direction(state_directory: Path, direction: Any) -> None:
    faults = Faults(bandwidth=20_000, jitter=0.01, direction=direction)
    async with stage(state_directory, faults) as on:
        stream = await on.open()
        for number in range(6):
            await on.client.send(stream, event(b"%d" % number + bytes(999)))
        for number in range(6):
            assert (await on.client.message(stream)).payload.startswith(b"%d" % number)
        log = on.server.data_plane.traces[0].entries
        to_container = [entry.at for entry in log if (entry.kind, entry.direction) == ("frame", "out")]
        to_client = [entry.at for entry in log if (entry.kind, entry.hop, entry.direction) == ("part", "client", "out")]
        first, last = to_container[0], (to_client if direction == "to-client" else to_container)[-1]
        assert last - first >= 0.2  # 6000 B take 0.3 s, the first 1000 of them before the first frame
        on.noted("bandwidth=20000,jitter=0.01")


@pytest.mark.parametrize("direction", ["to-container", "to-client"])
async def test_a_client_that_leaves_a_stalled_session_frees_the_container(
    state_directory: Path, direction: Any
) -> None:
    begun = asyncio.Event()

    async def send_much(connection: ServerConnection) -> None:
        if not begun.is_set():
            await connection.send(bytes(8_000))
            begun.set()
        await echo(connection)

    async with stage(state_directory, Faults(bandwidth=1, direction=direction), send_much) as on:
        stream = await on.open()
        await on.client.send(stream, event(bytes(8_000)))
        await begun.wait()
        on.client.writer.transport.abort()
        assert (await on.container.close_seen())[0] == 1000


async def test_a_stalled_session_does_not_hold_up_the_end_of_the_emulator(state_directory: Path) -> None:
    async with container() as target:
        server = Server(
            {"ep": Endpoint(target.url)}, switches=UNSIGNED, state_directory=state_directory, faults=Faults(bandwidth=1)
        )
        await server.__aenter__()
        async with client_of(server, server.certificates.ca) as client:
            stream = await client.open()
            assert await client.status(stream) == 200
            await client.send(stream, event(bytes(8_000)))
            async with asyncio.timeout(3):
                await server.__aexit__(None, None, None)
            message = await client.next(stream)
            assert isinstance(message, Message)
            assert message.string(":exception-type") == "InternalStreamFailure"


# --- who gets them ---


async def test_new_sessions_take_what_is_set_and_open_ones_keep_what_they_have(state_directory: Path) -> None:
    async with stage(state_directory, Faults()) as on:
        before = await on.open()
        on.server.faults.set(Faults(drop_part=1), "ep")
        after = await on.open()
        on.server.faults.set(None, "ep")
        for stream in (before, after):
            await on.client.send(stream, event(b"1") + event(b"2"))
        assert (await on.client.message(before)).payload == b"1"
        assert (await on.client.message(after)).payload == b"2"


async def test_an_emulator_is_faulty_for_a_while(state_directory: Path) -> None:
    async with container() as target:
        emulator = Emulator(
            {"ep": Endpoint(target.url)},
            switches=UNSIGNED,
            state_directory=state_directory,
            faults=Faults(refuse_upgrade=True),
        )
        ca = state_directory / "ca" / "ca.pem"
        with emulator:
            files = descriptors()

            async def status() -> int:
                async with client_of(emulator, ca) as client:
                    return await client.status(await client.open())

            assert await status() == 424
            with emulator.faulty(Faults(throttle=True)):
                assert await status() == 400
            assert await status() == 424
            with emulator.faulty(Faults(), endpoint="ep"):
                async with client_of(emulator, ca) as client:
                    await works(client)
            emulator.set_faults(None)
            async with client_of(emulator, ca) as client:
                await works(client)
            await closed(files)
