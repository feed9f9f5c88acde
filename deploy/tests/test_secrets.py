"""Nothing secret goes into an image or a template, and what runs in AWS runs as whom it must."""

import re
from typing import Any

import pytest

from deploy import pins
from deploy.tests.conftest import Template

ROOT = pins.root()
DOCKERFILES = ("container/kokoro/Dockerfile", "container/agent/Dockerfile")
SECRET = re.compile(
    r"\b(AKIA|ASIA)[0-9A-Z]{16}\b|\bhf_[A-Za-z0-9]{30}|\bgh[pousr]_[A-Za-z0-9]{36}|\bsk-[A-Za-z0-9_-]{20}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY|\beyJ[A-Za-z0-9_-]{20,}\.eyJ|aws_secret_access_key\s*=\s*\S"
)
NAME = re.compile(r"secret|token|passw|credential|api_?key|access_?key", re.IGNORECASE)


def dockerfile(path: str) -> str:
    """A Dockerfile without its comments and with its continued lines joined."""
    lines = [line for line in (ROOT / path).read_text("utf-8").splitlines() if not line.lstrip().startswith("#")]
    return re.sub(r"\\\n\s*", " ", "\n".join(lines))


def test_the_search_finds_what_it_looks_for() -> None:
    for text in ("AKIA" + "A" * 16, "hf_" + "a" * 30, "-----BEGIN RSA PRIVATE " + "KEY-----"):
        assert SECRET.search(text), text
    assert not SECRET.search("AKIDEXAMPLE")  # AWS's own example, with which the emulator signs


def test_only_the_code_that_runs_in_aws_reaches_the_builder() -> None:
    ignored = [line for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if not line.startswith("#")]
    assert ignored[0] == "*"
    assert [line for line in ignored if line.startswith("!")] == ["!container"]


@pytest.mark.parametrize("path", DOCKERFILES)
def test_no_image_is_given_a_secret(path: str) -> None:
    text = dockerfile(path)
    for name, value in re.findall(r"(?:^ARG|^ENV|\s)\s*([A-Z][A-Z0-9_]+)=(\S*)", text, re.MULTILINE):
        assert not NAME.search(name), f"{path}: {name}={value}"
    assert not re.findall(r"^ARG\s+\w*(?:SECRET|TOKEN|PASSW|KEY)\w*", text, re.MULTILINE)
    for sources in re.findall(r"^COPY (?!--from)(.+)$", text, re.MULTILINE):
        assert all(source.startswith("container") for source in sources.split()[:-1]), sources
    assert not SECRET.search(text)


def test_no_file_that_goes_into_an_image_holds_a_secret() -> None:
    files = [
        path
        for path in (ROOT / "container").rglob("*")
        if path.is_file() and not {"tests", "__pycache__"} & set(path.parts)
    ]
    assert len(files) > 40
    found = [str(path) for path in files if SECRET.search(path.read_text("utf-8", "replace"))]
    assert found == []


@pytest.mark.parametrize("template", ["foundation", "endpoint", "plain_endpoint", "agent"])
def test_no_template_holds_a_secret_or_an_image_without_its_digest(
    template: str, request: pytest.FixtureRequest
) -> None:
    found: Template = request.getfixturevalue(template)
    for path, value in walk(found):
        assert not SECRET.search(value), path
    for path, names in environments(found):
        assert not [name for name in names if NAME.search(name)], path
    images = [str(value) for path, value in images_of(found)]
    assert all(re.search(r"@sha256:[0-9a-f]{64}", image) for image in images), images
    assert len(images) == (0 if template == "foundation" else 1)


def test_the_agent_is_nobody_and_the_speech_container_root_as_sagemaker_wants_it() -> None:
    agent, speech = (dockerfile(path).rpartition("\nFROM ")[2] for path in reversed(DOCKERFILES))
    user = re.search(r"^USER (\d+):(\d+)$", agent, re.MULTILINE)
    assert user is not None
    assert "0" not in user.groups()
    assert not re.search(r"^USER", speech, re.MULTILINE)  # fact life.root


def walk(value: Any, path: str = "") -> list[tuple[str, str]]:
    """Every string in a template, with where it stands."""
    if isinstance(value, str):
        return [(path, value)]
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for name, part in parts for found in walk(part, f"{path}/{name}")]


def environments(template: Template) -> list[tuple[str, list[str]]]:
    """The names of the variables that containers are given."""
    found = []
    for name, resource in template["Resources"].items():
        properties = resource.get("Properties", {})
        given = properties.get("PrimaryContainer", {}).get("Environment") or properties.get("EnvironmentVariables")
        if given:
            found.append((name, list(given)))
    return found


def images_of(template: Template) -> list[tuple[str, Any]]:
    """Every image that a template runs."""
    found = []
    for name, resource in template["Resources"].items():
        properties = resource.get("Properties", {})
        container = properties.get("PrimaryContainer") or properties.get("AgentRuntimeArtifact", {}).get(
            "ContainerConfiguration", {}
        )
        image = container.get("Image") or container.get("ContainerUri")
        if image:
            found.append((name, image))
    return found
