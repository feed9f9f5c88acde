"""What a turn leaves behind, however it ends: no socket, no task, no session."""

# ruff: noqa: ASYNC110  # the sockets of the process can only be looked at

import asyncio
from collections.abc import Awaitable, Callable
from collections.abc import Set as AbstractSet
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from websockets.asyncio.server import ServerConnection

from container.agent.app import create_app
from container.agent.settings import Settings
from container.agent.tests.conftest import InFront
from container.agent.tests.scripted import ScriptedModel
from container.agent.tests.serving import idle, invoke, live, served
from container.agent.tests.voices import PCM, ClosesEarly, DropsAfter, Endless, Refuses, Says, Voice
from emulator.tests.containers import container

FILES = Path("/proc/self/fd")
TWO = ["Hello", " there.", " How are", " you?"]
TIMES = 3


def sockets() -> set[str]:
    """The sockets of this process: agent, emulator, container and client are all in it."""
    found = set()
    for entry in FILES.iterdir():
        with suppress(FileNotFoundError):  # closed since
            found.add(str(entry.readlink()))
    return {each for each in found if each.startswith("socket:")}


async def gone[T](what: Callable[[], AbstractSet[T]], before: AbstractSet[T]) -> AbstractSet[T]:
    """What was not there before; waits until there is none of it. The CRT closes on threads of its own."""
    with suppress(TimeoutError):
        async with asyncio.timeout(10):
            while what() - before:
                await asyncio.sleep(0.02)
    return what() - before


async def answered(client: httpx.AsyncClient) -> str:
    """Read to the end: the error's code, or "done"."""
    last = (await invoke(client))[-1]
    return str(last.get("code", last["type"]))


async def left(client: httpx.AsyncClient) -> str:
    """Leave in the middle of the audio."""
    async with aclosing(live(client)) as events:
        async for event in events:
            if event["type"] == "audio_chunk":
                return "left"
    raise AssertionError("there was no audio")


class Case(NamedTuple):
    """How often it is done, and how the turns end."""

    voice: Callable[[], Voice]
    ends: list[str]
    turn: Callable[[httpx.AsyncClient], Awaitable[str]] = answered
    settings: dict[str, Any] = {}  # noqa: RUF012  # nobody changes it


CASES = {
    "good": Case(Voice, ["done"] * TIMES),
    "closes early": Case(ClosesEarly, ["session_ended"] * TIMES),
    "says garbage": Case(lambda: Says("garbage"), ["protocol"] * TIMES),
    "answers with an error": Case(Refuses, ["model_failed", "done", "done"]),
    "drops the session": Case(lambda: DropsAfter(1), ["done"] * TIMES),
    "falls silent": Case(
        lambda: Says('{"type":"synthesis_start"}', PCM), ["no_answer"] * TIMES, settings={"speech_work_timeout_s": 0.3}
    ),
    "no such endpoint": Case(Voice, ["endpoint_unreachable"] * TIMES, settings={"endpoint": "nobody"}),
    "a client that leaves": Case(Endless, ["left"] * TIMES, left),
}


class Changing:
    """A container that is another voice in each case."""

    def __init__(self) -> None:
        self.voice = Voice()

    async def __call__(self, connection: ServerConnection) -> None:
        """Serve one session."""
        await self.voice(connection)


@pytest.mark.skipif(not FILES.exists(), reason="no /proc: the sockets of a process can't be counted here")
async def test_turns_leave_no_socket_no_task_and_no_session_however_they_end(in_front: InFront) -> None:
    changing = Changing()
    async with asyncio.timeout(120), container(changing) as target:
        in_front(target.url)
        # one turn first: what is opened once and kept does not count
        for name, case in {"warm-up": CASES["good"]._replace(ends=["done"]), **CASES}.items():
            changing.voice = case.voice()
            app = create_app(Settings(**{"endpoint": "voice", **case.settings}), lambda: ScriptedModel(TWO))
            alone = httpx.Limits(max_keepalive_connections=0)  # the client's own connections are not looked for
            async with served(app) as url, httpx.AsyncClient(base_url=url, timeout=30, limits=alone) as client:
                await idle(client)  # the server is up, with all that it needs itself
                opened, working = sockets(), asyncio.all_tasks()
                assert [await case.turn(client) for _ in case.ends] == case.ends, name
                await idle(client)
                if name != "warm-up":
                    assert await gone(sockets, opened) == set(), name
                    assert await gone(asyncio.all_tasks, working) == set(), name
                    await changing.voice.down_to(0)
