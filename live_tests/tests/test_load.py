"""Callers under load: the process that speaks, its callers' side, and the report; with Locust where it is installed."""

import asyncio
import importlib.util
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from contract_tests import profile
from contract_tests.runner import emulated
from emulator.launch import launched
from emulator.target import Target
from live_tests.load import talker, worker
from live_tests.load.report import FAILED, FIRST_AUDIO, REAL_TIME, SESSION, TURN, Series, lines, rows
from live_tests.load.turn import Asked, Heard
from live_tests.load.worker import TalkerGoneError, Talking
from live_tests.settings import Settings
from live_tests.tests.conftest import ENDPOINT, ROOT, Rehearsal

TEXT = "The train leaves at noon."


@pytest.fixture
def talking(rehearsal: Rehearsal, monkeypatch: pytest.MonkeyPatch) -> Iterator[Talking]:
    monkeypatch.setenv("BIDI_STATE_DIR", rehearsal.environment["BIDI_STATE_DIR"])
    talking = Talking(["--endpoint", ENDPOINT, "--endpoint-url", rehearsal.emulator.url])
    try:
        yield talking
    finally:
        talking.close()


def test_callers_speak_at_once_each_on_a_session_of_its_own(talking: Talking, rehearsal: Rehearsal) -> None:
    before = len(rehearsal.emulator.traces)
    heard = {caller: list[Heard]() for caller in "abc"}

    def call(caller: str) -> None:
        for _ in range(3):
            heard[caller].append(talking.say(caller, TEXT))
        talking.say(caller, None)

    threads = [threading.Thread(target=call, args=(caller,)) for caller in heard]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for turns in heard.values():
        assert [turn.error for turn in turns] == [None] * 3
        assert [turn.opened_ms is not None for turn in turns] == [True, False, False]
        for turn in turns:
            assert turn.first_audio_ms is not None
            assert 0 < turn.first_audio_ms <= turn.total_ms
            assert turn.audio_ms == pytest.approx(1000 * 0.02 * len(TEXT), rel=0.01)
            assert turn.real_time_factor == pytest.approx(turn.total_ms / turn.audio_ms)
    assert len(rehearsal.emulator.traces) - before == 3


def test_a_turn_that_fails_is_counted_and_the_next_one_opens_a_session(talking: Talking) -> None:
    failed = talking.say("a", "")
    assert failed.error is not None
    assert "text required" in failed.error
    assert failed.first_audio_ms is None
    assert failed.real_time_factor is None
    assert talking.say("a", TEXT).opened_ms is not None


def test_a_process_that_ends_leaves_nobody_waiting() -> None:
    talking = Talking(["--endpoint", "voice", "--endpoint-url", "http://127.0.0.1:1"])
    try:
        with pytest.raises(TalkerGoneError, match="has ended"):
            talking.say("a", TEXT)
    finally:
        talking.close()


PROCESS = """
import json, pathlib, sys, datetime
if not pathlib.Path({file!r}).exists():
    sys.exit("the sign-in is over")
soon = datetime.datetime.now(datetime.UTC) + datetime.timedelta(minutes=1)
known = {{"Version": 1, "AccessKeyId": "a", "SecretAccessKey": "s", "Expiration": soon.isoformat()}}
print(json.dumps(known))
"""


def test_credentials_that_end_fail_the_turn_and_nobody_waits_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed_in, source, config = (tmp_path / name for name in ("signed-in", "process.py", "config"))
    signed_in.touch()
    source.write_text(PROCESS.format(file=str(signed_in)))
    config.write_text(f"[default]\ncredential_process = {sys.executable} {source}\n")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setattr(worker, "_MOST_S", 60.0)
    talking = Talking(["--endpoint", "voice", "--region", "eu-west-1"])
    try:
        assert talking.say("a", None).error is None
        signed_in.unlink()
        for _ in range(2):
            assert "the sign-in is over" in str(talking.say("a", TEXT).error)
    finally:
        talking.close()


def test_a_process_that_is_stuck_fails_the_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    start = subprocess.Popen

    def stuck(_: list[str], **options: Any) -> "subprocess.Popen[bytes]":
        return start([sys.executable, "-c", "import sys; sys.stdin.read()"], **options)

    monkeypatch.setattr(subprocess, "Popen", stuck)
    monkeypatch.setattr(worker, "_MOST_S", 0.2)
    talking = Talking([])
    try:
        heard = talking.say("a", TEXT)
    finally:
        talking.close()
    assert heard.error == "the process that speaks said nothing for 0.2 s"
    assert heard.total_ms == 200


