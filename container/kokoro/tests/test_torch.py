"""The torch engine, from the packaged weights: `uv run --extra torch pytest -m torch`."""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from container.kokoro import engine
from container.kokoro.batch import size_that_pays
from container.kokoro.bench.batching import distance
from container.kokoro.engine import Engine
from container.kokoro.errors import SetupError
from container.kokoro.pcm import Samples
from container.kokoro.phonemes import Phonemizer
from container.kokoro.weights import Weights, resolve

MISSING = [name for name in ("torch", "kokoro", "onnx") if find_spec(name) is None]
NEEDS_TORCH = [
    pytest.mark.torch,
    pytest.mark.skipif(bool(MISSING), reason=f"the extra 'torch' is not installed: no module {', '.join(MISSING)}"),
    # torch, transformers and kokoro warn about their own future; none of it is ours to change
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning"),
]


def marked[Test](test: Test) -> Test:
    for mark in NEEDS_TORCH:
        mark(test)  # a mark is kept on the function itself
    return test


@pytest.fixture(scope="module")
def torch_weights() -> Weights:
    return resolve("auto", "torch")


@pytest.fixture(scope="module")
def torch_engine(torch_weights: Weights) -> Engine:
    return engine.load("torch", torch_weights)


@pytest.fixture
def no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the random phases and the noise out of the model, so that two takes are the same."""
    import torch  # noqa: PLC0415  # an extra

    monkeypatch.setattr(torch, "randn_like", torch.zeros_like)
    monkeypatch.setattr(torch, "rand", torch.zeros)


SENTENCES = [
    "The quick brown fox jumps over the lazy dog.",
    "Please call me back before the end of the week.",
    "She sells fresh bread and butter at the market.",
]
VOICES = ["af_heart", "am_michael", "bf_emma"]
APART_DB = 11
"""Mean of three sentences. Measured: 4.7 to 6.1 for the two engines, 16 and more for another text or voice."""


def they_say_the_same(one: Engine, other: Engine, phonemizer: Phonemizer) -> None:
    """Compare two engines; a control shows that the measure tells other texts and voices apart."""

    def takes(model: Engine, voice: str) -> list[Samples]:
        return [model.synthesise(phonemizer.read(text, voice[0]).runs[0], voice, 1.0) for text in SENTENCES]

    def apart(some: list[Samples], others: list[Samples]) -> float:
        return float(np.mean([distance(one, other) for one, other in zip(some, others, strict=True)]))

    ours, theirs = ({voice: takes(model, voice) for voice in VOICES} for model in (one, other))
    for number, voice in enumerate(VOICES):
        for mine, yours in zip(ours[voice], theirs[voice], strict=True):
            assert mine.dtype == np.float32
            assert len(mine) == pytest.approx(len(yours), rel=0.1)
            assert 0.05 < np.abs(mine).max() < 1.5
        assert apart(ours[voice], theirs[voice]) < APART_DB
        other_texts, other_voice = theirs[voice][1:] + theirs[voice][:1], theirs[VOICES[number - 1]]
        assert apart(ours[voice], other_texts) > APART_DB
        assert apart(ours[voice], other_voice) > APART_DB


@marked
def test_it_says_the_same_as_onnx(torch_engine: Engine, onnx: Engine, phonemizer: Phonemizer) -> None:
    they_say_the_same(torch_engine, onnx, phonemizer)


@marked
def test_speed(torch_engine: Engine, phonemizer: Phonemizer) -> None:
    run = phonemizer.read("A sentence of medium length.", "a").runs[0]
    ratio = len(torch_engine.synthesise(run, "af_heart", 2.0)) / len(torch_engine.synthesise(run, "af_heart", 1.0))
    assert 0.35 < ratio < 0.75


@marked
def test_the_checkpoint_is_kept_and_named(torch_weights: Weights, torch_engine: Engine) -> None:
    again = resolve("auto", "torch")
    assert again == torch_weights
    assert "fp32 from int8" in torch_engine.description
    assert "torch" in torch_engine.description


@marked
def test_a_directory_with_checkpoint_and_hub_voices(torch_weights: Weights, tmp_path: Path) -> None:
    import torch  # noqa: PLC0415  # an extra

    from container.kokoro import voices  # noqa: PLC0415

    (tmp_path / "kokoro-v1_0.pth").symlink_to(torch_weights.model)
    (tmp_path / "voices").mkdir()
    table = np.fromfile(torch_weights.voices / "af_heart.bin", dtype="<f4").reshape(510, 1, 256)
    torch.save(torch.from_numpy(table), tmp_path / "voices" / "af_heart.pt")
    loaded = engine.load("torch", resolve(str(tmp_path), "torch"))
    assert loaded.voice_names == ["af_heart"]
    np.testing.assert_array_equal(voices.load(tmp_path / "voices").style("af_heart", 7), table[6])


@marked
def test_a_file_that_is_no_checkpoint(torch_weights: Weights, tmp_path: Path) -> None:
    (tmp_path / "kokoro-v1_0.pth").write_bytes(b"not a checkpoint")
    wrong = Weights(tmp_path / "kokoro-v1_0.pth", torch_weights.config, torch_weights.voices, "test", "0")
    with pytest.raises(SetupError, match="is no Kokoro checkpoint"):
        engine.load("torch", wrong)


@marked
@pytest.mark.parametrize(
    ("lost", "renamed", "words"),
    [
        ("decoder.generator.conv_post.bias", {}, "no weights for decoder.generator.conv_post.bias. Expected"),
        ("text_encoder", {}, "no weights for text_encoder.embedding.weight, .* and "),
        ("", {"weight": "kernel"}, "no weights for bert_encoder.weight. What it holds .* bert_encoder.kernel. Exp"),
    ],
)
def test_a_checkpoint_that_lacks_something_names_it(
    torch_weights: Weights, tmp_path: Path, lost: str, renamed: dict[str, str], words: str
) -> None:
    import torch  # noqa: PLC0415  # an extra

    parts = torch.load(torch_weights.model, weights_only=True)
    part, _, key = lost.partition(".")
    if key:
        del parts[part][key]
    parts = {name: stored for name, stored in parts.items() if key or name != part}
    parts["bert_encoder"] = {renamed.get(name, name): tensor for name, tensor in parts["bert_encoder"].items()}
    torch.save(parts, tmp_path / "kokoro-v1_0.pth")
    broken = Weights(tmp_path / "kokoro-v1_0.pth", torch_weights.config, torch_weights.voices, "test", "0")
    with pytest.raises(SetupError, match=f"is incomplete: it has {words}"):
        engine.load("torch", broken)


@marked
@pytest.mark.usefixtures("no_noise")
def test_the_layout_of_the_hub_says_the_same(
    torch_weights: Weights,
    torch_engine: Engine,
    phonemizer: Phonemizer,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The hub's file says "module." before each name, has no affine instance norms, and a table that nobody uses."""
    import torch  # noqa: PLC0415  # an extra

    parts = {
        part: {f"module.{key}": tensor for key, tensor in stored.items() if ".norm." not in key}
        for part, stored in torch.load(torch_weights.model, weights_only=True).items()
    }
    parts["bert"]["module.embeddings.position_ids"] = torch.arange(512)
    parts["optimizer"] = {"step": torch.zeros(1)}
    torch.save(parts, tmp_path / "kokoro-v1_0.pth")
    hub = engine.load(
        "torch", Weights(tmp_path / "kokoro-v1_0.pth", torch_weights.config, torch_weights.voices, "test", "0")
    )
    run = phonemizer.read("Hello there.", "a").runs[0]
    one, other = (each.synthesise(run, "af_heart", 1.0) for each in (hub, torch_engine))
    np.testing.assert_allclose(one, other, atol=1e-4)
    assert "not used, for the model has no place for it: optimizer" in caplog.text


