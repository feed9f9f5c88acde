"""The measurements, on a fake model: that they measure what they say, not how fast it is."""

import argparse
import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from container.kokoro.bench import __main__ as bench
from container.kokoro.bench import client, leaks, load, naive, servers, tts
from container.kokoro.bench.progress import Progress
from container.kokoro.bench.report import Table, conditions, percentile
from container.kokoro.bench.result import Result
from container.kokoro.bench.servers import NAIVE, OURS, Kind, Running
from container.kokoro.settings import Settings
from container.kokoro.tests.benches import result, start_fakes
from container.kokoro.tests.conftest import serve
from container.kokoro.tests.fakes import FakeEngine, FakeReader
from container.kokoro.tests.servers import serving
from emulator.bench.chart import Chart


@pytest.fixture(autouse=True)
def fake_servers(monkeypatch: pytest.MonkeyPatch) -> list[Kind]:
    return start_fakes(monkeypatch)


def test_throughput_beside_a_peer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    monkeypatch.setattr(Progress, "step", lambda _, what: steps.append(what))
    found = result(tmp_path, "throughput", "--seconds", "0.2", "--sessions", "1", "2", "--peers", "naive")
    rows = found["rows"][:-1]
    # side by side in time: a machine that is shared changes its pace
    assert steps == [f"{kind.name}, {n} sessions" for n in (1, 2) for kind in (NAIVE, OURS)]
    assert [row[:2] for row in rows] == [[kind.name, n] for kind in (NAIVE, OURS) for n in (1, 2)]
    assert all(row[2] > 0 for row in rows)
    for ours, theirs in zip(rows[2:], rows[:2], strict=True):
        assert ours[4] == pytest.approx(ours[2] / theirs[2])
        assert ours[5] == pytest.approx(ours[3] / theirs[3])
    assert "times the better peer" in capsys.readouterr().out


LEAKS = ("leaks", "--sentences", "10", "--disconnects", "6", "--malformed", "7", "--aborted", "6")


def test_leaks(tmp_path: Path) -> None:
    rows = result(tmp_path, *LEAKS)["rows"][:-1]
    steps = [f"{n} sentences" for n in (2, 4, 6, 8, 10)]
    assert [row[0] for row in rows] == [
        "start",
        *steps,
        "6 rude disconnects",
        "7 malformed bodies",
        "6 aborted streams",
    ]
    assert all(row[3:5] == [0, 0] for row in rows)
    assert all(row[1] > 0 for row in rows)


def test_a_slot_that_leaks_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept: list[socket.socket] = []

    async def keep_open(server: Running, http: object, turn: int) -> None:
        del http, turn
        host, port = server.address.split(":")
        kept.append(opened := socket.create_connection((host, int(port))))
        key = b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        upgrade = b"Host: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" + key
        opened.sendall(b"GET /invocations-bidirectional-stream HTTP/1.1\r\n" + upgrade)

    monkeypatch.setattr(leaks, "_malformed", keep_open)
    monkeypatch.setattr(leaks, "PATIENCE_S", 0.5)
    monkeypatch.setattr(leaks, "TIGHT", OURS)
    small = ("leaks", "--sentences", "5", "--disconnects", "0", "--aborted", "0", "--malformed", "2")
    found = result(tmp_path, *small, code=1)
    assert "slots are not free after 2 malformed bodies" in found["failed"]
    assert "failed: slots are not free" in capsys.readouterr().err
    for opened in kept:
        opened.close()


def test_latency_by_length(tmp_path: Path) -> None:
    found = result(tmp_path, "latency", "--runs", "1")
    rows = found["rows"][:-1]
    assert [row[0] for row in rows] == ["short", "medium", "long", "page"]
    characters, audio = [row[1] for row in rows], [row[7] for row in rows]
    assert characters == sorted(characters)
    assert audio == sorted(audio)
    assert found["chart"]["series"].keys() == {"first audio", "whole answer"}


