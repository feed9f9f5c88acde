"""The HTTP/1.1 server on its own: what becomes of an answer that its client takes slowly."""

import asyncio
import socket

from emulator.http1.server import Http1Connections, Http1Exchange

BODY = bytes(80_000)


def small_socket(option: int) -> socket.socket:
    """Return a socket in which next to nothing can wait."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, option, 4096)
    made.setblocking(False)
    return made


async def test_the_tail_of_the_last_answer_waits_for_a_slow_client() -> None:
    async def answer(exchange: Http1Exchange) -> None:
        await exchange.start(200, [("content-length", str(len(BODY))), ("connection", "close")])
        await exchange.send(BODY)
        exchange.end()

    loop = asyncio.get_running_loop()
    connections = Http1Connections(answer)
    listening = small_socket(socket.SO_SNDBUF)
    listening.bind(("127.0.0.1", 0))
    server = await loop.create_server(connections.protocol, sock=listening)
    async with asyncio.timeout(30), server:
        with small_socket(socket.SO_RCVBUF) as client:
            await loop.sock_connect(client, listening.getsockname())
            await loop.sock_sendall(client, b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            got = b""
            while data := await loop.sock_recv(client, 50_000):
                got += data
                await asyncio.sleep(0.3)  # a slow client is what this is about
        await connections.shut_down()
    assert got.endswith(b"\r\n\r\n" + BODY)
