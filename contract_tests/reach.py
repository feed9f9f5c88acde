"""How a container is reached, and what can be seen of it on the way: the one thing in which targets differ.

Checks never ask which target it is. One that needs more than a client of SageMaker has says so by naming a
:class:`Capability`.
"""

import asyncio
import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

import httpx

from contract_tests.client import Client, Session
from contract_tests.plain import plain_http
from emulator import Emulator, SessionTrace
from emulator.running import Running

__all__ = ["Capability", "Emulated", "HttpReply", "Ping", "Reach", "Starter"]


type Starter = Callable[[], AbstractContextManager[Running]]


class Capability(StrEnum):
    """What only some targets offer; the value completes the sentence "it needs ..."."""

    PING = "to ask the container's /ping itself"
    DIAL = "to dial the container's WebSocket itself"
    FRAMES = "to see the frames, Pings and Pongs between SageMaker and the container"
    START = "to start and stop a container of its own"


@dataclass(frozen=True, slots=True)
class Ping:
    """One answer to ``/ping``: status, None if none came in time; the time it took in seconds.

    ``seen`` is False where it could not be asked: then it is neither good nor bad.
    """

    status: int | None
    seconds: float
    problem: str = ""
    seen: bool = True
    headers: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    """Of the answer; names in lower case."""

    @property
    def silent(self) -> bool:
        """Whether it was asked and gave no answer in time."""
        return self.seen and self.status is None

    @property
    def bad(self) -> bool:
        """Whether it was asked and did not answer 200."""
        return self.seen and self.status != httpx.codes.OK

    def __str__(self) -> str:
        return f"{self.problem or f'HTTP {self.status}'} after {self.seconds:.2f} s" if self.seen else self.problem


@dataclass(frozen=True, slots=True)
class HttpReply:
    """The container's answer to ``POST /invocations``: ``status`` None if none came; ``kind`` its content type.

    ``problem`` says how it ended, empty for a regular end. ``head_s`` and ``seconds``: when status and end came.
    """

    status: int | None
    kind: str = ""
    body: bytes = field(default=b"", repr=False)
    problem: str = ""
    head_s: float = 0.0
    seconds: float = 0.0

    @property
    def is_json(self) -> bool:
        """Whether the body is JSON."""
        try:
            json.loads(self.body)
        except ValueError:
            return False
        return True

    def __str__(self) -> str:
        if self.status is None:
            return self.problem
        size = f"{len(self.body)} bytes" if self.body else "an empty body"
        return f"HTTP {self.status} with {size} ({self.kind or 'no content type'})" + (
            f", broken off: {self.problem}" if self.problem else ""
        )


class Reach(ABC):
    """One way to a container. ``endpoint`` is its name at SageMaker or at what stands in for it."""

    capabilities: frozenset[Capability] = frozenset()
    without: ClassVar[str] = "which this target does not offer"
    """Completes the sentence "it needs ..., ..." for a capability that is missing."""
    endpoint: str
    own: Running | None = None
    """The container itself, where it was started by this run: its output is known then."""

    @property
    @abstractmethod
    def url(self) -> str:
        """The container's own base address; only where ``DIAL`` or ``PING`` is offered."""

    @abstractmethod
    def client(self) -> AbstractAsyncContextManager[Client]:
        """Hold an SDK client open; it belongs to the running event loop."""

    def trace(self, session: Session) -> SessionTrace | None:  # noqa: ARG002 - nothing to be seen from outside
        """Return the wire log of a session, None where there is none."""
        return None

    async def ping(self, method: str, timeout: float) -> Ping:  # noqa: ARG002, ASYNC109 - as above
        """Ask ``/ping`` once; ``timeout`` in seconds."""
        return Ping(None, 0.0, "/ping cannot be asked here", seen=False)

    def start(self) -> AbstractContextManager[Running]:
        """Start another container like this one, without waiting for it; only where ``START`` is offered."""
        raise NotImplementedError(Capability.START)

    @abstractmethod
    async def post(self, body: str, content_type: str, within: float) -> HttpReply:
        """Send one ``POST /invocations``; no end within ``within`` seconds is a problem of the reply."""


class Emulated(Reach):
    """An emulator in front of a container whose address is known: everything can be seen."""

    def __init__(
        self, emulator: Emulator, endpoint: str, url: str, own: Running | None = None, starter: Starter | None = None
    ) -> None:
        """``starter`` starts another one like it, without waiting for its ``/ping``."""
        self.emulator = emulator
        self.endpoint = endpoint
        self._url = url
        self.own = own
        self._starter = starter
        self.capabilities = frozenset(Capability) - (frozenset() if starter else {Capability.START})

    @property
    def url(self) -> str:
        """The container's own base address."""
        return self._url

    def client(self) -> AbstractAsyncContextManager[Client]:
        """Hold an SDK client of the emulator open."""
        return Client.connect(self.emulator.url)

    def start(self) -> AbstractContextManager[Running]:
        """Start another container like this one."""
        return super().start() if self._starter is None else self._starter()

    def trace(self, session: Session) -> SessionTrace | None:
        """Return what the emulator wrote down about the session."""
        return None if session.request_id is None else self.emulator.trace(session.request_id)

    async def ping(self, method: str, timeout: float) -> Ping:  # noqa: ASYNC109 - handed to httpx
        """Ask ``/ping`` once, past the emulator, as the platform's health check does."""
        began = time.monotonic()
        try:
            async with plain_http() as http, asyncio.timeout(timeout):
                reply = await http.request(method, f"{self.url}/ping", timeout=None)
        except TimeoutError:
            return Ping(None, time.monotonic() - began, "no answer")
        except httpx.HTTPError as error:
            return Ping(None, time.monotonic() - began, f"{type(error).__name__}: {error}")
        return Ping(reply.status_code, time.monotonic() - began, headers=dict(reply.headers))

    async def post(self, body: str, content_type: str, within: float) -> HttpReply:
        """Post to the container itself."""
        began = time.monotonic()
        status, kind, received, problem, head = None, "", bytearray(), "", 0.0
        headers = {"Content-Type": content_type}
        try:
            async with asyncio.timeout(within), plain_http() as http:
                request = http.stream("POST", f"{self.url}/invocations", content=body, headers=headers, timeout=None)
                async with request as response:
                    status, kind = response.status_code, response.headers.get("content-type", "")
                    head = time.monotonic() - began
                    async for chunk in response.aiter_bytes():
                        received += chunk
        except TimeoutError:
            problem = f"no end within {within:.0f} s"
        except httpx.HTTPError as error:
            problem = str(error) or type(error).__name__
        return HttpReply(status, kind, bytes(received), problem, head, time.monotonic() - began)
