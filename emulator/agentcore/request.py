"""``InvokeAgentRuntime`` and ``StopRuntimeSession``: request heads, checked; answers of the agent, translated."""

import re
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import cast
from urllib.parse import parse_qs, unquote

from emulator import facts
from emulator.wire.exceptions import RequestError

__all__ = ["AgentRequest", "Operation", "check_size", "failed", "not_ready", "response_headers", "too_slow", "unknown"]

_PREFIX = "x-amzn-bedrock-agentcore-runtime-"
SESSION = f"{_PREFIX}session-id"
_ARN = re.compile(facts.text("agent.arn"))
_ID = re.compile(facts.text("agent.id"))
_SESSION_LENGTH = cast("list[int]", facts.get("agent.session-id").value)
_DEFAULT = facts.text("agent.qualifier")
# as a query parameter it can hold anything, but it goes on in a header; the service model has no pattern
_PRINTABLE = re.compile(r"[!-~]([ -~]*[!-~])?")
# as in the service model: header, its longest value, whether the agent's answer may carry it too
_PASSED_ON = {
    "content-type": (256, False),
    "accept": (256, False),
    "mcp-session-id": (1024, True),
    "mcp-protocol-version": (1024, True),
    "mcp-method": (1024, False),
    "mcp-name": (1024, False),
    f"{_PREFIX}user-id": (1024, False),
    "x-amzn-trace-id": (128, True),
    "traceparent": (128, True),
    "tracestate": (512, True),
    "baggage": (8192, True),
}


class Operation(Enum):
    """The operations of ``bedrock-agentcore`` that concern an agent's runtime."""

    INVOKE = facts.text("agent.invoke-path")
    STOP_SESSION = facts.text("agent.stop-path")
    WEBSOCKET = facts.text("agent.ws-path")

    @property
    def method(self) -> str:
        """Its HTTP method."""
        return "GET" if self is Operation.WEBSOCKET else "POST"

    @staticmethod
    def of(path: str) -> "Operation | None":
        """Return what a raw path asks for, None where it is another operation."""
        bare = path.partition("?")[0]
        return next((operation for operation, pattern in _PATHS.items() if pattern.fullmatch(bare)), None)


# in the raw path the ARN's slash is %2F: decoded before it is matched, it would look like two segments
_PATHS = {
    operation: re.compile(re.escape(operation.value).replace(r"\{agentRuntimeArn\}", "([^/]+)"))
    for operation in Operation
}


@dataclass(frozen=True, slots=True)
class AgentRequest:
    """A checked request head. ``agent`` is the id of the runtime; ``container_headers`` go to the container."""

    agent: str
    account: str
    asked: str
    """ARN or id, as the client wrote it."""
    qualifier: str
    session: str
    container_headers: list[tuple[str, str]]

    @classmethod
    def parse(
        cls, operation: Operation, method: str, path: str, headers: Iterable[tuple[str, str]], request_id: str
    ) -> "AgentRequest":
        """Check a request head; ``path`` is raw, headers have lower-case names.

        Raises:
            RequestError: the HTTP error to answer with.
        """
        bare, _, query = path.partition("?")
        match = _PATHS[operation].fullmatch(bare)
        if match is None or method != operation.method:
            wanted = f"{operation.method} {operation.value}"
            raise RequestError(404, "UnknownOperationException", f"{method} {path}: this operation is {wanted}.")
        asked = unquote(match[1])
        parameters = {name: values[-1] for name, values in parse_qs(query).items()}
        agent, account = _agent(asked, parameters.get("accountId"))
        fields = dict(headers)
        session = fields.get(SESSION) or parameters.get("X-Amzn-Bedrock-AgentCore-Runtime-Session-Id", "")
        if not session and operation is not Operation.STOP_SESSION:
            session = str(uuid.uuid4())
        _check_session(session)
        for name, (longest, _) in _PASSED_ON.items():
            if len(fields.get(name, "")) > longest:
                raise _invalid(fields[name], name, f"have length less than or equal to {longest}")
        passed = [
            (name.title(), value)
            for name, value in fields.items()
            if name in _PASSED_ON or name.startswith(f"{_PREFIX}custom-")
        ]
        own = [(SESSION.title(), session), (f"{_PREFIX}request-id".title(), request_id)]
        return cls(agent, account, asked, parameters.get("qualifier", _DEFAULT), session, [*passed, *own])


def _agent(asked: str, account: str | None) -> tuple[str, str]:
    if match := _ARN.fullmatch(asked):
        return match[2], match[1]
    if asked.startswith("arn:"):
        raise _invalid(asked, "agentRuntimeArn", f"satisfy regular expression pattern: {_ARN.pattern}")
    if not _ID.fullmatch(asked):
        raise _invalid(asked, "agentRuntimeArn", f"be an ARN, or an id that satisfies {_ID.pattern}")
    if account is None:
        raise _invalid(asked, "agentRuntimeArn", "be an ARN; an id alone needs the query parameter accountId")
    return asked, account


def _check_session(session: str) -> None:
    least, most = _SESSION_LENGTH
    if len(session) < least:
        raise _invalid(session, "runtimeSessionId", f"have length greater than or equal to {least}")
    if len(session) > most:
        raise _invalid(session, "runtimeSessionId", f"have length less than or equal to {most}")
    if not _PRINTABLE.fullmatch(session):
        raise _invalid(
            session,
            "runtimeSessionId",
            "be printable ASCII without a space at its ends, as an HTTP header can carry it: "
            f"satisfy regular expression pattern: {_PRINTABLE.pattern}",
        )


def _invalid(value: str, member: str, constraint: str) -> RequestError:
    shown = value if len(value) <= 100 else f"{value[:100]}…"
    return RequestError(
        400,
        "ValidationException",
        f"1 validation error detected: Value {shown!r} at '{member}' failed to satisfy constraint: "
        f"Member must {constraint}",
    )


def check_size(size: int) -> None:
    """Refuse a payload that is too large.

    Raises:
        RequestError: it is.
    """
    limit = facts.integer("agent.payload-max")
    if size > limit:
        raise RequestError(400, "ValidationException", f"The payload has {size} or more bytes, {limit} are allowed.")


def unknown(request: AgentRequest, known: Iterable[str]) -> RequestError:
    """Return the error for an agent, or for an endpoint of it, that is not there."""
    names = ", ".join(sorted(known)) or "none"
    text = facts.text("agent.unknown-text").replace("{qualifier}", request.qualifier).replace("{agent}", request.asked)
    return RequestError(404, "ResourceNotFoundException", f"{text} (This emulator serves: {names}.)")


def failed(status: int) -> RequestError:
    """Return the error for a container that answered with an error status."""
    return _runtime_error(facts.text("agent.error-text").replace("{status}", str(status)))


def not_ready(why: str) -> RequestError:
    """Return the error for a container that is not healthy: AWS's text, then what the emulator saw."""
    return _runtime_error(f"{facts.text('agent.init-text')} (Emulator: {why}.)")


def too_slow(limit: float) -> RequestError:
    """Return the error for an agent that did not begin to answer in time."""
    return _runtime_error(f"The agent did not begin to answer within {limit:g} s.")


def _runtime_error(message: str) -> RequestError:
    return RequestError(facts.integer("agent.error"), "RuntimeClientError", message)


def response_headers(session: str, container: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the head of the client's response: what the API names of the container's, and the session."""
    fields = dict(container)
    head = [("content-type", fields.get("content-type", "application/octet-stream")), (SESSION, session)]
    return [*head, *((name, fields[name]) for name, (_, back) in _PASSED_ON.items() if back and name in fields)]
