"""Profiles of agents: how a turn is asked for, and what is known of the events that answer it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from contract_tests.mark import JsonMark
from contract_tests.settings import Table, profile_names, read_profile

__all__ = ["AgentProfile", "Carrier", "agent_profiles", "load_agent_profile"]

_PACKAGE = "contract_tests.agents"
_DEFAULT_TIMEOUT_S = 15.0


@dataclass(frozen=True, slots=True)
class Carrier:
    """Events of one kind, and the member of theirs that carries a text."""

    mark: JsonMark
    member: str

    def text_of(self, body: object) -> str | None:
        """Return what an event carries, None where it is of another kind; "" where the member is no text."""
        if not isinstance(body, dict) or not self.mark.matches(body, ""):
            return None
        value = body.get(self.member)
        return value if isinstance(value, str) else ""


@dataclass(frozen=True, slots=True)
class AgentProfile:
    """One kind of agent. ``timeout``: seconds without an event that count as no answer.

    What is None or empty is not known, and not judged.
    """

    name: str
    title: str
    payload: str
    environment: Mapping[str, str]
    timeout: float = _DEFAULT_TIMEOUT_S
    kind: str | None = None
    known: tuple[str, ...] = ()
    sequence: str | None = None
    text: Carrier | None = None
    sentence: Carrier | None = None
    audio: Carrier | None = None
    done: JsonMark | None = None
    error: JsonMark | None = None

    def render(self, prompt: str) -> bytes:
        """Return the payload that asks for a turn."""
        return self.payload.replace("{prompt}", json.dumps(prompt)[1:-1]).encode()

    def is_done(self, body: object) -> bool:
        """Tell whether an event says that the turn is over and went well."""
        return self.done is not None and self.done.matches(body, "")

    def is_error(self, body: object) -> bool:
        """Tell whether an event says that the turn has failed, in the agent's own way or in that of AgentCore's SDK."""
        if not isinstance(body, dict):
            return False
        return {"error", "error_type"} <= body.keys() or (self.error is not None and self.error.matches(body, ""))


def agent_profiles() -> list[str]:
    """Return the names of the profiles that come with the suite."""
    return profile_names(_PACKAGE)


def load_agent_profile(name_or_file: str) -> AgentProfile:
    """Return a built-in profile by its name, or the one that stands in a TOML file.

    Raises:
        ProfileError: no such profile, or the file is not a usable profile of an agent.
    """
    return _profile(*read_profile(_PACKAGE, name_or_file, "profile of an agent"))


def _profile(root: Table, name: str) -> AgentProfile:
    request = root.table("request") or root.fail("request", "is missing.", "It holds the payload that asks for a turn.")
    payload = request.required_text("payload")
    if "{prompt}" not in payload:
        request.fail("payload", "does not hold {prompt}.", 'For example: \'{"prompt": "{prompt}"}\'')
    environment = root.members("environment") or {}
    for key, value in environment.items():
        if not isinstance(value, str):
            root.fail(f"environment.{key}", f"is {value!r}, expected a string.")
    variables = {key: str(value) for key, value in environment.items()}
    profile = AgentProfile(name, root.text("title") or name, payload, variables)
    events = root.table("events")
    if events is not None:
        profile = replace(
            profile,
            timeout=events.seconds("timeout", _DEFAULT_TIMEOUT_S),
            kind=events.text("kind"),
            known=events.texts("known") or (),
            sequence=events.text("sequence"),
            text=_carrier(events, "text"),
            sentence=_carrier(events, "sentence"),
            audio=_carrier(events, "audio"),
            done=_mark(events, "done"),
            error=_mark(events, "error"),
        )
        if profile.known and profile.kind is None:
            events.fail("kind", "is missing, and 'known' makes no sense without it.", 'For example: kind = "type"')
    for table in (request, events, root):
        if table is not None:
            table.done()
    return profile


def _mark(events: Table, key: str) -> JsonMark | None:
    table = events.table(key)
    if table is None:
        return None
    mark = _members(table)
    table.done()
    return mark


def _carrier(events: Table, key: str) -> Carrier | None:
    table = events.table(key)
    if table is None:
        return None
    carrier = Carrier(_members(table), table.required_text("member"))
    table.done()
    return carrier


def _members(table: Table) -> JsonMark:
    members = table.members("json")
    return JsonMark(members) if members else table.fail("json", "is missing or empty.", "Name at least one member.")
