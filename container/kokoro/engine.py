"""An engine: phonemes, voice and speed to samples. Two exist, ONNX Runtime on the CPU and torch on CPU or CUDA."""

import os
from typing import Protocol

from container.kokoro.errors import SetupError
from container.kokoro.pcm import Samples
from container.kokoro.weights import Weights

ENGINES = ("onnx", "torch")
SWITCH = ("on", "off")
_MAX_DIGITS = 18


class Engine(Protocol):
    """What the rest of the container knows of a model."""

    description: str
    """Engine, device, weights: for people."""
    voice_names: list[str]
    together: int
    """How many runs it takes at once, from as many threads."""

    def synthesise(self, phonemes: str, voice: str, speed: float) -> Samples:
        """Speak a run of 1..510 known phonemes with a known voice: float samples (n,) at 24 kHz. Blocks; raises."""
        ...


def threads() -> int:
    """Return the number of threads for one synthesis: KOKORO_THREADS, else the cores there are, at most 4."""
    # beyond 4, one sentence gains nothing
    return whole_number("KOKORO_THREADS", min(len(os.sched_getaffinity(0)), 4), 256)


def switch(variable: str, *, default: bool) -> bool:
    """Return whether an environment variable is "on" or "off"; unset or empty means `default`. Raises SetupError."""
    text = os.environ.get(variable, "")
    if text not in ("", *SWITCH):
        raise SetupError(f"{variable} is {text[:40]!r}, expected {' or '.join(SWITCH)}.")
    return text == "on" if text else default


def whole(text: str) -> int | None:
    """Return the number that decimal digits stand for; None where there is anything else, or more than any setting."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS else None


def whole_number(variable: str, default: int, most: int, also: str = "") -> int:
    """Return the value of an environment variable, 1 to `most`; unset or empty means `default`. Raises SetupError.

    `also` is what else the caller takes, for the error.
    """
    text = os.environ.get(variable, "")
    if not text:
        return default
    number = whole(text)
    if number is None or not 1 <= number <= most:
        raise SetupError(f"{variable} is {text[:40]!r}, expected a whole number from 1 to {most}{also}.")
    return number


def load(name: str, weights: Weights) -> Engine:
    """Load the engine `name` with `weights`. Takes seconds. Raises SetupError."""
    if name == "onnx":
        from container.kokoro.onnx_engine import OnnxEngine  # noqa: PLC0415  # only the chosen one is imported

        return OnnxEngine(weights)
    from container.kokoro.torch_engine import TorchEngine  # noqa: PLC0415

    return TorchEngine(weights)
