"""One bidirectional stream to a SageMaker endpoint, over the official SDK: the only module that knows it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import boto3
from aws_sdk_sagemaker_runtime_http2.client import AsyncSageMakerRuntimeHTTP2Client
from aws_sdk_sagemaker_runtime_http2.config import AsyncSageMakerRuntimeHTTP2Config
from aws_sdk_sagemaker_runtime_http2.models import (
    InvokeEndpointWithBidirectionalStreamInput,
    ModelError,
    RequestPayloadPart,
    RequestStreamEventPayloadPart,
    ResponseStreamEventPayloadPart,
)
from smithy_aws_core.identity import AWSCredentialsIdentity, AWSIdentityProperties
from smithy_core.aio.interfaces.identity import IdentityResolver

from container.agent import address
from container.agent.speech_errors import SpeechError
from container.agent.transport import Transport

__all__ = ["Connection", "Part", "service_url"]

_END_TIMEOUT_S = 3.0
"""A stream that has gone already may not answer any more."""
_PATIENCE_S = 0.5
"""How long a stream that nobody wants any more may take to be opened."""
_CONNECT_TIMEOUT_S = 12.0
"""The CRT gives up on TLS after 10 s."""


@dataclass(frozen=True, slots=True)
class Part:
    """One payload from the container; `text` where its data type is UTF8."""

    data: bytes
    text: bool


class _Boto3Credentials(IdentityResolver[AWSCredentialsIdentity, AWSIdentityProperties]):
    """The credentials that boto3 finds, which knows more places than the SDK's own resolvers, and renews them."""

    async def get_identity(self, *, properties: AWSIdentityProperties) -> AWSCredentialsIdentity:
        del properties
        found = await asyncio.to_thread(_session().get_credentials)
        if found is None:
            raise SpeechError(
                "no_credentials", "no AWS credentials were found; set a role, a profile or AWS_ACCESS_KEY_ID"
            )
        frozen = await asyncio.to_thread(found.get_frozen_credentials)
        return AWSCredentialsIdentity(
            access_key_id=frozen.access_key, secret_access_key=frozen.secret_key, session_token=frozen.token
        )


@cache
def _session() -> boto3.Session:
    return boto3.Session()