def series(requests: int, failures: int = 0, value: float = 100.0) -> Series:
    return Series(requests, failures, lambda percentile: value * percentile)


def test_the_report_has_percentiles_factor_errors_and_the_share_of_each_instance() -> None:
    found = {
        SESSION: series(10),
        FIRST_AUDIO: series(98, 0, 200),
        TURN: series(98, 0, 400),
        FAILED: series(2, 2, 60_000),
        REAL_TIME: series(98, 0, 500),
    }
    text = "\n".join(lines(found, 50.0, 20, 2))
    assert re.search(r"^first audio, ms +98 +0 +100 +180 +190 +198$", text, re.MULTILINE)
    assert re.search(r"^whole answer, ms +100 +2 +200 +360 +380 +396$", text, re.MULTILINE)
    assert re.search(r"^real-time factor +98 +0\.250 +0\.450 +0\.475 +0\.495$", text, re.MULTILINE)
    assert "20 callers, 50 s, 2.0 answers/s, 2 of 100 (2.0%) failed" in text
    assert "2 instances behind the endpoint: 10.0 sessions and 1.0 answers/s each" in text
    assert "instance" not in "\n".join(lines(found, 50.0, 20, None))


def test_answers_that_failed_make_no_endpoint_faster() -> None:
    refused = Heard(1, first_audio_ms=1.0, total_ms=2.0, audio_ms=10.0, opened_ms=3.0, error="overloaded")
    assert rows(refused) == {SESSION: 3.0, FAILED: 2.0}
    assert rows(Heard(2, 100.0, 400.0, 800.0)) == {FIRST_AUDIO: 100.0, REAL_TIME: 500.0, TURN: 400.0}
    text = "\n".join(lines({FAILED: series(6, 6, 0.0)}, 60.0, 10, None))
    assert re.search(r"^whole answer, ms +6 +6 +- +- +- +-$", text, re.MULTILINE)
    assert "0.0 answers/s, 6 of 6 (100.0%) failed" in text


def test_an_answer_that_never_comes_took_as_long_as_it_was_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(talker, "_PATIENCE_S", 1.0)
    voice = Target("app", "contract_tests.broken.long_text_hangs:app")
    with launched(voice, 180, ROOT) as url, emulated({ENDPOINT: url}) as emulator:
        cloud = SimpleNamespace(settings=Settings(ENDPOINT, "us-west-2", emulator.url), account=lambda: None)

        async def turn() -> Heard:
            speaker = talker.Talker(cast("Any", cloud), profile.load("kokoro"))
            try:
                return await speaker.take(Asked(1, "a", "word " * 200))
            finally:
                await speaker.close()

        heard = asyncio.run(turn())
    assert "silence" in str(heard.error)
    assert heard.total_ms >= 1000


LOCUST = pytest.mark.skipif(
    importlib.util.find_spec("locust") is None, reason="Locust is not installed: uv sync --extra load"
)


def locust(environment: dict[str, str], timeout: float, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run Locust with two workers to its end; all it prints is in ``stdout``. A worker that stays holds the pipe."""
    program = [sys.executable, "-m", "locust", "-f", str(ROOT / "live_tests" / "load" / "locustfile.py")]
    return subprocess.run(
        [*program, "--headless", "--processes", "2", "--endpoint", ENDPOINT, *words],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
        check=False,
    )


@LOCUST
def test_two_locust_workers_speak_with_the_endpoint(rehearsal: Rehearsal) -> None:
    callers = ("-u", "4", "-r", "4", "-t", "120s", "--answers", "12", "--think-s", "0.2")
    done = locust(rehearsal.environment, 240, *callers, "--endpoint-url", rehearsal.emulator.url)
    assert done.returncode == 0, done.stdout
    assert "2 workers connected" in done.stdout
    heard = re.search(r"^first audio, ms +(\d+) +0 ", done.stdout, re.MULTILINE)
    assert heard is not None, done.stdout
    assert int(heard[1]) >= 12
    assert "1 instance behind the endpoint: 4.0 sessions" in done.stdout


@LOCUST
def test_without_credentials_nothing_stays_behind(rehearsal: Rehearsal, tmp_path: Path) -> None:
    kept = {name: value for name, value in rehearsal.environment.items() if not name.startswith("AWS_")}
    nobody = kept | {"HOME": str(tmp_path), "AWS_EC2_METADATA_DISABLED": "true"}
    done = locust(nobody, 60, "-u", "1", "--region", "us-east-1")  # with a worker left, this would not return
    assert done.returncode == 1, done.stdout
    assert "locust: no AWS credentials: sign in" in done.stdout
