"""One short conversation with the deployed endpoint, through the official SDK."""

import asyncio
import json
import logging
import time
from dataclasses import dataclass
from typing import Any

from deploy.cloud import Cloud
from deploy.errors import DeployError

__all__ = ["Spoken", "speak"]

_TEXT = "Hello. This is a short test."
_RATE, _SAMPLE = 24_000, 2
_LIMIT = 120.0


@dataclass(frozen=True, slots=True)
class Spoken:
    """What came back: seconds to the first audio, seconds of audio, seconds in all."""

    first_audio: float
    audio: float
    total: float

    def __str__(self) -> str:
        return f"first audio after {self.first_audio:.2f} s, {self.audio:.2f} s of audio in {self.total:.2f} s"


def speak(cloud: Cloud, endpoint: str, limit: float = _LIMIT) -> Spoken:
    """Have a sentence spoken and end the session properly.

    The request goes out without a DataType, as a careless client sends it: the container must take it.

    Raises:
        DeployError: the session fails, ends early, or gives no audio, within ``limit`` seconds.
    """
    # the SDK's transport complains of a stream that ended while it was ending it (aws-crt-python#762)
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    return asyncio.run(_speak(cloud, endpoint, limit))


async def _speak(cloud: Cloud, endpoint: str, limit: float) -> Spoken:
    try:
        async with asyncio.timeout(limit):
            return await _converse(cloud, endpoint)
    except TimeoutError:
        raise DeployError(
            f"{endpoint} has not answered within {limit:g} s. Port 8443 must be open to the outside; the "
            f"container's log is in the group /aws/sagemaker/Endpoints/{endpoint}."
        ) from None


async def _converse(cloud: Cloud, endpoint: str) -> Spoken:
    try:
        from aws_sdk_sagemaker_runtime_http2.client import AsyncSageMakerRuntimeHTTP2Client  # noqa: PLC0415  # slow
        from aws_sdk_sagemaker_runtime_http2.config import AsyncSageMakerRuntimeHTTP2Config  # noqa: PLC0415  # slow
        from aws_sdk_sagemaker_runtime_http2.models import (  # noqa: PLC0415  # slow
            InvokeEndpointWithBidirectionalStreamInput,
            RequestPayloadPart,
            RequestStreamEventPayloadPart,
            ServiceError,
        )
        from smithy_core.exceptions import SmithyError  # noqa: PLC0415  # slow
        from smithy_http.aio.crt import AWSCRTHTTPClient  # noqa: PLC0415  # slow

        from container.agent.connection import service_url  # noqa: PLC0415  # needs the SDK
    except ImportError as error:
        raise DeployError(
            f"The AWS SDK for bidirectional streams is missing ({error.name}): pip install 'sagemaker-bidi[agent]'."
        ) from None
    keys = cloud.session.get_credentials().get_frozen_credentials()
    config = await AsyncSageMakerRuntimeHTTP2Config.resolve(
        region=cloud.region,
        aws_access_key_id=keys.access_key,
        aws_secret_access_key=keys.secret_key,
        aws_session_token=keys.token,
        transport=AWSCRTHTTPClient(),
    )
    if config.endpoint_uri is None:
        config.endpoint_uri = service_url(cloud.region)
    client = AsyncSageMakerRuntimeHTTP2Client(config=config)
    begun = time.monotonic()
    try:
        stream = await client.invoke_endpoint_with_bidirectional_stream(
            InvokeEndpointWithBidirectionalStreamInput(endpoint_name=endpoint)
        )

        async def send(message: dict[str, Any]) -> None:
            part = RequestPayloadPart(bytes_=json.dumps(message).encode())
            await stream.input_stream.send(RequestStreamEventPayloadPart(value=part))

        await send({"text": _TEXT, "request_id": "smoke"})
        _, output = await stream.await_output()
        spoken = await _listen(output, begun)
        await send({"type": "close"})
        await stream.input_stream.close()
        while await output.receive() is not None:
            pass
        return spoken
    except (ServiceError, SmithyError, OSError) as error:
        raise DeployError(f"A session with {endpoint} failed: {type(error).__name__}: {error}") from error
    finally:
        await client.close()


async def _listen(output: Any, begun: float) -> Spoken:
    """Read one answer to its end."""
    first: float | None = None
    audio = 0
    while (event := await output.receive()) is not None:
        part = getattr(event, "value", None)
        data = getattr(part, "bytes_", None)
        if data is None:
            raise DeployError(f"The session ended with {event!r} after {audio} bytes of audio.")
        if getattr(part, "data_type", None) != "UTF8":
            first = time.monotonic() - begun if first is None else first
            audio += len(data)
            continue
        said = json.loads(data)
        if said.get("type") == "error":
            raise DeployError(f"The container answered with an error: {data.decode()}")
        if said.get("type") == "synthesis_complete":
            if first is None:
                raise DeployError("The container says that it is done, and sent no audio.")
            return Spoken(first, audio / (_RATE * _SAMPLE), time.monotonic() - begun)
    raise DeployError(f"The session ended before the answer was complete ({audio} bytes of audio).")
