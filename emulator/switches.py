"""What can be switched. Each unknown of the facts table is one switch, with the table's value as its default."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

from emulator import facts
from emulator.wire.faults import CloseFault, FaultError

__all__ = ["SignatureMode", "Switch", "Switches", "switches"]

SignatureMode = Literal["enforce", "log", "off"]


def _switch(default: Any, fact: str, text: str) -> Any:
    return field(default=default, metadata={"fact": fact, "text": text})


_LEAST = {"max_part_bytes": 1, "ping_misses": 1, "ping_interval": 0.001, "window": 1, "max_streams": 1}
"""The others may be 0."""
_MOST = {"window": 2**31 - 1, "max_streams": 10_000}
"""By HTTP/2 (RFC 9113, section 6.9.1), and by what one process can serve."""
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")  # a token (RFC 9110, section 5.6.2)
_TAKEN_HEADERS = {
    *("connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"),
    *("content-length", "content-type", "x-amzn-errortype", "x-amzn-invoked-production-variant"),
}
_LONGEST = 1e9
"""Of all others. In seconds it is about 30 years: the event loop takes no infinity."""


def _default(fact: str, text: str) -> Any:
    return _switch(facts.get(fact).value, fact, text)


@dataclass(frozen=True, slots=True)
class Switches:
    """How the emulator behaves where AWS documents a number, or nobody knows. Times in seconds, sizes in bytes."""

    # --- sessions ---
    max_duration: float = _default("limit.duration", "how long a session may last")
    max_duration_end: Literal["model-error", "internal-failure", "clean", "reset"] = _default(
        "unk.duration-end", "what the client sees at the end of it"
    )
    idle_timeout: float = _switch(0.0, "unk.idle", "end a session after that long without a part; 0 is off")
    client_end: Literal["close", "half-close"] = _switch(
        "close", "close.client-input", "what the end of the client's input does: end the session, or only the input"
    )
    client_end_grace: float = _default("unk.client-end-grace", "time for the container to answer after it")
    close_1000: Literal["clean", "error"] = _switch(
        "clean", "close.container-1000", "what the container's Close 1000 or 1001 is to the client"
    )
    close_error_format: Literal["code-reason", "generic"] = _default(
        "unk.close-strings", "ErrorCode and Message of any other Close"
    )
    crash_error: Literal["model-error", "internal-failure", "clean"] = _default(
        "unk.crash", "what a container that drops the connection is to the client"
    )
    close_code_out: int = _switch(1000, "close.client-input", "close code that the container gets")
    client_drop: Literal["close", "disconnect"] = _switch(
        "close", "close.client-drop", "what the container gets when the client vanishes"
    )

    # --- parts and frames ---
    max_part_bytes: int = _default("unk.part-max", "largest payload part and frame")
    bad_part: Literal["model-error", "internal-failure", "ignore"] = _default(
        "unk.bad-parts", "what a part with a forbidden header leads to"
    )
    empty_part: Literal["send-frame", "drop"] = _default("unk.empty-part", "what becomes of a part without bytes")
    bad_utf8: Literal["pass", "error"] = _default("unk.bad-utf8", "a UTF8 part that is no UTF-8")
    fragment_type_change: Literal["keep-first", "error"] = _switch(
        "keep-first", "frag.type-change", "a DataType that changes inside a run of PARTIAL parts"
    )
    open_fragment: Literal["close-anyway", "error"] = _default(
        "unk.open-fragment", "a run of PARTIAL parts that is open at the end of the input"
    )
    response_event_headers: Literal["always", "type-only", "padded"] = _default(
        "unk.response-headers", "headers of response events"
    )
    text_error_frame: Literal["pass", "convert"] = _default(
        "unk.text-error", 'a TEXT frame {"ModelStreamError": {...}} of the container'
    )

    # --- the container's connection ---
    accept_timeout: float = _default("unk.accept-late", "until the WebSocket must be accepted, else HTTP 424")
    upgrade_headers: Literal["minimal", "extra"] = _default("unk.upgrade-headers", "headers of the upgrade")
    model_error_detail: Literal["local-text", "absent"] = _default("unk.424-detail", "details in the 424")
    ping_interval: float = _default("ping.interval", "between two Pings to the container")
    ping_misses: int = _default("ping.misses", "unanswered Pings after which the session ends")
    ping_miss_end: Literal["model-error", "clean"] = _default("unk.ping-tick", "what the client sees then")
    ping_payload: Literal["counter", "empty"] = _default("unk.ping-payload", "what a Ping carries")
    metering: Literal["on", "off"] = _switch(
        "on", "meter.opt-in", "the metering socket, where the container offers one in its 101"
    )
    meter_drop: Literal["model-error", "clean"] = _default(
        "unk.meter-drop", "what the client sees when a metering socket that the container requires is lost"
    )
    close_timeout: float = _switch(10.0, "close.client-input", "until a Close must be answered; then the TCP end")

    # --- the client's connection ---
    signatures: SignatureMode = _switch(
        "enforce",
        "sign.event-chain",
        "SigV4 of requests and events: refuse what is not signed with the emulator's own credentials, note it, or "
        "do not look",
    )
    clock_skew: float = _default("sign.clock-skew", "how far a signature's date may be off")
    missing_endpoint: Literal["400-validation", "404"] = _switch(
        "400-validation", "err.no-endpoint", "answer for an endpoint that is not there"
    )
    missing_label: Literal["refuse-424", "refuse-400", "hang", "allow"] = _default(
        "unk.no-label", "what becomes of a session where the image lacks the bidirectional label"
    )
    invoke_body_max: int = _default("unk.invoke-size", "largest body of invoke_endpoint, and of its answer")
    model_timeout: float = _default("life.invoke-60s", "how long the container may take to answer /invocations")
    response_stream_max: float = _default("unk.rs-limit", "how long a response stream may take; 0 is off")
    agent_cut: int = _default("agent.chunks", "cut an agent's answer every so many bytes; 0 passes it on as it comes")
    request_id_header: str = _default("resp.request-id", "name of the response header with the request id")
    window: int = _default("unk.h2", "HTTP/2 window of one stream")
    max_streams: int = _switch(100, "unk.h2", "streams that one connection may have open")
    quick_ack: Literal["on", "off"] = _switch(
        "on",
        "wire.tls-alpn",
        "acknowledge every read at once; off, a message over 1 KiB takes 40 ms longer, since the CRT client leaves "
        "Nagle's algorithm on",
    )

    def __post_init__(self) -> None:
        for switch in switches():
            _check(switch, getattr(self, switch.name))

    def strict(self) -> "Switches":
        """Return these switches with every documented limit and the guide's own words enforced."""
        return replace(
            self,
            accept_timeout=facts.seconds("ctr.accept-250ms"),
            close_1000="error",
            bad_utf8="error",
            signatures="enforce",
        )

    def lenient(self) -> "Switches":
        """Return these switches with no limit on the container's accepting the WebSocket."""
        return replace(self, accept_timeout=3600.0)