@pytest.mark.skipif(not MISSING, reason="the extra 'torch' is installed, so nothing is missing")
def test_without_the_extra_the_error_names_it(weights: Weights) -> None:
    with pytest.raises(SetupError, match=r"Install the extra 'torch', or use --engine onnx"):
        engine.load("torch", weights)
    with pytest.raises(SetupError, match="Install the extra 'torch'"):
        resolve("hub", "torch")


@marked
@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("KOKORO_DEVICE", "tpu", "KOKORO_DEVICE is 'tpu', expected cpu, cuda or cuda:NUMBER"),
        ("KOKORO_DEVICE", "cuda:99", "KOKORO_DEVICE is 'cuda:99', but torch sees"),
        ("KOKORO_BATCH", "0", "KOKORO_BATCH is '0', expected a whole number from 1 to 64, or auto"),
        ("KOKORO_PRECISION", "int4", "expected one of fp32, bf16, fp16"),
    ],
)
def test_devices_and_precisions_that_are_not_there(
    torch_weights: Weights, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, words: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(SetupError, match=re.escape(words)):
        engine.load("torch", torch_weights)


@marked
def test_fp16_is_for_gpus(torch_weights: Weights, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KOKORO_DEVICE", "cpu")
    monkeypatch.setenv("KOKORO_PRECISION", "fp16")
    with pytest.raises(SetupError, match="only GPUs compute in"):
        engine.load("torch", torch_weights)


@marked
def test_bf16_says_the_same(
    torch_weights: Weights, torch_engine: Engine, phonemizer: Phonemizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KOKORO_DEVICE", "cpu")
    monkeypatch.setenv("KOKORO_PRECISION", "bf16")
    half = engine.load("torch", torch_weights)
    assert "on cpu, bf16" in half.description
    they_say_the_same(half, torch_engine, phonemizer)


@marked
def test_no_weight_norm_and_no_gradient_is_left(torch_engine: Engine, phonemizer: Phonemizer) -> None:
    model = vars(torch_engine)["_model"]
    assert not [name for name, _ in model.named_parameters() if name.endswith(("weight_g", "weight_v"))]
    run = phonemizer.read("Hello there.", "a").runs[0]
    assert len(torch_engine.synthesise(run, "af_heart+am_michael", 1.0)) > 12_000


BATCH = [
    ("Hello there.", "af_heart", 1.0),
    ("The quick brown fox jumps over the dog.", "am_michael", 1.0),
    ("A sentence, spoken fast.", "bf_emma", 1.5),
]


@marked
@pytest.mark.usefixtures("no_noise")
def test_texts_of_any_lengths_voices_and_speeds_spoken_at_once_are_those_spoken_alone(
    torch_engine: Engine, phonemizer: Phonemizer
) -> None:
    from container.kokoro.torch_engine import TorchEngine  # noqa: PLC0415  # an extra

    assert isinstance(torch_engine, TorchEngine)
    runs = [(phonemizer.read(text, voice[0]).runs[0], voice, speed) for text, voice, speed in BATCH]
    alone = [torch_engine.speak_together([run])[0] for run in runs]
    together = torch_engine.speak_together(runs)
    assert [len(audio) for audio in together] == [len(audio) for audio in alone]
    for one, other in zip(alone, together, strict=True):
        assert np.abs(one).max() > 0.05
        assert np.corrcoef(one, other)[0, 1] > 0.99
        assert distance(one, other) < 0.5
    for audio in torch_engine.speak_together([runs[0]] * 2):
        assert np.corrcoef(audio, alone[0])[0, 1] > 0.99


@marked
def test_a_batch_is_no_further_from_a_text_alone_than_two_takes_of_it(
    torch_engine: Engine, phonemizer: Phonemizer
) -> None:
    from container.kokoro.torch_engine import TorchEngine  # noqa: PLC0415  # an extra

    assert isinstance(torch_engine, TorchEngine)
    runs = [(phonemizer.read(text, voice[0]).runs[0], voice, speed) for text, voice, speed in BATCH]
    first, second = ([torch_engine.speak_together([run])[0] for run in runs] for _ in range(2))
    batch = torch_engine.speak_together(runs)
    for one, other, together in zip(first, second, batch, strict=True):
        assert distance(one, together) < distance(one, other) + 0.5
    shorter = min(len(first[0]), len(first[2]))
    assert distance(first[0][:shorter], first[2][:shorter]) > 3 * distance(first[0], batch[0]), "it tells texts apart"


@marked
def test_a_batch_setting_lets_threads_speak_together(
    torch_weights: Weights, phonemizer: Phonemizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KOKORO_BATCH", "3")
    loaded = engine.load("torch", torch_weights)
    assert loaded.together == 3
    assert "batches of 3" in loaded.description
    runs = [phonemizer.read(text, "a").runs[0] for text in ("Hello there.", "Good morning.", "How are you?", "Yes.")]
    with ThreadPoolExecutor(4) as pool:
        audio = list(pool.map(lambda run: loaded.synthesise(run, "af_heart", 1.0), runs))
    assert all(12_000 < len(samples) < 72_000 for samples in audio)


@marked
def test_the_size_of_a_batch_can_be_found_out_at_the_start(
    torch_weights: Weights, monkeypatch: pytest.MonkeyPatch
) -> None:
    from container.kokoro.torch_engine import TorchEngine  # noqa: PLC0415  # an extra

    costs: dict[int, float] = {}
    measured = vars(TorchEngine)["_cost"]

    def cost(self: TorchEngine, size: int) -> float:
        costs[size] = measured(self, size)
        return costs[size]

    monkeypatch.setattr(TorchEngine, "_cost", cost)
    monkeypatch.setenv("KOKORO_DEVICE", "cpu")
    monkeypatch.setenv("KOKORO_BATCH", "auto")
    assert engine.load("torch", torch_weights).together == size_that_pays(costs.__getitem__)
    assert all(0 < seconds < 1 for seconds in costs.values()), costs  # for a phoneme, which plays for 0.06 s or so


@pytest.mark.gpu
@marked
def test_on_a_gpu(torch_weights: Weights, phonemizer: Phonemizer, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch  # noqa: PLC0415  # an extra

    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    loaded = {}
    for precision in ("fp32", "bf16", "fp16"):
        monkeypatch.setenv("KOKORO_PRECISION", precision)
        loaded[precision] = engine.load("torch", torch_weights)
    for half in ("bf16", "fp16"):
        they_say_the_same(loaded[half], loaded["fp32"], phonemizer)


@marked
@pytest.mark.parametrize(("spin", "spins"), [("off", False), ("on", True)])
def test_threads_that_wait_leave_the_cores_to_others_unless_they_are_to_spin(spin: str, *, spins: bool) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    told = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", "import container.kokoro.torch_engine"],
        env={**environment, "KOKORO_SPIN": spin, "OMP_DISPLAY_ENV": "verbose"},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    ).stderr
    (count,) = re.findall(r"GOMP_SPINCOUNT = '(\d+)'", told)  # what the runtime of OpenMP itself says
    assert (int(count) > 0) is spins
