"""Scripted models for Strands: what they stream is given, and when."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from typing import Any

from strands.models.model import Model
from strands.types.streaming import StreamEvent

Step = str | BaseException | dict[str, Any] | Callable[[], Awaitable[object]]
"""A fragment of text, a failure, the use of a tool ({"name", "input"}), or something to wait for."""


TWO = ["Hello", " there.", " How are", " you?"]
"""Two sentences, in fragments."""


class ScriptedModel(Model):
    """Streams one list of steps for each call; the last one is repeated."""

    def __init__(self, *answers: Iterable[Step], fragment_s: float = 0.0) -> None:
        self.answers = answers
        self.fragment_s = fragment_s
        self.calls: list[list[Any]] = []
        self.stop = threading.Event()
        self.streaming = 0
        self.fragments = 0

    def update_config(self, **model_config: Any) -> None:
        """There is nothing to configure."""

    def get_config(self) -> dict[str, Any]:
        """Return what Strands asks a model for."""
        return {"model_id": "scripted", "context_window_limit": 200_000}

    def structured_output(self, *_: Any, **__: Any) -> Any:
        """Strands demands the method of every model; the agent asks for no structured output."""
        raise NotImplementedError

    async def stream(self, messages: Any, *_: Any, **__: Any) -> AsyncGenerator[StreamEvent, None]:
        """Stream the next answer."""
        answer = self.answers[min(len(self.calls), len(self.answers) - 1)]
        self.calls.append(list(messages))
        self.streaming += 1
        try:
            async for event in self._events(answer):
                yield event
        finally:
            self.streaming -= 1

    async def _events(self, answer: Iterable[Step]) -> AsyncGenerator[StreamEvent, None]:
        reason = "end_turn"
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        for step in answer:
            if isinstance(step, BaseException):
                raise step
            if isinstance(step, dict):
                reason = "tool_use"
                yield {"contentBlockStop": {}}
                yield {"contentBlockStart": {"start": {"toolUse": {"name": step["name"], "toolUseId": "t1"}}}}
                yield {"contentBlockDelta": {"delta": {"toolUse": {"input": step.get("input", "{}")}}}}
            elif isinstance(step, str):
                await asyncio.sleep(self.fragment_s)
                self.fragments += 1
                yield {"contentBlockDelta": {"delta": {"text": step}}}
            else:
                await step()
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": reason}}  # type: ignore[typeddict-item]  # a literal
        yield {
            "metadata": {"usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}, "metrics": {"latencyMs": 1}}
        }
