"""The model of the stand-in agent: ConverseStream of Bedrock, by boto3, on a thread."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import closing
from typing import Any

import boto3

from contract_tests.agents.good.surroundings import setting

__all__ = ["deltas", "forget", "raw_events"]

_MODEL = "us.anthropic.claude-haiku-4-5-20251001-v1:0"


_clients: dict[str, Any] = {}
"""By address: a process may serve several agents."""


def _bedrock() -> Any:
    url = setting("AWS_ENDPOINT_URL_BEDROCK_RUNTIME")
    if url not in _clients:
        session = boto3.session.Session(
            aws_access_key_id=setting("AWS_ACCESS_KEY_ID"),
            aws_secret_access_key=setting("AWS_SECRET_ACCESS_KEY"),
            region_name=setting("AWS_REGION"),
        )
        _clients[url] = session.client("bedrock-runtime", endpoint_url=url, verify=setting("AWS_CA_BUNDLE"))
    return _clients[url]


def forget(url: str) -> None:
    """Close the connections to an address."""
    if (client := _clients.pop(url, None)) is not None:
        client.close()


async def deltas(prompt: str) -> AsyncIterator[str | None]:
    """Yield the text of an answer as it comes, and None where a message of the model ends."""
    async for event in raw_events(prompt):
        if event is None or "text" in event.get("contentBlockDelta", {}).get("delta", {}):
            yield None if event is None else str(event["contentBlockDelta"]["delta"]["text"])


async def raw_events(prompt: str) -> AsyncIterator[dict[str, Any] | None]:
    """Yield the events of an answer, and None behind each message; there are no tools, and the model is told so."""
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[dict[str, Any] | BaseException | str | None] = asyncio.Queue()
    left = threading.Event()
    bedrock = _bedrock()

    def put(item: dict[str, Any] | BaseException | str | None) -> None:
        if not left.is_set():
            loop.call_soon_threadsafe(queue.put_nowait, item)

    def read() -> None:
        try:
            _read(bedrock, prompt, put, left)
            put("over")
        except Exception as error:  # noqa: BLE001 - it is raised where it is read
            put(error)

    threading.Thread(target=read, daemon=True).start()
    try:
        while not isinstance(item := await queue.get(), str):
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        left.set()


def _read(bedrock: Any, prompt: str, put: Any, left: threading.Event) -> None:
    messages: list[dict[str, Any]] = [{"role": "user", "content": [{"text": prompt}]}]
    while True:
        text, tool = "", None
        with closing(bedrock.converse_stream(modelId=_MODEL, messages=messages)["stream"]) as stream:
            for event in stream:
                if left.is_set():
                    return
                put(event)
                text += event.get("contentBlockDelta", {}).get("delta", {}).get("text", "")
                tool = event.get("contentBlockStart", {}).get("start", {}).get("toolUse", tool)
        put(None)
        if tool is None:
            return
        asked = {"toolUse": {**tool, "input": {}}}
        answered = {"toolUseId": tool["toolUseId"], "content": [{"text": "there is no such tool"}], "status": "error"}
        messages += [
            {"role": "assistant", "content": [{"text": text or "…"}, asked]},
            {"role": "user", "content": [{"toolResult": answered}]},
        ]
