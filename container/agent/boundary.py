"""Whether a sentence ends between two words. Pure functions of the text around the gap."""

# ruff: noqa: RUF001  # CJK characters look like others, and are meant

import re
import unicodedata
from dataclasses import dataclass
from enum import Enum

import sentencex

from container.agent import lexicon

__all__ = [
    "Gap",
    "Wait",
    "cut",
    "forced",
    "in_word",
    "line_end",
    "writes_no_spaces",
]

MAX_HELD = 200
"""Characters after which a quotation or parenthesis that is still open no longer holds its sentences together."""

_CONTEXT = 160
"""Characters before the gap that sentencex is shown."""

_WIDE = "。！？｡．।॥؟۔።։၊။"
_CLOSERS = "\"'”’“»«)\\]}」』）】*_`~"
_WIDE_CLOSERS = "\"'”’»)\\]}」』）】*_`~"  # without the German closing marks, which open elsewhere
_WIDE_STOP = re.compile(rf"[{_WIDE}][{_WIDE}.!?…]*(?P<closers>[{_WIDE_CLOSERS}]*)")
_STOP = re.compile(rf"(?P<marks>[.!?…‼⁇⁈⁉]+)[{_CLOSERS}]*(?P<comma>[,;:])?")
_NEWLINE = re.compile("\r\n|[\n\r\v\f\x85\u2028\u2029]")
_LIST_MARK = re.compile(r"[-*•+–][ \t]+\W*\Z|#+[ \t]+\W*\Z")
_LIST_NUMBER = re.compile(r"[\s(*_#>+•`~-]*(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,4})")
_OPENERS = {"(": ")", "[": "]", "{": "}", "“": "”", "«": "»", "„": "“”", "「": "」", "『": "』", "（": "）", "【": "】"}

_SPACE = re.compile(r"\s+")
_ANY_NAME = ("Xed", "Monday")
"""Words that may follow an abbreviation: where a sentence ends before each of them, it ends."""
_PLACE = re.compile(
    rf"(?P<wide>[{_WIDE}]+[{_CLOSERS}]*\s*)|(?P<clause>[,;:—–،؛][{_CLOSERS}]*\s+|—|[，、；：]\s*)|(?P<space>\s+|\Z)"
)
"""Where a text may be cut that has no certain end of a sentence."""
_MARK = re.compile(r"[.!?…,;:»”’)\]}]")
"""What is not to be parted from what is before it."""
_LAST_TOKEN = re.compile(rf"(?P<inside>\S*?)(?P<stop>[.!?…]+)[{_CLOSERS}]*\Z")
_FENCE = re.compile(r"(?:`{3,}|~{3,})[^\s`~]*\s+\Z")


class Wait(Enum):
    """A verdict that can't be given yet."""

    FOR_MORE = "the next word is too short to say"


@dataclass(frozen=True, slots=True)
class Gap:
    """The place between two words.

    `before` begins where the last sentence ended, and ends with a word. `word` is what there is of the next one; it is
    `whole` when its end is known, with `follower`, the character after it ("" at the end of the text).
    """

    before: str
    between: str
    word: str
    whole: bool
    follower: str = ""


def in_word(char: str) -> bool:
    """Whether `char` is a letter, a mark on one, or a digit."""
    return unicodedata.category(char)[0] in "LNM"


def cut(gap: Gap, language: str) -> int | Wait | None:
    """Return where in `gap.between` a sentence ends, None if it goes on. `language` is an ISO 639-1 code."""
    if not any(map(in_word, gap.before)):
        return None
    if (newline := _NEWLINE.search(gap.between)) is not None:
        verdict = _line_ends(gap, newline)
        return newline.end() if verdict is True else None if verdict is False else verdict
    if (wide := _WIDE_STOP.search(gap.between)) is not None:
        goes_on = bool(wide["closers"]) and (
            gap.word[0] in lexicon.QUOTATIVES or (language == "zh" and gap.word[0] in lexicon.CONNECTIVES)
        )
        at = _end(gap.between, wide.end())
        return None if goes_on or _held(gap.before + gap.between[:at]) else at
    if (stop := _STOP.search(gap.between)) is None or stop["comma"]:
        return None
    spaced = any(map(str.isspace, gap.between[stop.end() :]))
    if not spaced and not _ends_without_space(stop["marks"], gap.word[0]):
        return None  # a decimal, a host name, a file
    at = _end(gap.between, stop.end())
    if _held(gap.before + gap.between[:at]):
        return None
    verdict = _stops(gap, "".join(match["marks"] for match in _STOP.finditer(gap.between)), language)
    return at if verdict is True else None if verdict is False else verdict


def _ends_without_space(marks: str, following: str) -> bool:
    """Whether a stop ends a sentence although no space follows: 真的吗?好的 does, Yahoo!Answers does not."""
    if marks[-1] not in "!?":
        return False
    return _needs_no_space(following) or (following.isupper() and set(marks) == {"!", "?"})


