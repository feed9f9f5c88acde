"""An engine: phonemes, voice and speed to samples. Two exist, ONNX Runtime on the CPU and torch on CPU or CUDA."""

import os
from typing import Protocol

from container.kokoro.errors import SetupError
from container.kokoro.pcm import Samples
from container.kokoro.weights import Weights

ENGINES = ("onnx", "torch")


class Engine(Protocol):
    """What the rest of the container knows of a model."""

    description: str
    """Engine, device, weights: for people."""
    voice_names: list[str]

    def synthesise(self, phonemes: str, voice: str, speed: float) -> Samples:
        """Speak a run of 1..510 known phonemes with a known voice: float samples (n,) at 24 kHz. Blocks; raises."""
        ...


def threads() -> int:
    """Return the number of threads for one synthesis: KOKORO_THREADS, else the cores there are, at most 4."""
    text = os.environ.get("KOKORO_THREADS", "")
    if not text:
        return min(len(os.sched_getaffinity(0)), 4)  # beyond 4, one sentence gains nothing
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text) <= 256:
        raise SetupError(f"KOKORO_THREADS is {text!r}, expected a whole number from 1 to 256.")
    return int(text)


def load(name: str, weights: Weights) -> Engine:
    """Load the engine `name` with `weights`. Takes seconds. Raises SetupError."""
    if name == "onnx":
        from container.kokoro.onnx_engine import OnnxEngine  # noqa: PLC0415  # only the chosen one is imported

        return OnnxEngine(weights)
    from container.kokoro.torch_engine import TorchEngine  # noqa: PLC0415

    return TorchEngine(weights)
