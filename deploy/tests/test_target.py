"""A rehearsal cannot reach AWS."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from deploy import cdk, node, target
from deploy.errors import DeployError

LOCAL = "http://127.0.0.1:4566"


@pytest.mark.parametrize(
    ("environment", "rehearsal"),
    [
        ({}, False),
        ({"AWS_PROFILE": "mine"}, False),
        ({"AWS_ENDPOINT_URL": ""}, False),
        ({"AWS_ENDPOINT_URL": LOCAL}, True),
        ({"AWS_ENDPOINT_URL": "http://localhost:1", "AWS_ENDPOINT_URL_S3": "http://[::1]:2"}, True),
    ],
)
def test_the_endpoint_variables_decide(environment: dict[str, str], rehearsal: bool) -> None:
    assert target.prepare(environment) is rehearsal


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({"AWS_ENDPOINT_URL": "https://sagemaker.us-east-1.amazonaws.com"}, "leads to another machine"),
        ({"AWS_ENDPOINT_URL": LOCAL, "AWS_ENDPOINT_URL_S3": "http://10.0.0.7:9000"}, "AWS_ENDPOINT_URL_S3"),
        ({"AWS_ENDPOINT_URL": "http://127.0.0.1.example.com"}, "leads to another machine"),
        ({"AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME_HTTP2": LOCAL}, "the rest to AWS"),
    ],
)
def test_nothing_in_between(environment: dict[str, str], told: str) -> None:
    with pytest.raises(DeployError, match=told):
        target.prepare(environment)


def test_whatever_leads_to_an_account_is_stripped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target, "PROXIES", {})
    environment = {
        "AWS_ENDPOINT_URL": LOCAL,
        "AWS_PROFILE": "production",
        "AWS_ACCESS_KEY_ID": "AKIAREAL",
        "AWS_SESSION_TOKEN": "real",
        "AWS_ROLE_ARN": "arn",
        "AWS_WEB_IDENTITY_TOKEN_FILE": "/token",
        "HTTPS_PROXY": "http://proxy:1",
        "PATH": "/bin",
    }
    target.prepare(environment)
    assert environment["AWS_ACCESS_KEY_ID"] == "AKIDEXAMPLE"
    assert environment["AWS_SHARED_CREDENTIALS_FILE"] == environment["AWS_CONFIG_FILE"] == os.devnull
    assert target.PROXIES["HTTPS_PROXY"] == "http://proxy:1"  # npm needs it to fetch cdk
    kept = {"AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE", "HTTPS_PROXY"}
    assert not kept & environment.keys()
    assert environment["PATH"] == "/bin"


def test_aws_itself_gets_the_environment_as_it_is() -> None:
    environment = {"AWS_PROFILE": "mine", "HTTPS_PROXY": "http://proxy:1"}
    assert not target.prepare(environment)
    assert environment == {"AWS_PROFILE": "mine", "HTTPS_PROXY": "http://proxy:1", "AWS_EC2_METADATA_DISABLED": "true"}


@pytest.mark.parametrize(
    ("event", "arguments"),
    [
        ("socket.getaddrinfo", ("sts.amazonaws.com", 443, 0, 0, 0)),
        ("socket.getaddrinfo", (b"sts.amazonaws.com", 443, 0, 0, 0)),
        ("socket.gethostbyname", ("example.com",)),
        ("socket.connect", (None, ("192.0.2.1", 443))),
        ("socket.connect", (None, ("2001:db8::1", 443, 0, 0))),
        ("socket.sendto", (None, ("169.254.169.254", 80))),
    ],
)
def test_python_stays_at_home(event: str, arguments: tuple[object, ...]) -> None:
    with pytest.raises(PermissionError, match="nothing but this machine"):
        target.stay_at_home(event, arguments)


@pytest.mark.parametrize(
    ("event", "arguments"),
    [
        ("socket.getaddrinfo", ("localhost", 443, 0, 0, 0)),
        ("socket.getaddrinfo", (None, 443, 0, 0, 0)),
        ("socket.connect", (None, ("127.0.0.1", 443))),
        ("socket.connect", (None, "/var/run/docker.sock")),
        ("open", ("/etc/passwd",)),
    ],
)
def test_python_may_do_everything_else(event: str, arguments: tuple[object, ...]) -> None:
    target.stay_at_home(event, arguments)


@pytest.mark.parametrize(
    "program",
    [
        "require('node:net').connect(443, '192.0.2.1')",
        "require('node:net').connect({port: 443, host: '192.0.2.1'})",
        "require('node:https').get('https://192.0.2.1/')",
        "require('node:dns').lookup('example.com', () => {})",
        "fetch('https://192.0.2.1/').catch((error) => { throw error.cause; })",
    ],
)
def test_node_stays_at_home(program: str) -> None:
    line = [str(node.node()), "--require", str(target.NODE_GUARD), "-e", program]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode != 0
    assert "nothing but this machine, and" in done.stderr


def test_node_reaches_this_machine() -> None:
    program = (
        "const net = require('node:net'); const server = net.createServer().listen(0, '127.0.0.1', () => "
        "net.connect(server.address().port, '127.0.0.1', function () { this.end(); server.close(); }));"
    )
    line = [str(node.node()), "--require", str(target.NODE_GUARD), "-e", program]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("version", ["2.150.0 (build 1)", "1.204.0", "", "nonsense", "2.1147.9"])
def test_an_old_cdk_is_refused(version: str) -> None:
    with pytest.raises(DeployError, match="ignore AWS_ENDPOINT_URL"):
        cdk.check_version(version, "cdk")


def test_an_old_cdk_is_refused_before_it_is_asked_to_do_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "cdk"
    old.write_text(f"#!/bin/sh\necho called $1 >> {tmp_path}/calls\necho '2.150.0 (build 1)'\n")
    old.chmod(0o755)
    monkeypatch.setenv("DEPLOY_CDK", str(old))
    with pytest.raises(DeployError, match=r"2\.1148 or newer"):
        cdk.run(["deploy", "speech-foundation"], tmp_path)
    assert (tmp_path / "calls").read_text().split() == ["called", "--version"]


def test_the_fetching_of_cdk_is_announced_before_its_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("DEPLOY_CDK", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(node, "npm", lambda: ["false"])
    with pytest.raises(DeployError, match="could not be fetched with npm"):
        cdk.command()
    assert capsys.readouterr().out == f"fetching cdk {cdk.VERSION} with npm, once (silent for up to 5 minutes)\n"


def test_a_console_script_refuses_another_machine_without_a_traceback() -> None:
    done = subprocess.run(
        [str(Path(sys.executable).with_name("speech-infra")), "status"],
        env={**os.environ, "AWS_ENDPOINT_URL": "https://example.com"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("error: AWS_ENDPOINT_URL=https://example.com leads to another machine")
    assert "Traceback" not in done.stderr
