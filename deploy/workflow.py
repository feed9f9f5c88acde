"""The steps of the commands, in their order."""

import contextlib
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from deploy import (
    cdk,
    docker,
    endpoints,
    images,
    kept,
    node,
    outputs,
    pins,
    preflight,
    push,
    quotas,
    smoke,
    stacks,
    synthesis,
    weights,
)
from deploy.cloud import Cloud
from deploy.errors import DeployError
from deploy.images import Image
from deploy.preflight import Check
from deploy.prices import HOURS_A_MONTH, Prices, dollars
from deploy.settings import (
    AGENT_REPOSITORY,
    AGENT_STACK,
    ENDPOINT_STACK,
    FOUNDATION_STACK,
    SPEECH_REPOSITORY,
    Settings,
)

__all__ = ["Choices", "Deployment"]

Say = Callable[[str], None]
_FLAGS = ("--exclusively", "--require-approval", "never", "--progress", "events")
_DIRECT, _IMPORTING = "--method=direct", "--import-existing-resources"  # a change set is needed for an import only


@dataclass(frozen=True, slots=True)
class Choices:
    """What a person may choose beside the settings."""

    image: str | None = None
    """Digest; None takes the newest in the repository, or builds one where there is none."""
    weights: str = "auto"
    """"auto" (the newest in the bucket, else those in the image), "image", or a version in the bucket."""
    engine: str = "torch"


