"""``InvokeEndpoint`` and ``InvokeEndpointWithResponseStream``: request heads, payload hashes, errors, answers."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from urllib.parse import unquote

from emulator import facts
from emulator.wire.exceptions import RequestError

__all__ = [
    "Invocation",
    "Operation",
    "check_size",
    "container_failed",
    "response_headers",
    "signed_headers",
    "timed_out",
    "unreachable",
]

_PREFIX = "x-amzn-sagemaker-"
_UNSIGNED = "UNSIGNED-PAYLOAD"
_MAX_TEXT = 2048  # of the message members in the service model
_CONTAINER = facts.text("inv.container-name")
_NAME = facts.text("req.variant")
_PRINTABLE = r"[!-~][ -~]*"
_ASCII = r"[\t -~]*"  # the model allows control characters too, but no HTTP header can hold one
# member, pattern, longest value: as in the service model
_MEMBERS = {
    "content-type": ("contentType", _ASCII, 1024),
    "accept": ("accept", _ASCII, 1024),
    f"{_PREFIX}accept": ("accept", _ASCII, 1024),
    f"{_PREFIX}custom-attributes": ("customAttributes", _ASCII, facts.integer("inv.custom-attributes-max")),
    f"{_PREFIX}target-model": ("targetModel", _PRINTABLE, 1024),
    f"{_PREFIX}target-variant": ("targetVariant", _NAME, 63),
    f"{_PREFIX}target-container-hostname": ("targetContainerHostname", _NAME, 63),
    f"{_PREFIX}inference-id": ("inferenceId", _PRINTABLE, 64),
    f"{_PREFIX}enable-explanations": ("enableExplanations", r".+", 64),
    f"{_PREFIX}inference-component": ("inferenceComponentName", r"[a-zA-Z0-9]([\-a-zA-Z0-9]*[a-zA-Z0-9])?", 63),
    f"{_PREFIX}session-id": ("sessionId", r"[a-zA-Z0-9](-*[a-zA-Z0-9])*|NEW_SESSION", 256),
    f"{_PREFIX}prefix-aware-id": ("prefixAwareId", _PRINTABLE, 64),
}
# the emulator has one model in one container: answering these as if they were honoured would hide a mistake
_NOT_MODELLED = ("target-model", "target-container-hostname", "inference-component", "enable-explanations")
_PASSED_ON = ("custom-attributes", "inference-id", "session-id", "prefix-aware-id")
_PASSED_BACK = ("custom-attributes", "new-session-id", "closed-session-id")


class Operation(Enum):
    """The operations of ``sagemaker-runtime`` that run a model."""

    INVOKE = facts.text("inv.path")
    RESPONSE_STREAM = facts.text("rs.path")


_PATHS = {
    operation: re.compile(re.escape(operation.value).replace(r"\{EndpointName\}", "([^/]*)")) for operation in Operation
}


@dataclass(frozen=True, slots=True)
class Invocation:
    """A checked request head. ``container_headers`` go to the container with the body."""

    operation: Operation
    endpoint: str
    variant: str | None
    container_headers: list[tuple[str, str]]

    @staticmethod
    def operation_of(path: str) -> Operation | None:
        """Return what a raw path asks for, None where it is another operation."""
        bare = path.partition("?")[0]
        return next((operation for operation, pattern in _PATHS.items() if pattern.fullmatch(bare)), None)

    @classmethod
    def parse(cls, operation: Operation, method: str, path: str, headers: Iterable[tuple[str, str]]) -> "Invocation":
        """Check a request head; ``path`` is raw, headers have lower-case names.

        Raises:
            RequestError: the HTTP error to answer with.
        """
        match = _PATHS[operation].fullmatch(path.partition("?")[0])
        if match is None or method != "POST":
            raise RequestError(
                404, "UnknownOperationException", f"{method} {path}: this operation is POST {operation.value}."
            )
        endpoint = unquote(match[1])
        _check(endpoint, "endpointName", facts.text("req.endpoint-name"), 63)
        fields = dict(headers)
        for name, (member, pattern, longest) in _MEMBERS.items():
            if name in fields:
                _check(fields[name], member, pattern, longest)
        _refuse_unmodelled(fields)
        return cls(operation, endpoint, fields.get(f"{_PREFIX}target-variant"), _container_headers(operation, fields))


def _container_headers(operation: Operation, fields: Mapping[str, str]) -> list[tuple[str, str]]:
    accept = fields.get("accept" if operation is Operation.INVOKE else f"{_PREFIX}accept")
    named = {"Content-Type": fields.get("content-type"), "Accept": accept}
    named |= {f"X-Amzn-SageMaker-{name.title()}": fields.get(f"{_PREFIX}{name}") for name in _PASSED_ON}
    return [(name, value) for name, value in named.items() if value]


def _refuse_unmodelled(fields: Mapping[str, str]) -> None:
    for name in _NOT_MODELLED:
        if f"{_PREFIX}{name}" in fields:
            raise _invalid(
                f"X-Amzn-SageMaker-{name.title()} asks for a kind of endpoint that this emulator does not reproduce "
                "(multi-model, multi-container, inference components, explanations). Leave it out."
            )


def _check(value: str, member: str, pattern: str, longest: int) -> None:
    shown = value if len(value) <= 100 else f"{value[:100]}…"
    failed = f"1 validation error detected: Value '{shown}' at '{member}' failed to satisfy constraint: Member must "
    if len(value) > longest:
        raise _invalid(f"{failed}have length less than or equal to {longest} (it has {len(value)})")
    if not re.fullmatch(pattern, value):
        raise _invalid(f"{failed}satisfy regular expression pattern: {pattern}")


def _invalid(message: str) -> RequestError:
    return RequestError(facts.integer("inv.validation"), "ValidationError", message)


def signed_headers(headers: Iterable[tuple[str, str]], body: bytes) -> list[tuple[str, str]]:
    """Return the headers with the payload hash that the signature must cover.

    boto3 puts the hash of the body into the signature, but into no header; other clients name it in
    ``x-amz-content-sha256``, or leave the body out of the signature with ``UNSIGNED-PAYLOAD``.

    Raises:
        RequestError: the header names another hash than the body has.
    """
    given = list(headers)
    named = dict(given).get("x-amz-content-sha256")
    digest = hashlib.sha256(body).hexdigest()
    if named is None:
        return [*given, ("x-amz-content-sha256", digest)]
    if named not in (_UNSIGNED, digest):
        raise RequestError(
            facts.integer("err.403"),
            "InvalidSignatureException",
            f"x-amz-content-sha256 is {named!r}, the body's SHA-256 is {digest}: the body was changed on its way.",
        )
    return given


def check_size(size: int, limit: int) -> None:
    """Refuse a body over ``limit`` bytes.

    Raises:
        RequestError: it is larger.
    """
    if size > limit:
        raise RequestError(
            facts.integer("inv.too-large"),
            "ValidationError",
            f"The body has {size} or more bytes, at most {limit} are allowed "
            f"(switch invoke-body-max; the service model says {facts.integer('inv.body-max-model')}).",
        )


def container_failed(status: int, body: bytes, endpoint: str, scope: tuple[str, str]) -> RequestError:
    """Return the error for a container that answered with an error status. ``scope`` is region and account."""
    said = body.decode("utf-8", "replace")[:_MAX_TEXT]
    whose = "client" if 400 <= status < 500 else "server"
    region, account = scope
    group = f"/aws/sagemaker/Endpoints/{endpoint}"
    console = f"https://{region}.console.aws.amazon.com/cloudwatch/home?region={region}#logEventViewer:group={group}"
    room = _MAX_TEXT - 512
    return _model_error(
        f'Received {whose} error ({status}) from {_CONTAINER} with message "{said[:room]}". See {console} in account '
        f"{account} for more information.",
        status,
        said,
        "CLIENT_ERROR_FROM_MODEL" if whose == "client" else "INTERNAL_FAILURE_FROM_MODEL",
    )


def timed_out() -> RequestError:
    """Return the error for a container that did not answer in time."""
    text = facts.text("inv.timeout-text").replace("{name}", _CONTAINER)
    return _model_error(
        f'Received server error (0) from {_CONTAINER} with message "{text}"', 0, text, "INTERNAL_FAILURE_FROM_MODEL"
    )


def unreachable(what: str) -> RequestError:
    """Return the error for a container that gave no valid answer at all (fact ``inv.no-answer``)."""
    return _model_error(
        f'Received server error (0) from {_CONTAINER} with message "{what}"', 0, what, "INTERNAL_FAILURE_FROM_MODEL"
    )


def _model_error(message: str, status: int, original: str, code: str) -> RequestError:
    return RequestError(
        facts.integer("inv.model-error"),
        "ModelError",
        message,
        {"OriginalStatusCode": status, "OriginalMessage": original, "ErrorCode": code},
    )


def response_headers(operation: Operation, variant: str, container: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return what the client gets of the container's response headers: nothing but what the API names."""
    fields = dict(container)
    content_type = fields.get("content-type")
    head = [("x-Amzn-Invoked-Production-Variant", variant)]
    if content_type is not None:
        named = "Content-Type" if operation is Operation.INVOKE else "X-Amzn-SageMaker-Content-Type"
        head.append((named, content_type))
    head += [
        (f"X-Amzn-SageMaker-{name.title()}", value)
        for name in _PASSED_BACK
        if (value := fields.get(f"{_PREFIX}{name}")) is not None
    ]
    return head
