"""Text as people type it to text that the English phonemizer reads rightly: ASCII letters, plain numbers."""

# ruff: noqa: RUF001  # phonetic and CJK symbols look like others, and are meant

import re
import unicodedata

from container.kokoro.money import sums
from container.kokoro.written import written_out

_MONTHS = [
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
]

_ISO_DATE = re.compile(r"(?<![\d-])(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(?![\d-])")
_LONG_NUMBER = re.compile(r"\d{16,}")  # nobody says it as one number, and the number speller gives up on very long ones
_DEGREES = re.compile(r"\s?°\s?([CF])\b")

_PUNCTUATION = str.maketrans({
    "。": ". ", "．": ". ", "！": "! ", "？": "? ", "，": ", ", "、": ", ", "；": "; ", "：": ": ",
    "（": " (", "）": ") ", "「": " “", "」": "” ", "『": " “", "』": "” ", "《": " “", "》": "” ",
    "・": " ", "～": " ",
    "\u3000": " ",
})  # fmt: skip
_FRACTIONS = str.maketrans({
    "½": " one half ", "¼": " one quarter ", "¾": " three quarters ", "⅓": " one third ", "⅔": " two thirds ",
    "⅛": " one eighth ", "⅜": " three eighths ", "⅝": " five eighths ", "⅞": " seven eighths ",
})  # fmt: skip
_MIXED = re.compile(r"(\d)\s?([½¼¾⅓⅔⅛⅜⅝⅞])")
_LETTERS = str.maketrans({
    "ß": "ss", "æ": "ae", "Æ": "Ae", "œ": "oe", "Œ": "Oe", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D",
    "ð": "th", "Ð": "Th", "þ": "th", "Þ": "Th", "ı": "i", "ħ": "h", "Ħ": "H",
})  # fmt: skip
_LETTER_NAME = re.compile(r"(?P<script>[A-Z]+)\b.*?\b(?:LETTER|SYLLABLE) (?:SMALL )?(?P<name>[A-Z]+)")
_SYLLABIC = frozenset({"HIRAGANA", "KATAKANA", "HANGUL"})


def normalise(text: str) -> str:
    """Return `text` with dates, amounts and long numbers written out and foreign letters spelled in ASCII ones."""
    text = whole_characters(text)
    text = text.translate(_PUNCTUATION)
    text = _ISO_DATE.sub(lambda m: f"{_MONTHS[int(m[2]) - 1]} {int(m[3])}, {m[1]}", text)
    text = _MIXED.sub(r"\1 and \2", text)
    text = text.translate(_FRACTIONS)
    text = sums(text)
    text = written_out(text)
    text = digits_apart(text)
    text = _DEGREES.sub(lambda m: f" degrees {'Celsius' if m[1] == 'C' else 'Fahrenheit'}", text)
    return text if text.isascii() else "".join(map(_romanise, text.translate(_LETTERS)))


def whole_characters(text: str) -> str:
    """Return `text` with half surrogate pairs, which are legal in JSON only, replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def digits_apart(text: str) -> str:
    """Return `text` with numbers that nobody reads as one spaced out, in any language."""
    return _LONG_NUMBER.sub(lambda m: " ".join(m[0]), text)


def unreadable(text: str) -> str:
    """Return the letters of a normalised text that no English rule can read, such as ideographs."""
    return "".join(letter for letter in text if letter.isalpha() and not letter.isascii())


def _romanise(letter: str) -> str:
    """Spell one letter: its base letter, else its name ("де" is "de ie"), else unchanged (ideographs)."""
    if letter.isascii() or not letter.isalpha():
        return letter
    plain = "".join(c for c in unicodedata.normalize("NFKD", letter) if not unicodedata.combining(c))
    if plain and plain.isascii():
        return plain
    named = _LETTER_NAME.match(unicodedata.name(letter, ""))
    if named is None:
        return letter
    name = named["name"].lower()
    return name if named["script"] in _SYLLABIC else f" {name} "
