"""When hypercorn stops: it tells an application only once all connections are closed, and waits for that for ever.

With Python 3.12 or newer its graceful_timeout comes too late (https://github.com/pgjones/hypercorn/issues/308), so that
one open session would keep the process until it is killed.
"""

import asyncio
import sys
from asyncio import StreamWriter
from typing import Any

_LOOK_S = 0.1
_AT_ONCE = 100
"""Turns of the loop in which to look all the time: hypercorn may be told to stop as soon as it serves."""
_TRIGGER = "raise_shutdown"
"""The coroutines of hypercorn that wait for a reason to stop; they begin after the application has started."""

_CONNECTION = "worker_serve.<locals>._server_callback"
"""The coroutines of hypercorn that serve one connection each."""


def is_loaded() -> bool:
    """Say whether this process may be hypercorn's."""
    return "hypercorn" in sys.modules


async def stops() -> None:
    """Return when hypercorn, which serves on this loop, begins to stop; never under another server."""
    looks = 0
    while not (triggers := {task for task in asyncio.all_tasks() if _name(task) == _TRIGGER}):
        await asyncio.sleep(0 if looks < _AT_ONCE else _LOOK_S)
        looks += 1
    await asyncio.wait(triggers, return_when=asyncio.FIRST_COMPLETED)


async def end_connections(grace_s: float) -> None:
    """Return once no connection is left; those that are left after `grace_s` are broken off."""
    tasks = {task for task in asyncio.all_tasks() if _name(task) == _CONNECTION}
    if not tasks:
        return
    _, left = await asyncio.wait(tasks, timeout=grace_s)
    for task in left:
        frame = getattr(task.get_coro(), "cr_frame", None)
        writer = frame.f_locals.get("writer") if frame else None
        if isinstance(writer, StreamWriter):
            writer.transport.abort()  # to close it would be to wait for the client to read what is buffered


def _name(task: "asyncio.Task[Any]") -> str:
    return getattr(task.get_coro(), "__qualname__", "")
