"""What an image holds, and that silence is no good news."""

from typing import Any

import pytest

from deploy import advisories, push
from deploy.errors import DeployError
from deploy.pins import Pin

HELD = [Pin("torch", "2.15.0"), Pin("h11", "0.16.0")]
CANARY = {"vulns": [{"id": "PYSEC-2025-41"}]}


def answering(*results: Any) -> advisories.Ask:
    return lambda _: {"results": list(results)}


def test_no_advisory_is_told_of_where_there_is_none() -> None:
    assert advisories.known(HELD, answering(CANARY, {}, None)) == {}


def test_advisories_are_told_by_package() -> None:
    answer = answering(CANARY, {"vulns": [{"id": "B"}, {"id": "A"}]}, {})
    assert advisories.known(HELD, answer) == {"torch 2.15.0": ["A", "B"]}


def test_every_package_is_asked_about_by_name_and_version() -> None:
    asked: list[Any] = []

    def ask(query: dict[str, Any]) -> Any:
        asked.extend(query["queries"])
        return {"results": [CANARY, {}, {}]}

    advisories.known(HELD, ask)
    assert asked[1:] == [
        {"package": {"name": "torch", "ecosystem": "PyPI"}, "version": "2.15.0"},
        {"package": {"name": "h11", "ecosystem": "PyPI"}, "version": "0.16.0"},
    ]


def refused(_: Any) -> Any:
    raise OSError("no route to host")


@pytest.mark.parametrize(
    "ask",
    [
        refused,
        answering({}, {}, {}),  # a mirror without data
        answering(CANARY, {}),  # fewer answers than questions
        lambda _: {},
        lambda _: "<html>",
        lambda _: None,
    ],
)
def test_what_could_not_be_checked_is_a_failure(ask: advisories.Ask) -> None:
    with pytest.raises(DeployError, match="could NOT be checked"):
        advisories.known(HELD, ask)


def test_the_agents_image_is_listed_for_its_own_architecture() -> None:
    held = {pin.name for pin in push.held("agent")}
    assert "strands-agents" in held
    assert not {"torch", "aws-cdk-lib", "pytest", "colorama"} & held
