"""The one command: it knows every benchmark, hands on their options, and ends in order."""

import signal
from collections.abc import Sequence

import pytest

from container.bench import __main__ as bench
from container.kokoro.bench.__main__ import DERIVED, MEASURED


def test_it_lists_every_benchmark(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        bench.main(["--help"])
    told = capsys.readouterr().out
    listed = {line.split()[0] for line in told.splitlines() if line.startswith("    ") and not line.startswith("     ")}
    assert listed == {*MEASURED, *DERIVED, "plot", *bench.EMULATED}


def test_one_of_the_container(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main(["tts", "--runs", "2", "--dry-run"]) == 0
    assert "would: start 3 servers" in capsys.readouterr().out


@pytest.mark.parametrize("name", bench.EMULATED)
def test_one_through_the_emulator_reads_its_own_options(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        bench.main([name, "--help"])
    assert capsys.readouterr().out.startswith(f"usage: bench {name} ")


@pytest.mark.parametrize("name", [*MEASURED, *bench.EMULATED])
def test_every_measurement_says_beforehand_what_it_would_do(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    needed = {"validate": ["--rate", "1"], "batching": ["--engine", "torch"]}
    assert bench.main([name, "--dry-run", *needed.get(name, [])]) == 0
    assert "would: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["throughput", "--seconds", "0"], "argument --seconds: '0': expected seconds above 0"),
        (["throughput", "--sessions", "1", "-2"], "argument --sessions: '-2': expected a whole number above 0"),
        (["tts", "--runs", "0"], "argument --runs: '0': expected a whole number above 0"),
        (["leaks", "--aborted", "-1"], "argument --aborted: '-1': expected a whole number, 0 or more"),
        (["quality", "--texts", "999"], "argument --texts: '999': expected a whole number from 1 to "),
        (["transport", "--clips", "99"], "argument --clips: '99': expected a whole number from 1 to 24"),
        (["validate", "--rate", "nan"], "argument --rate: 'nan': expected a number above 0"),
        (["plan", "x.json", "--peak", "1", "--growth", "-1"], "argument --growth: '-1': expected a number, 0 or more"),
        (["drift", "a", "b", "--tolerance", "inf"], "argument --tolerance: 'inf': expected a number, 0 or more"),
        (["round-trips", "--scale", "0"], "argument --scale: '0': expected a number above 0"),
        (["load", "--seconds", "-1"], "argument --seconds: '-1': expected seconds above 0"),
    ],
)
def test_a_number_that_cannot_be_meant_is_refused(
    arguments: list[str], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        bench.main(arguments)
    assert error in capsys.readouterr().err


def test_an_unknown_one_is_refused_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        bench.main(["tss"])
    assert "'tss'" in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_in_order(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # what a shell starts in the background ignores Ctrl-C, these tests perhaps too
    given = signal.signal(signal.SIGINT, signal.default_int_handler)
    ended = []

    def measure(arguments: Sequence[str]) -> int:
        assert arguments == ["--sessions", "1"]
        try:
            signal.raise_signal(number)
        finally:
            ended.append("what was started")
        return 0

    monkeypatch.setitem(bench.EMULATED, "load", ("", measure))
    before = signal.getsignal(signal.SIGTERM)
    try:
        assert bench.main(["load", "--sessions", "1"]) == 130
    finally:
        signal.signal(signal.SIGINT, given)
    assert ended == ["what was started"]
    assert capsys.readouterr().err == "\nstopped; nothing was measured to the end\n"
    assert signal.getsignal(signal.SIGTERM) == before
