"""``aws-sdk-sagemaker-runtime-http2``, every version from 0.1 on. Prints what each endpoint of the stage gave it."""

import asyncio
import os
from typing import Any

from aws_sdk_sagemaker_runtime_http2 import client, config, models
from smithy_http.aio.crt import AWSCRTHTTPClient

from .common import TALK, main, outcome


async def make() -> Any:
    """Return a client, made as the documentation of its version says."""
    if hasattr(config, "AsyncSageMakerRuntimeHTTP2Config"):  # 0.10 and newer: all of it from the environment
        resolved = await config.AsyncSageMakerRuntimeHTTP2Config.resolve(transport=AWSCRTHTTPClient())
        return client.AsyncSageMakerRuntimeHTTP2Client(config=resolved)
    from smithy_aws_core.identity import EnvironmentCredentialsResolver  # noqa: PLC0415  # moved in newer versions

    given = config.Config(
        endpoint_uri=os.environ["AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME_HTTP2"],
        region=os.environ["AWS_REGION"],
        aws_credentials_identity_resolver=EnvironmentCredentialsResolver(),  # type: ignore[no-untyped-call]
    )
    kind = getattr(client, "AsyncSageMakerRuntimeHTTP2Client", None) or client.SageMakerRuntimeHTTP2Client
    return kind(config=given)


async def session(sdk: Any, endpoint: str) -> dict[str, Any]:
    """Say what was said on one stream, and how it ended."""
    stream = await sdk.invoke_endpoint_with_bidirectional_stream(
        models.InvokeEndpointWithBidirectionalStreamInput(endpoint_name=endpoint)
    )
    try:
        _, output = await stream.await_output()
        received: list[Any] = []
        for data, data_type in TALK:
            part = models.RequestPayloadPart(bytes_=data, data_type=data_type)
            await stream.input_stream.send(models.RequestStreamEventPayloadPart(value=part))
            event = await output.receive()
            if not isinstance(event, models.ResponseStreamEventPayloadPart):
                return {"received": received, "end": repr(event)}
            received.append((event.value.bytes_, event.value.data_type))
        await stream.input_stream.close()
        return {"received": received, "end": repr(await output.receive())}
    finally:
        await stream.input_stream.close()


async def run(endpoint: str) -> dict[str, Any]:
    """Hold one session with a client of its own."""
    sdk = await make()
    try:
        return await outcome(session(sdk, endpoint))
    finally:
        if hasattr(sdk, "close"):
            await sdk.close()


asyncio.run(main(run))
