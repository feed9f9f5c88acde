"""What a live run is told: which endpoint, where, and what it may cost."""

import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from deploy.errors import DeployError
from deploy.outputs import Outputs, OutputsError, load
from deploy.prices import Prices
from emulator import credentials, facts

__all__ = ["DEFAULT_BUDGET_MINUTES", "NotConfiguredError", "Settings", "SettingsError", "settings"]

DEFAULT_BUDGET_MINUTES = 30.0
_ARN = re.compile(r"arn:aws[\w-]*:bedrock-agentcore:[a-z0-9-]+:\d{12}:(runtime|agent)/\S+")


class SettingsError(Exception):
    """Raised when the options contradict each other or cannot be understood."""


class NotConfiguredError(Exception):
    """Raised when nothing says which endpoint is meant: the live tests are skipped, and this is why."""


@dataclass(frozen=True, slots=True)
class Settings:
    """One live run. ``endpoint_url`` is None for AWS itself; ``budget_s`` in seconds."""

    endpoint: str
    region: str
    endpoint_url: str | None = None
    agent_runtime: str | None = None
    agreed: bool = False
    """Whether what bills beyond the running endpoint may be done."""
    budget_s: float = 60 * DEFAULT_BUDGET_MINUTES
    report: Path = Path("live-report.json")
    twin: str | None = None
    negative_control: str | None = None
    prices: Prices = field(default_factory=Prices.load)

    @property
    def local(self) -> bool:
        """Whether the run is against this machine: nothing is billed, and nothing is learnt about AWS."""
        return self.endpoint_url is not None and _is_loopback(self.endpoint_url)

    @property
    def streaming_url(self) -> str:
        """Base address of bidirectional streaming (fact ``wire.port``)."""
        port = facts.integer("wire.port")
        return self.endpoint_url or f"https://runtime.sagemaker.{self.region}.amazonaws.com:{port}"

    def __str__(self) -> str:
        return f"the endpoint {self.endpoint} at {self.endpoint_url or f'AWS, {self.region}'}"


def settings(
    *,
    endpoint: str | None,
    region: str | None,
    endpoint_url: str | None = None,
    agent_runtime: str | None = None,
    outputs: Path | None = None,
    agreed: bool = False,
    budget_minutes: float = DEFAULT_BUDGET_MINUTES,
    report: Path | None = None,
    twin: str | None = None,
    negative_control: str | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Settings:
    """Put options, the outputs file of a deployment and the environment together; an option goes first.

    Raises:
        NotConfiguredError: no endpoint is named anywhere.
        SettingsError: an option or the file of prices cannot be understood, or no region is known.
    """
    written = _outputs(outputs)
    endpoint = endpoint or written.endpoint
    if endpoint is None:
        if outputs is not None:
            raise SettingsError(f"--outputs {outputs}: it names no endpoint. Deploy one, or name it with --endpoint.")
        raise NotConfiguredError(
            "the live tests need a deployed endpoint: --endpoint NAME --region REGION, or --outputs FILE of a deploy"
        )
    if not re.fullmatch(facts.text("req.endpoint-name"), endpoint):
        raise SettingsError(f"--endpoint {endpoint!r}: expected letters, digits and inner hyphens, at most 63")
    if endpoint_url is not None:
        endpoint_url = _checked(endpoint_url)
    local = endpoint_url is not None and _is_loopback(endpoint_url)
    region = region or written.region or environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")
    if region is None and local:
        region = credentials.REGION
    if region is None:
        raise SettingsError("no region is known: name it with --region, or set AWS_REGION")
    if not re.fullmatch(r"[a-z]{2,}(-[a-z]+)+-\d+", region):
        raise SettingsError(f"--region {region!r}: expected a region such as us-west-2")
    agent_runtime = agent_runtime or written.agent_runtime_arn
    if agent_runtime is not None and not _ARN.fullmatch(agent_runtime):
        raise SettingsError(
            f"--agent-runtime {agent_runtime!r}: expected arn:aws:bedrock-agentcore:REGION:ACCOUNT:runtime/ID"
        )
    if agent_runtime is not None and not local and (there := agent_runtime.split(":")[3]) != region:
        raise SettingsError(f"the agent runtime is in {there}, the endpoint in {region}: measure them one by one")
    return Settings(
        endpoint=endpoint,
        region=region,
        endpoint_url=endpoint_url,
        agent_runtime=agent_runtime,
        agreed=agreed,
        budget_s=60 * budget_minutes,
        report=report or Path("live-report.json"),
        twin=twin,
        negative_control=negative_control,
        prices=_prices(),
    )


def _prices() -> Prices:
    try:
        return Prices.load()
    except DeployError as error:
        raise SettingsError(str(error)) from error


def _outputs(path: Path | None) -> Outputs:
    if path is None:
        return Outputs()
    try:
        return load(path)
    except OutputsError as error:
        raise SettingsError(f"--outputs {path}: {error}") from error


def _checked(url: str) -> str:
    expected = "expected https://HOST:PORT (the SDK has no bidirectional stream without TLS)"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise SettingsError(f"--endpoint-url {url!r}: {error}; {expected}") from error
    if parts.scheme != "https" or not parts.hostname or port == 0 or parts.path.strip("/") or parts.query:
        raise SettingsError(f"--endpoint-url {url!r}: {expected}")
    return url.rstrip("/")


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
