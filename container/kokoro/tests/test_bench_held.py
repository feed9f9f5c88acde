"""What the measurements hold a server to: first audio and underruns, pings, memory, peers; and what they say of it."""

import itertools
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import httpx
import pytest
from websockets.asyncio.server import ServerConnection, serve

from container.kokoro.bench import __main__ as bench
from container.kokoro.bench import client, leaks, load, ping
from container.kokoro.bench.client import Heard
from container.kokoro.bench.servers import NAIVE, OURS, Kind, Running
from container.kokoro.settings import Settings
from container.kokoro.tests import conftest
from container.kokoro.tests.benches import result, start_fakes

PAGE = Path(__file__).parents[3] / "docs" / "kokoro.md"


@pytest.fixture(autouse=True)
def fake_servers(monkeypatch: pytest.MonkeyPatch) -> list[Kind]:
    return start_fakes(monkeypatch)


def heard_as(monkeypatch: pytest.MonkeyPatch, answers: Iterator[Heard]) -> None:
    """Let `tts` hear these, the three servers in turn; the first three warm up."""

    async def speak(*_: object) -> Heard:
        return next(answers)

    monkeypatch.setattr(client, "speak", speak)


def test_time_to_first_audio(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    fake_servers: list[Kind],
) -> None:
    # on a clock that goes on by a millisecond with each frame no busy machine makes a player run dry
    milliseconds = map(float, itertools.count(1))
    monkeypatch.setattr(client, "speak", partial(client.speak, clock=lambda: next(milliseconds) / 1000))
    picture = tmp_path / "tts.svg"
    found = result(tmp_path, "tts", "--runs", "2", "--plot", str(picture))
    printed = capsys.readouterr().out
    for words in ("whole text", "first sentence", "first clause", "329", "157", "not measured", "fingerprint"):
        assert words in printed
    assert [len(answers) for answers in found["raw"]["answers"].values()] == [2, 2, 2]
    assert picture.read_text(encoding="utf-8").startswith("<svg")
    assert len(fake_servers) == 3


def test_only_the_shape_of_the_servers_differs(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    fake_servers: list[Kind],
) -> None:
    heard_as(monkeypatch, itertools.repeat(Heard(0.1, 1.0, 10.0, 0.0)))
    result(tmp_path, "tts", "--runs", "1")
    whole, sentence, clause = fake_servers
    assert whole.command == NAIVE.command
    # nothing that the engine reads
    assert [kind.environment for kind in (whole, sentence, clause)] == [{}, {"KOKORO_FIRST_CLAUSE": "off"}, {}]
    own = "whole text: none; first sentence: KOKORO_FIRST_CLAUSE=off; first clause: none. All else, the settings"
    assert own in capsys.readouterr().out


async def test_a_player_that_runs_dry_is_noticed() -> None:
    tenth = bytes(client.BYTES_A_SECOND // 10)

    async def two_pieces(connection: ServerConnection) -> None:
        await connection.recv()
        for frame in (tenth, tenth, json.dumps({"type": "synthesis_complete"})):
            await connection.send(frame)

    async with serve(two_pieces, "127.0.0.1", 0) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        async with client.session(f"127.0.0.1:{port}") as connection:
            # asked at 10, the second piece comes 1.4 s after the first one has been played
            times = iter([10.0, 10.5, 12.0, 12.2])
            heard = await client.speak(connection, "Two pieces.", clock=lambda: next(times))
    assert [heard.first_s, heard.total_s, heard.audio_s, heard.dry_s] == pytest.approx([0.5, 2.2, 0.2, 1.4])


async def test_an_answer_is_heard_to_its_end() -> None:
    with conftest.serve(Settings()) as served:
        async with client.session(f"127.0.0.1:{served.port}") as connection:
            heard = await client.speak(connection, client.TEXT)
            assert heard.audio_s > 10
            assert 0 < heard.first_s <= heard.total_s
            with pytest.raises(RuntimeError, match="text_required"):
                await client.speak(connection, "")


FLUENT, DRY, SLOW = Heard(0.1, 5.0, 10.0, 0.0), Heard(0.1, 5.0, 10.0, 0.25), Heard(0.1, 11.0, 10.0, 0.5)


@pytest.mark.parametrize(
    ("third", "shown", "failed"),
    [
        (FLUENT, [0.0, 0], None),
        (DRY, [250.0, 1], "a player ran dry although speech was faster than real time (%s: 1 of 3 runs, up to 250 ms)"),
        # an engine that is slower than speech can't help it
        (SLOW, [500.0, 1], None),
    ],
)
@pytest.mark.parametrize("mode", [1, 2])
def test_one_underrun_of_many_runs_is_a_failure(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    mode: int,
    third: Heard,
    shown: list[float],
    failed: str | None,
) -> None:
    answers = [FLUENT] * 12
    answers[9 + mode] = third
    heard_as(monkeypatch, iter(answers))
    found = result(tmp_path, "tts", "--runs", "3", code=1 if failed else 0)
    rows = {row[1]: row for row in found["rows"] if row[0] == "here, onnx"}
    name = ("whole text", "first sentence", "first clause")[mode]
    columns = [found["columns"].index(column) for column in ("dry ms, most", "runs dry")]
    assert {row: [cells[at] for at in columns] for row, cells in rows.items()} == {
        "whole text": [0.0, 0], "first sentence": [0.0, 0], "first clause": [0.0, 0], name: shown,
    }  # fmt: skip
    assert found["failed"] == (failed % name if failed else None)
    assert ("failed: a player ran dry" in capsys.readouterr().err) is bool(failed)


def test_pings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ping, "LIMIT_MS", 60_000)  # how fast this machine is says nothing here
    found = result(tmp_path, "ping", "--seconds", "0.2")
    assert [row[:2] for row in found["rows"][:4]] == [
        ["GET /ping", "idle"], ["WebSocket Pong", "idle"], ["GET /ping", "busy"], ["WebSocket Pong", "busy"],
    ]  # fmt: skip
    assert "it has to be below 60000 ms" in found["notes"][-1]


