"""The client of all checks: the official AWS SDK, unmodified, one object per session.

Every way in which a session can go is an outcome (:class:`Part`, :class:`Ended`, :class:`Failed`, :class:`Silence`),
never an exception out of the SDK.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
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

from emulator import credentials

__all__ = ["Account", "Client", "Ended", "Failed", "Note", "Part", "Session", "Silence"]

_OPEN_TIMEOUT_S = 15.0
_CLOSE_TIMEOUT_S = 3.0
_DETAILS = ("original_status_code", "original_message", "log_stream_arn")


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
    detail: Mapping[str, object] = field(default_factory=dict, compare=False)
    """Other members of the SDK's exception that were set: ``original_status_code``, ``log_stream_arn``, ..."""

    @property
    def without_close_frame(self) -> bool:
        """Whether the container's connection ended without a Close frame."""
        return self.code == "1006"

    def __str__(self) -> str:
        code = f" {self.code}" if self.code else ""
        return f"{self.kind}{code}: {self.message}"


@dataclass(frozen=True, slots=True)
class Silence:
    """Nothing came for ``seconds``; or nothing but ``others``, messages that belong to no answer."""

    seconds: float
    others: int = 0

    def __str__(self) -> str:
        if self.others:
            messages = "a message that belongs" if self.others == 1 else f"{self.others} messages that belong"
            return f"nothing but {messages} to no answer for {self.seconds:.1f} s"
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
        self.variant: str | None = None
        """Production variant that answers, as the response says."""
        self.opened: float | None = None
        """Seconds until the response's headers had come, None if they never did."""
        self.sent: list[Part] = []
        self.heard: list[Part] = []
        self.input_ended: float | None = None
        """When the client ended its input, on the session's clock."""
        self.notes: list[Note] = []
        self.witness: Callable[[Session], None] | None = None
        """Is told once, when the session has been closed."""

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
        session.opened = session.now
        session.request_id = output.response_metadata.request_id
        session.variant = output.invoked_production_variant
        session._reader = asyncio.create_task(session._read(receiver))
        return session

    async def _read(self, receiver: Any) -> None:
        # the only reader: a receive() that is cancelled in flight corrupts the HTTP/2 stream
        try:
            while (event := await receiver.receive()) is not None:
                if isinstance(event, ResponseStreamEventPayloadPart):
                    value = event.value
                    part = Part(self.now, value.bytes_ or b"", value.data_type, value.completion_state)
                    self.heard.append(part)
                    self._queue.put_nowait(part)
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
        detail = {name: value for name in _DETAILS if (value := getattr(error, name, None)) is not None}
        return Failed(self.now, type(error).__name__, code, message, detail)

    def _finish(self, outcome: Ended | Failed) -> None:
        self.over = outcome
        self.note(str(outcome))
        self._queue.put_nowait(outcome)

    async def send(self, data: bytes, data_type: str | None = None, completion_state: str | None = None) -> None:
        """Send one part. After the end of the session it is dropped: the outcome is already known."""
        if self.over is not None or self._stream is None:
            return
        self.sent.append(Part(self.now, data, data_type, completion_state))
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
                self.input_ended = self.now
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
        if self.witness is not None:
            witness, self.witness = self.witness, None
            witness(self)


@dataclass(frozen=True, slots=True)
class Account:
    """Whose requests they are, and the region that they are signed for."""

    region: str = credentials.REGION
    access_key: str = credentials.ACCESS_KEY_ID
    secret_key: str = field(default=credentials.SECRET_ACCESS_KEY, repr=False)
    token: str | None = field(default=None, repr=False)


class Client:
    """The SDK's client, pointed at an emulator or at AWS. ``witness`` is told of every session that is over."""

    def __init__(self, sdk: AsyncSageMakerRuntimeHTTP2Client, witness: Callable[[Session], None] | None = None) -> None:
        self._sdk = sdk
        self._witness = witness

    @classmethod
    @asynccontextmanager
    async def connect(
        cls, url: str, account: Account | None = None, witness: Callable[[Session], None] | None = None
    ) -> AsyncIterator["Client"]:
        """Make a client for the endpoint URL; without an account it is the emulator's own.

        ``SSL_CERT_FILE`` must already name the CA bundle, where the server's authority is a private one.
        """
        asyncio.get_running_loop().set_exception_handler(_without_crt_noise)
        account = account or Account()
        config = await AsyncSageMakerRuntimeHTTP2Config.resolve(
            endpoint_uri=url,
            region=account.region,
            aws_access_key_id=account.access_key,
            aws_secret_access_key=account.secret_key,
            aws_session_token=account.token,
            max_attempts=1,
            transport=AWSCRTHTTPClient(),
        )
        async with AsyncSageMakerRuntimeHTTP2Client(config=config) as sdk:
            yield cls(sdk, witness)

    async def open(
        self, endpoint: str, path: str | None = None, query: str | None = None, variant: str | None = None
    ) -> Session:
        """Open one session. If that fails, the first ``receive()`` says how."""
        request = InvokeEndpointWithBidirectionalStreamInput(
            endpoint_name=endpoint, model_invocation_path=path, model_query_string=query, target_variant=variant
        )
        session = await Session.open(self._sdk, request)
        session.witness = self._witness
        return session