class Deployment:
    """One account and region with the settings of its stacks."""

    def __init__(self, cloud: Cloud, settings: Settings, say: Say) -> None:
        self.cloud = cloud
        self.settings = settings
        self.say = say
        self.prices = Prices.load()
        self._assemblies = outputs.default_path().parent / "assemblies"

    def cost(self) -> str:
        """Return what the endpoint will cost."""
        hour = self.prices.hour(self.settings.instance_type, self.settings.instances)
        month = None if hour is None else hour * HOURS_A_MONTH
        most = self.settings.max_instances
        at_most = "" if most is None else f", up to {most} times that with autoscaling"
        return (
            f"{self.settings.instances} x {self.settings.instance_type}: {dollars(hour)} an hour, {dollars(month)} a "
            f"month, from its creation to 'speech-infra destroy', used or not{at_most} (prices of {self.prices.dated}, "
            "us-east-1)"
        )

    # speech

    def general_checks(self, engine: str) -> list[Check]:
        """Look at what does not depend on anything that was deployed."""
        instance_type, instances = self.settings.instance_type, self.settings.instances
        allowed, read = quotas.find(self.cloud, f"{instance_type} for endpoint usage")
        held = pins.read(pins.root() / "container" / "kokoro" / f"requirements-{engine}.txt")
        return [
            preflight.node(node_version()),
            Check("cdk", "ok", " ".join(cdk.command()[-1:])),
            Check("account", "ok", self.cloud.name),
            preflight.quota(instance_type, instances, allowed, read=read),
            preflight.torch(pins.version_of(held, "torch")),
            preflight.ami(self.settings, pins.cuda_of(held)),
        ]

    def speech_checks(self, choices: Choices) -> list[Check]:
        """Look at image and weights that a deployment would take, or at what would build them; nothing is made for it.

        Raises:
            DeployError: the image that was chosen is not there.
        """
        image = self._image(SPEECH_REPOSITORY, choices.image)
        checks = [preflight.docker(docker.look(), needed=image is None)]
        if image is None:
            checks.append(preflight.engine(self.settings, choices.engine, None))
        else:
            checks += self._judge(image, choices)
        return [*checks, self._weights(choices)[1]]

    def require_docker(self) -> None:
        """See that an image can be built.

        Raises:
            DeployError: it cannot.
        """
        self.report([preflight.docker(docker.look(), needed=True)])

    def foundation(self) -> None:
        """Make bucket and repositories, or bring them up to date; what an earlier stack has kept is taken in.

        Raises:
            DeployError: a part of the stack is gone, and an endpoint still uses the stack.
        """
        there = kept.existing(self.cloud, self.settings)
        missing = [name for name in kept.names(self.settings) if name not in there]
        stack = stacks.find(self.cloud, FOUNDATION_STACK)
        if stack is not None and stack.usable and missing:
            self._take_apart(missing)
            stack = None
        method = _DIRECT
        if there and (stack is None or not stack.usable):
            self.say(f"{FOUNDATION_STACK}: taking in what is there from an earlier time: {', '.join(there)}")
            kept.make_room(self.cloud, self.settings, there)
            method = _IMPORTING
        cdk.run(["deploy", FOUNDATION_STACK, *_FLAGS, method], self._assembly("speech"))

    def _take_apart(self, missing: list[str]) -> None:
        """Delete the foundation's stack where a purge was begun and not ended; what it keeps stays."""
        self.say(f"{FOUNDATION_STACK}: {', '.join(missing)} is gone, so that the stack is made anew")
        if stacks.find(self.cloud, ENDPOINT_STACK) is not None:
            raise DeployError(
                f"{', '.join(missing)} was deleted, and the stack {ENDPOINT_STACK} uses what it belonged to: "
                "'agent-infra destroy', 'speech-infra destroy', then 'speech-infra deploy', which makes it anew."
            )
        stacks.delete(self.cloud, FOUNDATION_STACK)

    def ensure_foundation(self) -> None:
        """Make bucket and repositories where they are not there."""
        stack = stacks.find(self.cloud, FOUNDATION_STACK)
        there = kept.existing(self.cloud, self.settings)
        if stack is None or not stack.usable or len(there) < len(kept.names(self.settings)):
            self.foundation()

    def resolve(self, choices: Choices) -> None:
        """Find image and weights, build and push the image where there is none, and look at both.

        Raises:
            DeployError: they would not run on SageMaker.
        """
        model_data, check = self._weights(choices)
        self.report([check])  # an image takes long to build
        digest = choices.image or images.newest(self.cloud, SPEECH_REPOSITORY)
        if digest is None:
            self.say(f"{SPEECH_REPOSITORY} is empty: building the image ({choices.engine})")
            digest = push.push(self.cloud, push.speech_recipe(choices.engine))
        self.report(self._judge(images.inspect(self.cloud, SPEECH_REPOSITORY, digest), choices))
        self.settings = self.settings.changed(image_digest=digest, model_data=model_data)

    def endpoint(self) -> None:
        """Make or update the endpoint's stack, and see that the endpoint really runs it."""
        cdk.run(["deploy", ENDPOINT_STACK, *_FLAGS, _DIRECT], self._assembly("speech"))
        self.verify_endpoint(self.cloud.registry(SPEECH_REPOSITORY) + f"@{self.settings.image_digest}")

    def verify_endpoint(self, image: str | None = None) -> None:
        """See that the endpoint runs the stack's configuration, and talk to it.

        Raises:
            DeployError: it does not.
        """
        stack = self.stack(ENDPOINT_STACK, "speech-infra deploy")
        name = stack.outputs["EndpointName"]
        self.say(f"{name}: waiting until it is in service (minutes, after a deployment)")
        running = endpoints.wait(self.cloud, name, delay=0.5 if self.cloud.rehearsal else 15.0)
        endpoints.confirm(running, stack.outputs["EndpointConfigName"], image)
        self.say(f"{name}: InService with {running.config}")
        self.say(f"{name}: {smoke.speak(self.cloud, name)}")
        self.write_outputs()

    def destroy_endpoint(self) -> None:
        """Delete the endpoint's stack.

        Raises:
            DeployError: the agent's stack still uses it.
        """
        if stacks.find(self.cloud, AGENT_STACK) is not None:
            raise DeployError(
                f"The stack {AGENT_STACK} uses this endpoint: 'agent-infra destroy' first, then 'speech-infra destroy'."
            )
        stack = stacks.find(self.cloud, ENDPOINT_STACK)
        if stack is not None and "EndpointName" in stack.outputs:  # so that its logs are found afterwards
            self.settings = self.settings.changed(endpoint_name=stack.outputs["EndpointName"])
        self._destroy("speech", ENDPOINT_STACK)

    # agent

    def agent_checks(self, digest: str | None = None, *, deploying: bool = False) -> list[Check]:
        """Look at the endpoint that the agent speaks through, and at its image or what would build it.

        Raises:
            DeployError: the image that was chosen is not there.
        """
        image = self._image(AGENT_REPOSITORY, digest)
        return [
            preflight.endpoint(stacks.find(self.cloud, ENDPOINT_STACK), needed=deploying),
            preflight.docker(docker.look(), needed=image is None),
            *([] if image is None else preflight.agent_image(image)),
        ]

    def agent(self, image: str | None) -> None:
        """Make or update the agent's stack.

        Raises:
            DeployError: its image would not run.
        """
        digest = image or images.newest(self.cloud, AGENT_REPOSITORY)
        if digest is None:
            self.say(f"{AGENT_REPOSITORY} is empty: building the image")
            digest = push.push(self.cloud, push.agent_recipe())
        self.report(preflight.agent_image(images.inspect(self.cloud, AGENT_REPOSITORY, digest)))
        self.settings = self.settings.changed(agent_digest=digest)
        cdk.run(["deploy", AGENT_STACK, *_FLAGS, _DIRECT], self._assembly("agent"))
        self.write_outputs()

    def destroy_agent(self) -> None:
        """Delete the agent's stack."""
        self._destroy("agent", AGENT_STACK)

    # both

    def diff(self, app: synthesis.App, *names: str) -> None:
        """Show what a deployment would change in some stacks."""
        cdk.run(["diff", *names, "--exclusively", "--method=template"], self._assembly(app))

    def write_outputs(self) -> Path | None:
        """Write down what is deployed, for those who use it; None where there is nothing to write."""
        speech, agent = (stacks.find(self.cloud, name) for name in (ENDPOINT_STACK, AGENT_STACK))
        return outputs.update(
            outputs.Outputs(
                endpoint=None if speech is None else speech.outputs.get("EndpointName"),
                region=self.cloud.region,
                agent_runtime_arn=None if agent is None else agent.outputs.get("AgentRuntimeArn"),
            )
        )

    def report(self, checks: list[Check]) -> None:
        """Show verdicts.

        Raises:
            DeployError: one of them forbids to go on.
        """
        for check in dict.fromkeys(checks):  # what is there and what would be built are often the same
            self.say(str(check))
        failed = [check.name for check in checks if check.level == "fail"]
        if failed:
            raise DeployError(f"Not in order: {', '.join(failed)} (see above for each fix).")

    def _image(self, repository: str, digest: str | None) -> Image | None:
        """Return the image that a deployment would take, None where it would build one."""
        if digest is None:
            with contextlib.suppress(DeployError):  # no repository yet
                digest = images.newest(self.cloud, repository)
        return None if digest is None else images.inspect(self.cloud, repository, digest)

    def _judge(self, image: Image, choices: Choices) -> list[Check]:
        return [
            *preflight.speech_image(image),
            preflight.ami(self.settings, image.labels.get(preflight.CUDA_LABEL)),
            preflight.engine(self.settings, choices.engine, image),
        ]

    def _weights(self, choices: Choices) -> tuple[str | None, Check]:
        bucket = self.settings.bucket
        look = choices.weights != "image" and kept.has_bucket(self.cloud, self.settings)
        known = weights.known(self.cloud, bucket) if look else []
        if choices.weights == "auto":
            known = [manifest for manifest in known if manifest.engine == choices.engine]
        elif choices.weights != "image":
            known = [manifest for manifest in known if manifest.name == choices.weights]
            if not known:
                fix = "'speech-infra weights push' uploads some and says their name."
                return None, Check("weights", "fail", f"no version {choices.weights} in s3://{bucket}", fix)
        if not known:
            return None, Check("weights", "ok", "those inside the image")
        problems = weights.check(self.cloud, bucket, known[0])
        if problems:
            fix = "'speech-infra weights push' uploads what is missing."
            return None, Check("weights", "fail", "; ".join(problems[:3]), fix)
        return known[0].prefix, Check("weights", "ok", f"s3://{bucket}/{known[0].prefix}")

    def _assembly(self, app: synthesis.App) -> Path:
        return synthesis.assembly(app, self.settings, self._assemblies)

    def _destroy(self, app: synthesis.App, name: str) -> None:
        if stacks.find(self.cloud, name) is not None:
            here = self.cloud.account, self.cloud.region
            known = synthesis.existing(app, self._assemblies, name, *here)  # to delete it, the stack's name is enough
            cdk.run(["destroy", name, "--exclusively", "--force"], known or self._assembly(app))
        self.write_outputs()

    def stack(self, name: str, made_by: str) -> stacks.Stack:
        """Return a stack that is in order.

        Raises:
            DeployError: it is not there, or not in order.
        """
        stack = stacks.find(self.cloud, name)
        if stack is None:
            raise DeployError(f"There is no stack {name} in {self.cloud.name}: '{made_by}' makes it.")
        if not stack.usable:
            raise DeployError(f"The stack {name} is {stack.status} {stack.reason}: '{made_by}' again, or destroy it.")
        return stack


def node_version() -> str:
    """Return what the Node of this package says it is."""
    return subprocess.run(
        [str(node.node()), "--version"], capture_output=True, text=True, check=False, timeout=60
    ).stdout.strip()
