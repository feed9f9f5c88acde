"""English as it is written out: ranges, telephone numbers, addresses, dates, units, fractions, signs, abbreviations."""

# ruff: noqa: RUF001  # signs look like others, and are meant

import re
from collections.abc import Callable

from container.kokoro import numerals


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MONTHS = {
    name[:3]: name
    for name in ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
                 "November", "December")
}  # fmt: skip
_UNITS = {
    "kg": "kilogram", "g": "gram", "mg": "milligram", "km": "kilometer", "cm": "centimeter", "mm": "millimeter",
    "lb": "pound", "lbs": "pound", "oz": "ounce", "ft": "foot", "mi": "mile", "yd": "yard", "ml": "milliliter",
    "kb": "kilobyte", "mb": "megabyte", "gb": "gigabyte", "tb": "terabyte", "ghz": "gigahertz", "mhz": "megahertz",
    "khz": "kilohertz", "hz": "hertz", "kw": "kilowatt", "kwh": "kilowatt hour", "ms": "millisecond", "min": "minute",
    "hrs": "hour", "hr": "hour", "h": "hour", "sec": "second",
}  # fmt: skip
_RATES = {
    "km/h": "kilometers per hour",
    "kph": "kilometers per hour",
    "mph": "miles per hour",
    "m/s": "meters per second",
    **{f"{short}b/s": f"{long}bytes per second" for short, long in (("k", "kilo"), ("m", "mega"), ("g", "giga"))},
    **{f"{short}bps": f"{long}bits per second" for short, long in (("k", "kilo"), ("m", "mega"), ("g", "giga"))},
}
_AMOUNT = r"\d[\d,]{0,12}(?:\.\d{1,6})?"
_PLAIN = r"(?:\d{1,3}(?:,\d{3}){1,5}|\d{1,6})(?:\.\d{1,3})?"
_METRES = {"": "meters", "k": "kilometers", "c": "centimeters", "m": "millimeters"}
_PARTS = {2: "half", 3: "third", 4: "quarter", 5: "fifth", 6: "sixth", 8: "eighth", 10: "tenth"}
_SHORT = {
    "approx.": "approximately", "vs.": "versus", "dept.": "department", "govt.": "government", "w/": "with",
    "w/o": "without", "e.g.": "for example", "i.e.": "that is", "etc.": "et cetera", "Ave.": "Avenue",
    "Blvd.": "Boulevard", "Rd.": "Road",
}  # fmt: skip
_ALSO_LAST = ("etc.", "dept.", "govt.", "Ave.", "Blvd.", "Rd.")
"""Of these, what a sentence can end with: then the stop is the sentence's as well."""
_BEFORE_SAINT = _words(
    "a about after and around as at before between but by for from in into is near of off on or past since so than "
    "that the then through to toward towards under until was when where with visit see mount mt mt. fort ft ft. lake "
    "port east west north south new old sault sainte saint san st st."
)
"""Words, capitalised as they may be at the begin of a sentence or in a name, behind which "St." is a saint's."""
_STARTERS = _words(
    "A An And Are As At But By Do For From Go He Her His How I If In Is It Its My No Not On Or Our She So Take That "
    "The Their Then There These They This Those Turn Was We What When Where Who Why With You Your"
)
_NAME = re.compile(r"\s+([A-Z][\w'’]*)")
_ENDS = re.compile(r"\s*\Z")
_NEAR = 40
_OPERATORS = {"=": "equals", "<": "is less than", ">": "is greater than", "≤": "is at most", "≥": "is at least",
              "×": "times", "÷": "divided by", "≈": "is about", "±": "plus or minus"}  # fmt: skip


def _digits(text: str) -> str:
    return " ".join(re.sub(r"\D", "", text))


def _phone(match: re.Match[str]) -> str:
    plus = "plus " if match[0].startswith("+") else ""
    return plus + ", ".join(_digits(group) for group in re.findall(r"\d+", match[0]))


def _site(match: re.Match[str]) -> str:
    name, path = match["host"], (match["path"] or "").rstrip("/")
    stop = match["stop"] or ""
    return name.replace(".", " dot ") + path.replace("/", " slash ").replace("-", " dash ").replace(".", " dot ") + stop


