"""The SDK's HTTP client with flow control: what is not read stays with whoever sends it.

The SDK leaves the windows of HTTP/2 to the CRT, which then takes in everything that comes, however much that is.
"""

import asyncio
from collections.abc import AsyncGenerator
from copy import deepcopy
from typing import Any

from awscrt.aio.http import AIOHttpClientConnectionUnified
from smithy_http.aio.crt import AWSCRTHTTPClient, AWSCRTHTTPResponse

__all__ = ["WINDOW", "Transport"]

WINDOW = 512 * 1024
"""Bytes that may be on their way, ten seconds of audio."""


class _Response(AWSCRTHTTPResponse):
    """A response whose window opens as it is read."""

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the body."""
        async for chunk in super().chunks():
            self._stream.update_window(len(chunk))
            yield chunk


class Transport(AWSCRTHTTPClient):
    """An HTTP client whose streams wait for their reader."""

    def __init__(self, *arguments: Any, connected: asyncio.Event | None = None, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.connected = connected or asyncio.Event()
        """Whether a connection has come about: while one is coming, the CRT must not be left."""

    async def _await_response(self, stream: Any) -> AWSCRTHTTPResponse:
        response = await super()._await_response(stream)
        return _Response(status=response.status, fields=response.fields, stream=stream)

    async def _build_new_connection(self, url: Any) -> AIOHttpClientConnectionUnified:
        """Connect as the SDK does, but manage the window."""
        tls = None
        if url.scheme == "https":
            tls = self._tls_ctx.new_connection_options()
            tls.set_server_name(url.host)
            tls.set_alpn_list(["h2", "http/1.1"])
        connection = await AIOHttpClientConnectionUnified.new(
            bootstrap=self._client_bootstrap,
            host_name=url.host,
            port=url.port or (self._HTTP_PORT if tls is None else self._HTTPS_PORT),
            socket_options=self._socket_options,
            tls_connection_options=tls,
            manual_window_management=True,
            initial_window_size=WINDOW,
        )
        self.connected.set()
        return connection

    def __deepcopy__(self, memo: Any) -> "Transport":
        """Copy it as the SDK does, which uses a copy: connections are not shared."""
        config = deepcopy(self._config, memo)
        return Transport(eventloop=self._eventloop, client_config=config, connected=self.connected)
