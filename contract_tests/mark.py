"""Marks: how one kind of answer (start, end, error) is recognised, whatever the container's protocol."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["AnyReplyMark", "JsonMark", "Mark", "SilenceMark", "TextMark"]


@dataclass(frozen=True, slots=True)
class JsonMark:
    """A JSON object that holds these members; a member with the value ``{id}`` must equal the request's id.

    A member that is a table is looked into in the same way.
    """

    members: Mapping[str, object]

    def matches(self, body: object, request_id: str) -> bool:
        """Tell whether ``body`` (a parsed control message) is such an answer to the request ``request_id``."""
        return _holds(self.members, body, request_id)

    @property
    def id_path(self) -> tuple[str, ...]:
        """Where the request's id stands: the keys from the outside in; empty where nothing names it."""
        return _id_path(self.members)

    def matches_another(self, body: object, request_id: str) -> bool:
        """Tell whether ``body`` is such an answer, but to another request, or to none."""
        told = any(value != "{id}" and not isinstance(value, dict) for value in self.members.values())
        alike = told and bool(self.id_path) and _holds(self.members, body, None)
        return alike and not self.matches(body, request_id)

    def __str__(self) -> str:
        return "a JSON object with " + ", ".join(f"{key} = {value!r}" for key, value in self.members.items())


def _holds(members: Mapping[str, object], body: object, request_id: str | None) -> bool:
    """Tell whether ``body`` holds the members; with None for the id, whatever it has in the place of ``{id}``."""
    if not isinstance(body, dict):
        return False
    for key, value in members.items():
        if value == "{id}":
            if request_id is not None and (key not in body or body[key] != request_id):
                return False
        elif isinstance(value, dict):
            if not _holds(value, body.get(key) if request_id is not None else body.get(key, {}), request_id):
                return False
        elif key not in body or body[key] != value:
            return False
    return True


def _id_path(members: Mapping[str, object]) -> tuple[str, ...]:
    for key, value in members.items():
        if value == "{id}":
            return (key,)
        if isinstance(value, dict) and (rest := _id_path(value)):
            return (key, *rest)
    return ()


@dataclass(frozen=True, slots=True)
class TextMark:
    """A text that a regular expression finds something in; ``{id}`` in it stands for the request's id."""

    pattern: re.Pattern[str]

    def matches(self, body: object, request_id: str) -> bool:
        """Tell whether ``body`` is a text in which the pattern is found."""
        if not isinstance(body, str):
            return False
        if "{id}" not in self.pattern.pattern:
            return self.pattern.search(body) is not None
        return re.search(self.pattern.pattern.replace("{id}", re.escape(request_id)), body) is not None

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
