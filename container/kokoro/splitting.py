"""Text to pieces: sentences, long ones at clauses, long clauses at words. Joined, the pieces are the text."""

# ruff: noqa: RUF001  # phonetic and CJK symbols look like others, and are meant

import re
from itertools import pairwise

MAX_CHARS = 240
"""About 16 s of speech. The model would take twice that, but a piece is also the unit in which work is shared between
sessions, stopped, and first heard."""

MAX_WORD = 40
"""Characters of one word that are read in one piece."""

_CLOSERS = "\"'”’»)\\]」』）"
# the look-behind starts a run of stops only once: without it, 20,000 dots would cost their number squared
_SENTENCE_END = re.compile(rf"(?<![.!?…])[.!?…]+[{_CLOSERS}]*(?=\s|$)\s*|[。！？．]+[{_CLOSERS}]*\s*|\n\s*")
_CLAUSE_END = re.compile(rf"[,;:—][{_CLOSERS}]*\s+|—|[，、；：]\s*")
_WORD_END = re.compile(r"\s+")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\"“])(?:Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|vs|etc|e\.g|i\.e|approx|No|Fig|Inc|Ltd|Co|[A-Z](?:\.[A-Z])*|[ap]\.m)\.\s*$"
)


def sentences(text: str) -> list[str]:
    """Cut `text` after each sentence; a stop after an abbreviation or an initial does not end one."""
    parts, start = [], 0
    for match in _SENTENCE_END.finditer(text):
        # only the tail is looked at: a text without one real stop must not cost its length squared
        if match.group().startswith(".") and _ABBREVIATION.search(text[max(start, match.end() - 24) : match.end()]):
            continue
        parts.append(text[start : match.end()])
        start = match.end()
    return [*parts, text[start:]] if start < len(text) else parts


def _pack(text: str, end: re.Pattern[str], limit: int) -> list[str]:
    """Cut at every `end` and join neighbours again while they fit into `limit`."""
    cuts = [0, *(match.end() for match in end.finditer(text)), len(text)]
    parts: list[str] = []
    for start, stop in pairwise(cuts):
        if parts and len(parts[-1]) + stop - start <= limit:
            parts[-1] += text[start:stop]
        elif start < stop:
            parts.append(text[start:stop])
    return parts


def pieces(text: str, limit: int = MAX_CHARS) -> list[str]:
    """Cut `text` into parts of at most `limit` characters, at the best places there are."""
    result: list[str] = []
    for sentence in sentences(text):
        for clause in _pack(sentence, _CLAUSE_END, limit) if len(sentence) > limit else [sentence]:
            for words in _pack(clause, _WORD_END, limit) if len(clause) > limit else [clause]:
                # what has no blank is spelled or counted out: a long time for few characters
                unbroken = words.isascii() and not _WORD_END.search(words.strip())
                step = min(limit, MAX_WORD) if unbroken else limit
                result += [words[at : at + step] for at in range(0, len(words), step)]
    return result


def halves(text: str) -> tuple[str, str]:
    """Cut `text` (2 characters or more) in two, at the space nearest to the middle if there is one inside."""
    middle = len(text) // 2
    spaces = [match.end() for match in _WORD_END.finditer(text) if 0 < match.end() < len(text)]
    cut = min(spaces, key=lambda at: abs(at - middle), default=middle)
    return text[:cut], text[cut:]
