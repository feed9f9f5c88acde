"""Replies compared by kind, where a profile takes any reply for an answer and cannot tell an error from one."""

import re

from contract_tests.answer import Answer, json_object
from contract_tests.mark import AnyReplyMark
from contract_tests.profile import Profile
from emulator.wire.frames import preview

__all__ = ["any_reply", "looks_like_error", "shown", "unlike"]

_ERROR = re.compile(r"\b(err|error|errors|exception|failed|failure)\b|Error\b", re.IGNORECASE)
_KINDS = ("type", "event", "op", "status")


def any_reply(profile: Profile) -> bool:
    """Tell whether the profile takes the first reply, whatever it holds, for the whole answer."""
    return isinstance(profile.end, AnyReplyMark)


def shown(answer: Answer) -> str:
    """Return the first reply as a short text."""
    if not answer.parts:
        return "no reply"
    first = answer.parts[0]
    return f"{'TEXT' if first.data_type == 'UTF8' else 'BINARY'} {preview(first.data)}"


def looks_like_error(answer: Answer) -> bool:
    """Tell whether the first reply is a JSON object that speaks of an error."""
    body = json_object(answer.parts[0].data) if answer.parts else None
    return body is not None and any(
        _ERROR.search(str(word)) is not None
        for name, value in body.items()
        for word in (name, value if name in _KINDS or name == "ev" else "")
    )


def unlike(one: Answer, other: Answer) -> bool:
    """Tell whether the first replies to the same request are of different kinds."""
    if not one.parts or not other.parts:
        return bool(one.parts) != bool(other.parts)
    first, second = json_object(one.parts[0].data), json_object(other.parts[0].data)
    if first is None or second is None:
        return (first is None) != (second is None)
    return first.keys() != second.keys() or any(first.get(kind) != second.get(kind) for kind in _KINDS)
