"""Endpoints: which containers answer under which name."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from emulator import facts

__all__ = ["Endpoint", "Variant"]


@dataclass(frozen=True, slots=True)
class Variant:
    """One production variant: a name, the container behind it, and its share of the sessions.

    ``container`` is the container's base address, ``http://HOST:PORT`` or ``ws://HOST:PORT``; without a port it is
    8080 (fact ``ctr.port``). ``weight`` counts against the sum of all weights; a variant of weight 0 gets only the
    sessions that ask for it.

    Raises:
        ValueError: an address, a name or a weight that it cannot have.
    """

    name: str
    container: str
    weight: float = 1.0
    bidirectional: bool = True
    """Whether the image carries the label for bidirectional streaming; see switch ``missing_label``."""

    def __post_init__(self) -> None:
        parts = urlsplit(self.container)
        try:
            port = parts.port
        except ValueError:
            port = -1
        if parts.scheme not in ("http", "ws") or not parts.hostname or port == -1 or parts.path not in ("", "/"):
            raise ValueError(
                f"{self.container!r} is no address of a container: expected http://HOST:PORT or ws://HOST:PORT, "
                "without a path (a client chooses the path with ModelInvocationPath)"
            )
        if not re.fullmatch(facts.text("req.variant"), self.name):
            raise ValueError(
                f"{self.name!r} is no name of a variant: letters, digits and inner hyphens, at most 63 characters"
            )
        if not math.isfinite(self.weight) or self.weight < 0:
            raise ValueError(f"variant {self.name}: weight {self.weight!r}, expected is 0 or more")

    @property
    def host(self) -> str:
        """Host name or address of the container."""
        return urlsplit(self.container).hostname or ""

    @property
    def port(self) -> int:
        """TCP port of the container."""
        return urlsplit(self.container).port or facts.integer("ctr.port")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One endpoint: with one container, or with several ``variants`` that each have their own.

    ::

        Endpoint("http://127.0.0.1:8080")
        Endpoint(variants=[Variant("blue", "http://127.0.0.1:8080", 9), Variant("green", "http://127.0.0.1:8081", 1)])

    With ``variants``, ``container``, ``variant`` and ``bidirectional`` are those of the first.

    Raises:
        ValueError: no container, or variants that do not fit together.
    """

    container: str = ""
    variant: str = "AllTraffic"
    bidirectional: bool = True
    variants: Iterable[Variant] = ()

    def __post_init__(self) -> None:
        given = tuple(self.variants)
        if given and self.container and self.container != given[0].container:
            raise ValueError("an endpoint has a container or variants, not both")
        variants = given or (Variant(self.variant, self.container, 1.0, self.bidirectional),)
        names = [variant.name for variant in variants]
        if len(set(names)) < len(names):
            raise ValueError(f"two variants of one endpoint have the same name: {', '.join(names)}")
        if not sum(variant.weight for variant in variants):
            raise ValueError("the weights of an endpoint's variants are all 0: nobody would get a session")
        for name, value in (
            ("variants", variants),
            ("container", variants[0].container),
            ("variant", variants[0].name),
            ("bidirectional", variants[0].bidirectional),
        ):
            object.__setattr__(self, name, value)

    @property
    def host(self) -> str:
        """Host name or address of the first variant's container."""
        return self.find(self.variant).host

    @property
    def port(self) -> int:
        """TCP port of the first variant's container."""
        return self.find(self.variant).port

    def find(self, name: str) -> Variant:
        """Return the variant of a name.

        Raises:
            LookupError: there is none.
        """
        for variant in self.variants:
            if variant.name == name:
                return variant
        raise LookupError(name)

    def draw(self, chance: float) -> Variant:
        """Return the variant that a number from 0 (included) to 1 (excluded) falls on, by weight."""
        variants = [variant for variant in self.variants if variant.weight]
        mark = chance * sum(variant.weight for variant in variants)
        for variant in variants:
            mark -= variant.weight
            if mark < 0:
                return variant
        return variants[-1]
