"""Kokoro on torch, CPU or CUDA. Needs the extra 'torch'."""

import contextlib
import math
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from container.kokoro import batch, voices
from container.kokoro.engine import switch, threads, whole_number
from container.kokoro.errors import SetupError, SynthesisError
from container.kokoro.kmodel import kmodel_class
from container.kokoro.pcm import Samples
from container.kokoro.together import Together
from container.kokoro.vocabulary import MAX_PHONEMES, tokens
from container.kokoro.weights import Weights

# oneDNN keeps code for every input length it has seen: 2.9 GB after 40 lengths, 2.1 GB with this. Read at import.
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "8")
# Threads that wait for each other in a loop take the cores from everything else that wants them. Read at import.
if not switch("KOKORO_SPIN", default=False):
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")

try:
    import torch

    from container.kokoro import checkpoint, padded

    kmodel_class()
except ModuleNotFoundError as _error:
    raise SetupError(
        f"The engine torch needs the package {_error.name}, which is not installed. "
        "Install the extra 'torch', or use --engine onnx."
    ) from _error

MAX_BATCH = 64
_MAX_PADDING = 2
"""How much longer the longest text of a batch may be than the shortest: padding is computed like speech."""
PRECISIONS = ("fp32", "bf16", "fp16")
_WARM_UP = "həlO ðɛɹ, "
_WARM_UP_LENGTHS = (24, 96, 240, MAX_PHONEMES)
"""Phonemes: a GPU plans anew for sizes it has not seen, and its memory is best asked for once, the largest first."""
_TRIAL = 96
"""Phonemes of the longest text of a batch that is tried: a sentence. The shortest has half of it."""


type _Run = tuple[str, str, float]
"""Phonemes, voice, speed."""


