"""One turn of the agent behind an AgentCore runtime, timed as its caller hears it."""

import json
import statistics
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from emulator.agentcore.body import blocks
from emulator.agentcore.sse import EventReader, SseError

__all__ = ["READ_TIMEOUT_S", "REFERENCE_RATIOS", "AgentError", "Mode", "Turn", "compare", "invoke", "take_turn"]

type Mode = Literal["bidi", "batch"]

READ_TIMEOUT_S = 120.0
"""Without a word of the agent: a runtime that was idle has to start first."""
REFERENCE_RATIOS = (2.4, 3.5)
"""How many times earlier the first audio came in bidi mode than in batch mode, as published: locally, deployed."""


class AgentError(Exception):
    """Raised when a turn does not come to its end: an error event, or a body that ends without ``done``."""


@dataclass(slots=True)
class Turn:
    """One answer of the agent. Times in milliseconds since ``agent_start``: on the caller's clock, and on the agent's.

    None where the event never came.
    """

    mode: Mode
    first_text: float | None = None
    first_sentence: float | None = None
    first_audio: float | None = None
    text_done: float | None = None
    done: float | None = None
    first_audio_agent: float | None = None
    text_done_agent: float | None = None
    chunks: int = 0
    events: list[str] = field(default_factory=list)

    @property
    def overlaps(self) -> bool:
        """Whether the first sentence was given to the voice while the text was still being written.

        It is the order of the agent's own events, however slow the voice is.
        """
        return self.first_sentence is not None and self._before_text_done("sentence")

    @property
    def heard_early(self) -> bool:
        """Whether audio came before the text was finished, on the agent's own clock where it has one."""
        if self.first_audio_agent is not None and self.text_done_agent is not None:
            return self.first_audio_agent < self.text_done_agent
        return self.first_audio is not None and self._before_text_done("audio_chunk")

    def _before_text_done(self, kind: str) -> bool:
        return kind in self.events and "text_done" not in self.events[: self.events.index(kind)]


def invoke(
    client: Any, runtime: str, prompt: str, mode: Mode, sessions: list[tuple[str, str | None]] | None = None
) -> Iterator[bytes]:
    """Call ``invoke_agent_runtime`` of a boto3 client and yield the body as it comes, in pieces of any size.

    The session's id, as asked for and as answered, is added to ``sessions``.
    """
    session = f"live-{uuid.uuid4()}"
    answer = client.invoke_agent_runtime(
        agentRuntimeArn=runtime,
        runtimeSessionId=session,
        contentType="application/json",
        accept="text/event-stream",
        payload=json.dumps({"prompt": prompt, "mode": mode}).encode(),
    )
    if sessions is not None:
        sessions.append((session, answer.get("runtimeSessionId")))
    body = answer["response"]
    try:
        yield from blocks(body)
    finally:
        body.close()


def take_turn(pieces: Iterator[bytes], mode: Mode, clock: Callable[[], float] = time.monotonic) -> Turn:
    """Read one whole answer.

    Raises:
        AgentError: the agent reports an error, the body ends without ``done``, or it is no stream of events.
    """
    turn, reader = Turn(mode), EventReader()
    began: float | None = None
    sequence: dict[str, int] = {}
    try:
        for piece in pieces:
            now = clock()
            for event in reader.feed(piece):
                kind = event.get("type")
                if kind == "agent_start" and began is None:
                    began = now
                _in_order(event, sequence)
                _take(turn, event, 1000 * (now - (now if began is None else began)))
        reader.finish()
    except SseError as error:
        raise AgentError(f"the answer is no stream of events: {error}") from error
    if turn.done is None:
        raise AgentError(f"the answer ended without 'done', after {', '.join(turn.events) or 'nothing'}")
    return turn


def _in_order(event: dict[str, Any], sequence: dict[str, int]) -> None:
    kind, number = str(event.get("type")), event.get("seq")
    if not isinstance(number, int):
        return
    if number <= sequence.get(kind, -1):
        raise AgentError(f"{kind} has seq {number} after {sequence[kind]}: events are out of order or came twice")
    sequence[kind] = number


def _take(turn: Turn, event: dict[str, Any], at: float) -> None:
    kind = event.get("type")
    own = event.get("t_ms")
    own_ms = float(own) if isinstance(own, int | float) else None
    if kind is None or kind == "error":
        raise AgentError(f"the agent reports: {event.get('message') or event.get('error') or event}")
    if not turn.events or turn.events[-1] != kind:
        turn.events.append(str(kind))
    if kind == "text" and turn.first_text is None:
        turn.first_text = at
    elif kind == "sentence" and turn.first_sentence is None:
        turn.first_sentence = at
    elif kind == "audio_chunk":
        turn.chunks += 1
        if turn.first_audio is None:
            turn.first_audio, turn.first_audio_agent = at, own_ms
    elif kind == "text_done":
        turn.text_done, turn.text_done_agent = at, own_ms
    elif kind == "done":
        turn.done = at


def compare(bidi: Sequence[Turn], batch: Sequence[Turn]) -> list[str]:
    """Return a table of both modes and the ratio of their medians."""

    def median(turns: Sequence[Turn], name: str) -> float:
        times: list[float] = [at for turn in turns if (at := getattr(turn, name)) is not None]
        return statistics.median(times) if times else float("nan")

    lines = [
        f"agent, median of {len(bidi)} turns a mode, ms since agent_start",
        f"{'mode':<8}{'first text':>12}{'first audio':>13}{'done':>10}",
    ]
    for name, turns in (("bidi", bidi), ("batch", batch)):
        lines.append(
            f"{name:<8}{median(turns, 'first_text'):>12.0f}{median(turns, 'first_audio'):>13.0f}"
            f"{median(turns, 'done'):>10.0f}"
        )
    factor = median(batch, "first_audio") / max(median(bidi, "first_audio"), 1e-9)
    local, deployed = REFERENCE_RATIOS
    early = sum(turn.heard_early for turn in bidi)
    lines.append(f"in {early} of {len(bidi)} turns in bidi mode audio came before the text was finished")
    lines.append(f"bidi is heard {factor:.2f} times earlier (published: {local} locally, {deployed} deployed)")
    return lines
