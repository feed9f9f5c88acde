"""Marks: how one kind of answer (start, end, error) is recognised, whatever the container's protocol."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["AnyReplyMark", "JsonMark", "Mark", "SilenceMark", "TextMark"]


@dataclass(frozen=True, slots=True)
class JsonMark:
    """A JSON object that holds these members; a member with the value ``{id}`` must equal the request's id."""

    members: Mapping[str, object]

    def matches(self, body: object, request_id: str) -> bool:
        """Tell whether ``body`` (a parsed control message) is such an answer to the request ``request_id``."""
        return isinstance(body, dict) and all(
            key in body and body[key] == (request_id if value == "{id}" else value)
            for key, value in self.members.items()
        )

    def matches_another(self, body: object, request_id: str) -> bool:
        """Tell whether ``body`` is such an answer, but to another request, or to none."""
        named = [key for key, value in self.members.items() if value == "{id}"]
        if not named or not isinstance(body, dict) or self.matches(body, request_id):
            return False
        return all(key in named or (key in body and body[key] == value) for key, value in self.members.items())

    def __str__(self) -> str:
        return "a JSON object with " + ", ".join(f"{key} = {value!r}" for key, value in self.members.items())


@dataclass(frozen=True, slots=True)
class TextMark:
    """A text that a regular expression finds something in."""

    pattern: re.Pattern[str]

    def matches(self, body: object, request_id: str) -> bool:  # noqa: ARG002 - the same shape as JsonMark.matches
        """Tell whether ``body`` is a text in which the pattern is found."""
        return isinstance(body, str) and self.pattern.search(body) is not None

    def __str__(self) -> str:
        return f"a text that matches /{self.pattern.pattern}/"


@dataclass(frozen=True, slots=True)
class AnyReplyMark:
    """The first reply, whatever it holds, is the whole answer."""

    def matches(self, body: object, request_id: str) -> bool:  # noqa: ARG002 - the same shape as JsonMark.matches
        """Tell no reply from another: that one came at all is the end."""
        return False

    def __str__(self) -> str:
        return "any reply"


@dataclass(frozen=True, slots=True)
class SilenceMark:
    """The answer is over when nothing has come for ``seconds`` after the first reply."""

    seconds: float

    def matches(self, body: object, request_id: str) -> bool:  # noqa: ARG002 - the same shape as JsonMark.matches
        """Tell no reply from another: silence is the end."""
        return False

    def __str__(self) -> str:
        return f"a reply, then {self.seconds:g} s without another"


Mark = JsonMark | TextMark | AnyReplyMark | SilenceMark