def _without_crt_noise(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Drop one message: the CRT's writer finds its stream completed, which the reader reports.

    Nobody outside the SDK can await that task (awscrt/aio/http.py, `_set_request_body_generator`).
    """
    if "AWS_ERROR_HTTP_STREAM_HAS_COMPLETED" not in str(context.get("exception")):
        loop.default_exception_handler(context)


Later = Callable[[Coroutine[Any, Any, None]], object]
"""Takes work that nobody need wait for now, and sees to it that it is done."""


class _Opening:
    """A stream that is being opened."""

    def __init__(self, endpoint: str, region: str) -> None:
        self._endpoint = endpoint
        self._region = region
        self._sdk: AsyncSageMakerRuntimeHTTP2Client | None = None
        self._stream: Any = None
        self._connected = asyncio.Event()

    async def run(self) -> "Connection":
        """Open it."""
        config = await AsyncSageMakerRuntimeHTTP2Config.resolve(
            region=self._region,
            aws_credentials_identity_resolver=_Boto3Credentials(),
            max_attempts=1,
            transport=await asyncio.to_thread(Transport, connected=self._connected),  # reads all authorities: 40 ms
        )
        if config.endpoint_uri is None:
            config.endpoint_uri = service_url(self._region)
        elif isinstance(config.endpoint_uri, str) and (wrong := address.what_is_wrong(config.endpoint_uri)):
            raise SpeechError(
                "not_configured",
                f"the address of the speech service {wrong}; it comes from AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME_HTTP2, "
                "AWS_ENDPOINT_URL or the AWS profile",
            )
        self._sdk = AsyncSageMakerRuntimeHTTP2Client(config=config)
        self._stream = await self._sdk.invoke_endpoint_with_bidirectional_stream(
            InvokeEndpointWithBidirectionalStreamInput(endpoint_name=self._endpoint)
        )
        _, receiver = await self._stream.await_output()
        return Connection(self._sdk, self._stream, receiver)

    async def give_up(self, running: "asyncio.Task[Connection]") -> None:
        """Let go of it, whether it failed or nobody wants it any more."""
        await asyncio.wait([running], timeout=_PATIENCE_S)  # mostly it is there at once, and can be closed in order
        # not before it is connected: tasks of the SDK and threads of the CRT complain about what is taken from them
        connected = asyncio.create_task(self._connected.wait(), name="speech-connected")
        await asyncio.wait([running, connected], timeout=_CONNECT_TIMEOUT_S, return_when=asyncio.FIRST_COMPLETED)
        connected.cancel()
        running.cancel()
        await asyncio.gather(running, connected, return_exceptions=True)
        ends = [] if self._stream is None else [self._stream.input_stream.close()]
        await asyncio.gather(*map(_quietly, ends if self._sdk is None else [*ends, self._sdk.close()]))


class Connection:
    """One stream with an HTTP/2 connection of its own, so that ending it ends the container's work for certain."""

    def __init__(self, sdk: AsyncSageMakerRuntimeHTTP2Client, stream: Any, receiver: Any) -> None:
        self._sdk = sdk
        self._stream = stream
        self._receiver = receiver

    @classmethod
    async def open(cls, endpoint: str, region: str, later: Later) -> "Connection":
        """Open a stream to the endpoint; the URL is AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME_HTTP2 or the region's.

        Raises SpeechError where it is refused; it waits for as long as the service does. What is left to be closed of a
        stream that was not opened takes seconds: it is handed to `later`.
        """
        loop = asyncio.get_running_loop()
        if loop.get_exception_handler() is None:
            loop.set_exception_handler(_without_crt_noise)
        opening = _Opening(endpoint, region)
        running = asyncio.create_task(opening.run(), name="speech-opening")
        try:
            return await asyncio.shield(running)
        except BaseException as error:
            later(opening.give_up(running))
            if isinstance(error, Exception):
                raise _refusal(endpoint, error) from error
            raise

    async def send(self, data: bytes) -> None:
        """Send one message, as a text frame. Waits while the container does not read."""
        part = RequestPayloadPart(bytes_=data, data_type="UTF8")
        await self._stream.input_stream.send(RequestStreamEventPayloadPart(value=part))

    async def parts(self) -> AsyncIterator[Part]:
        """Yield what the container sends, to the end of the stream. Raises SpeechError where it breaks off.

        To be read by one task only, which is not to be cancelled before :meth:`close`.
        """
        try:
            while (event := await self._receiver.receive()) is not None:
                if isinstance(event, ResponseStreamEventPayloadPart):
                    part = event.value
                    yield Part(part.bytes_ or b"", part.data_type == "UTF8")
        except Exception as error:
            raise _loss(error) from error

    async def end_input(self) -> None:
        """End our side of the stream, as a client does that has read everything."""
        await _quietly(self._stream.input_stream.close())

    async def close(self) -> None:
        """Let go of stream and connection, in whatever state they are."""
        await self.end_input()
        await _quietly(self._sdk.close())


def service_url(region: str) -> str:
    """Return the address of bidirectional streams: the SDK leaves the port out, and SageMaker has them on 8443."""
    suffix = "com.cn" if region.startswith("cn-") else "com"
    return f"https://runtime.sagemaker.{region}.amazonaws.{suffix}:8443"


async def _quietly(work: Any) -> None:
    with suppress(Exception):  # closing what has gone already is not an event
        async with asyncio.timeout(_END_TIMEOUT_S):
            await work


def _refusal(endpoint: str, error: Exception) -> SpeechError:
    if isinstance(error, SpeechError):
        return error
    message = getattr(error, "message", None) or str(error) or type(error).__name__
    if isinstance(error, ModelError):
        return SpeechError(
            "container_unreachable", f"the container of endpoint {endpoint!r} refused the session: {message}"
        )
    return SpeechError("endpoint_unreachable", f"endpoint {endpoint!r} did not open a session: {message}")


def _loss(error: Exception) -> SpeechError:
    code = getattr(error, "error_code", None)
    message = getattr(error, "message", None) or str(error) or type(error).__name__
    return SpeechError("session_lost", f"the speech session broke off: {f'{code} ' if code else ''}{message}")
