"""What surrounds words in text from chats and pages: Markdown, tags, links, emoji. Its words stay, its signs go.

It is for whole texts: a piece of one may begin or end within a tag or a link. No pattern may take longer than the text
is long, since it runs on the event loop: nothing that repeats is followed by what it could match itself.
"""

import re

_LINK = re.compile(r"!?\[([^\]]{1,200})\]\((?:[^()]|\([^()]{0,200}\)){0,500}+\)")
_FENCE = re.compile(r"(?m)^[^\S\n]{0,3}(?:```|~~~)[^\n]{0,40}$")
_HEADING = re.compile(r"(?m)^[^\S\n]{0,3}#{1,6}[^\S\n]+([^\n]*)$")
_BULLET = re.compile(r"(?m)^[^\S\n]{0,8}(?:[-*+•]|(?P<number>\d{1,3})[.)])\s++(?=\S)")
_QUOTE = re.compile(r"(?m)^[^\S\n]{0,3}>+[^\S\n]?")
_RULE = re.compile(r"(?m)^[^\S\n]{0,3}(?:[-*_][^\S\n]*+){3,}+$")
_EMPHASIS = re.compile(
    r"(?<![\w*])(?:(\*{1,3}|~~)(?=\S)([^*\n~]{1,500}?)(?<=\S)\1|"
    r"(_{1,3})(?=\S)((?:[^*\n~_]|(?<=\w)_(?=\w)){1,500}?)(?<=\S)\3)(?![\w*])"
)
_CODE = re.compile(r"`{1,2}([^`\n]{1,300})`{1,2}")
_ATTRIBUTE = r"""[A-Za-z_:@][\w:.-]{0,40}+\s*+=\s*+(?:"[^"<>]{0,300}"|'[^'<>]{0,300}'|[^\s"'<>=`]{1,200}+)"""
_FLAG = (
    r"(?:allowfullscreen|async|autoplay|checked|controls|defer|disabled|hidden|loop|multiple|muted|open|readonly|"
    r"required|reversed|selected)\b"
)
_TAG = re.compile(
    rf"<(?P<close>/?)(?P<name>[A-Za-z][A-Za-z0-9:-]{{0,30}}+)(?P<inside>(?:\s++(?:{_ATTRIBUTE}|{_FLAG})){{0,20}}+\s*+/?)>"
    r"|<!--.{0,500}?-->"
)
"""In prose, too, there may be words between "<" and ">": x<y and y>z."""
_BREAKS = "p br li div h1 h2 h3 h4 h5 h6 break s tr hr ul ol table blockquote"
_HTML = (
    "a abbr address article aside audio b bdi bdo body button canvas caption cite code col colgroup data dd del "
    "details dfn dialog dl dt em embed figcaption figure font footer form head header html i iframe img input ins kbd "
    "label legend link main mark meta meter nav object option picture pre progress q rp rt ruby samp script section "
    "select small source span strike strong style sub summary sup svg tbody td textarea tfoot th thead time title tt u "
    "var video wbr"
)
_SSML = "speak prosody emphasis say-as phoneme voice lang lexicon token w"
_BREAKING = frozenset(_BREAKS.split())
_ELEMENTS = _BREAKING.union(_HTML.split(), _SSML.split())
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
"""A NUL ends the text for readers that are written in C."""
_ENTITIES = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'", "&apos;": "'", "&nbsp;": " "}
_ENTITY = re.compile("|".join(_ENTITIES))
_TABLE_RULE = re.compile(r"(?m)^(?=[^|\n]*+\|)(?=[^-\n]*+-)[-|:\t ]++$")
_EMOJI = re.compile(
    "[\U0001f000-\U0001faff\U0001fb00-\U0001fbff\u2600-\u27bf\u2b00-\u2bff\u2190-\u21ff\u231a-\u23ff\ufe0e\ufe0f\u200d"
    "\u20e3\U000e0020-\U000e007f]+"
)


def plain(text: str) -> str:
    """Return `text` without markup and emoji. A heading or list item without a stop gets one, so that it ends."""
    if not _might_hold_markup(text):
        return text
    text = _without_tags(_CONTROL.sub(" ", text))
    text = _ENTITY.sub(lambda match: _ENTITIES[match[0]], text)
    for pattern in (_FENCE, _RULE, _TABLE_RULE, _QUOTE):
        text = pattern.sub("", text)
    text = _without_bullets(text)
    text = _HEADING.sub(_heading, text)
    text = _LINK.sub(r"\1", text)
    text = _CODE.sub(r"\1", text)
    for _ in range(3):  # **bold with *italics* inside**
        text = _EMPHASIS.sub(lambda match: match[2] or match[4], text)
    return _EMOJI.sub(" ", text)


def _without_tags(text: str) -> str:
    """Take tags away. One of an unknown name is a tag if it says so: by an end, an attribute, or a tag that ends it."""
    ended = {match["name"].lower() for match in _TAG.finditer(text) if match["close"]}

    def replacement(match: re.Match[str]) -> str:
        if match["name"] is None:  # a comment
            return " "
        name = match["name"].lower()
        if name in _BREAKING:
            return "\n"
        return " " if name in _ELEMENTS or name in ended or match["inside"].strip() else match[0]

    return _TAG.sub(replacement, text)


def _without_bullets(text: str) -> str:
    """Take the signs and numbers of list items away.

    A number is one at the start of a paragraph, after a line that ended or an item, and where it goes on counting: in
    prose with hard line breaks, too, a line may begin with "42. ".
    """
    last, end = -1, -1

    def replacement(match: re.Match[str]) -> str:
        nonlocal last, end
        start = match.start()
        if match["number"] is not None:
            number, before = int(match["number"]), text[max(start - 2, 0) : max(start - 1, 0)]
            follows = end >= 0 and text.find("\n", end) == start - 1
            if (before.isalnum() or before == ",") and not follows and number not in (last, last + 1):
                return match[0]
            last = number
        end = match.end()
        return ""

    return _BULLET.sub(replacement, text)


def _heading(match: re.Match[str]) -> str:
    words = match[1].rstrip()
    bare = words.rstrip("#")
    if not bare or bare[-1].isspace():  # "## Heading ##", but not "# About C#"
        words = bare.rstrip()
    return words if not words or words[-1] in ".!?:" else f"{words}."


def _might_hold_markup(text: str) -> bool:
    return (
        not text.isascii()
        or bool(_CONTROL.search(text))
        or any(sign in text for sign in "*_`#[<>~&|-+")
        or bool(_BULLET.search(text))
    )
