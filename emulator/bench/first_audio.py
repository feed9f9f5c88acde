"""One measured answer of an agent, and the table of many."""

import argparse
import contextlib
import math
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from emulator.agentcore.sse import EventReader
from emulator.bedrock.script import Turn
from emulator.bench.figures import figures, headline, markdown

__all__ = ["COLUMNS", "Condition", "Run", "audio_size", "report", "row_of", "table", "timed"]

COLUMNS = (
    "model", "mode", "n", "mean ms", "p50 ms", "p95 ms", "container p50 ms", "text complete ms", "batch/bidi (p50)"
)  # fmt: skip

_REFERENCE = (
    "For comparison, published for AWS's sample (one run each, Claude Opus, a longer text): bidi 2.4x earlier than "
    "batch locally, 3.5x on the deployed runtime."
)


@dataclass(frozen=True, slots=True)
class Condition:
    """How the scripted model writes."""

    tokens_per_second: float
    first_token: float

    @classmethod
    def parse(cls, given: str) -> "Condition":
        """Read ``TPS:TTFT``.

        Raises:
            ArgumentTypeError: it is something else.
        """
        rate, _, first = given.partition(":")
        with contextlib.suppress(ValueError):
            condition = cls(float(rate), float(first))
            if 0 < condition.tokens_per_second < math.inf and 0 <= condition.first_token < math.inf:
                return condition
        raise argparse.ArgumentTypeError(
            f"{given!r}: expected is TPS:TTFT, tokens per second and seconds, as in 40:0.5"
        )

    @property
    def mark(self) -> str:
        """What selects it in the prompt."""
        return f"{self.tokens_per_second:g} tokens per second after {self.first_token:g} s"

    def __str__(self) -> str:
        return f"{self.tokens_per_second:g} tok/s, TTFT {self.first_token:g} s"


@dataclass(frozen=True, slots=True)
class Run:
    """One answer. Times in milliseconds from ``agent_start``."""

    condition: Condition | str
    """Of a model that is not scripted: where it runs."""
    mode: str
    client_ms: float
    """First audio on the client's clock."""
    container_ms: float
    """First audio on the container's clock (``t_ms``)."""
    text_ms: float
    """End of the text on the container's clock."""
    done_ms: float
    audio_bytes: int

    @property
    def late(self) -> bool:
        """Whether the first audio did not precede the end of the text."""
        return self.container_ms >= self.text_ms

    def as_json(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return asdict(self)


def timed(
    condition: Condition | str, mode: str, blocks: Iterable[bytes], clock: Callable[[], float] = time.perf_counter
) -> Run:
    """Read an agent's answer and note its times; ``blocks`` must come as they arrive.

    Raises:
        ValueError: the agent failed, or left out an event that is needed.
    """
    reader = EventReader()
    arrived: dict[str, float] = {}
    said: dict[str, float] = {}
    audio = 0
    for block in blocks:
        now = clock()
        for event in reader.feed(block):
            kind = str(event.get("type", "error"))
            if kind == "error":
                raise ValueError(f"{condition}, {mode}: the agent answered with an error: {event}")
            arrived.setdefault(kind, now)
            said.setdefault(kind, float(event.get("t_ms", "nan")))
            if kind == "audio_chunk":
                audio += audio_size(event)
    reader.finish()
    missing = [kind for kind in ("agent_start", "audio_chunk", "text_done", "done") if kind not in arrived]
    if missing:
        raise ValueError(f"{condition}, {mode}: the agent's answer has no {', '.join(missing)}")
    return Run(
        condition,
        mode,
        (arrived["audio_chunk"] - arrived["agent_start"]) * 1000,
        said["audio_chunk"] - said["agent_start"],
        said["text_done"] - said["agent_start"],
        said["done"] - said["agent_start"],
        audio,
    )


def audio_size(event: dict[str, Any]) -> int:
    """Return how many bytes of audio an event has, in base64; 0 if it is of another kind."""
    data: str = event.get("data") or event.get("audio") or ""
    return len(data) * 3 // 4 - data[-2:].count("=")


def row_of(condition: Condition | str, mode: str, runs: Iterable[Run]) -> dict[str, Any]:
    """Return the figures of one mode under one condition."""
    mine = [run for run in runs if (run.condition, run.mode) == (condition, mode)]
    return {
        "condition": str(condition),
        "mode": mode,
        "n": len(mine),
        "client": figures([run.client_ms for run in mine]),
        "container": figures([run.container_ms for run in mine]),
        "text_ms": statistics.median(run.text_ms for run in mine),
    }


def report(runs: list[Run], found: dict[str, Any]) -> str:
    """Return the table under its conditions."""
    turn = Turn()
    where = f"{headline(found)}; agent: {found['agent']}, speech: {found['target']}"
    text = f"the same prompt and text in both modes ({len(turn.text)} characters, {len(turn.pieces)} tokens)"
    if found["target"] is None:
        where = f"agent runtime {found['agent']}, asked from here"
        text = "the same prompt in both modes; each answer is as long as the model makes it"
    lines = [
        where,
        text,
        "first audio counts from agent_start; raw reader; one warm-up round, order of the modes alternating",
        "",
        markdown(COLUMNS, table(runs)),
        "",
        _REFERENCE,
    ]
    return "\n".join(lines)


def table(runs: Sequence[Run]) -> list[list[object]]:
    """Return the rows under :data:`COLUMNS`."""
    lines: list[list[object]] = []
    for condition in dict.fromkeys(run.condition for run in runs):
        rows = {mode: row_of(condition, mode, runs) for mode in ("bidi", "batch")}
        ratio = rows["batch"]["client"]["p50"] / rows["bidi"]["client"]["p50"]
        for mode, row in rows.items():
            measured = [*(row["client"][name] for name in ("mean", "p50", "p95")), row["container"]["p50"]]
            lines.append([str(condition), mode, row["n"], *measured, row["text_ms"], ratio if mode == "batch" else ""])
    return lines
