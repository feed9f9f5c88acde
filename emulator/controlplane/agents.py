"""Runs what ``create_agent_runtime`` describes: a local command in the place of the image, behind its ARN."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from emulator.agentcore.runtimes import AgentRuntimes
from emulator.agentcore.start import AgentStartError, agent_container

__all__ = ["AgentPlan", "AgentSupervisor"]

_log = logging.getLogger("emulator.controlplane")


@dataclass(frozen=True, slots=True)
class AgentPlan:
    """What the books say of one runtime. ``version`` grows with every update."""

    name: str
    arn: str
    version: str
    image: str
    environment: dict[str, str]

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "AgentPlan":
        """Read a plan of the books."""
        return cls(raw["name"], raw["arn"], raw["version"], raw["image"], dict(raw["environment"]))


class AgentSupervisor:
    """Brings agents and books together. Only images with a local command are run; the rest stays in the books."""

    def __init__(
        self, runtimes: AgentRuntimes, commands: Mapping[str, str], environment: Callable[[], Mapping[str, str]]
    ) -> None:
        self._runtimes = runtimes
        self._commands = commands
        self._environment = environment
        self._running: dict[str, tuple[AgentPlan, asyncio.Task[None]]] = {}
        self._ending: set[asyncio.Task[None]] = set()

    async def reconcile(self, plans: list[AgentPlan], report: Callable[[AgentPlan, str], Awaitable[None]]) -> None:
        """Start what is new, replace what was updated, stop what is gone. ``report`` writes a status into the books."""
        wanted = {plan.arn: plan for plan in plans if plan.image in self._commands}
        for arn in [arn for arn in self._running if arn not in wanted]:
            plan, task = self._running.pop(arn)
            self._runtimes.remove(plan.name)
            task.cancel()
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)
        for arn, plan in wanted.items():
            old = self._running.get(arn)
            if old is None or old[0].version != plan.version:
                await report(plan, "CREATING" if old is None else "UPDATING")
                task = asyncio.ensure_future(self._run(plan, None if old is None else old[1], report))
                self._running[arn] = plan, task

    async def shut_down(self) -> None:
        """Stop every agent."""
        tasks = [task for _, task in self._running.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, *self._ending, return_exceptions=True)
        self._running.clear()

    async def _run(
        self, plan: AgentPlan, old: asyncio.Task[None] | None, report: Callable[[AgentPlan, str], Awaitable[None]]
    ) -> None:
        environment = {**self._environment(), **plan.environment}
        heard = _teller(plan.name)
        try:
            async with agent_container(self._commands[plan.image], environment, heard=heard) as url:
                self._runtimes.put(plan.name, url)
                await report(plan, "READY")
                await _end(old)
                old = None
                await asyncio.Event().wait()  # until it is cancelled
        except (AgentStartError, ValueError) as error:
            _log.error("agent runtime %s: %s", plan.name, error)
            await report(plan, "CREATE_FAILED" if old is None else "UPDATE_FAILED")
            if old is not None:  # as on AWS, the version before goes on
                await asyncio.gather(old, return_exceptions=True)
        finally:
            await _end(old)


def _teller(name: str) -> Callable[[str], None]:
    return lambda line: _log.info("agent %s | %s", name, line)


async def _end(task: asyncio.Task[None] | None) -> None:
    if task is not None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
