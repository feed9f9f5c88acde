"""The endpoints that are served, which variant a request gets, and who is using them."""

import asyncio
import contextlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from random import Random
from typing import override

from emulator import facts
from emulator.endpoint import Endpoint, Variant
from emulator.wire.request import unknown_endpoint, unknown_variant

__all__ = ["ACCOUNT", "NoVariantError", "Registry"]

ACCOUNT = "000000000000"


class NoVariantError(LookupError):
    """Raised when an endpoint or variant that is meant is not there, or it is not clear which one is meant."""

    def __init__(self, message: str, *, unclear: bool = False) -> None:
        super().__init__(message)
        self.unclear = unclear


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

    A session keeps a lease on the container that it began with. Replacing the endpoint of a name leaves open sessions
    where they are (fact ``close.update``); :meth:`drained` tells when the last one on a container is over.

    ``seed`` is that of the choice between variants: the same requests in the same order get the same variants.
    """

    def __init__(self, endpoints: Mapping[str, Endpoint] | None = None, seed: int = 0) -> None:
        self._seed = seed
        self._draws: dict[str, Random] = {}
        self._endpoints = dict(endpoints or {})
        for name, endpoint in self._endpoints.items():
            _check(name, endpoint)
        self._leases: Counter[str] = Counter()
        self._waiting: dict[str, asyncio.Event] = {}

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

    def variant(self, name: str, variant: str | None = None) -> Variant:
        """Return the variant that is meant; None is enough where there is one.

        Raises:
            NoVariantError: there is none such, or more than one.
        """
        endpoint = self._endpoints.get(name)
        if endpoint is None:
            raise NoVariantError(f"No endpoint {name} is served; there are: {', '.join(self._endpoints) or 'none'}.")
        names = [each.name for each in endpoint.variants]
        if variant is None and len(names) > 1:
            raise NoVariantError(f"Endpoint {name} has variants {', '.join(names)}: say which.", unclear=True)
        if variant is not None and variant not in names:
            raise NoVariantError(f"Endpoint {name} has no variant {variant}; it has {', '.join(names)}.")
        return endpoint.find(variant or names[0])

    def route(self, name: str, variant: str | None, missing: int) -> Variant:
        """Return the variant that a request gets: the one that it asks for, else one by weight.

        ``missing`` is the HTTP status for an endpoint that is not there.

        Raises:
            RequestError: there is no such endpoint or variant.
        """
        endpoint = self._endpoints.get(name)
        if endpoint is None:
            raise unknown_endpoint(name, ACCOUNT, self._endpoints, missing)
        if variant is None:
            # one for each endpoint: what happens on one must not change what another gets
            draws = self._draws.setdefault(name, Random(f"{self._seed}/{name}"))  # noqa: S311  # repeatable, not secret
            return endpoint.draw(draws.random())
        try:
            return endpoint.find(variant)
        except LookupError:
            raise unknown_variant(variant, name, [each.name for each in endpoint.variants]) from None

    @contextlib.contextmanager
    def lease(self, container: str) -> Iterator[None]:
        """Count a session on the container at an address."""
        self._leases[container] += 1
        try:
            yield
        finally:
            self._leases[container] -= 1
            if not self._leases[container]:
                del self._leases[container]
                if (waiting := self._waiting.get(container)) is not None:
                    waiting.set()

    def sessions(self, container: str) -> int:
        """Return how many sessions are open on the container at an address."""
        return self._leases[container]

    async def drained(self, container: str) -> None:
        """Wait until no session is open on the container at an address."""
        if not self._leases[container]:
            return
        waiting = self._waiting.setdefault(container, asyncio.Event())
        try:
            await waiting.wait()
        finally:
            self._waiting.pop(container, None)
