"""``Converse`` and ``ConverseStream``: request heads and bodies, checked."""

import json
import re
from dataclasses import dataclass
from enum import Enum
from typing import Any
from urllib.parse import unquote

from emulator import facts
from emulator.bedrock.failure import error
from emulator.wire.exceptions import RequestError

__all__ = ["Conversation", "Operation"]


class Operation(Enum):
    """The operations of ``bedrock-runtime`` that are scripted."""

    CONVERSE = facts.text("bedrock.converse-path")
    CONVERSE_STREAM = facts.text("bedrock.stream-path")

    @staticmethod
    def of(path: str) -> "Operation | None":
        """Return what a raw path asks for, None where it is another operation."""
        bare = path.partition("?")[0]
        return next((operation for operation, pattern in _PATHS.items() if pattern.fullmatch(bare)), None)


# an ARN has its slash as %2F, and also a client that forgot to quote it is understood
_PATHS = {operation: re.compile(re.escape(operation.value).replace(r"\{modelId\}", "(.+)")) for operation in Operation}


@dataclass(frozen=True, slots=True)
class Conversation:
    """A checked request: the model, the user's last text, and the tool results that came since."""

    model: str
    prompt: str
    tool_rounds: int
    input_tokens: int
    """About: a token is taken for four characters."""
    tools: tuple[str, ...]

    @classmethod
    def parse(cls, operation: Operation, method: str, path: str, body: bytes) -> "Conversation":
        """Check a request; ``path`` is raw.

        Raises:
            RequestError: the HTTP error to answer with.
        """
        match = _PATHS[operation].fullmatch(path.partition("?")[0])
        if match is None or method != "POST":
            raise RequestError(
                404, "UnknownOperationException", f"{method} {path}: this operation is POST {operation.value}."
            )
        model = unquote(match[1])
        if len(model) > facts.integer("bedrock.model-id-max") or not re.fullmatch(
            facts.text("bedrock.model-id"), model
        ):
            raise error("ValidationException", facts.text("bedrock.model-id-text"))
        try:
            raw = json.loads(body)
        except (ValueError, RecursionError) as wrong:
            raise RequestError(400, "SerializationException", f"The body is no JSON: {wrong}.") from None
        messages = raw.get("messages") if isinstance(raw, dict) else None
        if not isinstance(messages, list) or not messages or not all(map(_is_message, messages)):
            raise error(
                "ValidationException",
                "messages must be a list of one object or more with 'role' (user or assistant) and 'content' (a list).",
            )
        prompt, rounds = _last_prompt(messages)
        return cls(model, prompt, rounds, max(1, len(body) // 4), _tools(raw.get("toolConfig") or {}))


def _tools(config: Any) -> tuple[str, ...]:
    try:
        return tuple(str(tool["toolSpec"]["name"]) for tool in config.get("tools", ()) if "toolSpec" in tool)
    except (AttributeError, KeyError, TypeError):
        raise error("ValidationException", "toolConfig.tools must be a list of objects with toolSpec.name.") from None


def _is_message(message: Any) -> bool:
    return (
        isinstance(message, dict)
        and message.get("role") in ("user", "assistant", "system")
        and isinstance(message.get("content"), list)
        and all(isinstance(block, dict) for block in message["content"])
    )


def _last_prompt(messages: list[dict[str, Any]]) -> tuple[str, int]:
    rounds = 0
    for message in reversed(messages):
        if message["role"] != "user":
            continue
        if any("toolResult" in block for block in message["content"]):
            rounds += 1
            continue
        return "\n".join(str(block["text"]) for block in message["content"] if "text" in block), rounds
    return "", rounds
