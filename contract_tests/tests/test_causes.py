"""The first cause that a verdict names is the fault that the container was built with."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from contract_tests import broken, profile
from contract_tests.catalogue import CHECKS
from contract_tests.containers import Container
from contract_tests.runner import run_checks
from contract_tests.verdict import Status, Verdict
from emulator.launch import launched
from emulator.target import Target

START_TIMEOUT_S = 60.0

CAUSES = {
    "collects": "All audio is collected",
    "clicks": "Each chunk is decoded or encoded on its own",
    "orphaned-work": "a thread or task that nobody tells to stop",
    "leftovers": "outlives its session",
    "shared-queue": "One queue, buffer or file of the module",
    "shared-voice": "The voice is kept in the one model object",
    "task-per-message": "a task or thread of its own",
    "stale-after-cancel": "nothing is stopped at all",
    "empty-200": "starts before the generator has run",
    "silent-gap": "caught inside the generator",
    "query-refused": "path and query together",
    "deflate-refused": "The offer of an extension is treated as an error",
    "origin-demanded": "An Origin header is demanded",
}


def judged(container: Container) -> Verdict:
    (check,) = [check for check in CHECKS if check.id == container.caught_by]
    with launched(Target("app", container.app, container.server), START_TIMEOUT_S, Path.cwd()) as url:
        (verdict,) = run_checks(url, profile.load(container.profile), [check])
    return verdict


@pytest.mark.parametrize("name", CAUSES)
def test_names_the_right_cause_first(name: str) -> None:
    (container,) = [container for container in broken.CONTAINERS if container.name == name]
    verdict = judged(container)
    assert verdict.status is Status.FAIL
    finding = verdict.worst
    assert re.search(CAUSES[name], finding.causes[0]), finding.causes
    assert finding.fix is not None
    assert finding.sent
    assert finding.expected
    assert verdict.log


def test_a_listed_origin_is_a_warning() -> None:
    """Nobody knows whether SageMaker ever sends an Origin."""
    app = "contract_tests.tests.origin_listed:app"
    (container,) = [container for container in broken.CONTAINERS if container.name == "query-refused"]
    verdict = judged(replace(container, app=app))
    assert verdict.status is Status.WARN
    assert "Only listed Origins" in verdict.worst.causes[0]
