"""One request through the emulator: what the service ``client`` of compose.yaml runs. Put your tests in its place."""

import asyncio

from aws_sdk_sagemaker_runtime_http2 import models
from aws_sdk_sagemaker_runtime_http2.client import AsyncSageMakerRuntimeHTTP2Client
from aws_sdk_sagemaker_runtime_http2.config import AsyncSageMakerRuntimeHTTP2Config
from smithy_http.aio.crt import AWSCRTHTTPClient


async def main() -> None:
    """Send a sentence, and print the first part that comes back."""
    config = await AsyncSageMakerRuntimeHTTP2Config.resolve(transport=AWSCRTHTTPClient())
    client = AsyncSageMakerRuntimeHTTP2Client(config=config)
    stream = await client.invoke_endpoint_with_bidirectional_stream(
        models.InvokeEndpointWithBidirectionalStreamInput(endpoint_name="voice")
    )
    _, output = await stream.await_output()
    part = models.RequestPayloadPart(bytes_=b'{"text": "Hello there.", "request_id": "1"}', data_type="UTF8")
    await stream.input_stream.send(models.RequestStreamEventPayloadPart(value=part))
    event = await output.receive()
    print(event.value.data_type, event.value.bytes_[:80])
    await stream.input_stream.close()


asyncio.run(main())
