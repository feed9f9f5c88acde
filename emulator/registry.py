"""The endpoints that are served, and who is using them."""

import asyncio
import contextlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import override

from emulator import facts
from emulator.endpoint import Endpoint

__all__ = ["Registry"]


def _check(name: str, endpoint: object) -> None:
    """Refuse at once what would only fail when a client comes."""
    if not isinstance(endpoint, Endpoint):
        raise TypeError(f"endpoint {name!r} is {endpoint!r}, expected is Endpoint({str(endpoint)!r})")
    if not re.fullmatch(facts.text("req.endpoint-name"), name):
        raise ValueError(
            f"{name!r} is no name of an endpoint: letters, digits and inner hyphens, at most 63 characters"
        )


class Registry(Mapping[str, Endpoint]):
    """Endpoints by name. Both fixed ones and those of the control plane are kept here, on one event loop.

    A session keeps a lease on the :class:`Endpoint` that it began with. Replacing the endpoint of a name leaves open
    sessions where they are (fact ``close.update``); :meth:`drained` tells when the last one of the old is over.
    """

    def __init__(self, endpoints: Mapping[str, Endpoint] | None = None) -> None:
        self._endpoints = dict(endpoints or {})
        for name, endpoint in self._endpoints.items():
            _check(name, endpoint)
        self._leases: Counter[int] = Counter()
        self._waiting: dict[int, asyncio.Event] = {}

    @override
    def __getitem__(self, name: str) -> Endpoint:
        return self._endpoints[name]

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._endpoints)

    @override
    def __len__(self) -> int:
        return len(self._endpoints)

    def put(self, name: str, endpoint: Endpoint) -> None:
        """Serve ``endpoint`` under ``name`` from now on."""
        self._endpoints[name] = endpoint

    def remove(self, name: str) -> None:
        """Serve the name no longer; open sessions stay."""
        self._endpoints.pop(name, None)

    @contextlib.contextmanager
    def lease(self, endpoint: Endpoint) -> Iterator[None]:
        """Count a session on ``endpoint``."""
        self._leases[id(endpoint)] += 1
        try:
            yield
        finally:
            self._leases[id(endpoint)] -= 1
            if not self._leases[id(endpoint)]:
                del self._leases[id(endpoint)]
                if (waiting := self._waiting.get(id(endpoint))) is not None:
                    waiting.set()

    async def drained(self, endpoint: Endpoint) -> None:
        """Wait until no session is open on ``endpoint``."""
        if not self._leases[id(endpoint)]:
            return
        waiting = self._waiting.setdefault(id(endpoint), asyncio.Event())
        try:
            await waiting.wait()
        finally:
            self._waiting.pop(id(endpoint), None)
