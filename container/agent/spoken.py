"""A sentence as it was written to one as it is to be read aloud: no asterisks, list marks, addresses, emoji, code.

It comes after the splitter and changes the spoken text only; what is shown to the user is the text as it was written.
"""

# ruff: noqa: RUF001  # marks that look like others, and are meant

import re
import unicodedata

__all__ = ["SpokenText"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TARGET = r"(?:\((?:[^()\n]|\((?:[^()\n]|\([^()\n]*\))*\))*\)|\([^)\n]*\))"
"""The address of a link, with the parentheses that belong to it."""
_IMAGE = re.compile(rf"!\[([^\]\n]*)\]{_TARGET}")
_LINK = re.compile(rf"\[([^\]\n]+)\](?:{_TARGET}|\[[^\]\n]*\])")
_FOOTNOTE = re.compile(r"\[\^[^\]\n]+\]:?")
_URL = re.compile(
    r"<?(?:https?|ftp)://(?:www\.)?([^\s/?#<>()\]]+)(?:\([^\s<>()]*\)|[^\s<>)\]])*?>?(?=[.,;:!?]*(?:[\s)\]>]|$))",
    re.IGNORECASE,
)
_APART = _words(
    "address article aside blockquote br caption dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 "
    "h4 h5 h6 header hr legend li main nav ol option p pre section summary table tbody td tfoot th thead tr ul"
)
"""Elements of HTML that are set apart from what is before and after them."""
_ELEMENTS = _APART | _words(
    "a abbr acronym area audio b base bdi bdo big body button canvas center cite code col colgroup data datalist del "
    "dfn dialog em embed font head html i iframe img input ins kbd label link map mark menu meta meter noscript object "
    "optgroup output param picture progress q rp rt ruby s samp script search select slot small source span strike "
    "strong style sub sup svg template textarea time title track tt u var video wbr"
)
_BARE = (
    "allowfullscreen|async|autofocus|autoplay|checked|controls|default|defer|disabled|download|hidden|inert|ismap|"
    "itemscope|loop|multiple|muted|nomodule|novalidate|open|playsinline|readonly|required|reversed|selected"
)
_ATTRIBUTE = rf"""(?:[a-zA-Z_:@][\w:.@-]*[ \t]*=[ \t]*(?:"[^"\n]*"|'[^'\n]*'|[^\s"'=<>`]+)|(?:{_BARE})(?![\w-]))"""
_ANGLE = re.compile(
    r"`+(?P<code>[^`\n]+)`+|<(?:mailto:|tel:)?(?P<address>(?<=tel:)[^\s<>]+|[^\s<>@]+@[^\s<>@]+)>"
    rf"|<(?:/(?P<end>[a-zA-Z][a-zA-Z0-9]*)[ \t]*|(?P<name>[a-zA-Z][a-zA-Z0-9]*)(?:[ \t]+{_ATTRIBUTE})*[ \t]*/?)>"
)
"""Code within a line, where a tag is spoken of and not used; an address in angle brackets; what may be a tag."""
_HEADING = re.compile(r"^[ \t]*#{1,6}[ \t]+", re.MULTILINE)
_QUOTE = re.compile(r"^[ \t]*(?:>[ \t]?)+", re.MULTILINE)
_RULE = re.compile(r"^[ \t]*(?:[-*_=][ \t]*){3,}$", re.MULTILINE)
_BULLET = re.compile(r"^[ \t]*(?:[-*+•–‣▪][ \t]+)(?:\[[ xX]\][ \t]+)?", re.MULTILINE)
_NUMBERED = re.compile(r"^([ \t]*\d{1,3})[.)][ \t]+", re.MULTILINE)
_TABLE_RULE = re.compile(r"^[ \t]*\|?(?:[ \t]*:?-{2,}:?[ \t]*\|?)+[ \t]*$", re.MULTILINE)
_STRONG = re.compile(
    r"(?<![\s\d])\*{2,3}|(?<=\s)\*{2,3}(?![\s*])|(?<=\d)\*{2,3}(?!\d)"  # "2 ** 3" and "2**3" are powers
    r"|(?<![\w*])\*(?=[^\s*])|(?<=[^\s*])\*(?![\w*])|(?<!\w)_{1,3}(?=\w)|(?<=[\w.!?,)])_{1,3}(?!\w)|~~"
)
_BLANKS = re.compile(r"[ \t\u00a0\u3000]+")
_SIGNS = {"&": " and ", "→": ", ", "⇒": ", ", "≈": " about ", "≥": " at least ", "≤": " at most ", "×": " times "}


_RUN = re.compile(r"`+|~{3,}")
_BEFORE_FENCE = re.compile(r"(?:[ \t>]|[-*+•–‣▪][ \t]|\d{1,3}[.)][ \t])*")
"""The marks of quotations and lists, behind which a line is still at its start."""
_INFO = re.compile(r"[ \t]*(?:[A-Za-z0-9{][^\s`~]*(?<![.,;:!?])(?:[ \t]+(?:\{|[\w.:-]+=)[^`\n]*)?)?[ \t]*")
"""What follows the fence that opens a block, to the end of the line: one word, the language, and attributes."""
_LIKE_CODE = re.compile(r"[`{}<>=;\\|@]|\w\(|[^\W\d][._]\w")
_FULL_STOP = re.compile(r"[.!?…:。！？।؟][\"'”’»)\]*_]*\s*\Z")


class SpokenText:
    """The sentences of one answer, in order: a block of code may cover several of them.

    With `enabled` false nothing is changed. `clean` gives "" where nothing is left that could be read aloud.
    """

    def __init__(self, *, enabled: bool = True) -> None:
        self._enabled = enabled
        self._blocks = _Blocks()

    def clean(self, sentence: str) -> str:
        """Return what is to be read aloud of the next sentence."""
        if not self._enabled:
            return sentence
        text = self._blocks.prose(sentence)
        text = _TABLE_RULE.sub("", _RULE.sub("", text))
        text = _QUOTE.sub("", text)
        text = _HEADING.sub("", _BULLET.sub("", text))
        text = _NUMBERED.sub(r"\1, ", text)
        text = _FOOTNOTE.sub("", _LINK.sub(r"\1", _IMAGE.sub(r"\1", text)))
        text = _URL.sub(r"\1", _ANGLE.sub(_without_tag, text))  # tags first: there are URLs in them
        text = _STRONG.sub("", text).replace("|", ", ")
        text = "".join(_SIGNS.get(char, "" if _is_silent(char) else char) for char in text)
        text = " ".join(_BLANKS.sub(" ", line).strip(" ,") for line in text.splitlines())
        text = _BLANKS.sub(" ", text).strip()
        return text if any(map(str.isalnum, text)) else ""


class _Blocks:
    """Tells the blocks of code in an answer from the prose around them.

    A fence needs no line of its own. What a sentence does not show is whether it begins with a line, and the end of a
    sentence may be that of a line; so the fence itself, and what is beside it, has to tell what it is.
    """

    def __init__(self) -> None:
        self._fence = ""
        """The one that opened the block; "" in prose."""
        self._doubtful = False
        """Whether the block may be none: then its sentences that look like prose are read."""
        self._miscounted = False
        """Whether a fence was one that may be read in two ways: the next bare one may open a block or close one."""
        self._span = ""
        """The ticks before code within a line that is not closed yet: a stop in it has ended the sentence."""
        self._code: list[str] = []
        """The lines of this sentence in the block."""

    def prose(self, sentence: str) -> str:
        """Return the next sentence without the code in it."""
        kept: list[str] = []
        for line in (lines := sentence.splitlines(keepends=True)):
            self._line(line, kept)
        if lines:
            self._leave_code(kept)
        return "".join(kept)

    def _line(self, line: str, kept: list[str]) -> None:
        at, start = 0, True
        while True:
            if self._fence:
                place = self._closing(line, at, start=start)
                self._code.append(line[at : place[0] if place else None])
                if place is None:
                    return
                self._leave_code(kept)
                self._fence = ""
            else:
                place = self._opening(line, at, start=start)
                before = line[at : place[0] if place else None]
                if not (place and start and _BEFORE_FENCE.fullmatch(before)):
                    kept.append(before)
                if place is None:
                    return
                kept.append("\n")
            at, start = place[1], False

    def _leave_code(self, kept: list[str]) -> None:
        if self._doubtful and _is_like_prose(text := "".join(self._code)):
            kept.append(text)
        self._code = []

    def _opening(self, line: str, at: int, *, start: bool) -> tuple[int, int] | None:
        """Return where in the line a fence begins that opens a block, and where the line ends."""
        first = at + _end_of(_BEFORE_FENCE, line[at:]) if start else -1
        while (run := _RUN.search(line, at)) is not None:
            mark, info, at = run[0], line[run.end() :].rstrip("\r\n"), run.end()
            if mark[0] == "`" and (close := re.search(rf"(?<!`){mark}(?!`)", info)) is not None:
                at += close.end()  # code within the line
            elif len(mark) < 3:
                continue
            elif mark == self._span and run.start() != first and not info.strip():
                self._span = ""
            elif _opens(info, first=run.start() == first, followed=line.endswith(("\n", "\r"))):
                named = bool(info.strip())
                self._miscounted = self._miscounted and not named
                # a quotation ends its block, too
                self._doubtful = ">" in line[: run.start()] or (
                    not named and (self._miscounted or run.start() != first)
                )
                self._fence, self._span = mark, ""
                return run.start(), len(line)
            elif mark[0] == "`":
                self._span = mark
        return None

    def _closing(self, line: str, at: int, *, start: bool) -> tuple[int, int] | None:
        """Return where in the line the fence begins and ends that closes the block."""
        runs = [run for run in _RUN.finditer(line, at) if run[0].startswith(self._fence)]
        if not runs:
            return None
        run, rest = runs[0], line[runs[0].end() :]
        if start and not line[: run.start()].strip(" \t>"):
            if not rest[:1].isalnum() and rest[:1] != "{":
                return run.span()
            if len(runs) > 1:
                return None  # code within the line
            self._miscounted = True
            if _INFO.fullmatch(rest.rstrip("\r\n")):  # a block in a block, or one that was not closed
                self._doubtful = True
                return None
            return run.span()
        if len(runs) > 1:
            return None
        if rest.strip() and not (line[run.start() - 1].isspace() and not rest[0].isalnum()):
            return None
        self._miscounted = True
        return run.span()


def _end_of(pattern: re.Pattern[str], text: str) -> int:
    match = pattern.match(text)
    return match.end() if match else 0


def _opens(info: str, *, first: bool, followed: bool) -> bool:
    """Whether a fence opens a block; `followed` by more lines in the same sentence. "``` is a mark." does not."""
    attached = not info[:1].isspace()
    if _INFO.fullmatch(info):
        return first or attached or not info.strip()
    return first and followed and attached and info[:1].isalnum() and "`" not in info and not _FULL_STOP.search(info)


def _is_like_prose(text: str) -> bool:
    text = text.strip()
    first = text.lstrip("\"'“«¿¡(*_")[:1]
    return (
        first.isalpha()
        and not first.islower()
        and _FULL_STOP.search(text) is not None
        and _LIKE_CODE.search(text) is None
    )


def _without_tag(match: re.Match[str]) -> str:
    if (text := match["code"] or match["address"]) is not None:
        return text
    name: str = match["end"] or match["name"]
    if name.lower() not in _ELEMENTS or not (name.islower() or (name.isupper() and len(name) > 1)):
        return match[0]  # List<Object> and Set<A> are types
    return " " if name.lower() in _APART else ""


def _is_silent(char: str) -> bool:
    """Whether `char` is a pictogram or belongs to one."""
    return (
        unicodedata.category(char) in ("Cs", "Co", "Cn", "Sk")
        or (unicodedata.category(char) == "So" and char >= "\u2190")  # not the degree sign
        or char in "\u200d\u200b\ufeff\ufe0e\ufe0f\u20e3`"
        or "\U0001f000" <= char <= "\U0001faff"
        or "\U000e0020" <= char <= "\U000e007f"
    )
