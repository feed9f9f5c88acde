"""Text to pieces: sentences, long ones at clauses, long clauses at words. Joined, the pieces are the text."""

# ruff: noqa: RUF001  # phonetic and CJK symbols look like others, and are meant

import re
from enum import IntEnum
from itertools import accumulate, pairwise

MAX_CHARS = 240
"""About 16 s of speech. The model would take twice that, but a piece is also the unit in which work is shared between
sessions, stopped, and first heard."""

MAX_WORD = 40
"""Characters of one word that are read in one piece."""

_SYLLABIC = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af]")
_LONG_SIGN = re.compile(rf"{_SYLLABIC.pattern}|\d")
"""A digit is read as a word, too."""
_LETTERS_A_SIGN = 4
_CLOSERS = "\"'”’»)\\]」』）"
# the look-behind starts a run of stops only once: without it, 20,000 dots would cost their number squared
_SENTENCE_END = re.compile(rf"(?<![.!?…])[.!?…]+[{_CLOSERS}]*(?=\s|$)\s*|[。！？．।]+[{_CLOSERS}]*\s*|\n\s*")
_CLAUSE_END = re.compile(rf"[,;:—][{_CLOSERS}]*\s+|—|[，、；：]\s*")
_WORD_END = re.compile(r"\s+")
_PHRASE_END = re.compile(
    r"(?<!\s)\s++(?=(?:and|but|or|nor|so|yet|because|since|although|though|while|when|where|which|who|that|if|unless|until|"
    r"before|after|as|than|with|without|from|into|through|between)\s)",
    re.IGNORECASE,
)
"""Where English draws breath without a comma: before a conjunction, or a preposition of some weight."""
_SENTENCE_CLOSED = re.compile(rf"[.!?…。！？．।][{_CLOSERS}]*\s*$|\n\s*$")
_CLAUSE_CLOSED = re.compile(rf"[,;:—，、；：][{_CLOSERS}]*\s*$")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\"“])(?:Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|vs|etc|e\.g|i\.e|approx|No|Fig|Inc|Ltd|Co|[A-Z](?:\.[A-Z])*|[ap]\.m)\.\s*$"
)


_BOUND = re.compile(
    r"(?:^|[\s(\"“])(?:(?P<number>Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|pp?|vols?|ch|art|sec)|"
    r"(?P<name>Gov|Sen|Gen|Rep|Capt|Col|Lt|Sgt|Rev|Hon|Mt|Ft)|(?P<small>ft|min|hrs?|sec|lbs?|oz|Ave|Blvd|Rd))\.\s*$"
)
"""Abbreviations that bind what comes behind them, where it is a number, a name, a word in small letters."""


def _is_bound(tail: str, following: str) -> bool:
    found = _BOUND.search(tail)
    if found is None or not following:
        return False
    test = {"number": str.isdigit, "name": str.isupper, "small": str.islower}[found.lastgroup or ""]
    return test(following)


def sentences(text: str) -> list[str]:
    """Cut `text` after each sentence; a stop after an abbreviation or an initial does not end one."""
    parts, start = [], 0
    for match in _SENTENCE_END.finditer(text):
        # only the tail is looked at: a text without one real stop must not cost its length squared
        tail = text[max(start, match.end() - 24) : match.end()]
        if match.group().startswith(".") and (
            _ABBREVIATION.search(tail) or _is_bound(tail, text[match.end() : match.end() + 1])
        ):
            continue
        parts.append(text[start : match.end()])
        start = match.end()
    return [*parts, text[start:]] if start < len(text) else parts


def _pack(text: str, end: re.Pattern[str], limit: int) -> list[str]:
    """Cut at every `end` and join neighbours again while they fit into `limit`."""
    cuts = [0, *(match.end() for match in end.finditer(text)), len(text)]
    parts: list[str] = []
    packed = 0  # the weight of the last part
    for start, stop in pairwise(cuts):
        weight = _weight(text[start:stop])
        if parts and packed + weight <= limit:
            parts[-1] += text[start:stop]
            packed += weight
        elif start < stop:
            parts.append(text[start:stop])
            packed = weight
    return parts


def joint_s(piece: str) -> float | None:
    """Return how much silence belongs on either side of the cut after `piece`; None after a sentence: all there is.

    The model ends every piece as if it were a sentence, with half a second of silence, and begins the next with a
    third. Inside a sentence it makes a pause of about 0.4 s for a comma, and none between words.
    """
    if _SENTENCE_CLOSED.search(piece):
        return None
    return 0.18 if _CLAUSE_CLOSED.search(piece) else 0.03


def _weight(text: str) -> int:
    """Return about how many Latin letters take as long to speak: a syllable sign is a syllable, a digit a word."""
    return len(text) + (_LETTERS_A_SIGN - 1) * len(_LONG_SIGN.findall(text))


def parts(sentence: str, limit: int = MAX_CHARS) -> list[str]:
    """Cut one sentence into parts of at most `limit` characters (fewer syllable signs), at the best places there are.

    Whole where it fits, else at clauses, else at words.
    """
    result: list[str] = []
    for clause in _pack(sentence, _CLAUSE_END, limit) if _weight(sentence) > limit else [sentence]:
        for words in _pack(clause, _WORD_END, limit) if _weight(clause) > limit else [clause]:
            result += _bits(words, limit)
    return [part for part in result if part]


def first_part(sentence: str, limit: int = MAX_CHARS) -> str:
    """Return the first of the `parts`; what comes long after it is not looked at."""
    return parts(sentence[: limit + limit // 4], limit)[0]


class Cut(IntEnum):
    """Where a sentence is cut, the best first."""

    CLAUSE = 1
    PHRASE = 2
    WORD = 3


def cuts(sentence: str, worst: Cut) -> list[int]:
    """Return where `sentence` can be cut, ascending: the positions of all cuts that are not worse than `worst`."""
    ends = (_CLAUSE_END, _PHRASE_END, _WORD_END)[:worst]
    places = {match.end() for end in ends for match in end.finditer(sentence)}
    return sorted(place for place in places if 0 < place < len(sentence))


def letters(text: str) -> list[int]:
    """Return, for each prefix of `text` (0..n characters), about how many Latin letters take as long to speak."""
    return list(accumulate((_LETTERS_A_SIGN if _LONG_SIGN.match(sign) else 1 for sign in text), initial=0))


def _bits(words: str, limit: int) -> list[str]:
    """Cut what has no better place left. A word without an end is spelled out: a long time for few characters."""
    unbroken = words.isascii() and not _WORD_END.search(words.strip())
    if not unbroken and _weight(words) <= limit:
        return [words]
    step = min(limit, MAX_WORD) if unbroken else limit * len(words) // _weight(words)
    return [words[at : at + step] for at in range(0, len(words), step)]


def halves(text: str) -> tuple[str, str]:
    """Cut `text` (2 characters or more) in two, at the clause, else the space, nearest to the middle."""
    middle = len(text) // 2
    for end, reach in ((_CLAUSE_END, len(text) // 4), (_WORD_END, middle)):
        places = [match.end() for match in end.finditer(text) if 0 < match.end() < len(text)]
        near = [at for at in places if abs(at - middle) <= reach]
        if near:
            cut = min(near, key=lambda at: abs(at - middle))
            return text[:cut], text[cut:]
    return text[:middle], text[middle:]
