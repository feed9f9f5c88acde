"""``agent-infra``: the agent on AgentCore Runtime, from nothing to verified and back."""

from pathlib import Path
from typing import Annotated

import typer

from deploy import agents, images, leftovers, outputs, preflight, push, sbom, stacks, synthesis
from deploy.console import (
    DEFAULTS,
    Advisories,
    Region,
    Yes,
    agreed,
    application,
    connected,
    end_if_running,
    run,
    say,
    show_advisories,
    show_leftovers,
    template_paths,
)
from deploy.options import Digest
from deploy.prices import Prices, dollars
from deploy.settings import AGENT_REPOSITORY, AGENT_STACK, ENDPOINT_STACK, FOUNDATION_STACK, Settings
from deploy.workflow import Deployment

__all__ = ["app", "main"]

app = application("The agent on Amazon Bedrock AgentCore Runtime: deploy it, look at it, take it away.")
image_app = typer.Typer(help="The agent's image.", no_args_is_help=True)
app.add_typer(image_app, name="image")

Model = Annotated[str, typer.Option("--model", help="Bedrock model or inference profile.")]
Name = Annotated[str, typer.Option("--name", help="Name of the runtime: letters, digits, underscores.")]


def main() -> None:
    """Run the console script."""
    run(app)


@app.command()
def deploy(
    region: Region = None,
    name: Name = DEFAULTS.runtime_name,
    model: Model = DEFAULTS.bedrock_model,
    image: Digest = None,
    yes: Yes = False,
) -> None:
    """Make or update the runtime, then verify it. It costs only while a session runs."""
    settings = DEFAULTS.changed(runtime_name=name, bedrock_model=model)
    with connected(region, settings) as deployment:
        deployment.report(
            [preflight.model_access(*_access(deployment)), *deployment.agent_checks(image, deploying=True)]
        )
        say(_cost(deployment.prices))
        agreed("Deploy?", yes)
        deployment.agent(image)
        _verify(deployment)
        say(f"Written: {outputs.default_path()}. Next: 'uv run pytest -m live'.")


@app.command()
def verify(region: Region = None) -> None:
    """See that the runtime is ready, and have one turn with the agent."""
    with connected(region) as deployment:
        _verify(deployment)


@app.command()
def status(region: Region = None) -> None:
    """Show the runtime."""
    with connected(region) as deployment:
        stack = stacks.find(deployment.cloud, AGENT_STACK)
        if stack is None:
            say(f"{AGENT_STACK}: not there")
        else:
            say(f"stack    {AGENT_STACK}  {stack.status} {stack.reason}".rstrip())
            say(f"runtime  {stack.outputs.get('AgentRuntimeArn', '?')}")
            if "AgentRuntimeId" in stack.outputs:
                say(f"image    {agents.ready(deployment.cloud, stack.outputs['AgentRuntimeId'])}")
            say(_cost(deployment.prices))
        say(f"outputs  {deployment.write_outputs() or 'none, nothing is deployed here'}")


@app.command()
def destroy(region: Region = None, yes: Yes = False) -> None:
    """Delete the runtime; its repository stays."""
    with connected(region) as deployment:
        if stacks.find(deployment.cloud, AGENT_STACK) is None:
            say(f"{AGENT_STACK}: not there")
        else:
            agreed(f"Delete the stack {AGENT_STACK}?", yes)
        deployment.destroy_agent()
        if stacks.find(deployment.cloud, ENDPOINT_STACK) is not None:
            say("The endpoint still costs money: 'speech-infra destroy' is next.")


@app.command("leftovers")
def list_leftovers(region: Region = None) -> None:
    """List what still costs something, of the endpoint too. Exit status 3 where something still runs."""
    with connected(region) as deployment:
        end_if_running(show_leftovers(deployment))


@app.command()
def purge(region: Region = None, yes: Yes = False) -> None:
    """Delete the agent's logs. Its repository goes with 'speech-infra purge'."""
    with connected(region) as deployment:
        found = leftovers.agent_logs(deployment.cloud, deployment.settings, deployment.prices)
        for leftover in found:
            say(str(leftover))
        if not found:
            say("nothing left")
            return
        agreed("Delete these?", yes)
        for line in leftovers.purge_alone(found):
            say(line)


@app.command()
def cost() -> None:
    """Show what the agent costs. Needs no account."""
    say(_cost(Prices.load()))


