"""Text to pieces: sentences, long ones at clauses, long clauses at words. Joined, the pieces are the text."""

# ruff: noqa: RUF001  # phonetic and CJK symbols look like others, and are meant

import re
from itertools import pairwise

MAX_CHARS = 240
"""About 16 s of speech. The model would take twice that, but a piece is also the unit in which work is shared between
sessions, stopped, and first heard."""

MAX_WORD = 40
"""Characters of one word that are read in one piece."""

LEAD_MIN = 16
"""Letters in an opening clause: about a second of speech; shorter ones sound odd on their own."""
LEAD_GROWTH = 3
"""How much longer than the part before it a part of the first sentence may be; the model is three times as fast as
speech on two cores."""

_SYLLABIC = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af]")
_CLOSERS = "\"'”’»)\\]」』）"
# the look-behind starts a run of stops only once: without it, 20,000 dots would cost their number squared
_SENTENCE_END = re.compile(rf"(?<![.!?…])[.!?…]+[{_CLOSERS}]*(?=\s|$)\s*|[。！？．।]+[{_CLOSERS}]*\s*|\n\s*")
_CLAUSE_END = re.compile(rf"[,;:—][{_CLOSERS}]*\s+|—|[，、；：]\s*")
_WORD_END = re.compile(r"\s+")
_SENTENCE_CLOSED = re.compile(rf"[.!?…。！？．।][{_CLOSERS}]*\s*$|\n\s*$")
_CLAUSE_CLOSED = re.compile(rf"[,;:—，、；：][{_CLOSERS}]*\s*$")
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
        if parts and _weight(parts[-1]) + _weight(text[start:stop]) <= limit:
            parts[-1] += text[start:stop]
        elif start < stop:
            parts.append(text[start:stop])
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
    """Return about how many Latin letters take as long to speak: an ideograph or a syllable sign is a syllable."""
    return len(text) + 3 * len(_SYLLABIC.findall(text))


def pieces(text: str, limit: int = MAX_CHARS, *, lead: bool = False) -> list[str]:
    """Cut `text` into parts of at most `limit` characters (fewer syllable signs), at the best places there are.

    With `lead`, a long first sentence is cut at clauses too, so that the first part is heard sooner.
    """
    result: list[str] = []
    for sentence in sentences(text):
        if lead and not result and sentence.strip():
            *opening, rest = _opening(sentence)
            result += opening
        else:
            rest = sentence
        for clause in _pack(rest, _CLAUSE_END, limit) if _weight(rest) > limit else [rest]:
            for words in _pack(clause, _WORD_END, limit) if _weight(clause) > limit else [clause]:
                result += _bits(words, limit)
    return [part for part in result if part]


def _bits(words: str, limit: int) -> list[str]:
    """Cut what has no better place left. A word without an end is spelled out: a long time for few characters."""
    unbroken = words.isascii() and not _WORD_END.search(words.strip())
    if not unbroken and _weight(words) <= limit:
        return [words]
    step = min(limit, MAX_WORD) if unbroken else limit * len(words) // _weight(words)
    return [words[at : at + step] for at in range(0, len(words), step)]


def _opening(sentence: str) -> list[str]:
    """Cut the opening clauses off a sentence; the last part is the rest.

    Each is at most LEAD_GROWTH times as long as what is heard before it, where there are clauses to cut at.

    While a part plays, the next must be computed, so a very short one may not be followed by a very long one.
    """
    if _weight(sentence) <= LEAD_MIN * 2:
        return [sentence]
    clauses = [part for part in _pack(sentence, _CLAUSE_END, 0) if part]
    opening: list[str] = []
    first = ""
    while len(clauses) > 1 and _weight(first) < LEAD_MIN:
        first += clauses.pop(0)
    if _weight(first) < LEAD_MIN or _weight(first) > _weight(sentence) * 2 // 3:
        return [sentence]
    opening.append(first)
    while clauses and _weight("".join(clauses)) > LEAD_GROWTH * _weight(opening[-1]):
        part = clauses.pop(0)
        while clauses and _weight(part + clauses[0]) <= LEAD_GROWTH * _weight(opening[-1]):
            part += clauses.pop(0)
        opening.append(part)
    return [*opening, "".join(clauses)]


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
