"""The SageMaker client of pipecat, which its speech services use."""

import asyncio
import os
from typing import Any

from pipecat.services.aws.sagemaker.bidi_client import SageMakerBidiClient

from .common import TALK, main, outcome


async def session(client: SageMakerBidiClient) -> dict[str, Any]:
    """Say what was said on one stream, and how it ended."""
    await client.start_session()
    received: list[Any] = []
    try:
        for data, data_type in TALK:
            await client.send_data(data, data_type)
            event = await client.receive_response()
            if event is None:
                return {"received": received, "end": "None"}
            received.append((event.value.bytes_, event.value.data_type))
        await client.close_session()
        return {"received": received, "end": repr(await client._output_stream.receive())}  # noqa: SLF001  # no public way
    finally:
        await client.close_session()


async def run(endpoint: str) -> dict[str, Any]:
    """Hold one session; the address is a public attribute, to be set before it starts."""
    # its own default for path and query is an empty string, which the API does not allow: its services pass None
    client = SageMakerBidiClient(endpoint, os.environ["AWS_REGION"], None, None, max_connect_attempts=2)
    client.bidi_endpoint = os.environ["AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME_HTTP2"]
    return await outcome(session(client))


asyncio.run(main(run))
