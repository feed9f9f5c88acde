"""Killed after every single change that it makes, and run again: each command comes to its end all the same.

Some minutes long, so it runs where it is asked for: ``REHEARSAL_KILLS=all uv run pytest -m rehearsal -k recovery -s``.
The rehearsal itself kills each command at one place.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy import cdk
from deploy.tests import stage as stages
from deploy.tests.power import change
from deploy.tests.stage import Stage
from deploy.tests.test_rehearsal import BUCKET, NAME, litter, some_weights

FORM = {"content-type": "application/x-www-form-urlencoded; charset=utf-8"}


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (("POST", "/", FORM, b"Action=CreateStack&StackName=speech-endpoint"), "CreateStack speech-endpoint"),
        (("POST", "/", FORM, b"Action=DescribeStacks&StackName=speech-endpoint"), None),
        (("POST", "/", {"x-amz-target": "X.PutImage"}, b'{"repositoryName": "speech/agent"}'), "PutImage speech/agent"),
        (("POST", "/", {"x-amz-target": "X.BatchGetImage"}, b"{"), None),
        (("POST", "/", {"x-amz-target": "X.UploadLayerPart"}, b'{"repo'), "UploadLayerPart"),
        (("PUT", "/bucket/key?x-id=PutObject", {}, b"x"), "PUT /bucket/key"),
        (("POST", "/bucket?delete", {}, b""), "POST /bucket?delete"),
        (("HEAD", "/bucket", {}, b""), None),
        (("POST", "/runtimes/", {}, b"{}"), None),
    ],
)
def test_the_power_switch_knows_a_change_from_a_look(
    request_: tuple[str, str, dict[str, str], bytes], expected: str | None
) -> None:
    assert change(*request_) == expected


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    cdk.command()
    with stages.raised(tmp_path) as stage:
        yield stage


@pytest.mark.rehearsal
@pytest.mark.skipif(os.environ.get("REHEARSAL_KILLS") != "all", reason="minutes long: REHEARSAL_KILLS=all asks for it")
def test_recovery_after_every_change(stage: Stage, tmp_path: Path) -> None:
    weights = some_weights(tmp_path)
    seen: list[str] = []

    def new(what: str) -> bool:
        if what in seen:
            return False
        seen.append(what)
        return True

    def survive(line: str, **more: str) -> None:
        """Run a command again and again, each time killed after a change after which it was not killed before."""
        begun = len(seen)
        while stage.run_killed(line, new, **more) is not None:
            pass
        print(f"=== {line}: killed after {seen[begun:]}", flush=True)

    survive(f"speech-infra weights push {weights}")
    survive("speech-infra deploy --yes")
    assert "s of audio" in stage.run("speech-infra verify")
    survive("agent-infra deploy --yes")
    assert "READY with" in stage.run("agent-infra verify")
    stage.run("speech-infra image push", FAKE_BUILD="2")
    survive("speech-infra deploy --yes --first-audio-alarm-ms 500")
    with stage.client("sagemaker") as client:
        variant = client.describe_endpoint(EndpointName=NAME)["ProductionVariants"][0]
    assert variant["DeployedImages"][0]["SpecifiedImage"].endswith(stages.speech_image(2))
    litter(stage)
    survive("agent-infra destroy --yes")
    survive("speech-infra destroy --yes")
    assert stage.stacks() == {"speech-foundation"}
    assert BUCKET in stage.run("speech-infra leftovers")
    survive("speech-infra purge --yes")
    assert "nothing left" in stage.run("speech-infra leftovers")
    assert not stage.stacks()
    stage.run("speech-infra deploy --yes")
    assert len(seen) >= 20, seen
