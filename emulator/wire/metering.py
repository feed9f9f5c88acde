"""The metering socket, without I/O: what a container offers in its 101, and the records that it sends there.

A second WebSocket beside that of a session, on which a container reports what it wants to be paid for (facts
``meter.*``).
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from emulator import facts
from emulator.wire.frames import Frame, Opcode
from emulator.wire.utf8 import writable

__all__ = ["BadRecordError", "Meter", "MeterOffer", "Record"]

_PATH = re.compile(r"/[!-~]*")


class BadRecordError(Exception):
    """Raised when a message is no record; the connection stays (fact ``meter.bad-message``)."""


@dataclass(frozen=True, slots=True)
class MeterOffer:
    """What the 101 of the data socket says of metering."""

    path: str
    required: bool
    problem: str | None = None
    """Why no socket can be opened with this offer."""

    @classmethod
    def of(cls, headers: Iterable[tuple[str, str]]) -> "MeterOffer | None":
        """Read the response headers of an upgrade (names in lower case); None where nothing is offered."""
        fields = dict(headers)
        if fields.get(facts.text("meter.opt-in"), "").strip().lower() != "true":
            return None
        path = fields.get(facts.text("meter.path-header"), "").strip() or facts.text("meter.path")
        required = fields.get(facts.text("meter.required"), "").strip().lower() == "true"
        # it is the container's own host that is dialled, whatever the container writes here
        problem = None if _PATH.fullmatch(path) else f"{path!r} is no path: expected is /… in printable ASCII"
        return cls(path, required, problem)


@dataclass(frozen=True, slots=True)
class Record:
    """One message. ``repeated``: its token came before on this connection, so that it does not count again."""

    dimension: str
    units: float
    token: str | None
    repeated: bool

    def __str__(self) -> str:
        token = f", token {self.token!r}" if self.token is not None else ""
        again = ", which came before: not counted again" if self.repeated else ""
        return f"{writable(self.dimension)}: {self.units:g}{token}{again}"


class Meter:
    """Reads the messages of one metering socket."""

    def __init__(self) -> None:
        self._tokens: set[str] = set()
        self._allowance = _BURST
        self._at: float | None = None

    def take(self, frame: Frame, now: float) -> Record:
        """Read a frame that came at ``now`` seconds.

        Raises:
            BadRecordError: it is no record, too large, or too early after the last ones; it is dropped.
        """
        if not self._on_time(now):
            raise BadRecordError(f"more than one message in {facts.seconds('meter.interval'):g} s")
        if frame.opcode is not Opcode.TEXT or not frame.fin:
            raise BadRecordError("no TEXT frame of its own")
        limit = facts.integer("meter.frame-max")
        if len(frame.data) > limit:
            raise BadRecordError(f"{len(frame.data)} bytes, at most {limit} are allowed")
        try:
            body = json.loads(frame.data)
            members = body["Metering"]
            dimension, units, token = members["Dimension"], members["ConsumedUnits"], members.get("ClientToken")
        except (ValueError, RecursionError):
            raise BadRecordError("no JSON") from None
        except (KeyError, TypeError, AttributeError):
            raise BadRecordError('not of the form {"Metering": {"Dimension": "…", "ConsumedUnits": 1}}') from None
        _check(dimension, units, token)
        repeated = token in self._tokens
        if token is not None:
            self._tokens.add(token)
        return Record(dimension, units, token, repeated)

    def _on_time(self, now: float) -> bool:
        # two at once are let through: a message that was late must not make the next one too early
        if self._at is not None:
            self._allowance = min(_BURST, self._allowance + (now - self._at) / facts.seconds("meter.interval"))
        self._at = now
        if self._allowance < 1:
            return False
        self._allowance -= 1
        return True


_BURST = 2.0
_MOST_UNITS = 2**53  # no limit of AWS: where JSON numbers stop being exact; no sum of such can overflow either


def _check(dimension: Any, units: Any, token: Any) -> None:
    longest = facts.integer("meter.dimension-max")
    if not isinstance(dimension, str) or not 0 < len(dimension) <= longest:
        raise BadRecordError(f"Dimension is {dimension!r:.200}, expected is a text of 1 to {longest} characters")
    if type(units) not in (int, float) or not 0 < units <= _MOST_UNITS:
        raise BadRecordError(f"ConsumedUnits is {units!r:.200}, expected is a number over 0, at most 2^53")
    longest = facts.integer("meter.token-max")
    if token is not None and (not isinstance(token, str) or not 0 < len(token) <= longest):
        raise BadRecordError(f"ClientToken is {token!r:.200}, expected is a text of 1 to {longest} characters")
