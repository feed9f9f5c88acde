"""What the container can be told, on the command line or by environment variables: one field, one setting."""

import dataclasses
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from container.kokoro.engine import ENGINES, SWITCH, whole
from container.kokoro.errors import SetupError

MAX_PORT = 65_535
LOG_FORMATS = ("text", "json")


def _setting(default: Any, variable: str, text: str, **rule: Any) -> Any:
    return dataclasses.field(default=default, metadata={"variable": variable, "help": text, **rule})


@dataclass(frozen=True)
class Settings:
    """Everything that can be set. Raises SetupError for values that make no sense."""

    host: str = _setting("127.0.0.1", "HOST", "address to listen on")
    port: int = _setting(8080, "PORT", "port to listen on; 0 takes any free one", low=0, high=MAX_PORT)
    engine: str = _setting("onnx", "KOKORO_ENGINE", "what computes", choices=ENGINES)
    weights: str = _setting(
        "auto",
        "KOKORO_WEIGHTS",
        "auto: /opt/ml/model, else the packaged ones; hub: hexgrad/Kokoro-82M; a directory; or s3://BUCKET/PREFIX",
        metavar="auto|hub|DIR|s3://...",
    )
    max_sessions: int = _setting(
        64, "KOKORO_MAX_SESSIONS", "open WebSocket sessions; one more is told so and closed", low=1, high=100_000
    )
    max_queued: int = _setting(64, "KOKORO_MAX_QUEUED", "requests that may wait in one session", low=1, high=10_000)
    max_waiting: int = _setting(
        64, "KOKORO_MAX_WAITING", "requests of all clients that may wait for their first sound", low=1, high=100_000
    )
    max_text: int = _setting(20_000, "KOKORO_MAX_TEXT", "characters in one request", low=1, high=200_000)
    idle_s: float = _setting(
        600.0, "KOKORO_IDLE", "seconds without any request after which a session is ended; 0: never", low=0, high=86_400
    )
    stall_s: float = _setting(
        300.0,
        "KOKORO_STALL",
        "seconds in which a client reads nothing of what is sent, after which its session or answer is ended; 0: never",
        low=0,
        high=86_400,
    )
    stop_grace_s: float = _setting(
        5.0, "KOKORO_STOP_GRACE", "seconds after SIGTERM in which requests under way may end", low=0, high=10
    )
    first_clause: str = _setting(
        "on",
        "KOKORO_FIRST_CLAUSE",
        "cut a long first sentence at a clause, so that it is heard earlier",
        choices=SWITCH,
    )
    log_format: str = _setting(
        "text", "KOKORO_LOG_FORMAT", "lines for people, or one JSON object each", choices=LOG_FORMATS
    )
    log_text: str = _setting(
        "off", "KOKORO_LOG_TEXT", "whether the texts of clients may appear in the log", choices=SWITCH
    )

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            check(field, getattr(self, field.name))


def fields() -> Iterator["dataclasses.Field[Any]"]:
    """Yield one field for each setting; its metadata says variable, help, and what is allowed."""
    yield from dataclasses.fields(Settings)


def check(field: "dataclasses.Field[Any]", value: Any) -> None:
    """Raise SetupError when `value` is not allowed for this setting."""
    rule = field.metadata
    if "choices" in rule and value not in rule["choices"]:
        raise SetupError(f"{rule['variable']} is {value!r}, expected one of {', '.join(rule['choices'])}.")
    if "low" in rule and not rule["low"] <= value <= rule["high"]:
        raise SetupError(f"{rule['variable']} is {value}, expected {rule['low']} to {rule['high']}.")


def parse(field: "dataclasses.Field[Any]", text: str) -> Any:
    """Return the value that `text` stands for. Raises SetupError."""
    kind = type(field.default)
    name = field.metadata["variable"]
    if kind is int:
        if (count := whole(text)) is None:
            raise SetupError(f"{name} is {text[:40]!r}, expected a whole number.")
        return count
    if kind is float:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise SetupError(f"{name} is {text!r}, expected a number.")
        return number
    return text


def from_environment(environment: Mapping[str, str] = os.environ) -> Settings:
    """Read the variables of all settings; an empty value counts as unset. Raises SetupError."""
    given = {field: environment.get(field.metadata["variable"]) for field in fields()}
    return Settings(**{field.name: parse(field, text) for field, text in given.items() if text})
