"""Scripts: what the model answers, how quickly, and how it fails."""

import difflib
import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from emulator.bedrock.failure import BREAKS, IN_STREAM, STATUSES

__all__ = ["Script", "ScriptError", "ToolUse", "Turn"]

_ANSWER = (
    "A good voice agent does not wait: it speaks before its whole answer is written. "
    "It hands each sentence over as soon as the full stop is there. "
    "The voice then begins to speak while the model is still thinking. "
    "So you hear the first words long before the last one exists. "
    "The longer the answer is, the more of your time that saves."
)
_FRAGMENT = re.compile(r"\s*\S{1,4}|\s+$")
_TOOL_NAME = r"[a-zA-Z0-9_-]{1,64}"
_MOST = 1_000_000_000  # seconds, or tokens per second: what nobody waits for; sums and quotients of such stay finite


class ScriptError(ValueError):
    """Raised when a script cannot be used: says where, what is there, and what is expected."""


def _known(name: str, value: str | None, choices: tuple[str, ...]) -> None:
    if value is not None and value not in choices:
        near = difflib.get_close_matches(value, choices, n=1)
        hint = f"; did you mean {near[0]}?" if near else f"; expected is one of {', '.join(choices)}"
        raise ScriptError(f"{name} is {value!r}{hint}")


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool that the model asks for. ``input`` is any JSON object."""

    name: str
    input: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not re.fullmatch(_TOOL_NAME, self.name):
            raise ScriptError(f"tool.name is {self.name!r}: 1 to 64 letters, digits, '_' or '-' are expected")
        if not isinstance(self.input, Mapping):
            raise ScriptError(f"tool.input is {self.input!r}: a table is expected, as in input = {{ city = 'Paris' }}")
        try:
            json.dumps(dict(self.input), allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise ScriptError(
                f"tool.input of {self.name} is no JSON, as a model's is ({error}): strings, finite numbers, true and "
                "false, lists and tables are expected; write a date as a string, as in day = '2024-05-01'"
            ) from None


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer of the model. Times in seconds.

    ``text`` comes in fragments of about a token; ``fragments`` says them one by one instead. A turn with a ``tool``
    ends with its use. ``refuse`` is an HTTP error in the place of the answer; ``fail`` breaks the stream after
    ``fail_after`` fragments: with an exception event, or with ``cut`` (the connection drops) or ``stall`` (nothing
    comes any more). With ``times``, only so many requests fail, and later ones are answered in full. ``when`` is a
    regular expression that the user's last text must contain.
    """

    text: str = _ANSWER
    tokens_per_second: float = 40.0
    """0: all fragments at once."""
    first_token: float = 0.5
    fragments: tuple[str, ...] = ()
    tool: ToolUse | None = None
    stop_reason: str | None = None
    refuse: str | None = None
    fail: str | None = None
    fail_after: int = 0
    times: int = 0
    when: str | None = None

    def __post_init__(self) -> None:
        if self.tokens_per_second < 0 or self.first_token < 0 or self.fail_after < 0 or self.times < 0:
            raise ScriptError("tokens_per_second, first_token, fail_after and times must be 0 or more")
        if not self.first_token <= _MOST:  # nan is neither more nor less
            raise ScriptError(
                f"first_token is {self.first_token!r:.40}: a finite number of seconds, at most {_MOST}, is expected "
                "(fail = 'stall' is an answer that never comes)"
            )
        if not (self.tokens_per_second == 0 or 1 / _MOST <= self.tokens_per_second <= _MOST):
            raise ScriptError(
                f"tokens_per_second is {self.tokens_per_second!r:.40}: a finite number from {1 / _MOST:g} to {_MOST} "
                "is expected, or 0 for all tokens at once"
            )
        _known("refuse", self.refuse, tuple(STATUSES))
        _known("fail", self.fail, (*IN_STREAM, *BREAKS))
        try:
            re.compile(self.when or "")
        except re.error as error:
            raise ScriptError(f"when is {self.when!r}, which is no regular expression: {error}") from None

    @property
    def pieces(self) -> tuple[str, ...]:
        """The fragments in which the text comes; joined they are the text."""
        return self.fragments or tuple(_FRAGMENT.findall(self.text))

    def healthy(self) -> "Turn":
        """Return the turn without its failure."""
        return replace(self, refuse=None, fail=None)


@dataclass(frozen=True, slots=True)
class Script:
    """The turns of a model. The default has one, of five sentences."""

    turns: tuple[Turn, ...] = (Turn(),)

    def __post_init__(self) -> None:
        if not self.turns:
            raise ScriptError("a script needs a turn, as in: [[turn]] text = 'Hello.'")

    def choose(self, prompt: str, tool_rounds: int) -> Turn:
        """Return the turn for a conversation: it depends on nothing else, so that sessions cannot mix.

        ``prompt`` is the user's last text, ``tool_rounds`` the number of tool results that came since. Turns whose
        ``when`` fits come before those that have none; of several, the first answers the prompt, the next one the
        tool result, and so on; the last one is repeated.
        """
        fitting = [turn for turn in self.turns if turn.when is not None and re.search(turn.when, prompt)]
        fitting = fitting or [turn for turn in self.turns if turn.when is None] or list(self.turns)
        return fitting[min(tool_rounds, len(fitting) - 1)]

    @classmethod
    def load(cls, path: Path) -> "Script":
        """Read a TOML file: defaults for all turns at the top, then one ``[[turn]]`` after the other.

        Raises:
            ScriptError: it cannot be read, or holds what no script has.
        """
        try:
            raw = tomllib.loads(path.read_text("utf-8"))
        except OSError as error:
            raise ScriptError(f"script {path}: {error.strerror or error}") from error
        except (ValueError, RecursionError) as error:  # also of numbers too long and of lists too deep for Python
            raise ScriptError(f"script {path} is no TOML: {error}") from error
        turns = raw.pop("turn", [{}])
        if not isinstance(turns, list) or not all(isinstance(turn, dict) for turn in turns):
            raise ScriptError(f"script {path}: turns are tables, each under a line [[turn]]")
        try:
            return cls(tuple(_turn({**raw, **turn}) for turn in turns))
        except (ScriptError, TypeError) as error:
            raise ScriptError(f"script {path}: {error}") from error


_KINDS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("text", "stop_reason", "refuse", "fail", "when"), (str,)),
    **dict.fromkeys(("tokens_per_second", "first_token"), (int, float)),
    **dict.fromkeys(("fail_after", "times"), (int,)),
    "fragments": (list,),
    "tool": (dict,),
}


def _turn(raw: dict[str, Any]) -> Turn:
    for name, value in raw.items():
        _known("a key", name, tuple(_KINDS))
        if not isinstance(value, _KINDS[name]) or isinstance(value, bool):
            wanted = " or ".join(kind.__name__ for kind in _KINDS[name])
            raise ScriptError(f"{name} is {value!r}, expected is {wanted}")
    if (tool := raw.get("tool")) is not None:
        if set(tool) - {"name", "input"} or not isinstance(tool.get("name"), str):
            raise ScriptError(f"tool is {tool!r}, expected is {{ name = '…', input = {{ … }} }}")
        raw = {"text": "", **raw, "tool": ToolUse(tool["name"], tool.get("input", {}))}
    if (pieces := raw.get("fragments")) is not None:
        if not all(isinstance(piece, str) for piece in pieces):
            raise ScriptError("fragments must be a list of strings")
        raw = {**raw, "text": "".join(pieces), "fragments": tuple(pieces)}
    return Turn(**raw)
