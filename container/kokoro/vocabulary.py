"""The symbols that Kokoro-82M was trained on, from the model's own `config.json` (Apache-2.0, hexgrad/Kokoro-82M)."""

import json
from functools import cache
from pathlib import Path

from container.kokoro.errors import SetupError

CONFIG = Path(__file__).with_name("config.json")
MAX_PHONEMES = 510
"""The model takes 512 tokens, two of them padding; a longer input is cut off without a word."""

_SILENT = frozenset(';:,.!?—…"()“” ˈˌː')


@cache
def symbols() -> dict[str, int]:
    """Map each phoneme or punctuation mark to its token id."""
    vocabulary: dict[str, int] = json.loads(CONFIG.read_text(encoding="utf-8"))["vocab"]
    return vocabulary


def check_vocabulary(config: Path) -> None:
    """Raise SetupError when the model of `config` has other token ids: it would speak something else than the text."""
    try:
        theirs = json.loads(config.read_text(encoding="utf-8"))["vocab"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SetupError(
            f"{config} is no configuration of Kokoro: {error!r}. Expected JSON with a vocab. Without the file the "
            "usual one is taken."
        ) from error
    if theirs != symbols():
        other = sorted(set(theirs.items()) ^ set(symbols().items())) if isinstance(theirs, dict) else []
        shown = ", ".join(f"{symbol!r} is {number}" for symbol, number in other[:4])
        raise SetupError(
            f"{config} has another vocabulary than Kokoro-82M v1.0, whose symbols are all that this container writes "
            f"({len(other)} entries differ: {shown}). Use the weights of v1.0."
        )


def keep_known(phonemes: str) -> str:
    """Drop what the model has no symbol for."""
    return "".join(symbol for symbol in phonemes if symbol in symbols())


def tokens(phonemes: str) -> list[int]:
    """Return the token ids of known `phonemes`, padded with 0 at both ends as the model wants them."""
    return [0, *(symbols()[symbol] for symbol in phonemes), 0]


def is_speech(phonemes: str) -> bool:
    """Say whether there is anything to speak in it: not only punctuation, stress and spaces."""
    return any(symbol not in _SILENT for symbol in phonemes)
