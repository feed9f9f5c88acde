"""SigV4 verification of a request and of its chained event signatures.

The algorithm was recomputed from captures of the Python and JavaScript SDKs (facts ``req.sigv4``, ``sign.*``). Only the
service's side is here: nothing in this module signs.
"""

import datetime
import hashlib
import hmac
import re
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import parse_qsl, quote

from emulator import facts
from emulator.wire.eventstream import HeaderType, Message
from emulator.wire.exceptions import RequestError, WireError

__all__ = ["EventSignatureError", "EventVerifier", "verify_request"]

_ALGORITHM = "AWS4-HMAC-SHA256"
_CREDENTIAL = re.compile(r"([^/]+)/(\d{8})/([^/]+)/([^/]+)/aws4_request")
_UNRESERVED = "-_.~"
_DATE = struct.Struct("!B5sBq")  # the one header that is signed, as it stands in a message


class EventSignatureError(WireError):
    """Raised when an event is not signed as the chain demands."""


@dataclass(frozen=True, slots=True)
class _Authorization:
    key_id: str
    day: str
    region: str
    service: str
    signed_headers: list[str]
    signature: str

    @property
    def scope(self) -> str:
        return f"{self.day}/{self.region}/{self.service}/aws4_request"


def verify_request(
    method: str,
    path: str,
    authority: str,
    headers: Iterable[tuple[str, str]],
    secrets: Mapping[str, str],
    now: datetime.datetime,
    service: str = facts.text("req.sigv4"),
    skew: float = facts.seconds("sign.clock-skew"),
) -> "EventVerifier":
    """Check the signature of a request head; returns the verifier of its events.

    ``path`` is the raw ``:path``, ``headers`` have lower-case names, ``secrets`` are secret keys by key id, ``now`` is
    aware of its zone, ``service`` is the name that the signature must be made for, ``skew`` how many seconds
    the client's clock may be off.

    Raises:
        RequestError: HTTP 403, as the service answers.
    """
    fields: dict[str, list[str]] = {}
    for name, value in headers:
        fields.setdefault(name, []).append(value)
    # HTTP/2 has no host header: Python signs it as 'host', JavaScript as ':authority' (fact sign.js-authority)
    fields |= {"host": [authority], ":authority": [authority]}
    authorization = _parse(fields.get("authorization", [""])[0], service)
    secret = secrets.get(authorization.key_id)
    if secret is None:
        known = ", ".join(secrets)
        raise _refused(
            "UnrecognizedClientException",
            f"The security token included in the request is invalid. (Key id {authorization.key_id!r} is unknown to "
            f"this emulator; it knows {known}.)",
        )
    date = _check_date(fields.get("x-amz-date", [""])[0], authorization, now, skew)
    string_to_sign = "\n".join(
        (_ALGORITHM, date, authorization.scope, _sha256(_canonical_request(method, path, fields, authorization)))
    )
    key = _SigningKey(secret, authorization.region, authorization.service)
    expected = key.sign(authorization.day, string_to_sign).hex()
    if not hmac.compare_digest(expected.encode(), authorization.signature.encode()):
        raise _refused(
            "InvalidSignatureException",
            "The request signature we calculated does not match the signature you provided. "
            "Check your AWS Secret Access Key and signing method.",
        )
    return EventVerifier(key, expected)


def _parse(value: str, expected: str) -> _Authorization:
    if not value:
        raise _refused("MissingAuthenticationTokenException", "Missing Authentication Token")
    algorithm, _, rest = value.partition(" ")
    given = dict(item.strip().partition("=")[::2] for item in rest.split(","))
    credential = _CREDENTIAL.fullmatch(given.get("Credential", ""))
    signed, signature = given.get("SignedHeaders", ""), given.get("Signature", "")
    if algorithm != _ALGORITHM or credential is None or not signed or not signature:
        raise _refused(
            "IncompleteSignatureException",
            f"The Authorization header must be '{_ALGORITHM} Credential=KEY/DAY/REGION/SERVICE/aws4_request, "
            "SignedHeaders=..., Signature=...'.",
        )
    key_id, day, region, service = credential.groups()
    if service != expected:
        raise _refused(
            "InvalidSignatureException",
            f"Credential should be scoped to correct service: '{expected}', not {service!r}.",
        )
    return _Authorization(key_id, day, region, service, signed.split(";"), signature)


