"""Letter to sound: how an English speaker would read a word that no dictionary holds. Small rules, no model."""

# ruff: noqa: RUF001  # phonetic and CJK symbols look like others, and are meant

import re

_ENDINGS = (
    ("tion", "ʃən"),
    ("sion", "ʒən"),
    ("ture", "ʧəɹ"),
    ("ious", "iəs"),
    ("ous", "əs"),
    ("ed", "d"),
    ("le", "əl"),
)
_GROUPS = {
    "igh": "I", "tch": "ʧ", "sch": "sk", "dge": "ʤ", "eau": "O", "oor": "ɔɹ", "air": "ɛɹ", "ear": "ɪɹ", "eer": "ɪɹ",
    "ch": "ʧ", "sh": "ʃ", "th": "θ", "ph": "f", "wh": "w", "ck": "k", "ng": "ŋ", "qu": "kw", "gh": "ɡ", "kn": "n",
    "wr": "ɹ", "zh": "ʒ", "ee": "i", "ea": "i", "oo": "u", "oa": "O", "ai": "A", "ay": "A", "ei": "A", "ey": "i",
    "ie": "i", "oi": "Y", "oy": "Y", "ou": "W", "ow": "W", "au": "ɔ", "aw": "ɔ", "ew": "u", "ue": "u", "ui": "u",
    "ar": "ɑɹ", "er": "əɹ", "ir": "ɜɹ", "or": "ɔɹ", "ur": "ɜɹ",
    "a": "æ", "b": "b", "c": "k", "d": "d", "e": "ɛ", "f": "f", "g": "ɡ", "h": "h", "i": "ɪ", "j": "ʤ", "k": "k",
    "l": "l", "m": "m", "n": "n", "o": "ɑ", "p": "p", "q": "k", "r": "ɹ", "s": "s", "t": "t", "u": "ʌ", "v": "v",
    "w": "w", "x": "ks", "y": "j", "z": "z",
}  # fmt: skip
_LONG = {"a": "A", "e": "i", "i": "I", "o": "O", "u": "u", "y": "I"}
_BRITISH = (("ɑɹ", "ɑː"), ("ɔɹ", "ɔː"), ("ɜɹ", "ɜː"), ("ɪɹ", "ɪə"), ("ɛɹ", "ɛː"), ("əɹ", "ə"), ("ɑ", "ɒ"), ("ɒː", "ɑː"),
            ("O", "Q"), ("i", "iː"), ("u", "uː"))  # fmt: skip
_VOWELS = "AIOQWYaiuæɑɒɔəɛɜɪʊʌ"
_SILENT_E = re.compile(r"([aeiouy])([bcdfgklmnprstvz])e$")


def pronounceable(word: str) -> bool:
    """Say whether `word` can be read as a word at all; "xlrq" is better spelled letter by letter."""
    return bool(re.search("[aeiouy]", word.lower())) and not re.search("[bcdfghjklmnpqrstvwxz]{5}", word.lower())


def spell(word: str, *, british: bool) -> str:
    """Return Kokoro phonemes for a word of ASCII letters, stressed on its first vowel."""
    rest = re.sub(r"([b-df-hj-np-tv-z])\1", r"\1", word.lower())
    sounds = ending = ""
    for letters, sound in _ENDINGS:
        # what is left must be able to carry the word: "ed" or "table" minus its ending
        if rest.endswith(letters) and re.search("[aeiouy]", rest[: -len(letters)]):
            rest, ending = rest[: -len(letters)], sound
            break
    while rest:
        silent_e = not ending and _SILENT_E.match(rest)
        if silent_e:
            consonant = {"c": "s", "g": "ʤ"}.get(silent_e[2], _GROUPS[silent_e[2]])
            sounds, rest = sounds + _LONG[silent_e[1]] + consonant, ""
            continue
        length = next(n for n in (3, 2, 1) if rest[:n] in _GROUPS)
        sound = _GROUPS[rest[:length]]
        if length == 1 and rest[1:2] and rest[1] in "eiy":
            sound = {"c": "s", "g": "ʤ"}.get(rest[0], sound)
        if rest == "y" and sounds:
            sound = "i"
        elif rest[0] == "y" and length == 1 and rest[1:2] not in ("a", "e", "i", "o", "u"):
            sound = "ɪ"
        elif rest in ("o", "a", "i", "u") and sounds:
            sound = {"o": "O", "a": "ə", "i": "i", "u": "u"}[rest]
        elif rest == "e" and re.search(f"[{_VOWELS}]", sounds):
            sound = ""
        sounds, rest = sounds + sound, rest[length:]
    sounds += ending
    if british:
        for american, local in _BRITISH:
            sounds = sounds.replace(american, local)
    return re.sub(f"([{_VOWELS}])", r"ˈ\1", sounds, count=1)
