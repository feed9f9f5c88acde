"""The suite is tested by what it catches: every check against every broken and every good container."""

import pytest

from contract_tests import broken, good
from contract_tests.matrix import measure


def test_each_broken_container_fails_its_own_check_only(request: pytest.FixtureRequest) -> None:
    matrix = measure([*broken.CONTAINERS, *good.CONTAINERS])
    reporter = request.config.pluginmanager.get_plugin("terminalreporter")
    capture = request.config.pluginmanager.get_plugin("capturemanager")
    with capture.global_and_fixture_disabled():
        reporter.section("checks against containers")
        for line in matrix.lines():
            reporter.line(line)
    problems = "\n\n".join(matrix.problems())
    assert not problems, problems


def test_every_check_has_a_container_that_it_catches() -> None:
    caught = {container.caught_by for container in broken.CONTAINERS}
    # CT0 is no class of bug of its own: it says that nothing can be judged
    assert caught == {"CT1", "CT2", "CT6", "CT7", "CT8", "CT11", "CT23", "CT24"}
