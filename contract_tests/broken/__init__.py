"""Containers with exactly one fault each: a check that does not catch its own one is not finished."""

from contract_tests.broken.entries import conversation, service, sound
from contract_tests.containers import Container

__all__ = ["CONTAINERS"]


def _number(container: Container) -> int:
    return int((container.caught_by or "CT0").removeprefix("CT"))


CONTAINERS = tuple(sorted((*conversation.CONTAINERS, *sound.CONTAINERS, *service.CONTAINERS), key=_number))
