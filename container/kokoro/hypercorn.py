"""When hypercorn stops: it tells an application only once all connections are closed, and waits for that for ever.

With Python 3.12 or newer its graceful_timeout comes too late (https://github.com/pgjones/hypercorn/issues/308), so that
one open session would keep the process until it is killed.
"""

import asyncio
import sys
from typing import Any

_LOOK_S = 0.1
_TRIGGER = "raise_shutdown"
"""The coroutines of hypercorn that wait for a reason to stop; they begin after the application has started."""


def is_loaded() -> bool:
    """Say whether this process may be hypercorn's."""
    return "hypercorn" in sys.modules


async def stops() -> None:
    """Return when hypercorn, which serves on this loop, begins to stop; never under another server."""
    while not (triggers := {task for task in asyncio.all_tasks() if _is_trigger(task)}):  # noqa: ASYNC110  # no event
        await asyncio.sleep(_LOOK_S)
    await asyncio.wait(triggers, return_when=asyncio.FIRST_COMPLETED)


def _is_trigger(task: "asyncio.Task[Any]") -> bool:
    return getattr(task.get_coro(), "__qualname__", "") == _TRIGGER
