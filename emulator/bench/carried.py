"""What one spoken answer weighs on its way from an agent: as server-sent events, and over AgentCore's WebSocket."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from emulator.agentcore.sse import EventReader
from emulator.bench.first_audio import audio_size

__all__ = ["Carried", "CarriedError", "over_events", "over_websocket"]

_PATIENCE_S = 120.0


class CarriedError(Exception):
    """Raised when an answer did not come to its end."""


@dataclass(frozen=True, slots=True)
class Carried:
    """The bytes of an answer's payloads, and how many bytes of audio are in them."""

    payload: int
    audio: int


def over_events(blocks: Iterable[bytes]) -> Carried:
    """Read an answer in text/event-stream; its audio is base64 in the member ``data``.

    Raises:
        CarriedError: it ended without `done`.
    """
    reader = EventReader()
    payload = audio = 0
    last = ""
    for block in blocks:
        payload += len(block)
        for event in reader.feed(block):
            last = str(event.get("type"))
            audio += audio_size(event)
    _check(last)
    return Carried(payload, audio)


def over_websocket(http_url: str, arn: str, environment: Mapping[str, str], request: dict[str, Any]) -> Carried:
    """Ask an agent over its WebSocket ``/runtimes/{arn}/ws``, signed with the keys of ``environment``.

    Raises:
        CarriedError: the agent has no WebSocket, or its answer ended without `done`.
    """
    url = f"{http_url}/runtimes/{quote(arn, safe='')}/ws"
    signed = AWSRequest("GET", url)
    keys = Credentials(environment["AWS_ACCESS_KEY_ID"], environment["AWS_SECRET_ACCESS_KEY"])
    SigV4Auth(keys, "bedrock-agentcore", arn.split(":")[3]).add_auth(signed)
    payload = audio = 0
    last = ""
    try:
        with connect(
            url.replace("http", "ws", 1), additional_headers=dict(signed.headers.items()), compression=None
        ) as socket:
            socket.send(json.dumps(request))
            while last not in ("done", "error"):
                message = socket.recv(timeout=_PATIENCE_S)
                if isinstance(message, bytes):
                    payload += len(message)
                    audio += len(message)
                else:
                    payload += len(message.encode())
                    last = str(json.loads(message).get("type"))
    except (OSError, WebSocketException, ValueError) as error:  # TimeoutError is an OSError
        raise CarriedError(f"no answer over the WebSocket: {error}") from error
    _check(last)
    return Carried(payload, audio)


def _check(last: str) -> None:
    if last != "done":
        raise CarriedError(f"the answer ended with {last or 'nothing'!r}, expected was 'done'")