@app.command()
def synth(
    directory: Annotated[Path, typer.Argument(help="Where the template goes.")] = Path("cdk.out"),
    region: Annotated[str, typer.Option()] = "us-east-1",
    account: Annotated[str, typer.Option()] = "0" * 12,
    name: Name = DEFAULTS.runtime_name,
    model: Model = DEFAULTS.bedrock_model,
) -> None:
    """Write the template. Needs no account, no credentials, no network."""
    settings = Settings(account, region, runtime_name=name, bedrock_model=model)
    for path in template_paths(synthesis.synthesise("agent", settings, directory)):
        say(str(path))


@app.command()
def diff(
    region: Region = None,
    name: Name = DEFAULTS.runtime_name,
    model: Model = DEFAULTS.bedrock_model,
    image: Digest = None,
) -> None:
    """Show what 'deploy' with the same options would change; the image is not built for it."""
    with connected(region, DEFAULTS.changed(runtime_name=name, bedrock_model=model)) as deployment:
        digest = image or images.newest(deployment.cloud, AGENT_REPOSITORY)
        if digest is not None:
            deployment.settings = deployment.settings.changed(agent_digest=digest)
        deployment.diff("agent", AGENT_STACK)


@app.command("list")
def list_parts(region: Region = None) -> None:
    """List the stack, the newest image, and the endpoint that the agent speaks through."""
    with connected(region) as deployment:
        for name in (AGENT_STACK, ENDPOINT_STACK):
            stack = stacks.find(deployment.cloud, name)
            say(f"stack    {name}  {'not there' if stack is None else stack.status}")
        if stacks.find(deployment.cloud, FOUNDATION_STACK) is not None:
            say(f"image    {images.newest(deployment.cloud, AGENT_REPOSITORY) or 'none'}")


@app.command()
def doctor(region: Region = None, model: Model = DEFAULTS.bedrock_model, advisories: Advisories = False) -> None:
    """Look at everything that a deployment needs, and change nothing."""
    if advisories:
        show_advisories(push.held("agent", optional=True))
        return
    with connected(region, DEFAULTS.changed(bedrock_model=model)) as deployment:
        deployment.report([preflight.model_access(*_access(deployment)), *deployment.agent_checks()])


@image_app.command("push")
def push_image(region: Region = None) -> None:
    """Build the image with docker for linux/arm64 and push it; 'deploy' then takes it."""
    with connected(region) as deployment:
        deployment.require_docker()
        say(push.push(deployment.cloud, push.agent_recipe()))


@image_app.command("sbom")
def bill_of_materials(path: Annotated[Path, typer.Argument(help="File to write.")] = Path("agent.cdx.json")) -> None:
    """Write what the image holds, as CycloneDX. Needs no account."""
    held = push.held("agent")
    sbom.write(sbom.bill("agent", held), path)
    say(f"{path}: {len(held)} packages")


def _verify(deployment: Deployment) -> None:
    stack = deployment.stack(AGENT_STACK, "agent-infra deploy")
    image = agents.ready(deployment.cloud, stack.outputs["AgentRuntimeId"])
    say(f"{stack.outputs['AgentRuntimeArn']}: READY with {image}")
    try:
        say(f"one turn: {agents.turn(deployment.cloud, stack.outputs['AgentRuntimeArn'])}")
    except agents.NotEmulatedError as error:
        say(f"one turn: NOT tried, nothing here stands in for AgentCore's data plane ({error})")
    deployment.write_outputs()


def _access(deployment: Deployment) -> tuple[str, str | None]:
    """Return the model and what Bedrock says of this account's access to it, None where it cannot be asked."""
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415  # slow

    model = deployment.settings.bedrock_foundation_model
    try:
        answer = deployment.cloud.client("bedrock").get_foundation_model_availability(modelId=model)
    except (BotoCoreError, ClientError):
        return model, None
    return model, str(answer["authorizationStatus"])


def _cost(prices: Prices) -> str:
    return (
        f"agent: {dollars(prices.agentcore['vcpu_hour'])} a vCPU hour and "
        f"{dollars(prices.agentcore['gigabyte_hour'])} a gigabyte hour, by the second while a session runs, nothing "
        f"otherwise; the Bedrock model's tokens on top (prices of {prices.dated}, us-east-1)"
    )


if __name__ == "__main__":
    main()
