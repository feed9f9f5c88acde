"""Fuzz targets: whatever comes from a client or a container, only documented errors come out.

``uv run --with atheris python -m emulator.bench.fuzz sigv4 -max_total_time=60`` lets atheris drive one target by its
coverage. Without atheris the target gets random mutations of its seeds. The test run drives all of them with
hypothesis.
"""

import argparse
import contextlib
import datetime
import importlib
import importlib.util
import re
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

from emulator import credentials, facts
from emulator.admin import refusal
from emulator.http1.invocation import Invocation, Operation
from emulator.switches import Switches
from emulator.wire.eventstream import Decoder, Header, HeaderType, Message, encode, string_header
from emulator.wire.exceptions import BadPartError, EventStreamError, RequestError
from emulator.wire.faults import FaultError, Faults
from emulator.wire.frames import Frame, Opcode
from emulator.wire.metering import BadRecordError, Meter, MeterOffer
from emulator.wire.parts import read_request_event
from emulator.wire.request import InvocationRequest
from emulator.wire.session import SendFrame, Session
from emulator.wire.sigv4 import EventSignatureError, EventVerifier, _SigningKey, verify_request

__all__ = ["SEEDS", "TARGETS"]

_NOW = datetime.datetime(2026, 11, 29, 15, 0, tzinfo=datetime.UTC)
_REFUSALS = {
    "IncompleteSignatureException",
    "InvalidSignatureException",
    "MissingAuthenticationTokenException",
    "UnrecognizedClientException",
}
_TARGET = re.compile(r"/[A-Za-z0-9._/-]+(\?[A-Za-z0-9._~%&=-]+)?")
_BIDI = "/endpoints/ep/invocations-bidirectional-stream"


class WrongError(AssertionError):
    """Raised when a target did what it must not."""


def _texts(data: bytes, count: int) -> list[str]:
    """Cut data at zero bytes into so many texts; header bytes arrive as latin-1."""
    parts = data.decode("latin-1").split("\0", count - 1)
    return parts + [""] * (count - len(parts))


def event_stream(data: bytes) -> None:
    """Bytes of a request stream."""
    with contextlib.suppress(EventStreamError):
        decoder = Decoder(max_payload=1024)
        for message in decoder.feed(data):
            with contextlib.suppress(BadPartError):
                read_request_event(message)
        decoder.finish()


def session(data: bytes) -> None:
    """The same, through the state machine and in pieces; frames leave in a legal order."""
    machine, unfinished = Session(Switches()), False
    cut = data[0] + 1 if data else 1
    for at in range(0, len(data), cut):
        for action in machine.client_data(data[at : at + cut]):
            if isinstance(action, SendFrame):
                if (action.frame.opcode is Opcode.CONTINUATION) != unfinished:
                    raise WrongError("a continuation without a beginning, or a beginning inside a message")
                unfinished = not action.frame.fin
    machine.client_end()


def sigv4(data: bytes) -> None:
    """Method, path, authorization, date and another header of a request."""
    method, path, authorization, date, name, value = _texts(data, 6)
    headers = [("authorization", authorization), ("x-amz-date", date), (name.lower(), value)]
    try:
        verify_request(method, path, "localhost", headers, credentials.SECRETS, _NOW)
    except RequestError as error:
        if error.status != facts.integer("err.403") or error.type not in _REFUSALS:
            raise WrongError(f"no refusal that is documented: {error}") from error
    else:
        raise WrongError("a signature that nobody made was accepted")


def event_signature(data: bytes) -> None:
    """Headers of a signed event."""
    kinds = list(HeaderType)
    kind = kinds[data[0] % len(kinds)] if data else HeaderType.TIMESTAMP
    number = int.from_bytes(data[1:9], signed=True)
    date = Header(kind, number if kind is HeaderType.TIMESTAMP else data[1:9])
    message = Message({":date": date, ":chunk-signature": Header(HeaderType.BYTES, data[9:41])}, data[41:])
    verifier = EventVerifier(_SigningKey("secret", "us-west-2", "sagemaker"), "0" * 64)
    try:
        verifier.verify(message)
    except EventSignatureError:
        return
    raise WrongError("a signature that nobody made was accepted")


def request_head(data: bytes) -> None:
    """Endpoint, path and query of a bidirectional stream."""
    path, variant, invocation_path, query, kind = _texts(data, 5)
    headers = [
        ("x-amzn-sagemaker-target-variant", variant),
        ("x-amzn-sagemaker-model-invocation-path", invocation_path),
        ("x-amzn-sagemaker-model-query-string", query),
        ("content-type", kind),
    ]
    try:
        head = InvocationRequest.parse("POST", path, [(name, value) for name, value in headers if value])
    except RequestError as error:
        if error.status not in (400, 404):
            raise WrongError(f"no error that is documented: {error}") from error
    else:
        if not _TARGET.fullmatch(head.container_target) or head.container_target.startswith("//"):
            raise WrongError(f"this would be dialled: {head.container_target!r}")


def invocation_head(data: bytes) -> None:
    """The head of an invocation over HTTP/1.1; nothing that is passed on can end a header."""
    path, name, value, other, more = _texts(data, 5)
    for operation in Operation:
        try:
            head = Invocation.parse(operation, "POST", path, [(name.lower(), value), (other.lower(), more)])
        except RequestError as error:
            if error.status not in (400, 404):
                raise WrongError(f"no error that is documented: {error}") from error
        else:
            for passed in head.container_headers:
                for text in passed:
                    if "\r" in text or "\n" in text or "\0" in text:
                        raise WrongError(f"this header would be two: {passed!r}")