def _date(match: re.Match[str]) -> str:
    month, day = int(match[1]), int(match[2])
    if month > len(_MONTHS):
        month, day = day, month
    if not (1 <= month <= len(_MONTHS) and 1 <= day <= 31):  # days of a month
        return match[0]
    return f"{list(_MONTHS.values())[month - 1]} {day}, {match[3]}"


def _saint_or_street(match: re.Match[str]) -> str:
    """Read "St.": Main Street, 5th Street, but Saint John Street, in Saint Louis, Mount Saint Helens."""
    text, start, end = match.string, match.start(), match.end()
    before = text[max(0, start - _NEAR) : start].split()[-1:]
    word = before[0].strip("(\"'“”‘’[") if before else ""
    name = _NAME.match(text, end)
    named = word[:1].isupper() and word.lower() not in _BEFORE_SAINT
    if named or re.fullmatch(r"\d+(?:st|nd|rd|th)", word):
        over = name[1] in _STARTERS if name else _ENDS.match(text, end) is not None
        return "Street." if over else "Street"
    if name:
        return "Saint"
    return "Street" if word else match[0]


def _short(match: re.Match[str]) -> str:
    read = _SHORT[match[1]]
    name = _NAME.match(match.string, match.end())
    over = name[1] in _STARTERS if name else _ENDS.match(match.string, match.end()) is not None
    return f"{read}." if over and match[1] in _ALSO_LAST else read


def _unit(match: re.Match[str]) -> str:
    if match[2] in ("G", "H"):  # of networks and forces
        return match[0]
    unit = match[2].lower()
    if rate := _RATES.get(unit):
        return f"{match[1]} {rate.replace('bytes', 'bits') if match[2].endswith('b/s') else rate}"
    name = _UNITS.get(unit)
    if name is None:  # a dotless i and a long s are "i" and "s" to a pattern that ignores case, and to nothing else
        return match[0]
    if match[1] == "1" or name.endswith("hertz"):
        return f"{match[1]} {name}"
    return f"{match[1]} {'feet' if name == 'foot' else name + 's'}"


def _fraction(match: re.Match[str]) -> str:
    above, below = int(match[2]), int(match[3])
    before = f"{match[1]}and " if match[1] else ""
    if below not in _PARTS or not 0 < above < below:
        return match[0]
    name = _PARTS[below]
    return f"{before}{above} {name if above == 1 else 'halves' if below == 2 else name + 's'}"


def _or(names: object) -> str:
    return "|".join(sorted(map(re.escape, names), key=len, reverse=True))  # type: ignore[call-overload]


_Rules = tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...]

