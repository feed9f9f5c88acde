"""Times of day and Roman numerals, as English reads them. Pure functions of a match."""

# ruff: noqa: RUF001  # apostrophes look like others, and are meant

import re

__all__ = ["REGNAL", "ROMAN", "TIME", "numbered", "regnal", "time_of_day"]

TIME = re.compile(r"(?<![\d:.])(\d{1,2}):([0-5]\d)(?![\d:])(?P<half>\s?[ap]\.?m\b)?", re.IGNORECASE)
_NUMERAL = r"(?:[VX]|[IVXL]{2,7}|I(?=[^\w\s'’]|\s*\Z))"  # a single I may be the speaker
ROMAN = re.compile(
    r"\b(Chapter|Part|Act|Scene|Volume|Book|Section|Phase|Article|Appendix|Level|Stage|Class|Type|Episode|Season|Bowl|War)"
    rf"\s({_NUMERAL})(?!\w)"
)
REGNAL = re.compile(
    r"\b(Henry|Elizabeth|Louis|Charles|George|Edward|William|James|Richard|Philip|Napoleon|Frederick|Catherine|Nicholas|"
    r"Alexander|Pius|Benedict|Leo|Paul|Francis|Ferdinand|Peter|Ivan|Gregory|Clement|Innocent|Otto|Gustav|Christian)"
    rf"\s({_NUMERAL})(?!\w)"
)
_ORDINALS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth",
    "twentieth", "twenty-first", "twenty-second", "twenty-third",
)  # fmt: skip
_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50}
_STRICT = re.compile(r"X{0,3}(?:XL|L)?X{0,3}(?:IX|IV|V?I{0,3})")
_HOURS, _NOON, _TEENS = 24, 12, 10


def time_of_day(match: re.Match[str]) -> str:
    """Read 9:00, 5:05 and 18:00 as nobody writes them: 9 o'clock, 5 oh 5, 18 hundred."""
    hour, minute, half = int(match[1]), int(match[2]), match["half"] or ""
    if hour > _HOURS or minute >= _TEENS:
        return match[0]
    if minute:
        return f"{hour} oh {minute}{half}"
    if half:
        return f"{hour}{half}"
    return f"{hour} o'clock" if 0 < hour <= _NOON else f"{hour} hundred" if hour else "midnight"


def numbered(match: re.Match[str]) -> str:
    """Read Chapter IV as Chapter 4."""
    number = _number(match[2])
    return f"{match[1]} {number}" if number else match[0]


def regnal(match: re.Match[str]) -> str:
    """Read Henry VIII as Henry the eighth."""
    number = _number(match[2])
    return f"{match[1]} the {_ORDINALS[number - 1]}" if 0 < number <= len(_ORDINALS) else match[0]


def _number(numeral: str) -> int:
    """Return what a Roman numeral is worth, 0 where it is none."""
    if not _STRICT.fullmatch(numeral):
        return 0
    values = [_VALUES[letter] for letter in numeral]
    return sum(-one if one < two else one for one, two in zip(values, [*values[1:], 0], strict=True))
