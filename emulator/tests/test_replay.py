"""Replay of files that are not as a recorder writes them, and to containers that do not do their part."""

import asyncio
import base64
import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection

from emulator import Endpoint
from emulator.cli import main
from emulator.faults_cli import AdminClient
from emulator.recording import FORMAT, Recording, RecordingError
from emulator.replay import replay
from emulator.tests.client import END_OF_INPUT, event
from emulator.tests.containers import container
from emulator.tests.stage import stage, upgraded


def saved(path: Path, *frames: tuple[str, str, bytes], times: float = 0.0, **head: Any) -> Path:
    """Write a session of frames, each a direction, a type and a payload."""
    lines: list[dict[str, Any]] = [
        {"format": FORMAT, "request_id": "r", **head},
        {"hop": "container", "direction": "out", "kind": "http", "text": "GET /x", "target": "/x"},
    ]
    for number, (direction, kind, data) in enumerate(frames):
        frame = {"hop": "container", "direction": direction, "kind": "frame", "text": "a frame", "type": kind}
        lines.append({"at": times * number, **frame, "data": base64.b64encode(data).decode()})
    lines.append({"hop": "container", "direction": "out", "kind": "close", "text": "1000"})
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


async def run(path: Path, url: str) -> int:
    return await asyncio.to_thread(main, ["replay", str(path), "--target", url])


