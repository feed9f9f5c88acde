"""Clients that do not trust the emulator: the log says so, and what to set."""

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from emulator import Server


@pytest.fixture
async def said(caplog: pytest.LogCaptureFixture) -> AsyncIterator[Callable[[], Awaitable[str]]]:
    """Waits for a line in the log and returns it."""
    lines = asyncio.Queue[str]()
    handler = logging.Handler()
    handler.emit = lambda record: lines.put_nowait(record.getMessage())  # type: ignore[method-assign]

    async def line() -> str:
        async with asyncio.timeout(10):
            return await lines.get()

    caplog.set_level(logging.WARNING)
    logging.getLogger("emulator").addHandler(handler)
    yield line
    logging.getLogger("emulator").removeHandler(handler)


def connect_as_boto3_does(server: Server) -> None:
    """Connect with the authorities of the system alone."""
    port = int(server.url.rsplit(":", 1)[1])
    with socket.create_connection(("127.0.0.1", port)) as plain:
        ssl.create_default_context().wrap_socket(plain, server_hostname="localhost").close()


async def connect(server: Server, context: ssl.SSLContext) -> None:
    """Connect and leave without a word."""
    port = int(server.url.rsplit(":", 1)[1])
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    writer.transport.abort()


async def test_a_client_that_refuses_the_certificate_is_told_by_variable(
    state_directory: Path, said: Callable[[], Awaitable[str]]
) -> None:
    async with Server(state_directory=state_directory) as server:
        with pytest.raises(ssl.SSLCertVerificationError):
            await asyncio.to_thread(connect_as_boto3_does, server)
        line = await said()
        files = server.certificates
        assert "TLSV1_ALERT_UNKNOWN_CA" in line
        assert f"SSL_CERT_FILE={files.bundle} (Python SDK for HTTP/2)" in line
        assert f"AWS_CA_BUNDLE={files.bundle} (boto3, AWS CLI)" in line
        assert f"NODE_EXTRA_CA_CERTS={files.ca} (JavaScript)" in line


async def test_a_client_that_refuses_the_certificate_behind_the_handshake_is_told_too(
    state_directory: Path, said: Callable[[], Awaitable[str]]
) -> None:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # as Node.js does, which looks later
    context.set_alpn_protocols(["h2"])
    async with Server(state_directory=state_directory) as server:
        await connect(server, context)
        assert f"NODE_EXTRA_CA_CERTS={server.certificates.ca}" in await said()


async def test_plain_http_to_the_tls_port_is_called_so(
    state_directory: Path, said: Callable[[], Awaitable[str]]
) -> None:
    async with Server(state_directory=state_directory) as server:
        port = int(server.url.rsplit(":", 1)[1])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /ping HTTP/1.1\r\nhost: x\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            await reader.read()
        writer.close()
        assert "the URL begins with https://" in await said()


async def test_clients_that_trust_it_leave_no_line(state_directory: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with Server(state_directory=state_directory) as server:
        port = int(server.url.rsplit(":", 1)[1])
        context = ssl.create_default_context(cafile=str(server.certificates.ca))
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
        writer.write(b"GET nothing HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        await reader.read()
        writer.close()
        context.set_alpn_protocols(["h2"])
        _, open_until_the_end = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    open_until_the_end.close()
    assert caplog.text == ""
