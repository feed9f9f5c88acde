"""Text without punctuation: it cannot be split at sentences, so one call of the model gets all of it."""

import unicodedata
from collections.abc import Sequence

__all__ = ["unpunctuated"]

_INSIDE_WORDS = frozenset("'\u2019-")


def unpunctuated(sentences: Sequence[str], length: int) -> str:
    """Return words of ``sentences``, repeated, in at least ``length`` characters and at most one word more."""
    words = [word for sentence in sentences for word in _words(sentence)] or ["word"]
    text = words[0]
    count = 1
    while len(text) < length:
        text += f" {words[count % len(words)]}"
        count += 1
    return text


def _words(sentence: str) -> list[str]:
    kept = (
        character if character in _INSIDE_WORDS or unicodedata.category(character)[0] not in "PS" else " "
        for character in sentence
    )
    return "".join(kept).split()
