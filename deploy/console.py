"""What both console scripts share: how they ask, answer, and end."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from deploy import advisories, leftovers
from deploy.cloud import Cloud
from deploy.errors import DeployError
from deploy.node import NodeMissingError
from deploy.outputs import OutputsError
from deploy.pins import Pin
from deploy.prices import dollars
from deploy.settings import Settings, SettingsError
from deploy.synthesis import SynthesisError
from deploy.workflow import Deployment

__all__ = [
    "DEFAULTS",
    "NOT_CONFIRMED",
    "Advisories",
    "Region",
    "Yes",
    "agreed",
    "application",
    "connected",
    "end_if_running",
    "run",
    "say",
    "show_advisories",
    "show_leftovers",
    "template_paths",
]

NOT_CONFIRMED = 2
LEFT_RUNNING = 3

Region = Annotated[str | None, typer.Option(help="AWS region; else AWS_REGION or the profile's.", show_default=False)]
Advisories = Annotated[
    bool, typer.Option("--advisories", help="Only ask OSV for known vulnerabilities of the pinned packages.")
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
DEFAULTS = Settings("0" * 12, "us-east-1")
_OURS = (DeployError, NodeMissingError, OutputsError, SettingsError, SynthesisError)


def say(text: str) -> None:
    """Print one line at once: what follows may take minutes."""
    print(text, flush=True)


def application(help_: str) -> typer.Typer:
    """Make a console script to add commands to."""
    return typer.Typer(help=help_, no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False)


def run(app: typer.Typer) -> NoReturn:
    """Run a console script; what goes wrong is a sentence on standard error and exit status 1."""
    try:
        app()
    except _OURS as error:
        print(f"error: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        print("\nStopped. What CloudFormation has begun it goes on with; run the same command again.", file=sys.stderr)
        sys.exit(130)
    except Exception as error:
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415  # slow

        if not isinstance(error, BotoCoreError | ClientError):
            raise
        print(f"error: AWS refused: {error}", file=sys.stderr)
    sys.exit(1)


@contextlib.contextmanager
def connected(region: str | None, settings: Settings | None = None) -> Iterator[Deployment]:
    """Give the deployment in the account that the credentials lead to."""
    with Cloud.connect(region) as cloud:
        say(f"# {cloud.name}")
        yield Deployment(cloud, (settings or DEFAULTS).changed(account=cloud.account, region=cloud.region), say)


def agreed(question: str, yes: bool) -> None:
    """Ask before money is spent or something is lost; without a terminal, only ``--yes`` is an answer."""
    if yes:
        return
    if not sys.stdin.isatty():
        say(f"{question} Not confirmed: there is no terminal to ask at. Give --yes.")
        raise typer.Exit(NOT_CONFIRMED)
    if not typer.confirm(question):
        raise typer.Exit(NOT_CONFIRMED)


def show_leftovers(deployment: Deployment) -> list[leftovers.Leftover]:
    """List what still costs something, with the sum."""
    found = leftovers.find(deployment.cloud, deployment.settings, deployment.prices)
    for leftover in found:
        say(str(leftover))
    if found:
        unknown = any(leftover.monthly is None for leftover in found)
        more = " and what has no known price" if unknown else ""
        total = dollars(sum(leftover.monthly or 0 for leftover in found))
        say(f"in all {total} a month{more}, prices of {deployment.prices.dated}")
    else:
        say("nothing left")
    return found


def end_if_running(found: list[leftovers.Leftover]) -> None:
    """End with exit status 3 where something still runs."""
    if any(leftover.running for leftover in found):
        raise typer.Exit(LEFT_RUNNING)


def show_advisories(held: list[Pin]) -> None:
    """List the known vulnerabilities of packages; exit status 1 where there are some."""
    found = advisories.known(held)
    for name, ids in found.items():
        say(f"{name}: {', '.join(ids)}")
    say(f"{len(held)} packages checked, {len(found)} with known vulnerabilities")
    if found:
        raise typer.Exit(1)


def template_paths(directory: Path) -> list[Path]:
    """Return the templates in a folder."""
    return sorted(directory.glob("*.template.json"))
