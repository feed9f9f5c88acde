"""The client of all checks: the official AWS SDK, unmodified, one object per session.

Every way in which a session can go is an outcome (:class:`Part`, :class:`Ended`, :class:`Failed`, :class:`Silence`),
never an exception out of the SDK.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from aws_sdk_sagemaker_runtime_http2.client import AsyncSageMakerRuntimeHTTP2Client
from aws_sdk_sagemaker_runtime_http2.config import AsyncSageMakerRuntimeHTTP2Config
from aws_sdk_sagemaker_runtime_http2.models import (
    InvokeEndpointWithBidirectionalStreamInput,
    ModelError,
    RequestPayloadPart,
    RequestStreamEventPayloadPart,
    ResponseStreamEventPayloadPart,
)
from smithy_http.aio.crt import AWSCRTHTTPClient

__all__ = ["Client", "Ended", "Failed", "Note", "Part", "Session", "Silence"]

_OPEN_TIMEOUT_S = 15.0
_CLOSE_TIMEOUT_S = 3.0


@dataclass(frozen=True, slots=True)
class Part:
    """One payload part from the container; ``at`` in seconds on the session's clock."""

    at: float
    data: bytes = field(repr=False)
    data_type: str | None
    completion_state: str | None


@dataclass(frozen=True, slots=True)
class Ended:
    """The output ended in order: ``receive()`` returned None."""

    at: float

    def __str__(self) -> str:
        return "the stream ended without an error"


@dataclass(frozen=True, slots=True)
class Failed:
    """The session failed. ``kind`` is the name of the SDK's exception, ``code`` the error code that it carries."""

    at: float
    kind: str
    code: str | None
    message: str

    @property
    def without_close_frame(self) -> bool:
        """Whether the container's connection ended without a Close frame."""
        return self.code == "1006"

    def __str__(self) -> str:
        code = f" {self.code}" if self.code else ""
        return f"{self.kind}{code}: {self.message}"


@dataclass(frozen=True, slots=True)
class Silence:
    """Nothing came for ``seconds``."""

    seconds: float

    def __str__(self) -> str:
        return f"silence for {self.seconds:.1f} s"


@dataclass(frozen=True, slots=True)
class Note:
    """One line of the client's own log; ``at`` in seconds on the session's clock."""

    at: float
    text: str


