"""Load on a server: sessions that always ask for more, or requests that come by chance; and Little's law on both."""

import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import count
from typing import Any, Self

from container.kokoro.bench import client
from container.kokoro.bench.client import Heard
from container.kokoro.bench.report import has_gpu, median, percentile

LITTLE_TOLERANCE = 0.1
GPU_SESSIONS = (1, 8, 32, 64)
"""Where a GPU computes: it takes many sessions until one is busy."""


def sessions_help(otherwise: Sequence[int]) -> str:
    """Say what :func:`choose_sessions` chooses."""
    return f"{_spaced(otherwise)}; on a GPU with --engine torch {_spaced(GPU_SESSIONS)}"


def choose_sessions(engine: str, otherwise: Sequence[int]) -> list[int]:
    """Return how many sessions to measure where nothing is said about it."""
    return list(GPU_SESSIONS if engine == "torch" and has_gpu() else otherwise)


def _spaced(numbers: Sequence[int]) -> str:
    return " ".join(map(str, numbers))


@dataclass(frozen=True)
class Rung:
    """One load over one time: what came, in seconds and requests."""

    sessions: int
    """Open at once; for an open load, the most there were."""
    elapsed_s: float
    """From the first request to the end of the last."""
    first_s: tuple[float, ...]
    total_s: tuple[float, ...]
    audio_s: float
    characters: int
    refused: int = 0
    processor_s: float | None = None
    """Processor time of the server meanwhile, where it is known."""

    @property
    def processor_factor(self) -> float | None:
        """Seconds of one core for a second of audio; does not depend on what else the machine does."""
        return None if self.processor_s is None else self.processor_s / self.audio_s

    @property
    def rate(self) -> float:
        """Answers a second."""
        return len(self.total_s) / self.elapsed_s

    @property
    def audio_rate(self) -> float:
        """Audio-hours an hour."""
        return self.audio_s / self.elapsed_s

    @property
    def first_p50(self) -> float:
        """Median time to first audio."""
        return median(self.first_s)

    @property
    def first_p95(self) -> float:
        """95th percentile of the time to first audio."""
        return percentile(self.first_s, 0.95)

    @property
    def in_system(self) -> float:
        """How many requests are in the server at a time by Little's law: rate times mean time in system."""
        return self.rate * sum(self.total_s) / len(self.total_s)

    @property
    def little_error(self) -> float:
        """How far that is from the sessions that were kept busy, as a share."""
        return abs(self.in_system - self.sessions) / self.sessions

    def data(self) -> dict[str, Any]:
        """Return it for JSON, derived figures included."""
        derived = {"rate": self.rate, "audio_rate": self.audio_rate, "in_system": self.in_system}
        return asdict(self) | derived | {"first_p50": self.first_p50, "first_p95": self.first_p95}

    @classmethod
    def read(cls, data: dict[str, Any]) -> Self:
        """Read what `data` returned. Raises ValueError."""
        try:
            found = cls(
                int(data["sessions"]), float(data["elapsed_s"]), tuple(map(float, data["first_s"])),
                tuple(map(float, data["total_s"])), float(data["audio_s"]), int(data["characters"]),
                int(data.get("refused", 0)), data.get("processor_s"),
            )  # fmt: skip
        except (KeyError, TypeError) as error:
            raise ValueError(f"no rung of a load: {error!r}") from error
        if not found.first_s or not found.total_s:
            raise ValueError("a rung without answers")
        if min(found.sessions, found.elapsed_s, found.audio_s, found.characters) <= 0:  # each of them divides
            raise ValueError("a rung without sessions, seconds, audio or characters")
        return found


async def closed(address: str, sessions: int, seconds: float, texts: Sequence[str]) -> Rung:
    """Keep `sessions` busy for at least `seconds`; each begins elsewhere in `texts` and has a whole answer at least."""
    begun = time.monotonic()
    heard: list[tuple[str, Heard]] = []

    async def one(number: int) -> None:
        async with client.session(address) as connection:
            for turn in count(number):
                text = texts[turn % len(texts)]
                heard.append((text, await client.speak(connection, text)))
                if time.monotonic() - begun >= seconds:
                    return

    await asyncio.gather(*(one(number) for number in range(sessions)))
    return _rung(sessions, time.monotonic() - begun, heard, 0)


async def by_chance(address: str, rate: float, seconds: float, texts: Sequence[str], seed: int = 5) -> Rung:
    """Let requests come at `rate` a second, each on its own, as a Poisson process; a session for each."""
    chance = random.Random(seed)  # noqa: S311  # the same arrivals every time
    begun = time.monotonic()
    heard: list[tuple[str, Heard]] = []
    under_way = most = refused = 0

    async def one(text: str) -> None:
        nonlocal under_way, most, refused
        under_way += 1
        most = max(most, under_way)
        try:
            async with client.session(address) as connection:
                heard.append((text, await client.speak(connection, text)))
        except RuntimeError:
            refused += 1
        finally:
            under_way -= 1

    async with asyncio.TaskGroup() as group:
        number, due = 0, begun
        while (due := due + chance.expovariate(rate)) - begun < seconds:
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            group.create_task(one(texts[number % len(texts)]))
            number += 1
    return _rung(most, time.monotonic() - begun, heard, refused)


def _rung(sessions: int, elapsed: float, heard: Sequence[tuple[str, Heard]], refused: int) -> Rung:
    if not heard:
        raise RuntimeError(f"no request was answered ({refused} refused); take more seconds or a higher rate")
    return Rung(
        sessions,
        elapsed,
        tuple(answer.first_s for _, answer in heard),
        tuple(answer.total_s for _, answer in heard),
        sum(answer.audio_s for _, answer in heard),
        sum(len(text) for text, _ in heard),
        refused,
    )
