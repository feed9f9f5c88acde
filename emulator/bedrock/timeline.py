"""From a turn to events: what goes out when. No clock is read here."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, cast

from emulator.bedrock.failure import BREAKS, members
from emulator.bedrock.script import Turn
from emulator.wire.eventstream import encode, encode_headers, string_header

__all__ = ["Break", "Timed", "answer", "duration", "events", "exception"]

_PIECE = 8  # characters of a tool's JSON in one event


@dataclass(frozen=True, slots=True)
class Timed:
    """An encoded event, due ``at`` seconds after the request."""

    at: float
    data: bytes


@dataclass(frozen=True, slots=True)
class Break:
    """The end of the stream in the middle of it: the connection drops, or nothing comes any more."""

    at: float
    kind: Literal["cut", "stall"]


def events(turn: Turn, tool_use_id: str, input_tokens: int) -> Iterator[Timed | Break]:
    """Give the events of ``ConverseStream`` for one turn, in order (fact ``bedrock.order``).

    The first fragment comes at ``first_token``, each further one after ``1 / tokens_per_second``.
    """
    step = _step(turn)
    sent = 0

    def now() -> float:
        return turn.first_token + sent * step

    yield Timed(turn.first_token, _event("messageStart", {"role": "assistant"}))
    for number, name, payload in _blocks(turn, tool_use_id):
        if turn.fail is not None and number >= turn.fail_after:
            break
        sent = number
        yield Timed(now(), _event(name, payload))
    if turn.fail is not None:
        sent = min(turn.fail_after, _count(turn))
        if turn.fail in BREAKS:
            yield Break(now(), cast("Literal['cut', 'stall']", turn.fail))
        else:
            yield Timed(now(), exception(turn.fail))
        return
    at = duration(turn)
    yield Timed(at, _event("messageStop", {"stopReason": _stop_reason(turn)}))
    yield Timed(at, _event("metadata", _metadata(turn, input_tokens)))


def answer(turn: Turn, tool_use_id: str, input_tokens: int) -> dict[str, Any]:
    """Return the whole answer of ``Converse``; it is due after :func:`duration`."""
    content: list[dict[str, Any]] = []
    if text := "".join(turn.pieces):
        content.append({"text": text})
    if turn.tool is not None:
        use = {"toolUseId": tool_use_id, "name": turn.tool.name, "input": dict(turn.tool.input)}
        content.append({"toolUse": use})
    message = {"role": "assistant", "content": content}
    return {"output": {"message": message}, "stopReason": _stop_reason(turn), **_metadata(turn, input_tokens)}


def duration(turn: Turn) -> float:
    """Return how many seconds after the request the last fragment comes."""
    return turn.first_token + max(_count(turn) - 1, 0) * _step(turn)


def exception(kind: str, message: str | None = None) -> bytes:
    """Encode an exception event; ``kind`` begins with a capital, as the error's shape does."""
    return _encode("exception", ":exception-type", kind[0].lower() + kind[1:], members(kind, message))


def _blocks(turn: Turn, tool_use_id: str) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Give the content blocks: number of the fragment that an event belongs to, its name, its payload."""
    index = 0
    number = 0
    for number, piece in enumerate(turn.pieces):
        yield number, "contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": piece}}
    if turn.pieces:
        yield number, "contentBlockStop", {"contentBlockIndex": 0}
        index, number = 1, number + 1
    if turn.tool is None:
        return
    start = {"toolUse": {"toolUseId": tool_use_id, "name": turn.tool.name}}
    yield number, "contentBlockStart", {"contentBlockIndex": index, "start": start}
    pieces = _tool_pieces(turn)
    for after, piece in enumerate(pieces):
        yield number + after, "contentBlockDelta", {"contentBlockIndex": index, "delta": {"toolUse": {"input": piece}}}
    yield number + len(pieces) - 1, "contentBlockStop", {"contentBlockIndex": index}


def _tool_pieces(turn: Turn) -> list[str]:
    if turn.tool is None:
        return []
    text = json.dumps(dict(turn.tool.input), ensure_ascii=False)
    return [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]


def _count(turn: Turn) -> int:
    return len(turn.pieces) + len(_tool_pieces(turn))


def _step(turn: Turn) -> float:
    return 1 / turn.tokens_per_second if turn.tokens_per_second else 0.0


def _stop_reason(turn: Turn) -> str:
    return turn.stop_reason or ("tool_use" if turn.tool is not None else "end_turn")


def _metadata(turn: Turn, input_tokens: int) -> dict[str, Any]:
    output = _count(turn)
    usage = {"inputTokens": input_tokens, "outputTokens": output, "totalTokens": input_tokens + output}
    return {"usage": usage, "metrics": {"latencyMs": round(duration(turn) * 1000)}}


def _event(name: str, payload: dict[str, Any]) -> bytes:
    return _encode("event", ":event-type", name, payload)


def _encode(kind: str, header: str, name: str, payload: dict[str, Any]) -> bytes:
    values = {header: name, ":content-type": "application/json", ":message-type": kind}
    block = encode_headers({key: string_header(value) for key, value in values.items()})
    return encode(block, json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode())