class TorchEngine:
    """One `kokoro.KModel` in evaluation mode, on one device, in one precision."""

    def __init__(self, weights: Weights) -> None:
        torch.set_num_threads(threads())
        self._device = choose_device(os.environ.get("KOKORO_DEVICE", ""))
        self._precision = choose_precision(os.environ.get("KOKORO_PRECISION", ""), self._device)
        model = checkpoint.load(weights.config, weights.model)
        try:
            self._model = model.to(self._device).eval()
        except RuntimeError as error:
            raise SetupError(f"The model cannot be put on {self._device}: {error}") from error
        _fold_weight_norm(self._model)
        if self._precision != "fp32":
            _keep_source_in_fp32(self._model.decoder.generator, self._device.type)
        self._voices = voices.load(weights.voices)
        self.voice_names = self._voices.names
        if self._device.type == "cuda":
            torch.backends.cudnn.benchmark = False  # every sentence has another length: it would search anew each time
            torch.set_float32_matmul_precision("high")  # TF32
            self._warm_up()
        self.together = self._batch_size()
        self._batches = Together[_Run, Samples](self.speak_together, self.together, _are_alike)
        batches = f", batches of {self.together}" if self.together > 1 else ""
        self.description = f"torch {torch.__version__} on {_name(self._device)}, {self._precision}{batches}, {weights}"

    def synthesise(self, phonemes: str, voice: str, speed: float) -> Samples:
        """Speak one run of phonemes, with what other threads ask for meanwhile. Raises SynthesisError."""
        return self._batches((phonemes, voice, speed))

    def speak_together(self, runs: Sequence[_Run]) -> list[Samples]:
        """Speak runs of any lengths and voices in one pass, on the caller's thread. Raises SynthesisError."""
        try:
            with torch.inference_mode(), self._autocast():
                if len(runs) == 1:
                    phonemes, voice, speed = runs[0]
                    audio = [self._model(phonemes, self._style(phonemes, voice), speed)]
                else:
                    texts = [tokens(phonemes)[1:-1] for phonemes, _, _ in runs]
                    styles = torch.cat([self._style(phonemes, voice) for phonemes, voice, _ in runs])
                    audio = padded.speak(self._model, texts, styles, [speed for _, _, speed in runs])
                return [np.asarray(one.float().cpu().numpy(), dtype=np.float32).reshape(-1) for one in audio]
        except Exception as error:  # torch raises RuntimeError and many of its own
            if self._device.type == "cuda" and "out of memory" in str(error).lower():
                torch.cuda.empty_cache()
            lengths = " and ".join(str(len(phonemes)) for phonemes, _, _ in runs)
            raise SynthesisError(f"torch failed on {lengths} phonemes: {error}") from error

    def _style(self, phonemes: str, voice: str) -> Any:
        return torch.from_numpy(self._voices.style(voice, len(phonemes)))

    def _autocast(self) -> Any:
        if self._precision == "fp32":
            return contextlib.nullcontext()
        return torch.autocast(self._device.type, dtype=torch.bfloat16 if self._precision == "bf16" else torch.float16)

    def _warm_up(self) -> None:
        for length in sorted(_WARM_UP_LENGTHS, reverse=True):
            self._speak_lengths([length])

    def _speak_lengths(self, lengths: Sequence[int]) -> None:
        """Speak texts of so many phonemes in one pass."""
        text = _WARM_UP * (MAX_PHONEMES // len(_WARM_UP) + 1)
        self.speak_together([(text[:length], self.voice_names[0], 1.0) for length in lengths])

    def _batch_size(self) -> int:
        """Return how many texts one pass takes: KOKORO_BATCH, else what pays on this GPU, on a CPU one."""
        default = batch.AUTO if self._device.type == "cuda" else ""
        if (os.environ.get("KOKORO_BATCH") or default) == batch.AUTO:
            return batch.size_that_pays(self._cost)
        return whole_number("KOKORO_BATCH", 1, MAX_BATCH, f", or {batch.AUTO}")

    def _cost(self, size: int) -> float:
        """Return the seconds that one phoneme takes in a batch of `size`; infinitely many where it has no place."""
        lengths = [_TRIAL - _TRIAL // 2 * number // size for number in range(size)]
        try:
            self._speak_lengths(lengths)  # the first pass of a shape plans
            begun = time.perf_counter()
            self._speak_lengths(lengths)
        except SynthesisError:
            return math.inf
        return (time.perf_counter() - begun) / sum(lengths)


def _are_alike(one: _Run, other: _Run) -> bool:
    lengths = sorted((len(one[0]), len(other[0])))
    return lengths[1] <= _MAX_PADDING * lengths[0]


def choose_device(wish: str) -> Any:
    """Return the torch device for KOKORO_DEVICE: "" (CUDA where there is one), "cpu", "cuda" or "cuda:1"."""
    name = wish or ("cuda" if torch.cuda.is_available() else "cpu")
    kind, _, number = name.partition(":")
    if kind not in ("cpu", "cuda") or (number and not number.isdecimal()):
        raise SetupError(f"KOKORO_DEVICE is {wish!r}, expected cpu, cuda or cuda:NUMBER.")
    if kind == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if int(number or 0) >= count:
            raise SetupError(
                f"KOKORO_DEVICE is {wish!r}, but torch sees {count} CUDA devices. Is the driver new enough for "
                f"CUDA {torch.version.cuda}, and was the container started with GPUs?"
            )
    return torch.device(name)


def choose_precision(wish: str, device: Any) -> str:
    """Return one of PRECISIONS for KOKORO_PRECISION; fp32 unless asked otherwise."""
    if not wish:
        return "fp32"
    if wish not in PRECISIONS:
        raise SetupError(f"KOKORO_PRECISION is {wish!r}, expected one of {', '.join(PRECISIONS)}.")
    if wish == "bf16" and device.type == "cuda" and not torch.cuda.is_bf16_supported():
        raise SetupError("KOKORO_PRECISION is 'bf16', which this GPU does not compute in. Use fp16 or fp32.")
    if wish == "fp16" and device.type == "cpu":
        raise SetupError("KOKORO_PRECISION is 'fp16', which only GPUs compute in. Use bf16 or fp32.")
    return wish


def _name(device: Any) -> str:
    return str(torch.cuda.get_device_name(device)) if device.type == "cuda" else str(device)


def _fold_weight_norm(model: Any) -> None:
    """Multiply out the weight norms, which are for training: 0.3 GB less, and fewer operations for each sentence."""
    for module in model.modules():
        with contextlib.suppress(ValueError):  # it has none
            torch.nn.utils.remove_weight_norm(module)


def _keep_source_in_fp32(generator: Any, device_type: str) -> None:
    """Let the Fourier transforms and the sine source compute in fp32.

    There are no complex numbers of lower precision, and a phase summed up over seconds would drift in one.
    """

    def in_fp32(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*tensors: Any) -> Any:
            with torch.autocast(device_type, enabled=False):
                return method(*(tensor.float() for tensor in tensors))

        return call

    stft, source = generator.stft, generator.m_source
    stft.transform, stft.inverse = in_fp32(stft.transform), in_fp32(stft.inverse)
    source.forward = in_fp32(source.forward)


def read_tensor(path: Path) -> Samples:
    """Read a voice in the hub's format: a tensor of shape (510, 1, 256)."""
    try:
        tensor: Any = torch.load(path, map_location="cpu", weights_only=True)
        return np.asarray(tensor.float().numpy(), dtype=np.float32)
    except Exception as error:  # unpickling raises almost anything
        raise SetupError(f"The voice {path} cannot be read: {error}") from error
