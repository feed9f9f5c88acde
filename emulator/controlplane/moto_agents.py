"""The agent runtimes in moto's books: what should be running, and what became of it. Only in moto's own process."""

from typing import Any

from moto.bedrockagentcorecontrol.models import AgentRuntime, bedrockagentcorecontrol_backends

__all__ = ["agents", "apply", "report"]


def apply() -> None:
    """Let moto update a runtime: it cuts the ARN where a real one has nothing to cut, and changes it."""
    update = AgentRuntime.update

    def update_and_keep_the_arn(self: AgentRuntime, *arguments: Any, **named: Any) -> None:
        arn, self.agent_runtime_arn = self.agent_runtime_arn, "agent/moto:1"
        try:
            update(self, *arguments, **named)
        finally:
            self.agent_runtime_arn = arn
        self._transitions = [("UPDATING", "READY")]  # it would stay there for ever

    AgentRuntime.update = update_and_keep_the_arn  # type: ignore[method-assign]


def agents() -> list[dict[str, Any]]:
    """Return one plan for each runtime in the books."""
    return [
        {
            "name": runtime.agent_runtime_name,
            "arn": runtime.agent_runtime_arn,
            "version": runtime.agent_runtime_version,
            "image": runtime.agent_runtime_artifact.get("containerConfiguration", {}).get("containerUri", ""),
            "environment": dict(runtime.environment_variables or {}),
        }
        for runtime in _runtimes()
    ]


def report(arn: str, version: str, status: str) -> None:
    """Write a status into the books, where it stays; a report on an older version is dropped."""
    for runtime in _runtimes():
        if (runtime.agent_runtime_arn, runtime.agent_runtime_version) == (arn, version):
            runtime._transitions = []  # noqa: SLF001  # moto would go on to READY by itself
            runtime.status = status


def _runtimes() -> list[AgentRuntime]:
    return [
        runtime
        for by_region in bedrockagentcorecontrol_backends.values()
        for backend in by_region.values()
        for runtime in backend.agent_runtimes.values()
    ]
