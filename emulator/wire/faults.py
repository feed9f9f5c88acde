"""Which faults are wanted: :class:`Faults`, from Python or from the command line."""

import difflib
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Self

__all__ = ["CloseFault", "FaultError", "Faults"]

_NO_CODES = frozenset({1004, 1005, 1006, 1015})
_MAX_REASON = 123


class FaultError(ValueError):
    """Raised when a fault is not known, or has a value that it cannot have."""


@dataclass(frozen=True, slots=True)
class CloseFault:
    """SageMaker's Close to the container, once it got ``after`` parts."""

    code: int
    reason: str = ""
    after: int = 0

    def __post_init__(self) -> None:
        if not (1000 <= self.code <= 1014 or 3000 <= self.code <= 4999) or self.code in _NO_CODES:
            raise FaultError(
                f"close code {self.code} cannot stand in a Close frame: expected is one of 1000 to 1014 without 1004, "
                "1005 and 1006, or 3000 to 4999 (RFC 6455, section 7.4)"
            )
        if (size := len(self.reason.encode())) > _MAX_REASON:
            raise FaultError(f"a close reason has at most {_MAX_REASON} bytes of UTF-8, this one has {size}")
        if self.after < 0:
            raise FaultError(f"a Close after {self.after} parts: expected is 0 or more")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``CODE[:REASON][@PARTS]``."""
        match = re.fullmatch(r"(\d+)(?::(.*?))?(?:@(\d+))?", text, re.DOTALL)
        if match is None:
            raise FaultError(f"{text!r} is no CODE[:REASON][@PARTS]")
        return cls(int(match[1]), match[2] or "", int(match[3] or 0))

    def __str__(self) -> str:
        return f"{self.code}:{self.reason}@{self.after}"


@dataclass(frozen=True, slots=True)
class _Kind:
    """What values a fault has: in words, from a text (None where it is none), and checked."""

    expected: str
    read: Callable[[str], Any]
    fits: Callable[[Any], bool]


def _number(text: str) -> int | float:
    return int(text) if re.fullmatch(r"[+-]?\d+", text) else float(text)


def _flag(text: str) -> Any:
    return {"true": True, "on": True, "false": False, "off": False}.get(text, text)


def _is_count(value: Any, least: int = 1) -> bool:
    return type(value) is int and value >= least  # not a bool, which is an int too


def _is_number(value: Any, least: float) -> bool:
    # a whole number can be larger than any float, which the times of a session are made of
    return type(value) in (int, float) and least <= value <= sys.float_info.max


def _choice(*values: str) -> _Kind:
    return _Kind(" or ".join(values), str, lambda value: value in values)


_FLAG = _Kind("true or false", _flag, lambda value: type(value) is bool)
_COUNT = _Kind("a whole number, 1 or more", _number, _is_count)
_COUNT_0 = _Kind("a whole number, 0 or more", _number, lambda value: _is_count(value, 0))
_SECONDS = _Kind("seconds, 0 or more", _number, lambda value: _is_number(value, 0))
_INTERVAL = _Kind("seconds, 0.001 or more", _number, lambda value: _is_number(value, 0.001))
_RATE = _Kind("bytes per second, 1 or more", _number, lambda value: _is_number(value, 1))
_RUN_OR_COUNT = _Kind(
    "'run' or a whole number, 1 or more",
    lambda text: text if text == "run" else _number(text),
    lambda value: value == "run" or _is_count(value),
)
_CLOSE = _Kind(
    "CODE[:REASON][@PARTS], as in 1012:maintenance@3",
    CloseFault.parse,
    lambda value: isinstance(value, CloseFault),
)


def _fault(kind: _Kind, text: str, default: Any = None) -> Any:
    return field(default=default, metadata={"kind": kind, "text": text})


@dataclass(frozen=True, slots=True)
class Faults:
    """What goes wrong in a session: all off unless given, any number at once.

    Parts and frames are counted from 1, in each direction by itself. Times in seconds, sizes in bytes.

    Raises:
        FaultError: a value that a fault cannot have.
    """

    # --- frames, client to container ---
    data_type: Literal["omit", "UTF8", "BINARY"] | None = _fault(
        _choice("omit", "UTF8", "BINARY"), "DataType taken off, or forced on, every part of the client"
    )
    never_complete: Literal["run"] | int | None = _fault(
        _RUN_OR_COUNT, "withhold the COMPLETE of a run of PARTIAL parts, or of part N: FIN never comes"
    )
    empty_frame: int | None = _fault(_COUNT, "an empty frame more before every N-th part")
    invalid_utf8: int | None = _fault(_COUNT, "a byte ff in the N-th TEXT frame")
    split: int | None = _fault(_COUNT, "the N-th part becomes two frames")
    merge: int | None = _fault(_COUNT, "the N-th part waits, and leaves in one frame with the next")

    # --- parts, container to client ---
    drop_part: int | None = _fault(_COUNT, "the N-th part of the container never reaches the client")
    duplicate_part: int | None = _fault(_COUNT, "the N-th part of the container reaches the client twice")
    corrupt_crc: int | None = _fault(_COUNT, "the N-th event to the client has a wrong CRC-32")

    # --- connections ---
    throttle: bool = _fault(_FLAG, "400 ThrottlingException, its message null", default=False)
    refuse_upgrade: bool = _fault(_FLAG, "424 ModelError; the container is not dialled", default=False)
    accept_delay: float | None = _fault(_SECONDS, "the container seems to accept that much later")
    withhold_pongs: Literal["sent", "received", "both"] | None = _fault(
        _choice("sent", "received", "both"),
        "no answer to the container's Pings (sent), or its own Pongs do not count (received)",
    )
    ping_storm: float | None = _fault(_INTERVAL, "a Ping to the container that often")
    close: CloseFault | None = _fault(
        _CLOSE, "SageMaker's Close to the container, after that many of the client's parts"
    )
    cut_after: float | None = _fault(_SECONDS, "the end of the longest duration, now")
    reset_after: int | None = _fault(_COUNT_0, "RST_STREAM to the client after the container's N-th part")
    drop_client: int | None = _fault(_COUNT_0, "TCP reset of the client's connection after the container's N-th part")

    # --- pace ---
    bandwidth: float | None = _fault(_RATE, "bytes of parts per second, in each direction")
    jitter: float | None = _fault(_SECONDS, "at most that much delay of every part, at random; the order stays")
    direction: Literal["both", "to-container", "to-client"] = _fault(
        _choice("both", "to-container", "to-client"), "where bandwidth and jitter act", default="both"
    )

    def __post_init__(self) -> None:
        for each in fields(self):
            value, kind = getattr(self, each.name), each.metadata["kind"]
            if value is not each.default and not kind.fits(value):
                raise FaultError(
                    f"fault {each.name}={value!r:.200}: expected is {kind.expected} ({each.metadata['text']})"
                )
        if self.direction != "both" and self.bandwidth is None and self.jitter is None:
            raise FaultError(
                f"fault direction={self.direction}: it says where bandwidth and jitter act; give one of them"
            )

    @classmethod
    def parse(cls, *texts: str) -> Self:
        """Read ``NAME=VALUE,…``; of a flag the name is enough. A comma may stand in the reason of a Close.

        Raises:
            FaultError: an unknown or repeated name (says which one is near), or a value that it cannot have.
        """
        given: dict[str, Any] = {}
        for text in texts:
            for item in re.split(r",(?=\s*[A-Za-z_0-9]+\s*(?:=|,|$))", text):
                name, separator, value = item.strip().partition("=")
                name = name.strip()
                if name in given:
                    raise FaultError(f"fault {name} is given twice")
                given[name] = _read(name, value.strip() if separator else None)
        return cls(**given)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Read faults by name, as JSON holds them; ``close`` as a text, ``"1012:maintenance@3"``.

        Raises:
            FaultError: an unknown name, or a value that it cannot have.
        """
        kinds = _kinds()
        for name in values:
            if name not in kinds:
                raise _unknown(name)
        return cls(
            **{
                name: _read(name, value) if name == "close" and isinstance(value, str) else value
                for name, value in values.items()
            }
        )

    @property
    def active(self) -> bool:
        """Whether any fault is wanted."""
        return self != Faults()

    def __str__(self) -> str:
        """Return the faults as :meth:`parse` reads them."""
        shown = (
            (each.name, getattr(self, each.name)) for each in fields(self) if getattr(self, each.name) != each.default
        )
        return ",".join(f"{name}={str(value).lower() if value is True else value}" for name, value in shown)

    @staticmethod
    def help() -> list[tuple[str, str, str]]:
        """Return name, values and meaning of every fault, for help texts and pages."""
        return [(each.name, each.metadata["kind"].expected, each.metadata["text"]) for each in fields(Faults)]


def _kinds() -> dict[str, _Kind]:
    return {each.name: each.metadata["kind"] for each in fields(Faults)}


def _unknown(name: str) -> FaultError:
    kinds = _kinds()
    near = difflib.get_close_matches(name.replace("-", "_"), kinds, n=1)
    hint = f"Did you mean {near[0]}?" if near else f"Known are {', '.join(kinds)}."
    return FaultError(f"there is no fault {name!r}. {hint}")


def _read(name: str, value: str | None) -> Any:
    kinds = _kinds()
    if name not in kinds:
        raise _unknown(name)
    kind = kinds[name]
    if value is None:
        if kind is not _FLAG:
            raise FaultError(f"fault {name} needs a value: {kind.expected}, as in {name}=…")
        return True
    try:
        return kind.read(value)
    except FaultError as error:
        raise FaultError(f"fault {name}={value!r}: {error}; expected is {kind.expected}") from None
    except ValueError:
        raise FaultError(f"fault {name}={value!r}: expected is {kind.expected}") from None