def test_the_most_sessions_within_a_limit(tmp_path: Path) -> None:
    found = result(tmp_path, "maximum", "--limit", "60", "--seconds", "0.1", "--most", "3")
    assert found["raw"]["maximum"] == 3
    assert [row[0] for row in found["rows"][:-1]] == [1, 2, 3]
    found = result(tmp_path, "maximum", "--limit", "0", "--seconds", "0.1", "--most", "8", code=1)
    assert found["raw"]["maximum"] == 0
    assert found["failed"] == "not even one session keeps the limit"


def test_the_maximum_is_found_between(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def closed(address: str, sessions: int, seconds: float, texts: object) -> load.Rung:
        del address, seconds, texts
        return load.Rung(sessions, 10.0, (sessions / 10,) * 20, (0.5 * sessions,) * 20, 60.0, 1000)

    monkeypatch.setattr(load, "closed", closed)
    found = result(tmp_path, "maximum", "--limit", "1.15", "--most", "64")
    assert found["raw"]["maximum"] == 11
    assert [row[0] for row in found["rows"][:-1]] == [1, 2, 4, 8, 10, 11, 12, 16]


def test_requests_by_chance(tmp_path: Path) -> None:
    found = result(tmp_path, "validate", "--rate", "20", "--seconds", "0.5", "--texts", "short", "--limit", "60")
    assert found["rows"][0][1] == len(found["raw"]["rungs"][0]["first_s"]) > 2
    found = result(tmp_path, "validate", "--rate", "20", "--seconds", "0.5", "--limit", "0", code=1)
    assert "the limit is 0 s" in found["failed"]


def test_scale_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = result(tmp_path, "scaleout", "--runs", "2", "--sessions", "0", "--before", "200")["rows"][:-1]
    assert [row[0] for row in rows] == ["port answers", "ready (/ping 200)", "first audio", "with what comes before"]
    assert rows[0][1] == 0.1
    assert rows[1][1] == 0.2
    assert rows[3][1] == pytest.approx(200 + rows[2][1])
    monkeypatch.setattr("container.kokoro.bench.scaleout.RECOVERED", 1e9)
    aid = result(tmp_path, "scaleout", "--runs", "1", "--sessions", "2", "--seconds", "0.1")["raw"]["aid"]
    assert aid["recovered_s"] >= aid["ready_s"] > 0
    assert {at < 0 for at, _ in aid["answers"]} == {True, False}
    monkeypatch.setattr("container.kokoro.bench.scaleout.RECOVERED", 0.0)
    never = ("scaleout", "--runs", "1", "--sessions", "2", "--seconds", "0.1", "--patience", "0.3")
    assert result(tmp_path, *never, code=1)["failed"] == "no recovery within 0.3 s"


QUALITY = ("quality", "--voices", "af_heart", "--texts", "2")


def test_quality_without_a_recogniser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contract_tests.recognition.unavailable", lambda: "none here")
    found = result(tmp_path, *QUALITY, "--wav", str(tmp_path / "wav"))
    assert found["rows"][0][:4] == ["af_heart", 16, None, None]
    assert "No recogniser is installed" in found["notes"][0]
    assert len(list((tmp_path / "wav").iterdir())) == 2


def test_words_that_are_not_heard_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard = iter(["the birch canoe slid on the smooth planks", "glue the seat to the dark background"])
    monkeypatch.setattr("contract_tests.recognition.unavailable", lambda: None)
    monkeypatch.setattr("contract_tests.recognition.words_heard", lambda *_: next(heard).split())
    found = result(tmp_path, *QUALITY, code=1)
    assert found["rows"][0][:4] == ["af_heart", 16, 2 / 16, 1]
    assert found["failed"] == "a word error rate is 12.5%, the limit is 10.0%"


def test_a_pace_that_is_not_speech_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contract_tests.recognition.unavailable", lambda: "none here")
    monkeypatch.setattr("container.kokoro.bench.quality.PACE", (30.0, 40.0))
    assert "2 answers are not spoken at" in result(tmp_path, *QUALITY, code=1)["failed"]


def test_a_dry_run_starts_nothing(capsys: pytest.CaptureFixture[str], fake_servers: list[Kind]) -> None:
    for command in bench.MEASURED:
        more = ["--rate", "1"] if command == "validate" else []
        assert bench.main([command, "--dry-run", *more]) == 0
    assert capsys.readouterr().out.count("would: ") == len(bench.MEASURED)
    assert fake_servers == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["ping", "--plot", "p.svg"], "ping has no chart; leave --plot out. These have one: tts, latency, throughput"),
        (["scaleout", "--sessions", "0", "--plot", "p.svg"], "it needs --sessions above 0"),
        (["tts", "--plot", "none/p.svg"], "--plot none/p.svg: the directory {}/none does not exist"),
        (["tts", "--plot", "p.svg", "--json", "none/j.json"], "--json none/j.json: the directory {}/none does not"),
        (["ping", "--json", "."], "--json .: that is a directory, expected the name of a file"),
    ],
)
def test_what_could_not_be_written_is_told_before_anything_is_measured(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    fake_servers: list[Kind],
    arguments: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert bench.main(arguments) == 1
    assert words.format(tmp_path) in capsys.readouterr().err
    assert fake_servers == []


def test_a_chart_that_cannot_be_drawn_costs_neither_table_nor_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(_: Chart) -> str:
        raise OSError("no space left")

    monkeypatch.setattr(Chart, "svg", full)
    found = result(tmp_path, "latency", "--runs", "1", "--plot", str(tmp_path / "p.svg"), code=1)
    printed = capsys.readouterr()
    assert "| page " in printed.out
    assert found["rows"]
    assert "error: no space left" in printed.err


def test_the_page_names_the_commands_with_a_chart() -> None:
    page = (Path(__file__).parents[3] / "docs" / "kokoro.md").read_text(encoding="utf-8")
    names = [f"`{name}`" for name in bench.DRAWN]
    assert f"{', '.join(names[:-1])} and {names[-1]} have one" in page


def test_whoever_ends_it_ends_its_servers(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    ended: list[str] = []

    class Endless:
        """Measures for ever."""

        def arguments(self, parser: argparse.ArgumentParser) -> None:
            del parser

        def plan(self, options: argparse.Namespace) -> str:
            return str(options)

        async def measure(self, options: argparse.Namespace, progress: Progress) -> Result:
            del options, progress
            try:
                asyncio.get_running_loop().call_soon(os.kill, os.getpid(), signal.SIGTERM)
                await asyncio.sleep(60)
            finally:
                ended.append("servers")
            raise AssertionError

    monkeypatch.setattr(bench, "MEASURED", {"ping": Endless()})
    before = signal.getsignal(signal.SIGTERM)
    assert bench.main(["ping"]) == 130
    assert ended == ["servers"]
    assert signal.getsignal(signal.SIGTERM) is before
    assert "stopped" in capsys.readouterr().err


def test_processor_time_is_that_of_the_server() -> None:
    assert Running("x", "127.0.0.1:1").processor_s is None
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        server = Running("x", "127.0.0.1:1", pid=process.pid)
        while not (used := server.processor_s):
            pass
    finally:
        process.kill()
        process.wait()
    assert used > 0
    assert load.Rung(1, 1.0, (0.1,), (0.2,), audio_s=4.0, characters=1, processor_s=2.0).processor_factor == 0.5


async def test_a_server_that_runs_already() -> None:
    with serve(Settings()) as served:
        async with servers.target(OURS, "onnx", f"http://127.0.0.1:{served.port}/ping") as server:
            assert server.address == f"127.0.0.1:{served.port}"


def test_a_server_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    assert bench.main(["latency", "--url", f"http://{address}"]) == 1
    assert f"nothing answers at {address}" in capsys.readouterr().err


async def test_the_naive_server_answers_all_at_once() -> None:
    app = naive.create_app(FakeEngine(), FakeReader())
    with serving(app, "hypercorn") as port:
        async with client.session(f"127.0.0.1:{port}") as connection:
            heard = await client.speak(connection, "One. Two. Three.")
    assert heard.audio_s == pytest.approx(16 * 0.05)
    assert heard.dry_s == 0


def test_the_text_is_as_long_as_the_reference() -> None:
    assert len(client.TEXT) == len(tts.TEXT) == 267
    assert [len(sentence) for sentence in re.split(r"(?<=[.?]) ", tts.TEXT)] == [66] * 4


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
