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
