"""The HTTP/1.1 server on its own: what becomes of an answer that its client takes slowly."""

import asyncio
import socket
import ssl
from pathlib import Path

import pytest

from emulator.certificates import Certificates
from emulator.http1.server import Http1Connections, Http1Exchange


def small_socket(option: int) -> socket.socket:
    """Return a socket in which next to nothing can wait."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, option, 4096)
    made.setblocking(False)
    return made


@pytest.mark.parametrize("tls", [False, True])
async def test_the_tail_of_the_last_answer_waits_for_a_slow_client(state_directory: Path, *, tls: bool) -> None:
    body = bytes(600_000 if tls else 80_000)  # TLS has buffers of its own

    async def answer(exchange: Http1Exchange) -> None:
        await exchange.start(200, [("content-length", str(len(body))), ("connection", "close")])
        await exchange.send(body)
        exchange.end()

    loop = asyncio.get_running_loop()
    connections = Http1Connections(answer)
    listening = small_socket(socket.SO_SNDBUF)
    listening.bind(("127.0.0.1", 0))
    certificates = Certificates.load(state_directory)
    server_tls = certificates.server_context("127.0.0.1") if tls else None
    client_tls = ssl.create_default_context(cafile=str(certificates.ca)) if tls else None
    server = await loop.create_server(connections.protocol, sock=listening, ssl=server_tls)
    async with asyncio.timeout(30), server:
        client = small_socket(socket.SO_RCVBUF)
        await loop.sock_connect(client, listening.getsockname())
        reader, writer = await asyncio.open_connection(
            sock=client, ssl=client_tls, server_hostname="127.0.0.1" if tls else None, limit=4096
        )
        writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        got = b""
        while data := await reader.read(200_000):
            got += data
            await asyncio.sleep(0.3)  # a slow client is what this is about
        writer.close()
        await connections.shut_down()
    assert got.endswith(b"\r\n\r\n" + body)
