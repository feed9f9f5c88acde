"""Words as they are spoken, so that two spellings of the same sound count as the same word."""

import re
import unicodedata

__all__ = ["spoken_words"]

_ONES = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SCALES = ((1_000_000_000, "billion"), (1_000_000, "million"), (1_000, "thousand"), (100, "hundred"))
_TOO_LARGE = 10**12
_ORDINALS = {"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth"}
_ORDINALS |= {"twelve": "twelfth"}
_UNITS = {"$": "dollars", "£": "pounds", "€": "euros", "%": "percent"}
_ABBREVIATIONS = {"mr": "mister", "mrs": "missus", "dr": "doctor", "st": "saint", "vs": "versus", "okay": "ok"}
_CONTRACTIONS = (
    (r"\bwon't\b", "will not"),
    (r"\bcan't\b|\bcannot\b", "can not"),
    (r"\blet's\b", "let us"),
    (r"n't\b", " not"),
    (r"'re\b", " are"),
    (r"'ve\b", " have"),
    (r"'ll\b", " will"),
    (r"'m\b", " am"),
)
_BRITISH = (
    *("colour", "favour", "flavour", "harbour", "honour", "humour", "labour", "neighbour", "odour", "rumour", "vapour"),
)
_NUMBER = re.compile(r"([$£€])?(\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d+))?(st|nd|rd|th)?(?![a-z\d])\s?(%)?")


def spoken_words(text: str) -> list[str]:
    """Return the words of an English text as they are spoken, in lower case and without punctuation.

    Numbers (with thousands, decimals, ordinals, a currency sign or a per cent sign) become words, contractions their
    long form where that is certain, titles are written out, British -our and grey become American. Years and telephone
    numbers are read as plain numbers: leave them out of texts that are to be compared.
    """
    plain = unicodedata.normalize("NFKC", text).lower().replace("\u2019", "'").replace("&", " and ")
    for pattern, long_form in _CONTRACTIONS:
        plain = re.sub(pattern, long_form, plain)
    plain = _NUMBER.sub(_spoken_number, plain).replace("'", "")
    words = "".join(character if character.isalnum() else " " for character in plain).split()
    return [_american(_ABBREVIATIONS.get(word, word)) for word in words]


def _spoken_number(match: re.Match[str]) -> str:
    sign, whole, decimals, ordinal, percent = match.groups()
    value = int(whole.replace(",", ""))
    if value >= _TOO_LARGE:
        return f" {' '.join(_ONES[int(digit)] for digit in str(value))} "
    words = _cardinal(value)
    if ordinal:
        last = words[-1]
        words[-1] = _ORDINALS.get(last) or (f"{last[:-1]}ieth" if last.endswith("y") else f"{last}th")
    if decimals:
        words += ["point", *(_ONES[int(digit)] for digit in decimals)]
    words += [_UNITS[unit] for unit in (sign, percent) if unit]
    return f" {' '.join(words)} "


def _cardinal(value: int) -> list[str]:
    if value < 20:
        return [_ONES[value]]
    if value < 100:
        return [_TENS[value // 10 - 2], *(_cardinal(value % 10) if value % 10 else ())]
    size, name = next((size, name) for size, name in _SCALES if value >= size)
    return [*_cardinal(value // size), name, *(_cardinal(value % size) if value % size else ())]


def _american(word: str) -> str:
    stem = next((known for known in _BRITISH if word.startswith(known)), None)
    if stem is not None:
        return stem[:-3] + "or" + word[len(stem) :]
    return "gray" + word[4:] if word.startswith("grey") else word
