"""Kokoro on torch, CPU or CUDA. Needs the extra 'torch'."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from container.kokoro import voices
from container.kokoro.engine import threads
from container.kokoro.errors import SetupError, SynthesisError
from container.kokoro.kmodel import REPOSITORY, kmodel_class
from container.kokoro.pcm import Samples
from container.kokoro.weights import Weights

# oneDNN keeps code for every input length it has seen: 2.9 GB after 40 lengths, 2.1 GB with this. Read at import.
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "8")

try:
    import torch

    KModel = kmodel_class()
except ModuleNotFoundError as _error:
    raise SetupError(
        f"The engine torch needs the package {_error.name}, which is not installed. "
        "Install the extra 'torch', or use --engine onnx."
    ) from _error


class TorchEngine:
    """One `kokoro.KModel` in evaluation mode."""

    def __init__(self, weights: Weights) -> None:
        torch.set_num_threads(threads())
        device = "cuda" if torch.cuda.is_available() else "cpu"
        try:
            model = KModel(repo_id=REPOSITORY, config=str(weights.config), model=str(weights.model))
        except Exception as error:  # unpickling, shapes, keys: whatever a wrong file leads to
            raise SetupError(f"{weights.model} is no Kokoro checkpoint that torch can load: {error}") from error
        self._model = model.to(device).eval()
        self._voices = voices.load(weights.voices)
        self.voice_names = self._voices.names
        self.description = f"torch {torch.__version__} on {device}, {weights}"

    def synthesise(self, phonemes: str, voice: str, speed: float) -> Samples:
        """Speak one run of phonemes. Raises SynthesisError."""
        style = torch.from_numpy(self._voices.style(voice, len(phonemes)))
        try:
            audio: Any = self._model(phonemes, style, speed)
        except Exception as error:  # torch raises RuntimeError and many of its own
            raise SynthesisError(f"torch failed on {len(phonemes)} phonemes: {error}") from error
        return np.asarray(audio.detach().float().cpu().numpy(), dtype=np.float32).reshape(-1)


def read_tensor(path: Path) -> Samples:
    """Read a voice in the hub's format: a tensor of shape (510, 1, 256)."""
    try:
        tensor: Any = torch.load(path, map_location="cpu", weights_only=True)
        return np.asarray(tensor.float().numpy(), dtype=np.float32)
    except Exception as error:  # unpickling raises almost anything
        raise SetupError(f"The voice {path} cannot be read: {error}") from error
