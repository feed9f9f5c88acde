"""The whole deployment on this machine: the real cdk command, the real console scripts, the real AWS SDK."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy import cdk, outputs
from deploy.tests import stage as stages
from deploy.tests.stage import Stage
from emulator import credentials

pytestmark = pytest.mark.rehearsal

NAME = "speech-kokoro-82m"
BUCKET = f"speech-weights-{stages.ACCOUNT}-{credentials.REGION}"


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    cdk.command()  # fetched from here: the proxy of the rehearsal leads nowhere
    with stages.raised(tmp_path) as stage:
        yield stage


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    return some_weights(tmp_path)


def some_weights(path: Path) -> Path:
    """A folder of weights that are none."""
    folder = path / "weights"
    (folder / "voices").mkdir(parents=True)
    (folder / "kokoro-v1_0.pth").write_bytes(b"weights")
    (folder / "voices" / "af_heart.bin").write_bytes(b"voice")
    (folder / "notes.txt").write_text("not for the container")
    return folder


def test_from_nothing_to_an_endpoint_and_back(stage: Stage, weights: Path) -> None:
    # nothing is made, and nothing costs, before the price is agreed to
    said = stage.run("speech-infra deploy", expected=2)
    assert "REHEARSAL" in said
    assert "about $1.41 an hour" in said
    assert not stage.stacks()

    # nor without what it would need, or for what could not be deployed
    assert "docker" in stage.run("speech-infra deploy --yes", expected=1, DEPLOY_DOCKER="no-such-docker")
    assert "no version" in stage.run("speech-infra deploy --yes --weights 0123456789ab", expected=1)
    assert "aws ecr create-repository" in stage.run(f"speech-infra deploy --yes --image sha256:{'a' * 64}", expected=1)
    assert "FAIL endpoint" in stage.run("agent-infra deploy --yes", expected=1)
    assert not stage.stacks()
    assert not stage.outputs.exists()

    said = stage.run(f"speech-infra weights push {weights}")
    assert "kokoro-v1_0.pth: 7 bytes" in said
    assert "notes.txt" not in said
    assert "kokoro-v1_0.pth: there already" in stage.run(f"speech-infra weights push {weights}")

    # killed in the middle, and run again
    stage.kill("speech-infra deploy --yes", "CreateStack speech-endpoint")
    said = stage.run("speech-infra deploy --yes")
    assert f"{NAME}: InService" in said
    assert "s of audio" in said
    assert outputs.load(stage.outputs) == outputs.Outputs(NAME, credentials.REGION, None)
    with stage.client("sagemaker") as client:
        variant = client.describe_endpoint(EndpointName=NAME)["ProductionVariants"][0]
    assert variant["DeployedImages"][0]["SpecifiedImage"].endswith(stages.speech_image(1))

    stage.kill("agent-infra deploy --yes", "CreateStack agent-runtime")
    said = stage.run("agent-infra deploy --yes")
    assert "READY with" in said
    assert "one turn: " in said
    assert "audio" in said.partition("one turn: ")[2]
    assert ":runtime/speech_agent-" in (outputs.load(stage.outputs).agent_runtime_arn or "")

    docker = (stage.folder / "images" / "log").read_text()
    assert docker.count('"buildx", "build", "--provenance=false"') == docker.count('"logout"') == 2
    assert "auth-token" not in docker  # the password is not on a command line, where everybody sees it

    # an update really changes what runs
    stage.run("speech-infra image push", FAKE_BUILD="2")
    said = stage.run("speech-infra diff --first-audio-alarm-ms 500")
    assert "FirstAudioAlarm" in said
    assert stages.speech_image(2) in said
    said = stage.run("speech-infra list")
    assert f"image    {stages.speech_image(2)}" in said
    assert "weights  cce0917f7656  torch" in said
    assert "stack    agent-runtime  CREATE_COMPLETE" in stage.run("agent-infra list")
    said = stage.run("speech-infra deploy --yes --first-audio-alarm-ms 500")
    with stage.client("sagemaker") as client:
        variant = client.describe_endpoint(EndpointName=NAME)["ProductionVariants"][0]
    assert variant["DeployedImages"][0]["SpecifiedImage"].endswith(stages.speech_image(2))
    assert "s of audio" in stage.run("speech-infra verify")
    assert "1 of 1 x ml.g5.xlarge" in stage.run("speech-infra status")

    # the order is kept, and nothing is lost while it is in use
    assert "agent-infra destroy" in stage.run("speech-infra destroy --yes", expected=1)
    assert "RUNNING endpoint" in (said := stage.run("speech-infra leftovers", expected=3))
    assert "about $1,027" in said
    assert "First run" in stage.run("speech-infra purge --yes", expected=1)
    assert {"speech-foundation", "speech-endpoint", "agent-runtime"} == stage.stacks()

    litter(stage)
    stage.kill("agent-infra destroy --yes", "DeleteStack agent-runtime")
    stage.run("agent-infra destroy --yes")
    stage.kill("speech-infra destroy --yes", "DeleteStack speech-endpoint")
    said = stage.run("speech-infra destroy --yes")
    assert BUCKET in said
    assert "RUNNING" not in said
    assert {"speech-foundation"} == stage.stacks()

    said = stage.run("speech-infra leftovers")
    assert "1 unfinished uploads" in said
    assert "speech/kokoro  2 images" in said
    assert f"/aws/sagemaker/Endpoints/{NAME}" in said
    assert "Nothing was deleted" in stage.run("speech-infra purge", expected=2)

    # what was kept is taken in by a new stack, where somebody has deleted the old one, or has begun to purge
    with stage.client("cloudformation") as client:
        client.delete_stack(StackName="speech-foundation")
    said = stage.run(f"speech-infra weights push {weights}")
    assert f"taking in what is there from an earlier time: {BUCKET}, speech/kokoro, speech/agent" in said
    assert "kokoro-v1_0.pth: there already" in said
    stage.kill("speech-infra purge --yes", f"DELETE /{BUCKET}")
    said = stage.run(f"speech-infra weights push {weights}")
    assert f"{BUCKET} is gone, so that the stack is made anew" in said
    assert "taking in what is there from an earlier time: speech/kokoro, speech/agent" in said
    assert "kokoro-v1_0.pth: 7 bytes" in said

    # a deployment finds its images and weights again
    built = (stage.folder / "images" / "log").read_text().count('"buildx"')
    assert "weights: s3://" in stage.run("speech-infra deploy --yes")
    assert (stage.folder / "images" / "log").read_text().count('"buildx"') == built
    stage.run("speech-infra destroy --yes")

    stage.kill("speech-infra purge --yes", "DeleteRepository speech/kokoro")
    stage.run("speech-infra purge --yes")
    assert "nothing left" in stage.run("speech-infra leftovers")
    assert not stage.stacks()

    # and once more from nothing
    stage.run(f"speech-infra weights push {weights}")
    assert f"{NAME}: InService" in stage.run("speech-infra deploy --yes")


def litter(stage: Stage) -> None:
    """What AWS leaves behind by itself: a log group, and an upload that nobody finished."""
    with stage.client("s3") as client:
        upload = client.create_multipart_upload(Bucket=BUCKET, Key="models/half")
        client.upload_part(Bucket=BUCKET, Key="models/half", UploadId=upload["UploadId"], PartNumber=1, Body=b"part")
    with stage.client("logs") as client:
        client.create_log_group(logGroupName=f"/aws/sagemaker/Endpoints/{NAME}")
