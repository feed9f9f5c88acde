"""Containers that were written from a description alone, in other styles, are judged as the description says."""

import pytest

from contract_tests.containers import Container, Server
from contract_tests.matrix import measure


def stranger(name: str, server: Server, caught_by: str | None = None, cause: str = "") -> Container:
    return Container(name, f"contract_tests.tests.strangers.{name}", server, caught_by, "kokoro", name, cause)


STRANGERS = (
    stranger("harbour", "aiohttp"),
    stranger("typewriter", "websockets"),
    stranger("hotline", "uvicorn", "CT1", "turns BINARY frames away"),
    stranger("station", "aiohttp", "CT13", "queue"),
    stranger("telegraph", "websockets", "CT5", "runs on the event loop"),
    stranger("clerk", "websockets", "CT7", "An idle timer in the container"),
    stranger("gramophone", "websockets", "CT8", "The samples are written in the other byte order"),
    stranger("landlord", "aiohttp", "CT11", "The close message is read and ignored"),
)


def test_strangers_are_judged_by_what_is_wrong_with_them() -> None:
    matrix = measure(STRANGERS)
    # what hangs together: a list that all share outlives each of them, and a blocked loop answers no Ping
    along = ("station: CT12 fails too", "telegraph: CT6 fails too")
    problems = [each for each in matrix.problems() if not each.startswith(along)]
    if problems:
        pytest.fail("\n".join([*matrix.lines(), *problems]))
