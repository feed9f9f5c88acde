"""The languages of the weights besides English: which packages read them, and text to Kokoro phonemes with those.

Mandarin and Japanese need the extra 'languages'; the others need espeak-ng, which is GPL-3 and so in an extra of its
own, 'espeak'. A voice is named after its language: its first letter is the key of NAMES.
"""

# ruff: noqa: RUF001  # phonetic and CJK symbols look like others, and are meant

import ctypes
import importlib
import importlib.util
import logging
import re
import warnings
from collections.abc import Callable

from container.kokoro.errors import SetupError

NAMES = {
    "a": "American English",
    "b": "British English",
    "e": "Spanish",
    "f": "French",
    "h": "Hindi",
    "i": "Italian",
    "j": "Japanese",
    "p": "Brazilian Portuguese",
    "z": "Mandarin Chinese",
}
ENGLISH = ("a", "b")
_ESPEAK = {"e": "es", "f": "fr", "h": "hi", "i": "it", "p": "pt-br"}
_NEEDS = {"j": ("fugashi", "unidic_lite", "jaconv", "mojimoji"), "z": ("cn2an", "jieba", "ordered_set", "pypinyin")}

type Read = Callable[[str], str]


def extra_of(language: str) -> str | None:
    """Return the extra that a language needs; None for English."""
    if language in ENGLISH:
        return None
    return "espeak" if language in _ESPEAK else "languages"


def is_available(language: str) -> bool:
    """Say whether the packages that read `language` are installed."""
    needs = ("espeakng_loader",) if language in _ESPEAK else _NEEDS.get(language, ())
    return language in NAMES and all(importlib.util.find_spec(name) is not None for name in needs)


def load(language: str) -> Read:
    """Return the function that reads a text of this language (not English). Not safe from several threads at once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # jieba and others warn about their own source
        if language == "z":
            return _mandarin()
        if language == "j":
            return _japanese()
        return _Espeak(_ESPEAK[language]).read


def _mandarin() -> Read:
    importlib.import_module("jieba").setLogLevel(logging.WARNING)  # it sets its own when imported, and writes to stderr
    zh = importlib.import_module("misaki.zh").ZHG2P()
    zh("好")  # builds the dictionary, which takes a second

    return _forgiving(zh)


def _forgiving(reader: Callable[[str], tuple[str, object]]) -> Read:
    """Return `reader` so that where it fails on a text (a number out of range, say), it reads it sign by sign."""

    def read(text: str) -> str:
        try:
            return str(reader(text)[0])
        except Exception:  # noqa: BLE001  # misaki's readers raise whatever comes up
            return " ".join(filter(None, map(read, text))) if len(text) > 1 else ""

    return read


def _japanese() -> Read:
    return _forgiving(importlib.import_module("misaki.cutlet").Cutlet())


class _Espeak:
    """espeak-ng called through C: text to IPA, punctuation kept, and IPA to the symbols of the model."""

    _UTF8, _IPA, _TIED = 1, 0x02, 0x80
    # what the tied sounds are called in Kokoro's alphabet
    _SYMBOLS = (("a^ɪ", "I"), ("a^ʊ", "W"), ("e^ɪ", "A"), ("o^ʊ", "O"), ("ə^ʊ", "Q"), ("ɔ^ɪ", "Y"), ("d^z", "ʣ"),
                ("d^ʒ", "ʤ"), ("t^s", "ʦ"), ("t^ʃ", "ʧ"), ("s^s", "S"))  # fmt: skip
    _MARKS = re.compile(r'([;:,.!?¡¿—…"“”«»()\n]+)')
    _LANGUAGE_SWITCH = re.compile(r"\([a-z-]+\)")
    _CLEANED = str.maketrans({"^": "", "-": "", "«": "“", "»": "”", "\n": " "})
    _library: ctypes.CDLL | None = None

    def __init__(self, voice: str) -> None:
        self._voice = voice.encode()
        if _Espeak._library is None:
            loader = importlib.import_module("espeakng_loader")
            library = ctypes.CDLL(loader.get_library_path())
            library.espeak_TextToPhonemes.restype = ctypes.c_char_p
            library.espeak_TextToPhonemes.argtypes = [ctypes.POINTER(ctypes.c_char_p), ctypes.c_int, ctypes.c_int]
            # 2: no sound device; the data lies in a folder of the package
            if library.espeak_Initialize(2, 0, str(loader.get_data_path()).encode(), 0) <= 0:
                raise SetupError("espeak-ng did not start. Reinstall the extra 'espeak'.")
            _Espeak._library = library

    def read(self, text: str) -> str:
        assert self._library is not None  # noqa: S101  # set by the constructor
        self._library.espeak_SetVoiceByName(self._voice)
        text = text.replace("।", ". ")
        sounds = "".join(
            part if self._MARKS.fullmatch(part) else self._sounds(part) for part in self._MARKS.split(text)
        )
        for old, new in self._SYMBOLS:
            sounds = sounds.replace(old, new)
        return sounds.translate(self._CLEANED)

    def _sounds(self, text: str) -> str:
        assert self._library is not None  # noqa: S101
        if not text.strip():
            return " " if text else ""
        rest = ctypes.c_char_p(text.encode("utf-8", "replace"))
        parts = []
        mode = self._IPA | self._TIED | ord("^") << 8
        while rest.value is not None:
            parts.append((self._library.espeak_TextToPhonemes(ctypes.byref(rest), self._UTF8, mode) or b"").decode())
        spoken = self._LANGUAGE_SWITCH.sub("", " ".join(parts))
        before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
        return before + spoken.strip() + after
