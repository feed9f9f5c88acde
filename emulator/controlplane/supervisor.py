"""Keeps the running containers as the books say: starts, watches, replaces and stops them."""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from emulator import facts, started
from emulator.controlplane.container import Container, ContainerError, ContainerSpec
from emulator.controlplane.startup import Lifecycle, Startup, failure_reason
from emulator.endpoint import Endpoint, Variant
from emulator.http1 import client
from emulator.http1.client import PeerError
from emulator.registry import Registry

__all__ = ["Plan", "Report", "Supervisor", "VariantPlan"]

_log = logging.getLogger("emulator.controlplane")


@dataclass(frozen=True, slots=True)
class VariantPlan:
    """What the books say of one production variant."""

    name: str
    spec: ContainerSpec
    weight: float = 1.0
    startup_timeout: float | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What the books say of one endpoint. ``generation`` grows with every update, but for one of the weights."""

    arn: str
    name: str
    generation: int
    variants: tuple[VariantPlan, ...]
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
    """What the containers were started from: after a failed update, not the newest plan."""
    containers: dict[str, Container] = field(default_factory=dict)
    """By the name of the variant."""
    endpoint: Endpoint | None = None
    task: asyncio.Task[None] | None = None


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
        containers = (c for each in self._served.values() if each.plan.name == name for c in each.containers.values())
        return list(dict.fromkeys(note for container in containers for note in container.notes))

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
                if served.plan != plan:
                    self._reweigh(served, plan)
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
        for container in served.containers.values():
            self._spawn(self._stop(container, served.plan))

    async def _run(self, served: _Served) -> None:
        """Bring a plan into service and watch over it."""
        plan = served.plan
        kept: dict[str, Container] = {}
        while True:
            try:
                fresh = await self._bring_up(plan, [each for each in plan.variants if each.name not in kept])
            except ContainerError as error:
                _log.error("endpoint %s: %s", plan.name, error)
                if served.running is None or not served.containers:
                    await self._report(Report(plan.arn, served.plan.generation, "Failed", str(error)))
                    return
                # as on AWS: back to the old one, without a word (fact life.failed-update)
                plan = served.running
                await self._report(Report(plan.arn, served.plan.generation, "InService", rolled_back=True))
            else:
                self._replace(served, kept | fresh, plan)
                await self._report(Report(plan.arn, served.plan.generation, "InService"))
            lost = await self._watch(served)
            kept = {name: container for name, container in served.containers.items() if name != lost}
            served.running = None  # there is nothing to go back to

    def _replace(self, served: _Served, containers: dict[str, Container], plan: Plan) -> None:
        old = [each for each in served.containers.values() if each not in containers.values()]
        fresh = [each for each in containers.values() if each not in served.containers.values()]
        served.containers, served.running = containers, plan
        # an update of the weights alone makes no new generation: they may have changed since this plan was made
        weighed = served.plan if served.plan.generation == plan.generation else plan
        served.endpoint = Endpoint(
            variants=[
                Variant(each.name, containers[each.name].url, each.weight, containers[each.name].bidirectional)
                for each in weighed.variants
            ]
        )
        self._registry.put(plan.name, served.endpoint)
        for container in fresh:
            for note in container.notes:
                _log.warning("endpoint %s: %s", plan.name, note)
        for container in old:
            self._spawn(self._retire(container, plan))

    def _reweigh(self, served: _Served, plan: Plan) -> None:
        served.plan = plan
        if served.endpoint is None:
            return
        weights = {each.name: each.weight for each in plan.variants}
        served.endpoint = Endpoint(
            variants=[replace(each, weight=weights.get(each.name, each.weight)) for each in served.endpoint.variants]
        )
        self._registry.put(plan.name, served.endpoint)

    async def _bring_up(self, plan: Plan, variants: Sequence[VariantPlan]) -> dict[str, Container]:
        """Start the containers of these variants and wait until all are healthy.

        Raises:
            ContainerError: one failed, and the others are stopped; the text is the FailureReason.
        """
        problem = plan.problem
        taken = plan.name in self._registry and self._served[plan.arn].endpoint is None
        if self._names.setdefault(plan.name, plan.arn) != plan.arn or taken:
            problem = f"an endpoint named {plan.name} is served already, in another region or given by hand"
        if problem is not None:
            raise ContainerError(failure_reason(plan.variants[0].name, problem, [], ""))
        starting = {each.name: asyncio.ensure_future(self._bring_up_one(plan, each)) for each in variants}
        try:
            await asyncio.gather(*starting.values())
        except BaseException:
            await _cancel(*starting.values())
            for task in starting.values():
                if not task.cancelled() and task.exception() is None:
                    self._spawn(self._stop(task.result(), plan))
            raise
        return {name: task.result() for name, task in starting.items()}

    async def _bring_up_one(self, plan: Plan, variant: VariantPlan) -> Container:
        starting = asyncio.ensure_future(self._start(variant.spec))
        try:
            # shielded: an engine that was told to start one does so, and it must be stopped again
            container = await asyncio.shield(starting)
        except ContainerError as error:
            raise ContainerError(failure_reason(variant.name, str(error), [], "")) from error
        except asyncio.CancelledError:
            self._spawn(self._stop_once_started(starting, plan))
            raise
        started.register(container.url, container, watched=True)
        try:
            loop = asyncio.get_running_loop()
            startup = Startup(variant.startup_timeout or self._times.startup_limit, loop.time())
            while not startup.ready:
                if (status := await container.exit_status()) is not None:
                    startup.exited(status, loop.time())
                else:
                    await self._ask_until_ready(container, startup)
                if startup.failure is not None:
                    output = await container.output()
                    raise ContainerError(failure_reason(variant.name, startup.failure, container.notes, output))
                await asyncio.sleep(0 if startup.ready else self._times.starting_interval)
        except BaseException:
            self._spawn(self._stop(container, plan))
            raise
        return container

    async def _ask_until_ready(self, container: Container, startup: Startup) -> None:
        loop = asyncio.get_running_loop()
        answer = await self._ping(container)
        if isinstance(answer, int):
            startup.answered(answer, loop.time())
        else:
            startup.silent(answer, loop.time())

    async def _ping(self, container: Container) -> int | str:
        """Return the status of /ping, or what was wrong where there is none."""
        if started.ping_fails(container.url):
            return "its answer was taken for a failure (a fault on demand)"
        where = Variant("ping", container.url)
        timeout = self._times.ping_timeout
        try:
            async with (
                asyncio.timeout(timeout),
                client.request(where.host, where.port, "GET", facts.text("life.ping"), []) as response,
            ):
                return response.status
        except TimeoutError:
            return f"it gave no answer within {timeout:g} s"
        except PeerError as error:
            return f"{error}: does the container listen on 0.0.0.0:{facts.integer('ctr.port')}?"

    async def _watch(self, served: _Served) -> str:
        """Return the name of the first variant whose container has ended, or answers /ping no more."""
        failed: Counter[str] = Counter()
        while True:
            for name, container in served.containers.items():
                if (status := await container.exit_status()) is not None:
                    _log.error(
                        "endpoint %s: the container of variant %s exited with status %d while in service; it is "
                        "started anew. Last output:\n%s",
                        served.plan.name,
                        name,
                        status,
                        await container.output(),
                    )
                    return name
                answer = await self._ping(container)
                failed[name] = 0 if answer == 200 else failed[name] + 1
                if failed[name] >= self._times.unhealthy_after:
                    said = f"it answered HTTP {answer}" if isinstance(answer, int) else answer
                    _log.error(
                        "endpoint %s: /ping of variant %s failed %d times in a row (at last: %s); its container is "
                        "replaced, open streams stay on the old one [close.ping-fails]",
                        served.plan.name,
                        name,
                        failed[name],
                        said,
                    )
                    return name
            await asyncio.sleep(self._times.running_interval)

    async def _retire(self, container: Container, plan: Plan) -> None:
        """Stop an old container when the last session on it is over (fact ``close.update``)."""
        drained = asyncio.ensure_future(self._registry.drained(container.url))
        stopping = asyncio.ensure_future(self._stopping.wait())
        await asyncio.wait({drained, stopping}, return_when=asyncio.FIRST_COMPLETED)
        await _cancel(drained, stopping)
        await self._stop(container, plan)

    async def _stop_once_started(self, starting: asyncio.Future[Container], plan: Plan) -> None:
        try:
            container = await starting
        except ContainerError:
            return
        await self._stop(container, plan)

    async def _stop(self, container: Container, plan: Plan) -> None:
        in_time = await container.stop(self._times.stop_grace)
        started.forget(container.url, container)
        if not in_time:
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


async def _cancel(*tasks: asyncio.Future[Any] | None) -> None:
    running = [task for task in tasks if task is not None]
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
