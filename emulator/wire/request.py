"""The request head of ``InvokeEndpointWithBidirectionalStream``: path and headers, checked as the model says."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from emulator import facts
from emulator.wire.exceptions import RequestError

__all__ = ["CONTENT_TYPE", "InvocationRequest", "model_error", "unknown_endpoint", "unknown_variant"]

CONTENT_TYPE = "application/vnd.amazon.eventstream"

_PATH = re.compile(re.escape(facts.text("wire.path")).replace(r"\{EndpointName\}", "([^/]*)"))
_VARIANT = "x-amzn-sagemaker-target-variant"
_INVOCATION_PATH = "x-amzn-sagemaker-model-invocation-path"
_QUERY_STRING = "x-amzn-sagemaker-model-query-string"


@dataclass(frozen=True, slots=True)
class InvocationRequest:
    """A checked request head.

    ``container_target`` is path and query of the WebSocket in the container (facts ``ctr.path-default``,
    ``ctr.path-override``).
    """

    endpoint: str
    variant: str | None
    container_target: str

    @classmethod
    def parse(cls, method: str, path: str, headers: Iterable[tuple[str, str]]) -> "InvocationRequest":
        """Check a request head; ``path`` is the raw ``:path``, headers have lower-case names.

        Raises:
            RequestError: the HTTP error to answer with.
        """
        raw_path, _, query = path.partition("?")  # the Python SDK leaves an empty query behind
        match = _PATH.fullmatch(raw_path)
        if match is None or method != "POST":
            raise RequestError(
                404,
                "UnknownOperationException",
                f"{method} {raw_path} is no operation of this service. "
                f"The emulator serves POST {facts.text('wire.path')} only.",
            )
        if query:
            raise _invalid("query", query, "the operation has no query parameters")
        fields = dict(headers)
        _check_content_type(fields)
        endpoint = unquote(match[1])
        _check(endpoint, "endpointName", facts.text("req.endpoint-name"))
        variant = fields.get(_VARIANT)
        if variant is not None:
            _check(variant, "targetVariant", facts.text("req.variant"))
        return cls(endpoint, variant, _container_target(fields.get(_INVOCATION_PATH), fields.get(_QUERY_STRING)))


def _container_target(path: str | None, query: str | None) -> str:
    target = facts.text("ctr.path-default")
    if path is not None:
        _check_length(path, "modelInvocationPath", facts.integer("req.path-max"))
        hint = "; leave the leading '/' out, SageMaker puts it back" if path.startswith("/") else _hint_empty(path)
        _check(path, "modelInvocationPath", facts.text("req.path"), hint)
        target = f"/{path}"
    if query is not None:
        _check_length(query, "modelQueryString", facts.integer("req.query-max"))
        hint = "; leave the '?' out, SageMaker puts it in front" if query.startswith("?") else _hint_empty(query)
        _check(query, "modelQueryString", facts.text("req.query"), hint)
        target = f"{target}?{query}"
    return target


def _hint_empty(value: str) -> str:
    # the defaults of pipecat's client are empty strings
    return "" if value else "; an empty header is no value, leave it out (None in code)"


def _check_content_type(fields: Mapping[str, str]) -> None:
    given = fields.get("content-type", CONTENT_TYPE)
    if given.partition(";")[0].strip().lower() != CONTENT_TYPE:
        raise _invalid("contentType", given, f"it must be {CONTENT_TYPE}")


def _check_length(value: str, member: str, limit: int) -> None:
    if len(value) > limit:
        raise _invalid(member, value, f"it has {len(value)} characters, at most {limit} are allowed")


def _check(value: str, member: str, pattern: str, hint: str = "") -> None:
    if not re.fullmatch(pattern, value):
        raise _invalid(member, value, f"Member must satisfy regular expression pattern: {pattern}{hint}")


def _invalid(member: str, value: str, constraint: str) -> RequestError:
    shown = value if len(value) <= 100 else f"{value[:100]}…"
    return RequestError(
        facts.integer("err.400-input"),
        "InputValidationError",
        f"1 validation error detected: Value '{shown}' at '{member}' failed to satisfy constraint: {constraint}",
        {"ErrorCode": "INVALID_INPUT"},
    )


def unknown_endpoint(
    name: str, account: str, known: Iterable[str], status: int = facts.integer("err.no-endpoint")
) -> RequestError:
    """Return the error for an endpoint that is not there. SDKs lose its text, so it must also be logged."""
    names = ", ".join(sorted(known)) or "none"
    return RequestError(
        status,
        "ValidationError",
        f"Endpoint {name} of account {account} not found. (This emulator serves: {names}.)",
    )


def unknown_variant(name: str, endpoint: str, known: Iterable[str]) -> RequestError:
    """Return the error for a variant that the endpoint does not have (fact ``err.no-variant``)."""
    return RequestError(
        facts.integer("err.no-variant"),
        "ValidationError",
        f"Variant {name} not found for endpoint {endpoint}. It has {', '.join(known)}.",
    )


def model_error(variant: str, detail: str | None) -> RequestError:
    """Return the error for a container that did not accept the WebSocket.

    ``detail`` says what the emulator saw; the service itself does not forward the container's answer. None leaves
    the members out that are not known to be there (fact ``unk.424-detail``).
    """
    status = facts.integer("err.424-upgrade")
    members: dict[str, str | int] = {"ErrorCode": "INTERNAL_FAILURE_FROM_MODEL", "OriginalStatusCode": status}
    if detail is not None:
        members["OriginalMessage"] = detail
        members["LogStreamArn"] = "arn:aws:logs:local:000000000000:log-group:emulator"
    return RequestError(
        status,
        "ModelError",
        f'Received server error ({status}) from {variant} with message "Failed to establish WebSocket connection".',
        members,
    )
