"""CT18 where the fault is not in the container's code but in how it is started."""

import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from contract_tests.checks.good_request import GoodRequest
from contract_tests.checks.readiness import EARLY_PING, ReadinessAndStop
from contract_tests.profile import load
from contract_tests.runner import bench_for, judge
from contract_tests.tests.judging import restartable
from contract_tests.tests.test_run import run
from contract_tests.verdict import Status, Verdict
from emulator.launch import running
from emulator.running import Elsewhere, Running
from emulator.target import Target

MODULE = "contract_tests.good.websockets_speech"
WITHOUT_GOODBYE = (
    f"import asyncio; from {MODULE} import main; loop = asyncio.new_event_loop(); "
    "loop.add_signal_handler = lambda *_: None; loop.run_until_complete(main())"
)


async def judged(command: str) -> Verdict:
    with restartable(Target("command", command)) as bench:
        return await judge(ReadinessAndStop(), bench)


@pytest.mark.parametrize(
    ("command", "behaviour", "closing", "words", "cause"),
    [
        (f"{sys.executable} -m {MODULE} {{port}}", Status.PASS, Status.PASS, "it ended", ""),
        (
            f'{sys.executable} -c "{WITHOUT_GOODBYE}" {{port}}',
            Status.PASS,
            Status.WARN,
            "no Close frame",
            "the default action of SIGTERM",
        ),
        (
            f"sh -c '{sys.executable} -m {MODULE} {{port}}; exit 0'",
            Status.FAIL,
            Status.WARN,
            "the server runs on",
            "A shell stands in front",
        ),
    ],
    ids=["itself", "without a signal handler", "behind a shell"],
)
async def test_what_sigterm_reaches(command: str, behaviour: Status, closing: Status, words: str, cause: str) -> None:
    verdict = await judged(command)
    assert (verdict.behaviour.status, verdict.closing.status) == (behaviour, closing), verdict
    assert words in verdict.worst.observed
    assert cause in " ".join(verdict.worst.causes)


EARLY = Target("app", "contract_tests.tests.late_model:app")


async def test_a_container_whose_ping_is_early_fails_ct18_and_not_ct0() -> None:
    with restartable(EARLY) as bench:
        good = await judge(GoodRequest(), bench)
        ready = await judge(ReadinessAndStop(), bench)
    assert good.status is Status.PASS
    assert "see CT18" in good.behaviour.observed
    assert ready.status is Status.FAIL
    assert ready.behaviour.causes[0] == EARLY_PING


async def test_a_container_that_cannot_be_started_again_is_told_by_ct0() -> None:
    with running(EARLY, 60, Path.cwd()) as own, bench_for(own.url, load("kokoro")) as bench:
        good = await judge(GoodRequest(), bench)
    assert good.status is Status.WARN
    assert good.behaviour.causes == (EARLY_PING,)


SLOW_SECOND = """
import pathlib
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute

before = pathlib.Path(__file__).with_name("before")
second = before.exists()
before.touch()

async def ping(_):
    return Response(status_code=503 if second else 200)

async def stream(ws):
    await ws.accept()
    while True:
        await ws.send_text(await ws.receive_text())

app = Starlette(routes=[Route("/ping", ping), WebSocketRoute("/invocations-bidirectional-stream", stream)])
"""


def test_the_second_start_has_the_time_of_the_first_and_its_end_is_named(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(SLOW_SECOND, "utf-8")
    code, output, _ = run(tmp_path, "--target", "mine:app", "--start-timeout", "11", "-k", "CT18", within=90)
    words = re.sub(r"\s+", " ", output)
    assert code == 1, output
    assert "/ping was not 200 within 11 s (HTTP 503)" in words
    assert "1. It needs more than the 11 s that this run gave it" in words
    assert "Give it more time with --start-timeout SECONDS; SageMaker gives it 480 s." in words
    assert "lock file" not in words


class Sluggish:
    """A start that takes a while, of a container that is never asked for anything."""

    def __init__(self) -> None:
        self.told: list[str] = []

    @contextmanager
    def __call__(self) -> Iterator[Running]:
        time.sleep(0.5)  # as an engine does
        self.told.append("started")
        try:
            yield Elsewhere("http://127.0.0.1:9")
        finally:
            self.told.append("stopped")


async def test_a_check_that_is_cut_while_a_container_starts_leaves_none_behind() -> None:
    starter = Sluggish()
    with running(EARLY, 60, Path.cwd()) as own, bench_for(own.url, load("kokoro"), own=own, starter=starter) as bench:
        await judge(GoodRequest(), bench)
        verdict = await judge(ReadinessAndStop(), bench, 0.2)
        told = list(starter.told)
    assert verdict.worst.observed == "the time that the caller left, 0.2 s, was over"
    assert told == ["started", "stopped"]