async def test_a_trace_of_the_admin_api_cannot_be_replayed_and_says_what_can(
    tmp_path: Path, state_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "trace.ndjson"
    async with stage(state_directory) as on:
        stream = await on.open()
        await on.client.send(stream, event(b"hi", "UTF8"))
        await on.client.message(stream)
        await on.client.send(stream, END_OF_INPUT, end=True)
        await on.client.next(stream)
        path.write_bytes(await admin(on.server.url, on.server.certificates.ca, "traces"))

    async def other(connection: ServerConnection) -> None:
        async for _ in connection:
            await connection.send("something else")

    async with container(other) as target:
        assert await run(path, target.url) == 2
        assert target.requests == []
    printed = capsys.readouterr()
    assert "The same" not in printed.out
    assert "A trace saved from the admin API or the inspector page has no payloads" in printed.err
    assert "'emulator up --record DIR' keeps them" in printed.err
    assert main(["show", str(path)]) == 0
    assert "TEXT 2 B 'hi'" in capsys.readouterr().out


async def admin(url: str, authority: Path, path: str) -> bytes:
    return await asyncio.to_thread(AdminClient(url, authority.parents[1]).ask, "GET", path)


async def test_a_log_that_was_too_old_to_be_kept_is_not_taken_for_a_session_without_frames(tmp_path: Path) -> None:
    recording = Recording.load(saved(tmp_path / "r.ndjson", dropped=7))
    async with container() as target:
        with pytest.raises(RecordingError, match="--record DIR"):
            await replay(recording, Endpoint(target.url))


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ({"type": "TXT"}, "type is 'TXT', expected is one of CONTINUATION, CONTINUATION FIN=0, TEXT"),
        ({"type": None}, "type is None"),
        ({"hop": "agent"}, "hop is 'agent', expected is one of client, container"),
        ({"direction": ["in"]}, "expected is one of in, out"),
        ({"at": float("nan")}, "at is nan, expected are seconds"),
        ({"at": 10**400}, "too large"),
        ({"format": "other/1"}, f"its format is 'other/1', expected is '{FORMAT}'"),
    ],
)
@pytest.mark.parametrize("command", [["show"], ["replay", "--target", "ws://127.0.0.1:9"]])
def test_an_entry_that_is_none_is_named_by_its_line(
    command: list[str], members: dict[str, Any], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved(tmp_path / "r.ndjson", ("out", "TEXT", b"one"), ("out", "TEXT", b"two"))
    lines = path.read_text().split("\n")
    lines[3] = json.dumps(json.loads(lines[3]) | members)
    path.write_text("\n".join(lines))
    assert main([*command, str(path)]) == 2
    error = capsys.readouterr().err
    assert f"{path}, line 4 is no entry of a recorded session" in error
    assert why in error


def test_a_line_that_no_reader_survives_is_named_too(tmp_path: Path) -> None:
    path = saved(tmp_path / "r.ndjson")
    path.write_text(f"{path.read_text()}{'[' * 100_000}\n")
    with pytest.raises(RecordingError, match="line 4 is no entry"):
        Recording.load(path)


async def test_frames_in_an_order_that_no_websocket_carries_are_an_error_of_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with container() as target:
        assert await run(saved(tmp_path / "r.ndjson", ("out", "CONTINUATION", b"x")), target.url) == 2
    assert "frame 1 of 1 to the container cannot be sent: unexpected continuation" in capsys.readouterr().err


async def test_a_container_that_does_not_read_is_named_after_a_while(tmp_path: Path) -> None:
    over = asyncio.Event()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await upgraded(reader, writer)  # from here on as much is read as the reader's buffer takes
        await over.wait()
        writer.transport.abort()

    recording = Recording.load(saved(tmp_path / "r.ndjson", *[("out", "BINARY", bytes(900_000))] * 20))
    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        try:
            async with asyncio.timeout(8):
                compared = await replay(recording, Endpoint(f"ws://127.0.0.1:{port}"), patience=0.5)
        finally:
            over.set()
    (difference,) = compared.differences
    assert "recorded open; replayed open, but the container did not read: frame " in difference
    assert "of 20 could not be sent within 0.5 s" in difference


async def test_a_container_that_has_ended_the_session_gets_no_more(tmp_path: Path) -> None:
    async def leave(connection: ServerConnection) -> None:
        await connection.recv()
        await connection.close(1011)

    recording = Recording.load(saved(tmp_path / "r.ndjson", *[("out", "TEXT", b"x")] * 3, times=600.0))
    async with container(leave) as target, asyncio.timeout(8):
        compared = await replay(recording, Endpoint(target.url), paced=True)
    assert compared.replayed == ["closed with 1011"]


async def test_answers_behind_a_recorded_pause_are_waited_for(tmp_path: Path) -> None:
    frames = [(direction, "TEXT", data) for data in (b"one", b"two") for direction in ("out", "in")]
    recording = Recording.load(saved(tmp_path / "r.ndjson", *frames, times=0.6))
    async with container() as target:
        assert (await replay(recording, Endpoint(target.url), paced=True, patience=0.5)).same


async def test_an_answer_that_cannot_be_printed_is_compared_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def odd(connection: ServerConnection) -> None:
        await connection.recv()
        await connection.send('{"text": "\\ud83d"}')
        await connection.send("[" * 100_000)

    path = saved(tmp_path / "r.ndjson", ("out", "TEXT", b"x"), ("in", "TEXT", b"{}"), ("in", "TEXT", b"{}"))
    async with container(odd) as target:
        assert await run(path, target.url) == 1
    printed = capsys.readouterr().out
    assert 'answer 1: recorded TEXT {}; replayed TEXT {"text": "\\ud83d"}' in printed
    assert "answer 2: recorded TEXT {}; replayed TEXT '[[[[" in printed


async def test_ctrl_c_ends_a_replay_without_a_traceback(tmp_path: Path) -> None:
    asked = asyncio.Event()

    async def silent(connection: ServerConnection) -> None:
        await connection.recv()
        asked.set()
        await connection.wait_closed()

    path = saved(tmp_path / "r.ndjson", ("out", "TEXT", b"x"), ("in", "TEXT", b"y"))
    async with container(silent) as target:
        command = [sys.executable, "-m", "emulator", "replay", str(path), "--target", target.url]
        process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
        await asked.wait()
        process.send_signal(signal.SIGINT)
        _, error = await process.communicate()
    assert (process.returncode, error) == (130, b"")
