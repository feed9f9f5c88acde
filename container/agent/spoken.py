"""A sentence as it was written to one as it is to be read aloud: no asterisks, list marks, addresses, emoji, code.

It comes after the splitter and changes the spoken text only; what is shown to the user is the text as it was written.
"""

# ruff: noqa: RUF001  # marks that look like others, and are meant

import re
import unicodedata

__all__ = ["SpokenText"]

_FENCE = re.compile(r"[ \t]*(?:`{3,}[^`]*|~{3,}.*)")
"""A whole line. Behind backticks there is no backtick: "```ls``` lists it" is a sentence with code in it."""
_CODE = re.compile(r"`+([^`\n]+)`+")
_IMAGE = re.compile(r"!\[([^\]\n]*)\]\([^)\n]*\)")
_LINK = re.compile(r"\[([^\]\n]+)\](?:\([^)\n]*\)|\[[^\]\n]*\])")
_FOOTNOTE = re.compile(r"\[\^[^\]\n]+\]:?")
_URL = re.compile(
    r"<?(?:https?|ftp)://(?:www\.)?([^\s/?#<>()\]]+)[^\s<>)\]]*?>?(?=[.,;:!?]*(?:[\s)\]>]|$))", re.IGNORECASE
)
_TAG = re.compile(r"</?[a-zA-Z][^<>\n]{0,200}>")
_HEADING = re.compile(r"^[ \t]*#{1,6}[ \t]+", re.MULTILINE)
_QUOTE = re.compile(r"^[ \t]*(?:>[ \t]?)+", re.MULTILINE)
_RULE = re.compile(r"^[ \t]*(?:[-*_=][ \t]*){3,}$", re.MULTILINE)
_BULLET = re.compile(r"^[ \t]*(?:[-*+•–‣▪][ \t]+)(?:\[[ xX]\][ \t]+)?", re.MULTILINE)
_NUMBERED = re.compile(r"^([ \t]*\d{1,3})[.)][ \t]+", re.MULTILINE)
_TABLE_RULE = re.compile(r"^[ \t]*\|?(?:[ \t]*:?-{2,}:?[ \t]*\|?)+[ \t]*$", re.MULTILINE)
_STRONG = re.compile(
    r"(?<!\d)\*{2,3}|\*{2,3}(?!\d)|(?<![\w*])\*(?=\S)|(?<=\S)\*(?![\w*])"
    r"|(?<!\w)_{1,3}(?=\w)|(?<=[\w.!?,)])_{1,3}(?!\w)|~~"
)
_BLANKS = re.compile(r"[ \t\u00a0\u3000]+")
_SIGNS = {"&": " and ", "→": ", ", "⇒": ", ", "≈": " about ", "≥": " at least ", "≤": " at most ", "×": " times "}


class SpokenText:
    """The sentences of one answer, in order: a block of code may cover several of them.

    With `enabled` false nothing is changed. `cleaned` gives "" where nothing is left that could be read aloud.
    """

    def __init__(self, *, enabled: bool = True) -> None:
        self._enabled = enabled
        self._in_code = False

    def clean(self, sentence: str) -> str:
        """Return what is to be read aloud of the next sentence."""
        if not self._enabled:
            return sentence
        text = self._without_code(sentence)
        text = _TABLE_RULE.sub("", _RULE.sub("", text))
        text = _QUOTE.sub("", text)
        text = _HEADING.sub("", _BULLET.sub("", text))
        text = _NUMBERED.sub(r"\1, ", text)
        text = _FOOTNOTE.sub("", _LINK.sub(r"\1", _IMAGE.sub(r"\1", text)))
        text = _URL.sub(r"\1", _CODE.sub(r"\1", text))
        text = _STRONG.sub("", _TAG.sub("", text)).replace("|", ", ")
        text = "".join(_SIGNS.get(char, "" if _is_silent(char) else char) for char in text)
        text = " ".join(_BLANKS.sub(" ", line).strip(" ,") for line in text.splitlines())
        text = _BLANKS.sub(" ", text).strip()
        return text if any(map(str.isalnum, text)) else ""

    def _without_code(self, sentence: str) -> str:
        """Drop the lines between fences, which may have come with another sentence."""
        kept: list[str] = []
        for line in sentence.splitlines():
            if _FENCE.fullmatch(line):
                self._in_code = not self._in_code
            elif not self._in_code:
                kept.append(line)
        return "\n".join(kept)


def _is_silent(char: str) -> bool:
    """Whether `char` is a pictogram or belongs to one."""
    return (
        unicodedata.category(char) in ("Cs", "Co", "Cn", "Sk")
        or (unicodedata.category(char) == "So" and char >= "\u2190")  # not the degree sign
        or char in "\u200d\u200b\ufeff\ufe0e\ufe0f\u20e3`"
        or "\U0001f000" <= char <= "\U0001faff"
        or "\U000e0020" <= char <= "\U000e007f"
    )
