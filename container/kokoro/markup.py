"""What surrounds words in text from chats and pages: Markdown, tags, links, emoji. Its words stay, its signs go."""

import re

_LINK = re.compile(r"!?\[([^\]]{1,200})\]\([^)]{0,500}\)")
_FENCE = re.compile(r"(?m)^\s{0,3}(?:```|~~~)[^\n]{0,40}$")
_HEADING = re.compile(r"(?m)^\s{0,3}#{1,6}\s+(.*?)\s*#*$")
_BULLET = re.compile(r"(?m)^\s{0,8}(?:[-*+•]|\d{1,3}[.)])\s+(?=\S)")
_QUOTE = re.compile(r"(?m)^\s{0,3}>+\s?")
_RULE = re.compile(r"(?m)^\s{0,3}(?:[-*_]\s*){3,}$")
_EMPHASIS = re.compile(r"(?<![\w*])(\*{1,3}|_{1,3}|~~)(?=\S)([^*\n~]{1,500}?)(?<=\S)\1(?![\w*])")
_CODE = re.compile(r"`{1,2}([^`\n]{1,300})`{1,2}")
_BREAK_TAG = re.compile(r"</?(?:p|br|li|div|h[1-6]|break|s)\b[^<>]{0,200}>", re.IGNORECASE)
_TAG = re.compile(r"</?[A-Za-z][A-Za-z0-9:-]{0,30}(?:\s[^<>]{0,300})?/?>|<!--.{0,500}?-->")
_ENTITIES = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'", "&apos;": "'", "&nbsp;": " "}
_ENTITY = re.compile("|".join(_ENTITIES))
_TABLE_RULE = re.compile(r"(?m)^\s*\|?(?:\s*:?-{3,}:?\s*\|)+\s*:?-*:?\s*$")
_EMOJI = re.compile(
    "[\U0001f000-\U0001faff\U0001fb00-\U0001fbff\u2600-\u27bf\u2b00-\u2bff\u2190-\u21ff\u231a-\u23ff\ufe0e\ufe0f\u200d"
    "\u20e3\U000e0020-\U000e007f]+"
)


def plain(text: str) -> str:
    """Return `text` without markup and emoji. A heading or list item without a stop gets one, so that it ends."""
    if not _might_hold_markup(text):
        return text
    text = _BREAK_TAG.sub("\n", text)
    text = _TAG.sub(" ", text)
    text = _ENTITY.sub(lambda match: _ENTITIES[match[0]], text)
    for pattern in (_FENCE, _RULE, _TABLE_RULE, _QUOTE, _BULLET):
        text = pattern.sub("", text)
    text = _HEADING.sub(lambda match: match[1] if match[1][-1:] in ".!?:" else f"{match[1]}.", text)
    text = _LINK.sub(r"\1", text)
    text = _CODE.sub(r"\1", text)
    for _ in range(3):  # **bold with *italics* inside**
        text = _EMPHASIS.sub(r"\2", text)
    return _EMOJI.sub(" ", text)


def _might_hold_markup(text: str) -> bool:
    return not text.isascii() or any(sign in text for sign in "*_`#<[>~&|-+") or bool(_BULLET.match(text))
