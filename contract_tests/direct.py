"""Dialling the container itself, past the emulator: for handshakes and ends that SageMaker's side does not make."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.extensions.permessage_deflate import ClientPerMessageDeflateFactory
from websockets.typing import Origin

from contract_tests.bench import Bench
from contract_tests.client import Ended, Failed, Part, Session
from contract_tests.conversation import Conversation

__all__ = ["DirectSession", "dialled"]

_DEFAULT_PATH = "invocations-bidirectional-stream"
_OPEN_TIMEOUT_S = 10.0
_CLOSE_TIMEOUT_S = 3.0
_EXCERPT = 100
_REFUSED = "upgrade refused"


class DirectSession(Session):
    """One WebSocket to the container, with the same outcomes as a session through SageMaker."""

    def __init__(self) -> None:
        super().__init__()
        self._socket: ClientConnection | None = None
        self.status: int | None = None
        """HTTP status of the answer to the upgrade, 101 if it was accepted, None if there was none."""
        self.compressed = False
        """Whether permessage-deflate was agreed on."""
        self.server = ""
        """What the answer to the upgrade calls the server, for example ``uvicorn`` or ``hypercorn-h11``."""

    @property
    def close_code(self) -> int | None:
        """Code of the container's Close frame, None where none came."""
        frame = self._socket.protocol.close_rcvd if self._socket is not None else None
        return None if frame is None else int(frame.code)

    @property
    def refused(self) -> bool:
        """Whether the container did not accept the WebSocket."""
        return isinstance(self.over, Failed) and self.over.kind == _REFUSED

    @classmethod
    async def dial(cls, url: str, headers: Mapping[str, str], origin: str | None, *, deflate: bool) -> "DirectSession":
        """Open ``ws://host:port/path``. If that fails, the first :meth:`receive` says how."""
        session = cls()
        offer = "permessage-deflate" if deflate else "no extension"
        session.note(f"dials {url} itself: Origin {origin or 'absent'}, {offer}")
        try:
            session._socket = await connect(
                url,
                additional_headers=dict(headers),
                origin=None if origin is None else Origin(origin),
                user_agent_header=None,
                compression=None,
                extensions=[ClientPerMessageDeflateFactory()] if deflate else None,
                proxy=None,
                max_size=None,
                ping_interval=None,
                open_timeout=_OPEN_TIMEOUT_S,
                close_timeout=_CLOSE_TIMEOUT_S,
            )
        except (OSError, InvalidHandshake) as error:  # TimeoutError is an OSError
            if isinstance(error, InvalidStatus):
                session.status = error.response.status_code
            session._finish(Failed(session.now, _REFUSED, None, _refusal(error)))
            return session
        session.status = 101
        session.compressed = bool(session._socket.protocol.extensions)
        if session._socket.response is not None:
            session.server = session._socket.response.headers.get("Server", "")
        session.note("HTTP 101" + (", with permessage-deflate" if session.compressed else ""))
        session._reader = asyncio.create_task(session._take(session._socket))
        return session

    async def _take(self, connection: ClientConnection) -> None:
        quiet = False
        try:
            async for message in connection:
                if isinstance(message, str):
                    self.note(f"gets TEXT: {message[:_EXCERPT]}")
                    self._queue.put_nowait(Part(self.now, message.encode(), "UTF8", "COMPLETE"))
                else:
                    if not quiet:
                        self.note(f"gets BINARY, {len(message)} bytes; more of the same kind is not shown")
                        quiet = True
                    self._queue.put_nowait(Part(self.now, message, "BINARY", "COMPLETE"))
        except ConnectionClosed as closed:
            self._finish(self._closed(closed))
        else:
            self._finish(Ended(self.now))

    def _closed(self, closed: ConnectionClosed) -> Ended | Failed:
        if closed.rcvd is None:
            return Failed(self.now, "connection lost", "1006", "the connection ended without a Close frame")
        return Failed(self.now, "closed", str(int(closed.rcvd.code)), closed.rcvd.reason)

    async def send(self, data: bytes, data_type: str | None = None, completion_state: str | None = None) -> None:  # noqa: ARG002 - the same shape as Session.send
        """Send one message, TEXT where ``data_type`` is ``UTF8``. After the end it is dropped."""
        if self.over is not None or self._socket is None:
            return
        with suppress(ConnectionClosed, TimeoutError):
            async with asyncio.timeout(_CLOSE_TIMEOUT_S):
                await self._socket.send(data, text=data_type == "UTF8")

    async def end_input(self) -> None:
        """Close the WebSocket in order."""
        if self._socket is not None:
            await self._socket.close()

    def reset(self) -> None:
        """Vanish, as a caller does whose network goes: a TCP reset, no Close frame."""
        if self._socket is None:
            return
        self.note("vanishes: TCP reset, no Close frame")
        transport = self._socket.transport
        raw = transport.get_extra_info("socket")
        if raw is not None:  # without it unread data makes the reset all the same
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()


def _refusal(error: Exception) -> str:
    if isinstance(error, InvalidStatus):
        body = bytes(error.response.body or b"")[:_EXCERPT].decode("utf-8", "replace").strip()
        return f"HTTP {error.response.status_code} instead of 101" + (f", saying {body!r}" if body else "")
    if isinstance(error, TimeoutError):
        return f"no answer to the upgrade within {_OPEN_TIMEOUT_S:g} s"
    return f"the connection was dropped during the upgrade ({error})"


@asynccontextmanager
async def dialled(
    bench: Bench,
    *,
    origin: str | None = None,
    headers: Mapping[str, str] | None = None,
    deflate: bool = False,
    query: str | None = None,
    suffix: str = "",
    url: str = "",
) -> AsyncIterator[tuple[Conversation, DirectSession]]:
    """Open a session with the container itself; it is closed afterwards, whatever its end was.

    ``query`` is added to the profile's own, ``suffix`` to its path; ``url`` is the address of another container.
    """
    profile = bench.profile
    target = f"{(url or bench.url).replace('http', 'ws', 1)}/{profile.path or _DEFAULT_PATH}{suffix}"
    asked = "&".join(part for part in (profile.query, query) if part)
    session = await DirectSession.dial(f"{target}?{asked}" if asked else target, headers or {}, origin, deflate=deflate)
    kind = bench.baseline.data_type if bench.baseline else "UTF8"
    try:
        yield Conversation(session, profile, bench.patience, kind), session
    finally:
        await session.close()