def line_end(before: str, between: str) -> int | None:
    """Return where in `between` a line ends that ends a sentence whatever follows; None if that is not certain yet."""
    newline = _NEWLINE.search(between)
    if newline is None or not any(map(in_word, before)):
        return None
    over = len(_NEWLINE.findall(between)) > 1 or _stop_in(between[: newline.start()])
    return newline.end() if over else None


def forced(text: str, language: str, *, timed: bool) -> int | None:
    """Return the best place to cut a text that has to be cut.

    That is the end of a sentence, of a clause, of a word, and inside of a quotation only where there is no other. None
    where there is no place, or, if the cut is `timed`, only ones behind what may go on: "Dr.", "3.", "U.S.".
    """
    ranked = [(_rank(text, place, language), place.end()) for place in _PLACE.finditer(text) if timed or place[0]]
    least = len(text) // 3  # no scraps
    good = [(rank, end) for rank, end in ranked if rank is not None]
    if fitting := [(rank, end) for rank, end in good if end > least]:
        best = min(rank for rank, _ in fitting)
        return max(end for rank, end in fitting if rank == best)
    if good:
        return good[-1][1]
    ends = [place.end() for place in _SPACE.finditer(text)]
    return None if timed or not ends else ends[-1]


def _rank(text: str, place: re.Match[str], language: str) -> int | None:
    """Return how bad a place is: 0 an end of a sentence, 1 of a clause, 2 of a word; 3 and more inside a quotation.

    None: not here, as what is before the place binds what comes, or is not complete.
    """
    before, last = text[: place.end()], place.end() == len(text)
    words_end = len(before)
    while words_end and not in_word(before[words_end - 1]):
        words_end -= 1
    if not words_end or _MARK.match(text, place.end()):
        return None
    newline = _NEWLINE.search(place[0]) is not None
    stops = None if place["clause"] else _stops_surely(before[:words_end], before[words_end:], language)
    if not newline and (stops is False or _FENCE.search(before)):
        return None  # behind a fence the end of the line is missing, by which it would be known
    held = _held(before)
    # marks that close a quotation may still come, and so may the rest of a word
    if place["space"] == "" and (not stops or held or _goes_on(before)):
        return None
    if place["wide"] and last and held:
        return None
    if stops and last and not held:
        return 0
    return (1 if stops or place["clause"] or newline else 2) + 3 * held


def _stops_surely(before: str, between: str, language: str) -> bool | None:
    """Whether a sentence could end here whatever came next; None where there is no stop."""
    if _WIDE_STOP.search(between) is not None:
        return True
    if (stop := _STOP.search(between)) is None or stop["comma"]:
        return None
    marks = "".join(match["marks"] for match in _STOP.finditer(between))
    last = _last_word(before)
    ordinal = last.isdigit() and len(last) <= 2 and language in lexicon.ORDINAL_LANGUAGES
    if marks == "." and (ordinal or last.lower() in lexicon.BEFORE_NUMBERS):
        return False
    return all(_stops(Gap(before, between, word, whole=True), marks, language) is True for word in _ANY_NAME)


def _goes_on(text: str) -> bool:
    """Whether `text` may end in half a fence, or its stop be inside a number, an address, the name of a file."""
    if text.endswith(("`", "~")):
        return True
    token = _LAST_TOKEN.search(text)
    if token is None:
        return False
    inside = token["inside"].rstrip(_CLOSERS)
    return any(char in "./@:_" for char in inside) or (token["stop"][0] == "." and inside[-1:].isdigit())


def _stop_in(text: str) -> bool:
    return _STOP.search(text) is not None or _WIDE_STOP.search(text) is not None


def _end(between: str, stop: int) -> int:
    """Return the place after the last white space behind the stop: marks that touch the next word belong to it."""
    return max((match.end() for match in _SPACE.finditer(between, stop)), default=stop)


def _line_ends(gap: Gap, newline: re.Match[str]) -> bool | Wait:
    lines = _NEWLINE.findall(gap.between)
    if len(lines) > 1 or "\u2029" in lines or _LIST_MARK.search(gap.between[newline.end() :]):
        return True
    if _stop_in(gap.between[: newline.start()]):
        return True
    if gap.word[0].isdigit():  # a number in a wrapped line, or that of a list
        return gap.follower in (".", ")") if gap.whole else Wait.FOR_MORE
    return _capital(gap)


def _capital(gap: Gap) -> bool | Wait:
    """Whether the next word can start a sentence: iPhone can, and so can every word of a script without capitals."""
    if not gap.word[0].islower():
        return True
    if len(gap.word) == 1 and not gap.whole:
        return Wait.FOR_MORE
    return gap.word[1:2].isupper()