@dataclass(frozen=True, slots=True)
class Switch:
    """What is known of one switch: for help texts and generated pages. ``choices`` is empty where any value goes."""

    name: str
    default: Any
    choices: tuple[str, ...]
    fact: facts.Fact
    text: str

    @property
    def option(self) -> str:
        """The command-line option."""
        return "--" + self.name.replace("_", "-")


def _check(switch: Switch, value: Any) -> None:
    """Raise ValueError where a switch cannot be set to ``value``."""
    if switch.choices:
        if value not in switch.choices:
            raise ValueError(
                f"{switch.name} ({switch.option}) is {value!r}; expected is one of {', '.join(switch.choices)}"
            )
    elif switch.name == "close_code_out":
        try:
            CloseFault(value)
        except FaultError as error:
            raise ValueError(f"{switch.name} ({switch.option}): {error}") from None
    elif switch.name == "request_id_header":
        if not _HEADER_NAME.fullmatch(value) or value.lower() in _TAKEN_HEADERS:
            raise ValueError(
                f"{switch.name} ({switch.option}) is {value!r}; expected is the name of a header (letters, digits and "
                "'-'), and none that the response has already or that belongs to the connection"
            )
    elif isinstance(switch.default, int | float):
        least, most = _LEAST.get(switch.name, 0), _MOST.get(switch.name, _LONGEST)
        if not least <= value <= most:  # false for NaN, too
            unit = " seconds" if isinstance(switch.default, float) else ""
            raise ValueError(f"{switch.name} ({switch.option}) is {value}; expected is {least} to {most:.10g}{unit}")


@cache  # they are looked at for every Switches that is made
def switches() -> Sequence[Switch]:
    """Return all switches in the order of the class."""
    hints = get_type_hints(Switches)
    return tuple(
        Switch(
            each.name,
            each.default,
            get_args(hints[each.name]) if get_origin(hints[each.name]) is Literal else (),
            facts.get(each.metadata["fact"]),
            each.metadata["text"],
        )
        for each in fields(Switches)
    )
