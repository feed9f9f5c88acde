"""A container for HTTP/1.1 invocations: a scripted server that sees the raw request and writes raw bytes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

__all__ = ["HttpContainer", "Script", "Seen", "chunk", "http_container", "reply"]


@dataclass(frozen=True)
class Seen:
    """One request as the container saw it."""

    line: str
    headers: dict[str, str]
    body: bytes
    reader: asyncio.StreamReader

    async def client_gone(self) -> None:
        await self.reader.read()


Script = Callable[[Seen, asyncio.StreamWriter], Awaitable[None]]


class HttpContainer:
    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.url = ""


def reply(status: str, body: bytes, *headers: str) -> bytes:
    head = "".join(f"{header}\r\n" for header in headers)
    return f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n{head}\r\n".encode() + body


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


@contextlib.asynccontextmanager
async def http_container(script: Script) -> AsyncIterator[HttpContainer]:
    container = HttpContainer()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {
                name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)
            }
            seen = Seen(head[0], headers, await reader.readexactly(int(headers.get("content-length", "0"))), reader)
            container.seen.append(seen)
            await script(seen, writer)
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        container.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield container
        server.close()