_ADDRESSES: _Rules = (
    (
        re.compile(r"(?<![\w@.])(?P<name>[\w.+-]{1,64})@(?P<host>[\w-]{1,63}(?:\.[\w-]{2,63}){1,4})"),
        lambda m: f"{m['name']} at {m['host']}".replace(".", " dot "),
    ),
    (
        re.compile(
            r"(?:https?://|(?=www\.))(?P<host>[\w-]{1,63}(?:\.[\w-]{1,63}){1,5})(?::\d{1,5})?"
            r"(?P<path>(?:/[\w.~%-]{0,100}){0,9})(?:[?#][^\s,;!)]{0,300}?)?(?P<stop>[.,;:!?)]{0,3})(?=\s|$)"
        ),
        _site,
    ),
)
_RULES: _Rules = (
    *_ADDRESSES,
    (re.compile(r"(?<![\d/.])(\d{1,2})/(\d{1,2})/(\d{4})(?![\d/])"), _date),
    (
        re.compile(
            r"(?<![\w.])(?:\+\d{1,3}[ .-]|1[-.])?(?:\(\d{3}\) ?|\d{3}[-. ])?\d{3}[-.]\d{4}(?![\w-])"
            r"|(?<![\w.+])\+\d{7,15}(?!\w)|(?<![\w.-])\d{5}-\d{4}(?![\w-])"
        ),
        _phone,
    ),
    (re.compile(r"(?<=\d)\s[-−–]\s(?=\d[\d,.]{0,20}\s?=)"), lambda _: " minus "),
    (re.compile(r"\b(\d{1,4}(?:\.\d{1,4}){2,4})\b(?!\.\d)"), lambda m: m[1].replace(".", " point ")),
    (re.compile(r"(?<![\w/.])(\d{1,3} )?(\d{1,2})/(\d{1,2})(?![\w/]|\.\d)"), _fraction),
    (re.compile(rf"(?<![\w.])({_AMOUNT}) ?({_or([*_UNITS, *_RATES])})\b(?!/)", re.IGNORECASE), _unit),
    (re.compile(r"(?<![\w.$])(\d{1,4}(?:\.\d{1,3})?) ?(M|mn|B|bn)\b(?=\s+[a-z]|[.,!?]|$)"),
     lambda m: f"{m[1]} {'million' if m[2][0] in 'Mm' else 'billion'}"),
    (re.compile(rf"(?<![\d.,-])({_PLAIN})\s?[-–]\s?({_PLAIN})(?![\d-]|[.,]\d)"), lambda m: f"{m[1]} to {m[2]}"),
    (re.compile(r"(?<=\d)(%|\s?°[CF]?)\s?[-–]\s?(?=\d)"), lambda m: f"{m[1]} to "),
    # what touches a number is its sign, which the reader of numbers now and then loses, with the number or without
    (re.compile(r"(?<![\w)\]}.%°+−–-])[-−](?=[$£€]?\d)"), lambda _: "minus "),
    (re.compile(r"(?<![\w)\]}.%°+−–-])\+(?=[$£€]?\d)"), lambda _: "plus "),
    (re.compile(r"(?<=\d)\s?\*\s?(?=\d)"), lambda _: " times "),
    (re.compile(r"(?<=\d)\s/\s(?=\d)"), lambda _: " divided by "),
    (re.compile(r"(?<=\d) ?([kcm]?)m²"), lambda m: f" square {_METRES[m[1]]}"),
    (numerals.TIME, numerals.time_of_day),
    (re.compile(r"(?<=\d)\s?(am|pm)\b(?!\.\w)"), lambda m: f" {m[1].upper()}"),
    (re.compile(r"(?<![\w/~.])~\s?(?=\d)"), lambda _: "about "),
    # a stop that touches the last letter would be taken for that of an abbreviation
    (re.compile(r"\bAWS\b(\.(?!\w))?"), lambda m: f"A.W.S{' .' if m[1] else ''}"),
    (numerals.ROMAN, numerals.numbered),
    (numerals.REGNAL, numerals.regnal),
    (re.compile(r"(?<![\w'])(\d)'\s?(\d{1,2})(?:\"|”|'')(?!\w)"), lambda m: f"{m[1]} foot {m[2]}"),
    (re.compile(r"\b([CFGA])#(?!\w)"), lambda m: f"{m[1]} sharp"),
    (re.compile(r"§\s?(?=\d)"), lambda _: "section "),
    (re.compile(rf"(?<=[\w)])\s+([{''.join(_OPERATORS)}])\s+(?=[\w(-])"), lambda m: f" {_OPERATORS[m[1]]} "),
    (re.compile(rf"\b({'|'.join(_MONTHS)}|Sept)\.?\s+(?=\d)"), lambda m: f"{_MONTHS[m[1][:3]]} "),
    (re.compile(r"(?<![\w.])St\.(?=\s|$|[,;:!?)])"), _saint_or_street),
    (re.compile(rf"(?<![\w.])({_or(_SHORT)})(?!\w)"), _short),
)  # fmt: skip


def written_out(text: str) -> str:
    """Return `text` as it is read; what no rule knows stays."""
    return _applied(_RULES, text)


def addresses(text: str) -> str:
    """Return `text` with the addresses of pages and mail as they are read: in words, between which it can be cut."""
    return _applied(_ADDRESSES, text)


def _applied(rules: _Rules, text: str) -> str:
    for pattern, replacement in rules:
        text = pattern.sub(replacement, text)
    return text