def _without_crt_noise(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Drop one message: the CRT's own writer task finds its stream completed, which the reader has reported already.

    Nobody outside the SDK can await that task (awscrt/aio/http.py, ``_set_request_body_generator``).
    """
    if "AWS_ERROR_HTTP_STREAM_HAS_COMPLETED" not in str(context.get("exception")):
        loop.default_exception_handler(context)


class Session:
    """One bidirectional stream. Make it with :meth:`open` or :meth:`Client.open`."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self._stream: Any = None
        self._queue: asyncio.Queue[Part | Ended | Failed] = asyncio.Queue()
        self._reader: asyncio.Task[None] | None = None
        self.over: Ended | Failed | None = None
        """How the session ended, None while it goes on."""
        self.request_id: str | None = None
        self.notes: list[Note] = []

    @property
    def now(self) -> float:
        """Seconds since the session was opened."""
        return time.monotonic() - self.began

    def note(self, text: str) -> None:
        """Add a line to the client's log."""
        self.notes.append(Note(self.now, text))

    @classmethod
    async def open(
        cls, sdk: AsyncSageMakerRuntimeHTTP2Client, request: InvokeEndpointWithBidirectionalStreamInput
    ) -> "Session":
        """Open a stream. If that fails, the first :meth:`receive` says how."""
        session = cls()
        try:
            async with asyncio.timeout(_OPEN_TIMEOUT_S):
                session._stream = await sdk.invoke_endpoint_with_bidirectional_stream(request)
                output, receiver = await session._stream.await_output()
        except Exception as error:  # noqa: BLE001 - whatever the SDK raises is an outcome of the session
            session._finish(session._failure(error))
            return session
        session.request_id = output.response_metadata.request_id
        session._reader = asyncio.create_task(session._read(receiver))
        return session

    async def _read(self, receiver: Any) -> None:
        # the only reader: a receive() that is cancelled in flight corrupts the HTTP/2 stream
        try:
            while (event := await receiver.receive()) is not None:
                if isinstance(event, ResponseStreamEventPayloadPart):
                    part = event.value
                    self._queue.put_nowait(Part(self.now, part.bytes_ or b"", part.data_type, part.completion_state))
        except Exception as error:  # noqa: BLE001 - as above
            self._finish(self._failure(error))
        else:
            self._finish(Ended(self.now))

    def _failure(self, error: Exception) -> Failed:
        if isinstance(error, TimeoutError):
            return Failed(self.now, "no answer", None, f"the stream was not opened within {_OPEN_TIMEOUT_S:g} s")
        code = getattr(error, "error_code", None)
        message = getattr(error, "message", None) or str(error)
        if isinstance(error, ModelError):
            message = f"{message} (HTTP 424: the container refused the WebSocket upgrade)"
        return Failed(self.now, type(error).__name__, code, message)

    def _finish(self, outcome: Ended | Failed) -> None:
        self.over = outcome
        self.note(str(outcome))
        self._queue.put_nowait(outcome)

    async def send(self, data: bytes, data_type: str | None = None, completion_state: str | None = None) -> None:
        """Send one part. After the end of the session it is dropped: the outcome is already known."""
        if self.over is not None or self._stream is None:
            return
        part = RequestPayloadPart(bytes_=data, data_type=data_type, completion_state=completion_state)
        # OSError: the stream ended between the look above and the write; the reader reports how
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(_CLOSE_TIMEOUT_S):
                await self._stream.input_stream.send(RequestStreamEventPayloadPart(value=part))

    async def receive(self, timeout: float) -> Part | Ended | Failed | Silence:  # noqa: ASYNC109 - silence is an outcome
        """Return what comes next; :class:`Silence` if nothing comes within ``timeout`` seconds."""
        if self.over is not None and self._queue.empty():
            return self.over
        try:
            return await asyncio.wait_for(self._queue.get(), timeout)
        except TimeoutError:
            return Silence(timeout)

    async def end_input(self) -> None:
        """End the client's side of the stream, as a client does that is done."""
        if self._stream is not None and not self._stream.input_stream.closed:
            if self.over is None:
                self.note("ends its input")
            with suppress(Exception):  # closing a stream that has already gone is not an event
                async with asyncio.timeout(_CLOSE_TIMEOUT_S):
                    await self._stream.input_stream.close()

    async def close(self) -> None:
        """End the input, wait a short while for the end of the output, and let go of everything."""
        await self.end_input()
        if self._reader is not None:
            await asyncio.wait([self._reader], timeout=_CLOSE_TIMEOUT_S)
            self._reader.cancel()
            with suppress(asyncio.CancelledError):
                await self._reader


class Client:
    """The SDK's client, pointed at an emulator (or at AWS)."""

    def __init__(self, sdk: AsyncSageMakerRuntimeHTTP2Client) -> None:
        self._sdk = sdk

    @classmethod
    @asynccontextmanager
    async def connect(cls, url: str) -> AsyncIterator["Client"]:
        """Make a client for the endpoint URL. ``SSL_CERT_FILE`` must already name the CA bundle."""
        asyncio.get_running_loop().set_exception_handler(_without_crt_noise)
        config = await AsyncSageMakerRuntimeHTTP2Config.resolve(
            endpoint_uri=url,
            region="us-west-2",
            aws_access_key_id="AKIDEXAMPLE",
            aws_secret_access_key="wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",  # noqa: S106 - AWS's documented example
            max_attempts=1,
            transport=AWSCRTHTTPClient(),
        )
        async with AsyncSageMakerRuntimeHTTP2Client(config=config) as sdk:
            yield cls(sdk)

    async def open(self, endpoint: str, path: str | None = None, query: str | None = None) -> Session:
        """Open one session. If that fails, the first ``receive()`` says how."""
        request = InvokeEndpointWithBidirectionalStreamInput(
            endpoint_name=endpoint, model_invocation_path=path, model_query_string=query
        )
        return await Session.open(self._sdk, request)
