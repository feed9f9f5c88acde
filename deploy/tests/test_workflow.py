"""What becomes of a foundation that is whole, new, kept from an earlier time, or half purged."""

from collections.abc import Callable
from pathlib import Path

import pytest

from deploy import cdk, kept, stacks, synthesis
from deploy.cloud import Cloud
from deploy.errors import DeployError
from deploy.settings import Settings
from deploy.workflow import Deployment

SETTINGS = Settings("123456789012", "us-east-1")
ALL = kept.names(SETTINGS)
BUCKET, SPEECH, AGENT = ALL


class World:
    """What CloudFormation and the services have, and what was done about it."""

    def __init__(self) -> None:
        self.there: list[str] = []
        self.stacks: dict[str, str] = {}
        self.done: list[str] = []
        self.said: list[str] = []


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    world = World()

    def find(_: Cloud, name: str) -> stacks.Stack | None:
        return stacks.Stack(name, world.stacks[name], "", {}) if name in world.stacks else None

    monkeypatch.setattr(stacks, "find", find)
    monkeypatch.setattr(stacks, "delete", lambda _, name: world.done.append(f"delete {name}"))
    monkeypatch.setattr(kept, "existing", lambda *_: world.there)
    monkeypatch.setattr(kept, "make_room", lambda _, __, found: world.done.append(f"make room in {len(found)}"))
    monkeypatch.setattr(cdk, "run", lambda words, _: world.done.append(f"{words[0]} {words[1]} {words[-1]}"))
    return world


@pytest.fixture
def foundation(world: World, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    monkeypatch.setattr(synthesis, "assembly", lambda *_: Path())
    cloud = Cloud(None, SETTINGS.account, SETTINGS.region, rehearsal=True)
    return Deployment(cloud, SETTINGS, world.said.append).foundation


DIRECT = "deploy speech-foundation --method=direct"
IMPORT = "deploy speech-foundation --import-existing-resources"


@pytest.mark.parametrize(
    ("there", "status", "done"),
    [
        ([], None, [DIRECT]),
        (ALL, "CREATE_COMPLETE", [DIRECT]),
        (ALL, None, ["make room in 3", IMPORT]),
        ([SPEECH], None, ["make room in 1", IMPORT]),
        (ALL, "ROLLBACK_COMPLETE", ["make room in 3", IMPORT]),
        ([], "ROLLBACK_COMPLETE", [DIRECT]),
        ([SPEECH, AGENT], "UPDATE_COMPLETE", ["delete speech-foundation", "make room in 2", IMPORT]),
        ([], "CREATE_COMPLETE", ["delete speech-foundation", DIRECT]),
    ],
)
def test_what_is_there_is_kept_and_what_is_gone_is_made(
    world: World, foundation: Callable[[], None], there: list[str], status: str | None, done: list[str]
) -> None:
    world.there = there
    world.stacks = {} if status is None else {"speech-foundation": status}
    foundation()
    assert world.done == done
    assert ("taking in" in "".join(world.said)) is (IMPORT in done)


def test_nothing_is_taken_from_under_an_endpoint(world: World, foundation: Callable[[], None]) -> None:
    world.there = [SPEECH, AGENT]
    world.stacks = {"speech-foundation": "CREATE_COMPLETE", "speech-endpoint": "CREATE_COMPLETE"}
    with pytest.raises(DeployError, match=f"{BUCKET} was deleted.*'speech-infra destroy', then 'speech-infra deploy'"):
        foundation()
    assert world.done == []
