"""The control plane: every request that no data plane knows goes to moto, and what it changes becomes containers."""

import asyncio
import dataclasses
import logging
import re
from collections.abc import Mapping
from typing import Any, cast

from emulator import facts
from emulator.controlplane.agents import AgentPlan, AgentSupervisor
from emulator.controlplane.container import Container, ContainerSpec, LocalCommand
from emulator.controlplane.docker_image import DockerContainer
from emulator.controlplane.moto_process import MotoProcess, MotoUnavailableError
from emulator.controlplane.startup import Lifecycle
from emulator.controlplane.supervisor import Plan, Report, Supervisor, VariantPlan
from emulator.exchange import Exchange, answer_error
from emulator.http1.client import PeerError
from emulator.registry import Registry
from emulator.trace import without_secrets
from emulator.wire.exceptions import RequestError

__all__ = ["ControlPlane"]

_log = logging.getLogger("emulator.controlplane")
_SCOPE = re.compile(r"Credential=[^/]+/\d{8}/[^/]+/([^/]+)/aws4_request")
_READ_ONLY = re.compile(r"SageMaker\.(Describe|List|Search)")


class ControlPlane:
    """moto on demand, and the containers of its SageMaker endpoints.

    ``local_images`` maps an image's name to the command that runs in its place (see :class:`LocalCommand`); every
    other image is run by the Docker engine.
    """

    def __init__(
        self,
        registry: Registry,
        local_images: Mapping[str, str] | None = None,
        lifecycle: Lifecycle | None = None,
        agents: AgentSupervisor | None = None,
    ) -> None:
        self._agents = agents
        self._local = dict(local_images or {})
        self._moto: MotoProcess | None = None
        self._lock = asyncio.Lock()
        self._supervisor = Supervisor(registry, self._start, self._report, lifecycle or Lifecycle())
        self._stopped = False

    def notes(self, name: str) -> list[str]:
        """Return what SageMaker would trip over in the container of an endpoint."""
        return self._supervisor.notes(name)

    async def serve(self, exchange: Exchange) -> None:
        """Answer one request with moto's answer; containers follow before the answer goes out."""
        try:
            moto = await self._running()
            answer = await moto.relay(exchange)
            if _may_change_endpoints(exchange):
                await self._reconcile(moto)
        except MotoUnavailableError as error:
            _log.error("%s %s: %s", exchange.method, without_secrets(exchange.path), error)
            await answer_error(exchange, RequestError(501, "NotImplemented", str(error)), [])
        except PeerError as error:
            message = f"moto did not answer: {error}{self._moto_ended()}"
            _log.error("%s %s: %s", exchange.method, without_secrets(exchange.path), message)
            await answer_error(exchange, RequestError(502, "InternalFailure", message), [])
        else:
            await answer.to(exchange)

    async def shut_down(self) -> None:
        """Stop all containers, then moto."""
        async with self._lock:
            self._stopped = True
            await self._supervisor.shut_down()
            if self._agents is not None:
                await self._agents.shut_down()
            moto, self._moto = self._moto, None
            if moto is not None:
                await moto.stop()

    async def _running(self) -> MotoProcess:
        async with self._lock:
            if self._stopped:
                raise MotoUnavailableError("The emulator is stopping.")
            if self._moto is not None and self._moto.ended is not None:
                _log.error(
                    "moto's process has ended (exit status %d), and its books with it: a new one starts, and every "
                    "endpoint and agent that was created with boto3 is stopped; create them again",
                    self._moto.ended,
                )
                await self._moto.stop()
                self._moto = None
                await self._supervisor.reconcile([])
                if self._agents is not None:
                    await self._agents.reconcile([], self._report_agent)
            if self._moto is None:
                self._moto = await MotoProcess.start()
            return self._moto

    def _moto_ended(self) -> str:
        if self._moto is None or self._moto.ended is None:
            return ""
        return f". Its process has ended (exit status {self._moto.ended}): ask again, of a new one with empty books."

    async def _reconcile(self, moto: MotoProcess) -> None:
        async with self._lock:
            if not self._stopped:
                await self._supervisor.reconcile([_plan(raw) for raw in await moto.endpoints()])
                if self._agents is not None:
                    plans = [AgentPlan.of(raw) for raw in await moto.agents()]
                    await self._agents.reconcile(plans, self._report_agent)

    async def _start(self, spec: ContainerSpec) -> Container:
        command = self._local.get(spec.image)
        return await (DockerContainer.start(spec) if command is None else LocalCommand.start(command, spec))

    async def _report(self, report: Report) -> None:
        if self._moto is not None:
            try:
                await self._moto.report(dataclasses.asdict(report))
            except (PeerError, MotoUnavailableError) as error:
                _log.error("moto did not take %s: %s", report, error)

    async def _report_agent(self, plan: AgentPlan, status: str) -> None:
        if self._moto is not None:
            try:
                await self._moto.report_agent({"arn": plan.arn, "version": plan.version, "status": status})
            except (PeerError, MotoUnavailableError) as error:
                _log.error("moto did not take the status %s of %s: %s", status, plan.arn, error)


def _may_change_endpoints(exchange: Exchange) -> bool:
    if exchange.path.startswith("/moto-api/"):
        return True
    headers = dict(exchange.headers)
    scope = _SCOPE.search(headers.get("authorization", ""))
    if scope is None or scope[1] not in ("sagemaker", "cloudformation", "bedrock-agentcore"):
        return False
    if scope[1] == "bedrock-agentcore":
        return exchange.method != "GET"
    return _READ_ONLY.match(headers.get("x-amz-target", "")) is None


def _plan(raw: dict[str, Any]) -> Plan:
    """Read a plan of the books."""
    problem = None
    for variant in raw["variants"]:
        problem = problem or _problem(variant)
        if variant["model_data"]:
            _log.warning("endpoint %s: model data is not copied to /opt/ml/model by this emulator", raw["name"])
    variants = tuple(
        VariantPlan(
            each["name"],
            ContainerSpec(each["image"], each["environment"]),
            each["weight"],
            each["startup_timeout"],
        )
        for each in raw["variants"]
    )
    if not problem and not sum(each.weight for each in variants):
        problem = "the weights of its production variants are all 0"
    return Plan(raw["arn"], raw["name"], raw["generation"], variants, problem)


def _problem(variant: dict[str, Any]) -> str | None:
    """Return why this emulator cannot run a variant, None where it can."""
    timeout = variant["startup_timeout"]
    lowest, highest = _startup_range()
    if timeout is not None and not lowest <= timeout <= highest:
        return f"ContainerStartupHealthCheckTimeoutInSeconds is {timeout:g}, {lowest} to {highest} is allowed"
    if variant["containers"] != 1:
        return (
            f"the model of {variant['name']} has {variant['containers']} containers, this emulator runs models of one"
        )
    if not variant["image"]:
        return f"the model of {variant['name']} names no Image"
    return None


def _startup_range() -> tuple[int, int]:
    lowest, highest = cast("list[int]", facts.get("life.startup-extend").value)
    return lowest, highest