def _check_date(value: str, authorization: _Authorization, now: datetime.datetime, tolerance: float) -> str:
    try:
        signed_at = datetime.datetime.strptime(value, "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.UTC)
    except ValueError:
        raise _refused(
            "IncompleteSignatureException", f"X-Amz-Date is {value!r}, expected is YYYYMMDDTHHMMSSZ."
        ) from None
    skew = (signed_at - now).total_seconds()
    if abs(skew) > tolerance:
        raise _refused(
            "InvalidSignatureException",
            f"Signature {'expired' if skew < 0 else 'not yet current'}: {value} is {abs(skew):.0f} s "
            f"{'before' if skew < 0 else 'after'} the emulator's clock, {tolerance:.0f} s are allowed.",
        )
    if not value.startswith(authorization.day):
        raise _refused(
            "InvalidSignatureException",
            f"Date in Credential scope ({authorization.day}) does not match YYYYMMDD of X-Amz-Date ({value}).",
        )
    return value


def _canonical_request(method: str, path: str, fields: Mapping[str, list[str]], authorization: _Authorization) -> bytes:
    raw_path, _, query = path.partition("?")
    pairs = sorted(
        (quote(name, safe=_UNRESERVED), quote(value, safe=_UNRESERVED))
        for name, value in parse_qsl(query, keep_blank_values=True)
    )
    lines = (
        method,
        quote(raw_path, safe=f"/{_UNRESERVED}"),  # quoted once more, as it was received
        "&".join(f"{name}={value}" for name, value in pairs),
        *(f"{name}:{_canonical_value(fields.get(name, []))}" for name in authorization.signed_headers),
        "",
        ";".join(authorization.signed_headers),
        fields.get("x-amz-content-sha256", [""])[0],
    )
    return "\n".join(lines).encode("latin-1", "replace")


def _canonical_value(values: Iterable[str]) -> str:
    return ",".join(" ".join(value.split()) for value in values)


class _SigningKey:
    """The key chain of one secret; one derived key a day."""

    def __init__(self, secret: str, region: str, service: str) -> None:
        self._secret, self._region, self._service = secret, region, service
        self._day = ""
        self._key = b""

    def scope(self, day: str) -> str:
        return f"{day}/{self._region}/{self._service}/aws4_request"

    def sign(self, day: str, string_to_sign: str) -> bytes:
        if day != self._day:
            key = f"AWS4{self._secret}".encode()
            for part in (day, self._region, self._service, "aws4_request"):
                key = hmac.digest(key, part.encode(), "sha256")
            self._day, self._key = day, key
        return hmac.digest(self._key, string_to_sign.encode(), "sha256")


class EventVerifier:
    """Checks the events of one stream, in order: each signature covers the one before."""

    def __init__(self, key: _SigningKey, prior: str) -> None:
        self._key = key
        self._prior = prior

    def verify(self, message: Message) -> None:
        """Check one outer message.

        Raises:
            EventSignatureError: it is unsigned, or the signature does not fit.
        """
        date, signature = message.headers.get(":date"), message.headers.get(":chunk-signature")
        if date is None or signature is None or not isinstance(date.value, int):
            raise EventSignatureError(
                "an event arrived without the headers :date and :chunk-signature: it is not signed"
            )
        # the event's own day: a stream may cross midnight UTC
        try:
            at = _timestamp(date.value // 1000)
        except (ValueError, OverflowError, OSError):
            raise EventSignatureError(f"an event is dated {date.value} ms after 1970, which is no date") from None
        day = at[:8]
        signed_header = _DATE.pack(5, b":date", HeaderType.TIMESTAMP, date.value)
        string_to_sign = "\n".join(
            (
                f"{_ALGORITHM}-PAYLOAD",
                at,
                self._key.scope(day),
                self._prior,
                _sha256(signed_header),
                _sha256(message.payload),
            )
        )
        expected = self._key.sign(day, string_to_sign)
        if not isinstance(signature.value, bytes) or not hmac.compare_digest(expected, signature.value):
            raise EventSignatureError(
                "the signature of an event does not match: it was changed on its way, sent out of order, "
                "or signed with another key"
            )
        self._prior = expected.hex()


@lru_cache(maxsize=8)  # many events fall into one second
def _timestamp(seconds: int) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y%m%dT%H%M%SZ")


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _refused(kind: str, message: str) -> RequestError:
    return RequestError(facts.integer("err.403"), kind, message)
