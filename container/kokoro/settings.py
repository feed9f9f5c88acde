"""What the container can be told, on the command line or by environment variables."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from container.kokoro.engine import ENGINES
from container.kokoro.errors import SetupError

MAX_PORT = 65_535


@dataclass(frozen=True)
class Settings:
    """Where to listen and what to load. Raises SetupError for values that make no sense."""

    host: str = "127.0.0.1"
    port: int = 8080
    engine: str = "onnx"
    weights: str = "auto"

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise SetupError(f"The engine is {self.engine!r}, expected one of {', '.join(ENGINES)} (KOKORO_ENGINE).")
        if not 0 <= self.port <= MAX_PORT:
            raise SetupError(f"The port is {self.port}, expected 0 to {MAX_PORT} (PORT); 0 takes any free one.")


def from_environment(environment: Mapping[str, str] = os.environ) -> Settings:
    """Read HOST, PORT, KOKORO_ENGINE and KOKORO_WEIGHTS; an empty value counts as unset. Raises SetupError."""
    default = Settings()
    port = environment.get("PORT") or str(default.port)
    if not port.isascii() or not port.isdecimal():
        raise SetupError(f"PORT is {port!r}, expected a whole number.")
    return Settings(
        host=environment.get("HOST") or default.host,
        port=int(port),
        engine=environment.get("KOKORO_ENGINE") or default.engine,
        weights=environment.get("KOKORO_WEIGHTS") or default.weights,
    )
