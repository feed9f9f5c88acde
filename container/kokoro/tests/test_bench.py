"""The measurements, on a fake model: that they measure what they say, not how fast it is."""

import json
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from container.kokoro.bench import __main__ as bench
from container.kokoro.bench import client, leaks, naive, ping, servers, throughput, tts
from container.kokoro.bench.report import Table, conditions, percentile
from container.kokoro.bench.servers import NAIVE, Kind, Running
from container.kokoro.settings import Settings
from container.kokoro.tests.conftest import serve
from container.kokoro.tests.fakes import FakeEngine, FakeReader
from container.kokoro.tests.servers import serving


@pytest.fixture(autouse=True)
def fake_servers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let servers with a fake model run in this process in place of those that would be started."""
    started: list[str] = []

    @asynccontextmanager
    async def running(kind: Kind, engine: str) -> AsyncGenerator[Running]:
        del engine
        started.append(kind.name)
        process = SimpleNamespace(pid=os.getpid())
        if kind.module == NAIVE.module:
            app = naive.create_app(FakeEngine(), FakeReader())
            with serving(app, "hypercorn") as port:
                yield Running(kind, port, process, 0.0)  # type: ignore[arg-type]
            return
        with serve(Settings(first_clause=kind.environment.get("KOKORO_FIRST_CLAUSE", "on"))) as served:
            yield Running(kind, served.port, process, 0.0)  # type: ignore[arg-type]

    for module in (tts, throughput, ping, leaks):
        monkeypatch.setattr(module, "running", running)
    return started


def result(tmp_path: Path, *arguments: str) -> dict[str, object]:
    file = tmp_path / "result.json"
    assert bench.main([*arguments, "--json", str(file)]) == 0
    found: dict[str, object] = json.loads(file.read_text(encoding="utf-8"))
    return found


def test_time_to_first_audio(tmp_path: Path, capsys: pytest.CaptureFixture[str], fake_servers: list[str]) -> None:
    found = result(tmp_path, "tts", "--runs", "2")
    assert fake_servers == ["one request at a time, whole text", "this container, sentences only", "this container"]
    printed = capsys.readouterr().out
    for words in ("whole text", "first sentence", "first clause", "329", "157", "not measured", "fingerprint"):
        assert words in printed
    raw = found["raw"]
    assert isinstance(raw, dict)
    assert [len(answers) for answers in raw["answers"].values()] == [2, 2, 2]


def test_throughput(tmp_path: Path) -> None:
    rows = result(tmp_path, "throughput", "--seconds", "0.2", "--sessions", "1", "2")["rows"]
    assert isinstance(rows, list)
    assert [row[1] for row in rows[:-1]] == [1, 2, 1, 2]
    assert all(row[2] > 0 for row in rows[:-1])


def test_pings(tmp_path: Path) -> None:
    rows = result(tmp_path, "ping", "--seconds", "0.2")["rows"]
    assert isinstance(rows, list)
    assert [row[:2] for row in rows[:-1]] == [
        ["GET /ping", "idle"], ["WebSocket Pong", "idle"], ["GET /ping", "busy"], ["WebSocket Pong", "busy"],
    ]  # fmt: skip


def test_leaks(tmp_path: Path) -> None:
    rows = result(tmp_path, "leaks", "--sentences", "10", "--disconnects", "6")["rows"]
    assert isinstance(rows, list)
    assert [row[0] for row in rows[:-1]] == ["start", *(f"{n} sentences" for n in (2, 4, 6, 8, 10)), "6 disconnects"]
    assert all(row[3:] == [0, 0] for row in rows[:-1])


def test_a_dry_run_starts_nothing(capsys: pytest.CaptureFixture[str], fake_servers: list[str]) -> None:
    for command in ("tts", "throughput", "ping", "leaks"):
        assert bench.main([command, "--dry-run"]) == 0
    assert capsys.readouterr().out.count("would: ") == 4
    assert fake_servers == []


async def test_a_server_that_does_not_start_is_told() -> None:
    with pytest.raises(RuntimeError, match="did not become ready"):
        async with servers.running(Kind("none", "container.kokoro.no_such_module"), "onnx"):
            pass


async def test_the_naive_server_answers_all_at_once() -> None:
    app = naive.create_app(FakeEngine(), FakeReader())
    with serving(app, "hypercorn") as port:
        async with client.session(port) as socket:
            heard = await client.speak(socket, "One. Two. Three.")
    assert heard.audio_s == pytest.approx(16 * 0.05)
    assert heard.dry_s == 0


async def test_a_player_that_runs_dry_is_noticed() -> None:
    with serve(Settings()) as served:
        async with client.session(served.port) as socket:
            heard = await client.speak(socket, client.TEXT)
            assert heard.audio_s > 10
            assert 0 < heard.first_s <= heard.total_s
            with pytest.raises(RuntimeError, match="text_required"):
                await client.speak(socket, "")


def test_the_text_is_as_long_as_the_reference() -> None:
    assert len(client.TEXT) == 267


def test_tables_and_fingerprints() -> None:
    table = Table("Title", ("name", "value"), [("a", 1.23456), ("bc", None), ("d", 12345.6)], ["Note."])
    assert table.text().splitlines() == [
        "Title", "",
        "| name |        value |", "| ---- | -----------: |", "| a    |         1.23 |", "| bc   | not measured |",
        "| d    |        12346 |", "",
        "Note.",
    ]  # fmt: skip
    one, two = conditions("onnx", runs=1), conditions("onnx", runs=2)
    assert one["fingerprint"] == conditions("onnx", runs=1)["fingerprint"] != two["fingerprint"]
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert percentile([3.0, 1.0, 2.0], 0.99) == 3.0
