"""Prices, the outputs file, and what an endpoint is compared with."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3
import pytest

from container.agent.tests.dialled import dialled
from container.kokoro.errors import SetupError
from deploy import endpoints, outputs, smoke, weights
from deploy.cloud import Cloud
from deploy.endpoints import Running
from deploy.errors import DeployError
from deploy.prices import Prices, dollars

RUNNING = Running(
    "tts", "InService", "config-2", "", "ml.g5.xlarge", 1, 1, "r/speech@sha256:" + "2" * 64, datetime.now(UTC)
)


def test_the_price_of_an_endpoint() -> None:
    prices = Prices.load()
    assert dollars(prices.hour("ml.g5.xlarge")) == "about $1.41"
    assert prices.hour("ml.g5.xlarge", 3) == pytest.approx(4.224)
    assert dollars(prices.hour("ml.unheard-of.large")) == "an unknown price"
    # the leftover of a usual deployment: an image of 8 GB and weights of 5
    assert prices.stored("ecr", 8_000_000_000) + prices.stored("s3", 5_000_000_000) == pytest.approx(0.915)


def test_prices_can_be_overridden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = tmp_path / "prices.toml"
    monkeypatch.setenv("DEPLOY_PRICES", str(mine))
    mine.write_text('[endpoint_hour]\n"ml.g5.xlarge" = 2.5\n')
    assert Prices.load().hour("ml.g5.xlarge") == 2.5
    assert Prices.load().hour("ml.g6.xlarge") is not None
    mine.write_text('[endpoint]\n"ml.g5.xlarge" = 2.5\n')
    with pytest.raises(DeployError, match="'endpoint' is not one of"):
        Prices.load()


def test_the_outputs_file(tmp_path: Path) -> None:
    path = tmp_path / "new" / "outputs.json"
    with pytest.raises(outputs.OutputsError, match="speech-infra deploy"):
        outputs.load(path)
    given = outputs.Outputs("tts", "us-east-1", "arn:aws:bedrock-agentcore:us-east-1:1:runtime/a-b")
    outputs.save(given, path)
    assert outputs.load(path) == given
    assert set(json.loads(path.read_text())) == {"EndpointName", "Region", "AgentRuntimeArn"}
    outputs.save(given.changed(agent_runtime_arn=None), path)
    assert outputs.load(path).agent_runtime_arn is None
    assert [entry.name for entry in path.parent.iterdir()] == ["outputs.json"]


def test_the_outputs_file_is_written_where_there_is_something_to_say(tmp_path: Path) -> None:
    path = tmp_path / "outputs.json"
    nothing, given = outputs.Outputs(region="us-east-1"), outputs.Outputs("tts", "us-east-1")
    assert outputs.update(nothing, path) is None
    assert not path.exists()
    assert outputs.update(given, path) == path
    assert outputs.update(nothing.changed(region="eu-west-1"), path) is None
    assert outputs.load(path) == given  # that nothing is deployed elsewhere says nothing of it
    assert outputs.update(nothing, path) == path
    assert outputs.load(path) == nothing
    path.write_text("half a fi")
    assert outputs.update(nothing, path) == path


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("--weights hub needs huggingface_hub. Install the extra 'torch'.", "--hub needs huggingface_hub"),
        ("offline\nUse --weights auto for the packaged ones.", "Leave out --hub for the packaged ones. Install"),
    ],
)
def test_weights_that_are_not_there_name_the_options_of_this_command(
    monkeypatch: pytest.MonkeyPatch, reason: str, told: str
) -> None:
    def resolve(*_: str) -> None:
        raise SetupError(reason)

    monkeypatch.setattr("container.kokoro.weights.resolve", resolve)
    with pytest.raises(DeployError) as told_:
        weights.packaged("torch", "hub")
    assert told in str(told_.value)
    assert "--weights" not in str(told_.value)
    assert ".." not in str(told_.value)


@pytest.mark.parametrize("text", ["", "[]", '{"EndpointName": 7}', '{"Region": ""}'])
def test_an_outputs_file_that_is_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "outputs.json"
    path.write_text(text)
    with pytest.raises(outputs.OutputsError, match=r"outputs\.json"):
        outputs.load(path)


def test_a_silent_rollback_is_noticed() -> None:
    endpoints.confirm(RUNNING, "config-2", RUNNING.image)
    with pytest.raises(DeployError, match="went back without a word"):
        endpoints.confirm(RUNNING, "config-3")
    with pytest.raises(DeployError, match="runs the image"):
        endpoints.confirm(RUNNING, "config-2", "r/speech@sha256:" + "3" * 64)


def test_weights_are_named_by_what_is_in_them(tmp_path: Path) -> None:
    folder = tmp_path / "weights"
    with pytest.raises(DeployError, match="does not exist"):
        weights.folder(folder)
    (folder / "voices").mkdir(parents=True)
    (folder / "model.onnx").write_bytes(b"model")
    with pytest.raises(DeployError, match="1 models and 0 voices"):
        weights.folder(folder)
    (folder / "voices" / "af.bin").write_bytes(b"voice")
    (folder / "readme.md").write_text("not for the container")
    first = weights.manifest_of(weights.folder(folder))
    assert (set(first.files), first.size, first.engine) == ({"model.onnx", "voices/af.bin"}, 10, "onnx")
    assert first.prefix == f"models/kokoro-82m/{first.name}/"
    assert not first.key.startswith(first.prefix)  # SageMaker would copy it into the container
    (folder / "model.onnx").write_bytes(b"MODEL")
    assert weights.manifest_of(weights.folder(folder)).name != first.name
    (folder / "kokoro-v1_0.pth").write_bytes(b"torch")
    with pytest.raises(DeployError, match="2 models"):
        weights.folder(folder)


def test_voices_that_only_torch_reads_do_not_go_with_a_model_for_onnx(tmp_path: Path) -> None:
    (tmp_path / "voices").mkdir()
    model, tensor = tmp_path / "model.onnx", tmp_path / "voices" / "af_heart.pt"
    for file in (model, tensor):
        file.write_bytes(b"data")
    with pytest.raises(DeployError, match=r"model\.onnx, for the engine onnx, and voices/af_heart\.pt, which"):
        weights.folder(tmp_path)
    tensor.with_suffix(".bin").write_bytes(b"data")
    assert "voices/af_heart.bin" in weights.folder(tmp_path)
    tensor.with_suffix(".bin").unlink()
    model.rename(tmp_path / "kokoro-v1_0.pth")
    assert "voices/af_heart.pt" in weights.folder(tmp_path)


class _Output:
    """A stream of prepared events."""

    def __init__(self, *events: tuple[str, bytes]) -> None:
        self._events = list(events)

    async def receive(self) -> Any:
        if not self._events:
            return None
        kind, data = self._events.pop(0)
        part = type("Part", (), {"data_type": kind, "bytes_": data})()
        return type("Event", (), {"value": part})()


START, AUDIO, END = (
    ("UTF8", b'{"type": "synthesis_start"}'),
    ("BINARY", bytes(24_000)),
    ("UTF8", b'{"type": "synthesis_complete"}'),
)


async def test_what_a_session_must_give() -> None:
    spoken = await smoke._listen(_Output(START, AUDIO, AUDIO, END), 0.0)  # noqa: SLF001
    assert spoken.audio == 1.0


@pytest.mark.parametrize(
    ("events", "told"),
    [
        ([START, END], "sent no audio"),
        ([START, AUDIO], "ended before the answer was complete"),
        ([("UTF8", b'{"type": "error", "message": "no voice"}')], "no voice"),
    ],
)
async def test_what_is_no_answer(events: list[tuple[str, bytes]], told: str) -> None:
    with pytest.raises(DeployError, match=told):
        await smoke._listen(_Output(*events), 0.0)  # noqa: SLF001


def test_the_session_goes_to_the_port_of_streaming(monkeypatch: pytest.MonkeyPatch) -> None:
    called = dialled(monkeypatch)
    keys = boto3.Session("AKIDEXAMPLE", "secret", region_name="us-west-2")
    with pytest.raises(DeployError, match=r"session with tts failed: .*no network here"):
        smoke.speak(Cloud(keys, "1", "us-west-2", rehearsal=False), "tts")
    assert set(called) == {"runtime.sagemaker.us-west-2.amazonaws.com:8443"}
