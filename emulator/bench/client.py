"""The two clients of the benchmark: the AWS SDK, and a WebSocket straight to the container."""

import asyncio
import logging
import os
import statistics
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass

from aws_sdk_sagemaker_runtime_http2.client import AsyncSageMakerRuntimeHTTP2Client
from aws_sdk_sagemaker_runtime_http2.config import AsyncSageMakerRuntimeHTTP2Config
from aws_sdk_sagemaker_runtime_http2.models import (
    InvokeEndpointWithBidirectionalStreamInput,
    RequestPayloadPart,
    RequestStreamEventPayloadPart,
    ResponseStreamEventPayloadPart,
)
from smithy_http.aio.crt import AWSCRTHTTPClient
from websockets.asyncio.client import connect

from emulator import credentials, facts

__all__ = ["Client", "RoundTrips", "SdkClient", "WebSocketClient", "measure"]

# the SDK's transport complains of a stream that ended while it was ending it (aws-crt-python#762), once per session
logging.getLogger("asyncio").setLevel(logging.CRITICAL)

_OUTSTANDING = 32


class Client(ABC):
    """Sends a message, receives a message."""

    @abstractmethod
    async def open(self) -> None:
        """Connect."""

    @abstractmethod
    async def send(self, data: bytes) -> None:
        """Send one message."""

    @abstractmethod
    async def receive(self) -> bytes:
        """Receive one message."""

    @abstractmethod
    async def close(self) -> None:
        """End the session."""


class SdkClient(Client):
    """The unmodified AWS SDK for Python. `data_type` is that of its parts: BINARY or UTF8."""

    def __init__(self, url: str, data_type: str = "BINARY") -> None:
        self._url = url
        self._data_type = data_type

    async def open(self) -> None:
        """Connect."""
        config = await AsyncSageMakerRuntimeHTTP2Config.resolve(
            endpoint_uri=self._url,
            region=credentials.REGION,
            aws_access_key_id=credentials.ACCESS_KEY_ID,
            aws_secret_access_key=credentials.SECRET_ACCESS_KEY,
            transport=AWSCRTHTTPClient(),
        )
        self._client = AsyncSageMakerRuntimeHTTP2Client(config=config)
        self._stream = await self._client.invoke_endpoint_with_bidirectional_stream(
            InvokeEndpointWithBidirectionalStreamInput(endpoint_name="bench")
        )
        _, self._output = await self._stream.await_output()

    async def send(self, data: bytes) -> None:
        """Send one message."""
        part = RequestPayloadPart(bytes_=data, data_type=self._data_type)
        await self._stream.input_stream.send(RequestStreamEventPayloadPart(value=part))

    async def receive(self) -> bytes:
        """Receive one message."""
        event = await self._output.receive()
        if not isinstance(event, ResponseStreamEventPayloadPart):
            raise TypeError(f"the stream gave {event!r} instead of a payload part")
        return event.value.bytes_ or b""

    async def close(self) -> None:
        """End the session."""
        await self._stream.input_stream.close()
        await self._output.receive()
        await self._client.close()


class WebSocketClient(Client):
    """A WebSocket straight to the container: the floor."""

    def __init__(self, url: str) -> None:
        self._url = url + facts.text("ctr.path-default")

    async def open(self) -> None:
        """Connect."""
        self._socket = await connect(self._url, compression=None, max_size=None)

    async def send(self, data: bytes) -> None:
        """Send one message."""
        await self._socket.send(data)

    async def receive(self) -> bytes:
        """Receive one message."""
        return await self._socket.recv(decode=False)

    async def close(self) -> None:
        """End the session."""
        await self._socket.close()


@dataclass(frozen=True, slots=True)
class RoundTrips:
    """One row: round trip in milliseconds, and messages per second with 32 messages outstanding."""

    p50: float
    p95: float
    p99: float
    per_second: float


async def measure(client: Client, size: int, count: int) -> RoundTrips:
    """Measure ``count`` round trips of ``size`` bytes one after the other, then as many in a stream."""
    data = os.urandom(size)
    await client.open()
    times = []
    for number in range(count + count // 10):
        began = time.perf_counter()
        await client.send(data)
        if await client.receive() != data:
            raise ValueError("the echo differs from what was sent")
        if number >= count // 10:  # the first ones warm up
            times.append((time.perf_counter() - began) * 1000)
    per_second = await _stream(client, data, count)
    await client.close()
    cuts = statistics.quantiles(times, n=100, method="inclusive")
    return RoundTrips(cuts[49], cuts[94], cuts[98], per_second)


async def _stream(client: Client, data: bytes, count: int) -> float:
    room = asyncio.Semaphore(_OUTSTANDING)

    async def feed() -> None:
        for _ in range(count):
            await room.acquire()
            await client.send(data)

    began = time.perf_counter()
    feeding = asyncio.create_task(feed())
    for _ in range(count):
        await client.receive()
        room.release()
    await feeding
    return count / (time.perf_counter() - began)
