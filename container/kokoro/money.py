"""Sums of money as the reader of numbers can read them: the sign in front, whole cents, the currency in words."""

# ruff: noqa: RUF001  # signs look like others, and are meant

import re

__all__ = ["sums"]

_MAGNITUDES = {"k": "thousand", "m": "million", "mn": "million", "b": "billion", "bn": "billion", "t": "trillion"}
_CURRENCIES = {"$": "dollars", "£": "pounds", "€": "euros"}
_OTHERS = {"¥": "yen", "₹": "rupees", "₩": "won", "¢": "cents"}
"""That the reader of numbers does not know."""
_AMOUNT = r"\d(?:[\d,]{0,20}\d)?(?:\.\d{1,6})?"

_OF_A_COUNTRY = re.compile(r"\b(?:US|CA|AU|NZ|HK|A|C|S)\$(?=\d)")
_BEHIND = re.compile(rf"(?<![\w.$£€])({_AMOUNT})\s?([$£€])(?![\d\w])")
_RANGE = re.compile(rf"(?<=[$£€])({_AMOUNT})\s?[-–]\s?(?=[$£€]?\d)")
_LARGE = re.compile(r"([$£€])(\d{1,15}(?:\.\d{1,6})?)\s?(k|mn?|bn?|t)\b", re.IGNORECASE)
_TENTHS = re.compile(r"([$£€]\d[\d,]{0,20}\.\d)(?!\d|\s?(?:thousand|million|billion|trillion)\b)")
_BEFORE_OTHER = re.compile(rf"([¥₹₩])\s?({_AMOUNT})")
_BEHIND_OTHER = re.compile(rf"(?<![\w.])({_AMOUNT})\s?([¥₹₩¢])(?!\w)")


def sums(text: str) -> str:
    """Return `text` with the sums of money in it as they can be read."""
    text = _OF_A_COUNTRY.sub("$", text)
    text = _BEHIND.sub(r"\2\1", text)
    text = _RANGE.sub(r"\1 to ", text)
    text = _LARGE.sub(lambda m: f"{m[2]} {_MAGNITUDES[m[3].lower()]} {_CURRENCIES[m[1]]}", text)
    text = _TENTHS.sub(r"\g<1>0", text)
    text = _BEFORE_OTHER.sub(lambda m: f"{m[2]} {_OTHERS[m[1]]}", text)
    return _BEHIND_OTHER.sub(lambda m: f"{m[1]} {_OTHERS[m[2]]}", text)
