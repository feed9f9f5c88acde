"""What is looked at before anything is created: pure verdicts over what was found, each with its fix."""

import re
from dataclasses import dataclass
from typing import Literal

from deploy.docker import INSTALL, LOWEST_BUILDX, Docker
from deploy.images import DOCKER_MANIFEST, Image
from deploy.pins import LOWEST_TORCH
from deploy.settings import AMIS, BIDI_LABEL, ENDPOINT_STACK, Settings
from deploy.stacks import Stack

__all__ = [
    "CUDA_LABEL",
    "TORCH_LABEL",
    "Check",
    "agent_image",
    "ami",
    "docker",
    "endpoint",
    "engine",
    "model_access",
    "node",
    "quota",
    "speech_image",
    "torch",
]

CUDA_LABEL = "sagemaker-bidi.cuda"
TORCH_LABEL = "sagemaker-bidi.torch"
"""Labels that 'image push' gives to an image, from the pins that it is built from."""
LOWEST_NODE = 22

Level = Literal["ok", "note", "unknown", "fail"]


@dataclass(frozen=True, slots=True)
class Check:
    """One verdict. Only "fail" stops a deployment.

    "note" is in order for what is done now, and worth a thought; "unknown" could not be looked at.
    """

    name: str
    level: Level
    said: str
    fix: str = ""

    def __str__(self) -> str:
        mark = {"ok": "ok  ", "note": "note", "unknown": "??  ", "fail": "FAIL"}[self.level]
        return f"{mark} {self.name}: {self.said}" + (f"\n       {self.fix}" if self.fix and self.level != "ok" else "")


def node(version: str) -> Check:
    """Judge the Node that CDK runs on (``v24.11.0``)."""
    found = re.match(r"v?(\d+)", version)
    if found is None or int(found[1]) < LOWEST_NODE:
        fix = "Install the extra 'deploy', which brings Node 24 along: uv sync --extra deploy"
        return Check("Node", "fail", f"{version or 'none'}, {LOWEST_NODE} or newer is needed", fix)
    return Check("Node", "ok", version)


def docker(found: Docker, *, needed: bool) -> Check:
    """Judge what would build an image; where none is to be built, what is missing is a note."""
    if found.program is None:
        said, fix = "not on PATH", INSTALL
    elif not found.builds:
        lowest = ".".join(map(str, LOWEST_BUILDX))
        said = f"{found.buildx} is too old, {lowest} or newer is needed" if found.is_old else "it has no buildx"
        said += f", and its engine does not answer ({found.engine_problem})" if found.engine_problem else ""
        fix = (
            "Install the plugin: the package docker-buildx-plugin of Docker's own repository, docker-buildx of Debian "
            "and Ubuntu, or Docker Desktop, which brings it along."
        )
    elif found.engine_problem:
        said = f"its engine does not answer ({found.engine_problem})"
        fix = "Start it ('sudo systemctl start docker', or Docker Desktop), as a user who may use it: 'docker info'."
    else:
        return Check("docker", "ok", found.buildx or "")
    if needed:
        return Check("docker", "fail", f"{said}, and an image is to be built", fix)
    return Check("docker", "note", f"{said}; an image is there, so that none is built now", fix)


def engine(settings: Settings, wanted: str, image: Image | None) -> Check:
    """Judge the engine against the instance: that of the image, or where there is none that which would be built."""
    torch_inside = wanted == "torch" if image is None else TORCH_LABEL in image.labels
    other = "'speech-infra image push --engine onnx' builds the other one, and 'deploy' takes the newest."
    if torch_inside and not settings.has_gpu:
        said = f"torch with CUDA, 6 to 10 GB, on {settings.instance_type}, which has no GPU: it would run, slowly"
        return Check("engine", "note", said, "Give --engine onnx." if image is None else other)
    if torch_inside and wanted == "onnx":
        return Check("engine", "note", "--engine onnx, and the image holds torch", other)
    return Check("engine", "ok", wanted if image is None else "torch" if torch_inside else "no torch in the image")


def quota(instance_type: str, instances: int, allowed: float | None, *, read: bool = False) -> Check:
    """Judge the account's quota; None without one, and ``read`` says whether the list of all could be read."""
    name = f"{instance_type} for endpoint usage"
    fix = (
        f"Service Quotas console, Amazon SageMaker, '{name}': ask for {instances} or more. A new account often has 0; "
        "the answer takes minutes to days."
    )
    if allowed is None and read:
        unlisted = "Is the type misspelt, or not offered in this region? A rehearsal lists only a few types."
        return Check("quota", "unknown", f"'{name}' is not among the account's quotas", unlisted)
    if allowed is None:
        permissions = "servicequotas:ListServiceQuotas and ListAWSDefaultServiceQuotas"
        return Check("quota", "unknown", f"'{name}' could not be read ({permissions})", fix)
    if allowed < instances:
        return Check("quota", "fail", f"'{name}' is {allowed:g}, {instances} needed", fix)
    return Check("quota", "ok", f"'{name}' is {allowed:g}")


