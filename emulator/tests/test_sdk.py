"""The unmodified AWS SDK for Python as the client."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aws_sdk_sagemaker_runtime_http2.client import AsyncSageMakerRuntimeHTTP2Client
from aws_sdk_sagemaker_runtime_http2.config import AsyncSageMakerRuntimeHTTP2Config
from aws_sdk_sagemaker_runtime_http2.models import (
    InternalStreamFailure,
    InvokeEndpointWithBidirectionalStreamInput,
    ModelError,
    ModelStreamError,
    RequestPayloadPart,
    RequestStreamEventPayloadPart,
    ResponseStreamEventPayloadPart,
)
from aws_sdk_signers.signers import AsyncEventSigner
from smithy_core.exceptions import CallError
from smithy_http.aio.crt import AWSCRTHTTPClient
from websockets.asyncio.server import ServerConnection

from emulator import Emulator, Endpoint, Switches
from emulator.tests.containers import container


@contextlib.contextmanager
def in_front_of(
    url: str, state: Path, monkeypatch: pytest.MonkeyPatch, switches: Switches | None = None
) -> Iterator[Emulator]:
    with Emulator({"ep": Endpoint(url)}, switches=switches, state_directory=state) as emulator:
        # exactly the variables that 'emulator up' prints, nothing in code
        for name, value in emulator.environment.items():
            monkeypatch.setenv(name, value)
        yield emulator


@contextlib.asynccontextmanager
async def client() -> AsyncIterator[AsyncSageMakerRuntimeHTTP2Client]:
    config = await AsyncSageMakerRuntimeHTTP2Config.resolve(transport=AWSCRTHTTPClient())
    made = AsyncSageMakerRuntimeHTTP2Client(config=config)
    try:
        yield made
    finally:
        await made.close()


def part(data: bytes, data_type: str | None = None) -> RequestStreamEventPayloadPart:
    return RequestStreamEventPayloadPart(value=RequestPayloadPart(bytes_=data, data_type=data_type))


async def test_a_conversation_with_nothing_but_environment_variables(
    state_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with asyncio.timeout(20), container() as target:
        with in_front_of(target.url, state_directory, monkeypatch) as emulator:
            async with client() as sdk:
                stream = await sdk.invoke_endpoint_with_bidirectional_stream(
                    InvokeEndpointWithBidirectionalStreamInput(endpoint_name="ep")
                )
                head, output = await stream.await_output()
                assert head.invoked_production_variant == "AllTraffic"
                for data, kind, expected in (
                    (b'{"text": "hi"}', None, "BINARY"),
                    ("é".encode(), "UTF8", "UTF8"),
                    (bytes(100_000), "BINARY", "BINARY"),
                ):
                    await stream.input_stream.send(part(data, kind))
                    event = await output.receive()
                    assert isinstance(event, ResponseStreamEventPayloadPart)
                    assert (event.value.bytes_, event.value.data_type) == (data, expected)
                await stream.input_stream.close()
                assert await output.receive() is None
            assert await target.close_seen() == (1000, "")
            assert emulator.trace(head.response_metadata.request_id or "") is emulator.traces[-1]


async def test_a_dropped_connection_raises_model_stream_error_and_close_returns(
    state_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def drop(connection: ServerConnection) -> None:
        await connection.recv()
        connection.transport.abort()

    async with asyncio.timeout(20), container(drop) as target:
        with in_front_of(target.url, state_directory, monkeypatch):
            async with client() as sdk:
                stream = await sdk.invoke_endpoint_with_bidirectional_stream(
                    InvokeEndpointWithBidirectionalStreamInput(endpoint_name="ep")
                )
                _, output = await stream.await_output()
                await stream.input_stream.send(part(b"x"))
                with pytest.raises(ModelStreamError) as caught:
                    await output.receive()
                assert caught.value.error_code == "1006"
                assert "without a Close frame" in caught.value.message
                await stream.input_stream.close()


async def test_a_container_that_is_not_there_raises_model_error_at_once(
    state_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with in_front_of("http://127.0.0.1:9", state_directory, monkeypatch):
        async with asyncio.timeout(20), client() as sdk:
            stream = await sdk.invoke_endpoint_with_bidirectional_stream(
                InvokeEndpointWithBidirectionalStreamInput(endpoint_name="ep")
            )
            with pytest.raises(ModelError) as caught:
                await stream.await_output()
            assert caught.value.original_status_code == 424
            assert caught.value.error_code == "INTERNAL_FAILURE_FROM_MODEL"
            await stream.input_stream.close()


async def test_a_wrong_secret_is_refused_with_403(state_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with asyncio.timeout(20), container() as target:
        with in_front_of(target.url, state_directory, monkeypatch) as emulator:
            monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
            async with client() as sdk:
                stream = await sdk.invoke_endpoint_with_bidirectional_stream(
                    InvokeEndpointWithBidirectionalStreamInput(endpoint_name="ep")
                )
                with pytest.raises(CallError, match=r"status: 403.*InvalidSignatureException"):
                    await stream.await_output()
                await stream.input_stream.close()
            assert "403 InvalidSignatureException" in "\n".join(emulator.traces[-1].lines())
            assert target.requests == []


async def test_signatures_can_be_noted_only(state_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with asyncio.timeout(20), container() as target:
        with in_front_of(target.url, state_directory, monkeypatch, Switches(signatures="log")) as emulator:
            monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAMYOWN")
            async with client() as sdk:
                stream = await sdk.invoke_endpoint_with_bidirectional_stream(
                    InvokeEndpointWithBidirectionalStreamInput(endpoint_name="ep")
                )
                _, output = await stream.await_output()
                await stream.input_stream.send(part(b"x"))
                assert await output.receive() is not None
                await stream.input_stream.close()
                assert await output.receive() is None
            assert "'AKIAMYOWN' is unknown" in "\n".join(emulator.traces[-1].lines())


async def test_an_event_that_was_changed_on_its_way_ends_the_stream(
    state_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign = AsyncEventSigner.sign

    async def tamper(self: AsyncEventSigner, **arguments: Any) -> Any:
        signed: Any = await sign(self, **arguments)
        return replace(signed, payload=replace(arguments["event"], payload=b"tampered").encode())

    monkeypatch.setattr(AsyncEventSigner, "sign", tamper)
    async with asyncio.timeout(20), container() as target:
        with in_front_of(target.url, state_directory, monkeypatch):
            async with client() as sdk:
                stream = await sdk.invoke_endpoint_with_bidirectional_stream(
                    InvokeEndpointWithBidirectionalStreamInput(endpoint_name="ep")
                )
                _, output = await stream.await_output()
                await stream.input_stream.send(part(b"x"))
                with pytest.raises(InternalStreamFailure, match="signature of an event does not match"):
                    await output.receive()
                await stream.input_stream.close()
            assert target.frames == ["CLOSE b'\\x03\\xe8'"]  # 1000, and nothing of the event