def faults(data: bytes) -> None:
    """Faults of a command line; what is read can be printed and read again."""
    try:
        read = Faults.parse(data.decode("utf-8", "replace"))
    except FaultError:
        return
    if Faults.parse(str(read)) != read and read.active:
        raise WrongError(f"{read} reads as something else")


def metering(data: bytes) -> None:
    """A message on the metering socket, and an offer of one."""
    path, supported, required = _texts(data, 3)
    names = ("meter.path-header", "meter.opt-in", "meter.required")
    offer = MeterOffer.of(
        [(facts.text(name), value) for name, value in zip(names, (path, supported, required), strict=True)]
    )
    if offer is not None and offer.problem is None and not offer.path.startswith("/"):
        raise WrongError(f"this would be dialled: {offer.path!r}")
    with contextlib.suppress(BadRecordError):
        Meter().take(Frame(Opcode.TEXT, data), 0)


def admin(data: bytes) -> None:
    """Host, Origin and Sec-Fetch-Site of a request from another machine's page."""
    host, origin, site = _texts(data, 3)
    if refusal("192.0.2.7", "https", host, {}) is None:
        raise WrongError("another machine was let in")
    headers = {"origin": origin or "https://evil.example", "sec-fetch-site": site}
    if refusal("127.0.0.1", "https", host, headers) is None and headers["origin"] != f"https://{host}":
        raise WrongError(f"a page of {headers['origin']!r} was let in at {host!r}")


TARGETS: dict[str, Callable[[bytes], None]] = {
    "event-stream": event_stream,
    "session": session,
    "sigv4": sigv4,
    "event-signature": event_signature,
    "request-head": request_head,
    "invocation-head": invocation_head,
    "faults": faults,
    "metering": metering,
    "admin": admin,
}
_PART = encode(
    {
        ":message-type": string_header("event"),
        ":event-type": string_header("PayloadPart"),
        "DataType": string_header("UTF8"),
    },
    b"hello",
)
_SIGNED = encode(
    {":date": Header(HeaderType.TIMESTAMP, 0), ":chunk-signature": Header(HeaderType.BYTES, bytes(32))}, _PART
)
_AUTHORIZATION = (
    f"AWS4-HMAC-SHA256 Credential={credentials.ACCESS_KEY_ID}/20261129/us-west-2/sagemaker/aws4_request, "
    f"SignedHeaders=host;x-amz-date, Signature={'0' * 64}"
)
SEEDS: dict[str, list[bytes]] = {
    "event-stream": [_PART, _SIGNED, _SIGNED + _PART],
    "session": [b"\x40" + _PART, _PART * 2, _SIGNED],
    "sigv4": [f"POST\0{_BIDI}?a=b\0{_AUTHORIZATION}\x0020261129T150000Z\0x-amz-date\x0020261129T150000Z".encode()],
    "event-signature": [bytes([8]) + bytes(8) + bytes(32) + b"x", bytes([8]) + b"\x7f" + b"\xff" * 7 + bytes(32)],
    "request-head": [f"{_BIDI}?\0AllTraffic\0v1/listen\0a=b&c=%20\0application/vnd.amazon.eventstream".encode()],
    "invocation-head": [
        b"/endpoints/ep/invocations\0x-amzn-sagemaker-custom-attributes\0trace=1\0accept\0audio/pcm",
        b"/endpoints/ep/invocations-response-stream\0x-amzn-sagemaker-accept\0a/b\0content-type\0c/d",
    ],
    "faults": [b"drop_part=3,jitter=0.5,close=1012:maintenance@3", b"throttle,direction=to-client,bandwidth=1e3"],
    "metering": [b'{"Metering":{"Dimension":"d","ConsumedUnits":1,"ClientToken":"t"}}', b"/m\0true\0true"],
    "admin": [b"127.0.0.1:8443\0https://127.0.0.1:8443\0same-origin", b"[::1]:1\0null\0none"],
}


def mutations(seeds: list[bytes], random: Random) -> bytes:
    """Return a seed with a few random changes."""
    data = bytearray(random.choice(seeds))
    for _ in range(random.randint(0, 6)):
        at = random.randrange(len(data) + 1)
        match random.randrange(4):
            case 0:
                data[at:at] = random.randbytes(random.randint(1, 8))
            case 1:
                del data[at : at + random.randint(1, 8)]
            case 2 if data:
                data[at % len(data)] ^= 1 << random.randrange(8)
            case _:
                data[at:at] = random.choice(seeds)[: random.randint(0, 40)]
    return bytes(data)


def main(arguments: list[str]) -> int:
    """Drive one target, by coverage where atheris is installed."""
    parser = argparse.ArgumentParser(prog="python -m emulator.bench.fuzz", description=__doc__)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=float, default=30.0, help="without atheris (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="without atheris (default: %(default)s)")
    options, rest = parser.parse_known_args(arguments)
    target = TARGETS[options.target]
    if importlib.util.find_spec("atheris") is not None:
        atheris = importlib.import_module("atheris")  # optional, and has no types

        corpus = Path(tempfile.mkdtemp(prefix="fuzz-"))  # it stays: the run ends the process
        for number, seed in enumerate(SEEDS[options.target]):
            (corpus / str(number)).write_bytes(seed)
        atheris.instrument_all()
        atheris.Setup([sys.argv[0], *rest, str(corpus)], target)
        atheris.Fuzz()
        return 0
    random, until, count = Random(options.seed), time.monotonic() + options.seconds, 0  # noqa: S311
    while time.monotonic() < until:
        data = mutations(SEEDS[options.target], random)
        try:
            target(data)
        except Exception:
            print(f"{options.target} broke on {data!r}", file=sys.stderr)
            raise
        count += 1
    print(f"{options.target}: {count} inputs, only documented errors (random mutations; no atheris)")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
