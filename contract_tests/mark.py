"""Marks: how one kind of answer (start, end, error) is recognised, whatever the container's protocol."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from contract_tests.settings import Table

__all__ = ["AnyReplyMark", "JsonMark", "Mark", "SilenceMark", "TextMark", "read_mark"]


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
    def names_id(self) -> bool:
        """Whether it matches an answer to one request only."""
        return bool(self.id_path)

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

    @property
    def names_id(self) -> bool:
        """Whether it matches an answer to one request only."""
        return "{id}" in self.pattern.pattern

    def matches(self, body: object, request_id: str) -> bool:
        """Tell whether ``body`` is a text in which the pattern is found."""
        if not isinstance(body, str):
            return False
        if not self.names_id:
            return self.pattern.search(body) is not None
        return re.search(self.pattern.pattern.replace("{id}", re.escape(request_id)), body) is not None

    def __str__(self) -> str:
        return f"a text that matches /{self.pattern.pattern}/"


@dataclass(frozen=True, slots=True)
class AnyReplyMark:
    """The first reply, whatever it holds, is the whole answer."""

    names_id: ClassVar[bool] = False

    def matches(self, body: object, request_id: str) -> bool:  # noqa: ARG002 - the same shape as JsonMark.matches
        """Tell no reply from another: that one came at all is the end."""
        return False

    def __str__(self) -> str:
        return "any reply"


@dataclass(frozen=True, slots=True)
class SilenceMark:
    """The answer is over when nothing has come for ``seconds`` after the first reply."""

    seconds: float
    names_id: ClassVar[bool] = False

    def matches(self, body: object, request_id: str) -> bool:  # noqa: ARG002 - the same shape as JsonMark.matches
        """Tell no reply from another: silence is the end."""
        return False

    def __str__(self) -> str:
        return f"a reply, then {self.seconds:g} s without another"


Mark = JsonMark | TextMark | AnyReplyMark | SilenceMark


def read_mark(reply: Table, key: str) -> Mark | None:
    """Return the mark that stands under ``key`` of a table of a profile, None if there is none.

    Raises:
        ProfileError: it cannot be used.
    """
    table = reply.table(key)
    if table is None:
        return None
    kinds = [kind for kind in ("json", "text", "first", "silence") if table.has(kind)]
    if len(kinds) != 1:
        reply.fail(
            key,
            f"holds {' and '.join(kinds) or 'no way to recognise it'}, expected exactly one.",
            "Ways: json = { member = value }, text = 'regular expression'"
            + (", first = 'reply', silence = seconds." if key == "end" else "."),
        )
    mark = _mark_of(table, kinds[0])
    if key != "end" and isinstance(mark, AnyReplyMark | SilenceMark):
        reply.fail(key, f"cannot be recognised by {kinds[0]!r}.", "Only the end can; use json or text.")
    table.done()
    return mark


def _mark_of(table: Table, kind: str) -> Mark:
    if kind == "json":
        members = table.members("json")
        if not members:
            table.fail("json", "is empty.", "Name at least one member.")
        return JsonMark(members)
    if kind == "text":
        pattern = table.required_text("text")
        try:
            return TextMark(re.compile(pattern))
        except (re.error, OverflowError) as error:
            table.fail("text", f"is no regular expression: {error}.")
        except RecursionError:
            table.fail("text", "is no regular expression: it is nested too deeply.")
    if kind == "silence":
        return SilenceMark(table.seconds("silence", 1.0))
    if table.text("first") != "reply":
        table.fail("first", "has to be 'reply'.")
    return AnyReplyMark()
