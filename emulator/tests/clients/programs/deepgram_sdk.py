"""Deepgram's SDK over ``deepgram-sagemaker``: speech out of text, then text out of audio."""

import asyncio
import os
from typing import Any
from urllib.parse import urlsplit

from awscrt.aio.http import AIOHttpClientConnectionUnified
from deepgram import AsyncDeepgramClient
from deepgram.speak.v1.types import SpeakV1Text
from deepgram.transport import restore_transport
from deepgram_sagemaker import SageMakerConfig, SageMakerTransportFactory

from .common import main, outcome

_connect = AIOHttpClientConnectionUnified.new


async def _as_the_hosts_file_says(**where: Any) -> Any:
    # stands in for the line '127.0.0.1 runtime.sagemaker.us-west-2.amazonaws.com' and for an emulator on port 8443:
    # the client asks for that name, checks the certificate for it and signs it
    expected = f"runtime.sagemaker.{os.environ['AWS_REGION']}.amazonaws.com"
    if (where["host_name"], where["port"]) != (expected, 8443):
        raise RuntimeError(f"the client dials {where['host_name']}:{where['port']}, not {expected}:8443")
    port = urlsplit(os.environ["AWS_ENDPOINT_URL"]).port
    return await _connect(**where | {"host_name": "127.0.0.1", "port": port})


async def session(client: AsyncDeepgramClient) -> dict[str, Any]:
    """Send a text, then audio; both clients are the SDK's own."""
    received: list[Any] = []
    async with client.speak.v1.connect(model="aura-2-thalia-en") as speak:
        await speak.send_text(SpeakV1Text(text="héllo"))
        received.append(await speak.recv())
        received.append(getattr(await speak.recv(), "type", None))
        await speak.send_close()
        async for message in speak:
            received.append(message)  # noqa: PERF401  # nothing comes
    async with client.listen.v1.connect(model="nova-3") as listen:
        await listen.send_media(bytes(range(256)) * 400)
        reply: Any = await listen.recv()
        received.append(reply.channel.alternatives[0].transcript)
    return {"received": received, "end": "None"}


async def run(endpoint: str) -> dict[str, Any]:
    """Hold the sessions with a client of its own; it tries an error once more, not five times."""
    config = SageMakerConfig(endpoint, os.environ["AWS_REGION"], max_retries=1, initial_backoff=0.01, max_backoff=0.02)
    client = AsyncDeepgramClient(api_key="unused", transport_factory=SageMakerTransportFactory(config=config))
    try:
        return await outcome(session(client))
    finally:
        restore_transport()  # one endpoint a process, otherwise


if "HOSTS_FILE" not in os.environ:
    AIOHttpClientConnectionUnified.new = _as_the_hosts_file_says
asyncio.run(main(run))