def ami(settings: Settings, cuda: str | None) -> Check:
    """Judge the driver of the instance's system image against the CUDA version in the container's image."""
    driver = AMIS[settings.ami]
    if not settings.has_gpu:
        return Check("driver", "ok", f"{settings.instance_type} has no GPU")
    if cuda is None:
        return Check("driver", "ok", f"{settings.ami} (CUDA {driver}); the image says nothing of CUDA")
    if cuda.split(".")[0] != driver.split(".")[0]:
        fitting = [name for name, version in AMIS.items() if version.split(".")[0] == cuda.split(".")[0]]
        return Check(
            "driver",
            "fail",
            f"{settings.ami} is for CUDA {driver}, the image has CUDA {cuda}: it would hang without a log line",
            f"Take --ami {fitting[-1]}." if fitting else f"Build the image for one of CUDA {', '.join(AMIS.values())}.",
        )
    # https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html. A driver translates no PTX
    # of a newer CUDA, but torch's wheels hold kernels compiled for these GPUs, and nothing here compiles others
    why = "" if cuda == driver else f": a driver for CUDA {driver} runs every {driver.split('.')[0]}.x"
    return Check("driver", "ok", f"{settings.ami} (CUDA {driver}) for an image with CUDA {cuda}{why}")


def torch(version: str | None) -> Check:
    """Judge the torch in an image by the advisories; None without torch."""
    if version is None:
        return Check("torch", "ok", "not in the image (ONNX Runtime)")
    lowest = ".".join(map(str, LOWEST_TORCH))
    found = re.match(r"(\d+)\.(\d+)", version)
    if found is None or (int(found[1]), int(found[2])) < LOWEST_TORCH:
        fix = f"Raise torch to >={lowest} in pyproject.toml, renew the pins with requirements/export.sh, build anew."
        return Check("torch", "fail", f"{version} has known advisories (PYSEC-2026-2286 and others)", fix)
    return Check("torch", "ok", f"{version} (advisories known in September 2026 are fixed in {lowest})")


def speech_image(image: Image) -> list[Check]:
    """Judge an image for SageMaker."""
    checks = []
    if image.media_type != DOCKER_MANIFEST:
        return [
            Check(
                "manifest",
                "fail",
                f"{image.media_type}, SageMaker takes {DOCKER_MANIFEST} only",
                "Push with 'speech-infra image push', or build with 'docker buildx build --platform linux/amd64 "
                "--provenance=false --sbom=false --output type=docker'.",
            )
        ]
    checks.append(Check("manifest", "ok", "Docker, version 2"))
    checks.append(_architecture(image, "amd64"))
    if image.labels.get(BIDI_LABEL, "").lower() == "true":
        checks.append(Check("label", "ok", f"{BIDI_LABEL}=true"))
    else:
        fix = f'Add to the Dockerfile: LABEL {BIDI_LABEL}="true", and build anew.'
        checks.append(Check("label", "fail", f"{BIDI_LABEL}=true is missing: SageMaker opens no WebSocket", fix))
    checks.append(_entrypoint(image))
    if image.user not in ("", "0", "root"):
        fix = "Leave USER out of the Dockerfile."
        checks.append(Check("user", "fail", f"{image.user!r}; SageMaker runs the container as root", fix))
    checks.append(torch(image.labels.get(TORCH_LABEL)))
    return checks


def agent_image(image: Image) -> list[Check]:
    """Judge an image for AgentCore."""
    if image.media_type not in (DOCKER_MANIFEST, "application/vnd.oci.image.manifest.v1+json"):
        fix = "Push with 'agent-infra image push', which builds for linux/arm64 alone."
        return [Check("manifest", "fail", f"{image.media_type} is not one image", fix)]
    return [Check("manifest", "ok", image.media_type), _architecture(image, "arm64")]


def endpoint(stack: Stack | None, *, needed: bool) -> Check:
    """Judge what the agent speaks through; before a deployment of the agent, one that is missing is a note."""
    if stack is None or not stack.usable:
        state = "does not exist" if stack is None else f"is {stack.status}"
        said = f"the stack {ENDPOINT_STACK} {state}, and the agent speaks through it"
        return Check(
            "endpoint",
            "fail" if needed else "note",
            said,
            "First run 'speech-infra deploy', in the same account and region.",
        )
    return Check("endpoint", "ok", stack.outputs.get("EndpointName", ENDPOINT_STACK))


def model_access(model: str, status: str | None) -> Check:
    """Judge the account's access to a Bedrock model; None where it could not be asked."""
    fix = f"Bedrock console, Model access: ask for {model}. Some models need a subscription in the marketplace first."
    if status is None:
        return Check(
            "model", "unknown", f"access to {model} could not be read (bedrock:GetFoundationModelAvailability)", fix
        )
    if status != "AUTHORIZED":
        return Check("model", "fail", f"access to {model} is {status}", fix)
    return Check("model", "ok", model)


def _architecture(image: Image, wanted: str) -> Check:
    if (image.os, image.architecture) != ("linux", wanted):
        fix = f"Build for linux/{wanted}; 'image push' does."
        found = f"{image.os or '?'}/{image.architecture or '?'}"
        return Check("architecture", "fail", f"{found}, linux/{wanted} is needed", fix)
    return Check("architecture", "ok", f"linux/{wanted}")


def _entrypoint(image: Image) -> Check:
    entrypoint = image.entrypoint
    fix = 'Write it in exec form: ENTRYPOINT ["program", "argument"].'
    if not entrypoint:
        said = "none: SageMaker runs 'docker run IMAGE serve', so 'serve' would be the program"
        return Check("entrypoint", "fail", said, fix)
    if len(entrypoint) > 1 and entrypoint[0].rpartition("/")[2] in ("sh", "bash") and entrypoint[1] == "-c":
        return Check("entrypoint", "fail", "in shell form: the shell takes 'serve' and SIGTERM", fix)
    return Check("entrypoint", "ok", " ".join(entrypoint))