def test_a_ping_that_takes_too_long_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ping, "LIMIT_MS", 0)
    found = result(tmp_path, "ping", "--seconds", "0.1", code=1)
    assert found["failed"].startswith("p99 while busy is ")
    assert "it has to be below 0 ms" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("megabytes", "failed"),
    [(124.9, None), (125.2, "memory grew by 25.2% since the start, by more than 25%"), (None, None)],
)
def test_memory_that_grows_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, megabytes: float | None, failed: str | None
) -> None:
    """Of a server that had 100 MB, and is asked after some malformed bodies; None: one that tells no memory."""
    memory = [0.0 if megabytes is None else 100.0]

    async def state(http: httpx.AsyncClient) -> tuple[float, int, int, int]:
        del http
        return memory[0], 0, 0, 0

    async def grow(server: Running, http: httpx.AsyncClient, turn: int) -> None:
        del server, http, turn
        memory[0] = megabytes or 0.0

    monkeypatch.setattr(leaks, "_state", state)
    monkeypatch.setattr(leaks, "_malformed", grow)
    small = ("leaks", "--sentences", "5", "--disconnects", "0", "--aborted", "0", "--malformed", "1")
    found = result(tmp_path, *small, code=1 if failed else 0)
    assert found["failed"] == failed
    assert ("at most 25%" in found["notes"][0]) is (megabytes is not None)


@pytest.mark.parametrize(
    ("fast", "said"),
    [
        ({1: 2.0, 2: 1.5}, "1.3 times the better peer, is reached with every number of sessions."),
        ({1: 2.0, 2: 1.21}, "1.3 times the better peer, is not reached: 1.21 with 2 sessions."),
    ],
)
def test_throughput_says_whether_the_aim_is_reached_and_is_no_failure(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    fast: dict[int, float],
    said: str,
) -> None:
    turns = itertools.cycle([False, True])  # the peer, this container

    async def closed(address: str, sessions: int, seconds: float, texts: object) -> load.Rung:
        del address, seconds, texts
        faster = fast[sessions] if next(turns) else 1.0
        return load.Rung(sessions, 10.0, (0.1,), (0.2,), 100.0 * faster, round(1000 * faster))

    monkeypatch.setattr(load, "closed", closed)
    found = result(tmp_path, "throughput", "--sessions", "1", "2", "--peers", "naive")
    assert found["failed"] is None
    assert "At best 2.00 times the better peer" in found["notes"][0]
    assert said in found["notes"][1]
    assert said in capsys.readouterr().out


def test_throughput_of_a_server_that_runs_already(tmp_path: Path, fake_servers: list[Kind]) -> None:
    with conftest.serve(Settings()) as served:
        url = f"http://127.0.0.1:{served.port}"
        found = result(tmp_path, "throughput", "--seconds", "0.1", "--sessions", "2", "--url", url)
    assert fake_servers == []
    assert [row[:2] for row in found["rows"][:1]] == [[OURS.name, 2]]
    assert [found["conditions"][name] for name in ("url", "peers")] == [url, []]
    assert found["notes"] == [f"'this container' is what runs at {url}."]
    # it is a load like any other
    assert bench.main(["cost", str(tmp_path / "throughput.json"), "--price", "1"]) == 0


def test_a_server_that_runs_already_has_no_peers(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        bench.main(["throughput", "--url", "http://127.0.0.1:1", "--peers", "naive"])
    assert "--peers: not allowed with argument --url" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["throughput", "scalability"])
@pytest.mark.parametrize(
    ("engine", "gpu", "numbers"),
    [("torch", True, "1, 8, 32, 64"), ("torch", False, None), ("onnx", True, None)],
)
def test_a_gpu_gets_more_sessions(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    engine: str,
    gpu: bool,
    numbers: str | None,
) -> None:
    monkeypatch.setattr(load, "has_gpu", lambda: gpu)
    otherwise = {"throughput": "1, 2, 4, 8", "scalability": "1, 2, 4, 8, 16"}[command]
    assert bench.main([command, "--engine", engine, "--dry-run"]) == 0
    assert f" {numbers or otherwise} sessions" in capsys.readouterr().out
    assert bench.main([command, "--engine", engine, "--dry-run", "--sessions", "3"]) == 0
    assert " 3 sessions" in capsys.readouterr().out


def test_the_page_names_the_commands_that_take_a_url(capsys: pytest.CaptureFixture[str]) -> None:
    taking = []
    for command in bench.MEASURED:
        with pytest.raises(SystemExit, match="0"):
            bench.main([command, "--help"])
        if "--url" in capsys.readouterr().out:
            taking.append(f"`{command}`")
    listed = f"{', '.join(taking[:-1])} and {taking[-1]} take `--url`"
    assert listed in " ".join(PAGE.read_text(encoding="utf-8").split())
