"""The torch engine, from the packaged weights: `uv run --extra torch pytest -m torch`."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from container.kokoro import engine
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


def spectrum(samples: Samples) -> Samples:
    """Share of the energy in each of 24 bands of 250 Hz."""
    power = np.abs(np.fft.rfft(samples)) ** 2
    bands = (np.fft.rfftfreq(len(samples), 1 / 24_000) // 250).astype(int)
    energy = np.bincount(bands, power)[:24]
    return np.asarray(np.sqrt(energy / energy.sum()), dtype=np.float32)


@marked
@pytest.mark.parametrize("voice", ["af_heart", "am_michael", "bf_emma"])
def test_it_says_the_same_as_onnx(torch_engine: Engine, onnx: Engine, phonemizer: Phonemizer, voice: str) -> None:
    text = "The quick brown fox jumps over the lazy dog."
    run = phonemizer.read(text, voice[0]).runs[0]
    ours, theirs = torch_engine.synthesise(run, voice, 1.0), onnx.synthesise(run, voice, 1.0)
    assert ours.dtype == np.float32
    assert len(ours) == pytest.approx(len(theirs), rel=0.1)
    assert float(spectrum(ours) @ spectrum(theirs)) > 0.9
    assert 0.05 < np.abs(ours).max() < 1.5


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


@pytest.mark.skipif(not MISSING, reason="the extra 'torch' is installed, so nothing is missing")
def test_without_the_extra_the_error_names_it(weights: Weights) -> None:
    with pytest.raises(SetupError, match=r"Install the extra 'torch', or use --engine onnx"):
        engine.load("torch", weights)
    with pytest.raises(SetupError, match="Install the extra 'torch'"):
        resolve("hub", "torch")
