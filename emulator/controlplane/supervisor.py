"""Keeps the running containers as the books say: starts, watches, replaces and stops them."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from emulator import facts
from emulator.controlplane.container import Container, ContainerError, ContainerSpec
from emulator.controlplane.startup import Lifecycle, Startup, failure_reason
from emulator.endpoint import Endpoint
from emulator.http1 import client
from emulator.http1.client import PeerError
from emulator.registry import Registry

__all__ = ["Plan", "Report", "Supervisor"]

_log = logging.getLogger("emulator.controlplane")


@dataclass(frozen=True, slots=True)
class Plan:
    """What the books say of one endpoint. ``generation`` grows with every update."""

    arn: str
    name: str
    generation: int
    variant: str
    spec: ContainerSpec
    startup_timeout: float | None = None
    problem: str | None = None
    """Why this emulator cannot run it, None where it can."""


@dataclass(frozen=True, slots=True)
class Report:
    """What became of a plan, for the books. ``rolled_back``: the endpoint is on its old configuration again."""

    arn: str
    generation: int
    status: str
    reason: str | None = None
    rolled_back: bool = False


@dataclass
class _Served:
    """One endpoint at work."""

    plan: Plan
    running: Plan | None = None
    """What the container was started from: after a failed update, not the newest plan."""
    container: Container | None = None
    endpoint: Endpoint | None = None
    task: asyncio.Task[None] | None = None
    notes: list[str] = field(default_factory=list)


class Supervisor:
    """Brings containers and books together on one event loop. :meth:`reconcile` may be called at any time."""

    def __init__(
        self,
        registry: Registry,
        start: Callable[[ContainerSpec], Awaitable[Container]],
        report: Callable[[Report], Awaitable[None]],
        lifecycle: Lifecycle,
    ) -> None:
        self._registry = registry
        self._start = start
        self._report = report
        self._times = lifecycle
        self._served: dict[str, _Served] = {}
        self._names: dict[str, str] = {}  # an endpoint's name to the ARN that has it: the data planes know names only
        self._retiring: set[asyncio.Task[None]] = set()
        self._stopping = asyncio.Event()

    def notes(self, name: str) -> list[str]:
        """Return what SageMaker would trip over in the container of an endpoint."""
        return [note for served in self._served.values() if served.plan.name == name for note in served.notes]

    async def reconcile(self, plans: list[Plan]) -> None:
        """Start what is new, replace what was updated, stop what is gone."""
        wanted = {plan.arn: plan for plan in plans}
        for arn in [arn for arn in self._served if arn not in wanted]:
            await self._delete(self._served.pop(arn))
        for arn, plan in wanted.items():
            served = self._served.get(arn)
            if served is None:
                served = self._served[arn] = _Served(plan)
            elif served.plan.generation == plan.generation:
                continue
            await _cancel(served.task)
            served.plan = plan
            served.task = asyncio.ensure_future(self._run(served))

    async def shut_down(self) -> None:
        """Stop every container; those with open sessions too."""
        self._stopping.set()
        for arn in list(self._served):
            await self._delete(self._served.pop(arn))
        while ending := list(self._retiring):
            await asyncio.gather(*ending)
            self._retiring.difference_update(ending)

    async def _delete(self, served: _Served) -> None:
        await _cancel(served.task)
        if self._names.get(served.plan.name) == served.plan.arn:
            del self._names[served.plan.name]
        if served.endpoint is not None:
            self._registry.remove(served.plan.name)
        if served.container is not None:
            self._spawn(self._stop(served.container, served.plan))

    async def _run(self, served: _Served) -> None:
        """Bring a plan into service and watch over it."""
        plan = served.plan
        while True:
            try:
                container = await self._bring_up(plan)
            except ContainerError as error:
                _log.error("endpoint %s: %s", plan.name, error)
                if served.running is None or served.container is None:
                    await self._report(Report(plan.arn, served.plan.generation, "Failed", str(error)))
                    return
                # as on AWS: back to the old one, without a word (fact life.failed-update)
                plan, container = served.running, served.container
                await self._report(Report(plan.arn, served.plan.generation, "InService", rolled_back=True))
            else:
                self._replace(served, container, plan)
                await self._report(Report(plan.arn, served.plan.generation, "InService"))
            await self._watch(served, container)
            served.running = None  # there is nothing to go back to

    def _replace(self, served: _Served, container: Container, plan: Plan) -> None:
        old_container, old_endpoint = served.container, served.endpoint
        served.container, served.notes, served.running = container, container.notes, plan
        served.endpoint = Endpoint(container.url, plan.variant, bidirectional=container.bidirectional)
        self._registry.put(plan.name, served.endpoint)
        for note in container.notes:
            _log.warning("endpoint %s: %s", plan.name, note)
        if old_container is not None and old_endpoint is not None:
            self._spawn(self._retire(old_container, old_endpoint, plan))

    async def _bring_up(self, plan: Plan) -> Container:
        """Start the container and wait until it is healthy.

        Raises:
            ContainerError: it failed; the text is the FailureReason.
        """
        problem = plan.problem
        taken = plan.name in self._registry and self._served[plan.arn].endpoint is None
        if self._names.setdefault(plan.name, plan.arn) != plan.arn or taken:
            problem = f"an endpoint named {plan.name} is served already, in another region or given by hand"
        if problem is not None:
            raise ContainerError(failure_reason(plan.variant, problem, [], ""))
        starting = asyncio.ensure_future(self._start(plan.spec))
        try:
            # shielded: an engine that was told to start one does so, and it must be stopped again
            container = await asyncio.shield(starting)
        except ContainerError as error:
            raise ContainerError(failure_reason(plan.variant, str(error), [], "")) from error
        except asyncio.CancelledError:
            self._spawn(self._stop_once_started(starting, plan))
            raise
        try:
            loop = asyncio.get_running_loop()
            startup = Startup(plan.startup_timeout or self._times.startup_limit, loop.time())
            while not startup.ready:
                if (status := await container.exit_status()) is not None:
                    startup.exited(status, loop.time())
                else:
                    await self._ping(container, startup)
                if startup.failure is not None:
                    output = await container.output()
                    raise ContainerError(failure_reason(plan.variant, startup.failure, container.notes, output))
                await asyncio.sleep(0 if startup.ready else self._times.starting_interval)
        except BaseException:
            self._spawn(self._stop(container, plan))
            raise
        return container

    async def _ping(self, container: Container, startup: Startup) -> None:
        loop = asyncio.get_running_loop()
        endpoint = Endpoint(container.url)
        timeout = self._times.ping_timeout
        try:
            async with (
                asyncio.timeout(timeout),
                client.request(endpoint.host, endpoint.port, "GET", facts.text("life.ping"), []) as response,
            ):
                startup.answered(response.status, loop.time())
        except TimeoutError:
            startup.silent(f"it gave no answer within {timeout:g} s", loop.time())
        except PeerError as error:
            port = facts.integer("ctr.port")
            startup.silent(f"{error}: does the container listen on 0.0.0.0:{port}?", loop.time())

    async def _watch(self, served: _Served, container: Container) -> None:
        """Return when the container has ended by itself."""
        while (status := await container.exit_status()) is None:  # noqa: ASYNC110  # an engine is polled
            await asyncio.sleep(self._times.running_interval)
        _log.error(
            "endpoint %s: its container exited with status %d while in service; it is started anew. Last output:\n%s",
            served.plan.name,
            status,
            await container.output(),
        )

    async def _retire(self, container: Container, endpoint: Endpoint, plan: Plan) -> None:
        """Stop an old container when the last session on it is over (fact ``close.update``)."""
        drained = asyncio.ensure_future(self._registry.drained(endpoint))
        stopping = asyncio.ensure_future(self._stopping.wait())
        await asyncio.wait({drained, stopping}, return_when=asyncio.FIRST_COMPLETED)
        for each in (drained, stopping):
            each.cancel()
        await asyncio.gather(drained, stopping, return_exceptions=True)
        await self._stop(container, plan)

    async def _stop_once_started(self, starting: asyncio.Future[Container], plan: Plan) -> None:
        try:
            container = await starting
        except ContainerError:
            return
        await self._stop(container, plan)

    async def _stop(self, container: Container, plan: Plan) -> None:
        if not await container.stop(self._times.stop_grace):
            _log.warning(
                "endpoint %s: its container did not end within %g s of SIGTERM and was killed: does the ENTRYPOINT "
                "pass signals on (exec form, 'exec' in a shell script)?",
                plan.name,
                self._times.stop_grace,
            )

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._retiring.add(task)
        task.add_done_callback(self._retiring.discard)


async def _cancel(task: asyncio.Task[None] | None) -> None:
    if task is not None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