def _stops(gap: Gap, marks: str, language: str) -> bool | Wait:
    """Whether `marks`, with white space after them, end a sentence."""
    if (capital := _capital(gap)) is not True:
        return capital
    last = _last_word(gap.before)
    if marks != ".":
        if not set(marks) <= set(".…"):
            return True
        # somebody hesitates: "I... I don't know"
        return _unless(gap, frozenset({last.lower()}))
    if _LIST_NUMBER.fullmatch(gap.before):
        return False
    if gap.before.startswith("(") and ")" in gap.between:
        return True
    return _full_stop(gap, last, language)


def _last_word(text: str) -> str:
    """Return the word at the end of `text`, with stops, hyphens and apostrophes inside it."""
    start = len(text)
    while start and (in_word(text[start - 1]) or (start < len(text) and text[start - 1] in ".’'-")):
        start -= 1
    return text[start:].lstrip(".’'-")


def _is_dotted(word: str) -> bool:
    """Whether a word looks like "U.S" or "Ph.D", not like "main.py", "3.5" or "docs.example.org"."""
    parts = word.split(".")
    return len(parts) > 1 and not word[0].isdigit() and all(len(part) <= 3 for part in parts)


def _full_stop(gap: Gap, last: str, language: str) -> bool | Wait:
    short = last.lower()
    letter = len(last) == 1 and last.isalpha()
    if letter and _names_a_thing(gap.before[:-1]):
        return True
    initial = letter
    if language in lexicon.ELIDING_LANGUAGES:
        short = re.split("['’]", short)[-1]  # l'on.
    if short in lexicon.NEVER_LAST or short in lexicon.NEVER_LAST_OF.get(language, ()):
        return False
    if gap.word[0].isdigit() and (short in lexicon.BEFORE_NUMBERS or initial):
        return False
    if short in lexicon.OFTEN_LAST:
        return True
    doubtful = initial or _is_dotted(last) or short in lexicon.MAYBE_LAST
    if not doubtful and _sentencex_cuts(gap, language):
        if not last.isdigit() or len(last) > 2 or gap.word[0].isdigit() or language not in lexicon.ORDINAL_LANGUAGES:
            return True
        if gap.whole and _is_german_ordinal(gap, last, language):
            return gap.word.lower() in lexicon.STARTERS
        if gap.whole:  # "am 3. Oktober": which words follow an ordinal, sentencex knows
            return _sentencex_cuts(gap, language, gap.word)
    if short in lexicon.TIMES:
        return _unless(gap, lexicon.AFTER_TIMES)
    if not gap.whole:
        return Wait.FOR_MORE
    word = gap.word.lower()
    return word in lexicon.STARTERS and not (len(word) == 1 and gap.follower == ".")


def _names_a_thing(before: str) -> bool:
    """Whether a letter behind `before` is no initial: 20 °C, plan B."""
    return before.endswith("°") or (
        before[-1:].isspace() and _last_word(before.rstrip()).lower() in lexicon.BEFORE_LETTERS
    )


def _is_german_ordinal(gap: Gap, last: str, language: str) -> bool:
    """Whether a number has a word before it that a noun belongs to: "der 3. Versuch"."""
    before = gap.before[: -len(last)].rstrip()
    return language == "de" and _last_word(before).lower() in lexicon.GERMAN_DETERMINERS


def _unless(gap: Gap, words: frozenset[str]) -> bool | Wait:
    """Whether the next word is none of `words`, which its first letters may tell."""
    word = gap.word.lower()
    if gap.whole:
        return word not in words
    return Wait.FOR_MORE if any(each.startswith(word) for each in words) else True


def _sentencex_cuts(gap: Gap, language: str, word: str | None = None) -> bool:
    # the next word's first letter is all that is there for certain, and nearly always all that counts
    word = word or ("Xed" if gap.word[0].isupper() else gap.word[0])
    text = f"{gap.before[-_CONTEXT:]}. {word}".encode("utf-8", "replace").decode()  # half a pair is legal in JSON only
    return len(segments := sentencex.segment(language, text)) > 1 and segments[-1].strip() == word


def _needs_no_space(char: str) -> bool:
    return "\u3040" <= char <= "\u9fff" or "\uf900" <= char <= "\ufaff"


def writes_no_spaces(char: str) -> bool:
    """Whether `char` is of a script without spaces between words: Han, kana, Thai, Lao, Burmese, Khmer."""
    return _needs_no_space(char) or any(
        first <= char <= last for first, last in (("\u0e00", "\u0eff"), ("\u1000", "\u109f"), ("\u1780", "\u17ff"))
    )


def _held(text: str) -> bool:
    """Whether `text` ends inside a quotation or a parenthesis that was opened in it, and not too long ago."""
    opened: list[tuple[str, int]] = []
    before = " "
    for at, char in enumerate(text):
        if opened and char in opened[-1][0]:
            opened.pop()
        elif char == '"' and not in_word(before) and before not in ".!?,…":
            opened.append(('"', at))
        elif char in _OPENERS and before not in ":;-":  # a smiley opens nothing
            opened.append((_OPENERS[char], at))
        before = char
    return bool(opened) and len(text) - opened[0][1] <= MAX_HELD
