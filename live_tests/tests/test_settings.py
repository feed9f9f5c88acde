"""Options, outputs file and environment of a live run."""

import os
import re
from pathlib import Path

import pytest

from deploy.outputs import Outputs, save
from deploy.prices import Prices
from emulator import Emulator
from live_tests.budget import Budget, disagreement, standing_cost
from live_tests.cloud import UnreachableError, connected
from live_tests.settings import NotConfiguredError, Settings, SettingsError, settings

ARN = "arn:aws:bedrock-agentcore:eu-west-1:123456789012:runtime/voice-abcdefghij"


def test_options_go_before_the_outputs_file_before_the_environment(tmp_path: Path) -> None:
    file = save(Outputs("deployed", "eu-west-1", ARN), tmp_path / "outputs.json")
    found = settings(endpoint=None, region=None, outputs=file, environment={"AWS_REGION": "us-east-1"})
    assert (found.endpoint, found.region, found.agent_runtime) == ("deployed", "eu-west-1", ARN)
    assert found.streaming_url == "https://runtime.sagemaker.eu-west-1.amazonaws.com:8443"
    assert not found.local
    found = settings(endpoint="mine", region="eu-west-1", outputs=file, environment={"AWS_REGION": "us-east-1"})
    assert (found.endpoint, found.region) == ("mine", "eu-west-1")
    found = settings(endpoint="mine", region=None, environment={"AWS_REGION": "us-east-1"})
    assert found.region == "us-east-1"


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("https://127.0.0.1:8443", True),
        ("https://localhost:8443/", True),
        ("https://[::1]:8443", True),
        ("https://vpce-1.runtime.sagemaker.eu-west-1.vpce.amazonaws.com:8443", False),
    ],
)
def test_only_a_loopback_address_is_this_machine(url: str, local: bool) -> None:
    found = settings(endpoint="mine", region="eu-west-1", endpoint_url=url, environment={})
    assert found.local is local
    assert found.streaming_url == url.rstrip("/")


def test_on_this_machine_the_region_does_not_matter() -> None:
    assert settings(endpoint="m", region=None, endpoint_url="https://127.0.0.1:1", environment={}).region == "us-west-2"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"endpoint": "a_b"}, "--endpoint 'a_b': expected letters"),
        ({"endpoint": "m", "endpoint_url": "http://127.0.0.1:8443"}, "expected https://HOST:PORT"),
        (
            {"endpoint": "m", "endpoint_url": "https://[::1"},
            "'https://[::1': Invalid IPv6 URL; expected https:",
        ),
        ({"endpoint": "m", "endpoint_url": "https://localhost:99999"}, "range 0-65535; expected https://HOST:PORT"),
        ({"endpoint": "m", "endpoint_url": "https://localhost:0"}, "expected https://HOST:PORT"),
        ({"endpoint": "m", "endpoint_url": "https://localhost:abc"}, "expected https://HOST:PORT"),
        ({"endpoint": "m", "region": None}, "no region is known: name it with --region"),
        ({"endpoint": "m", "region": "Oregon"}, "expected a region such as us-west-2"),
        ({"endpoint": "m", "agent_runtime": "voice"}, "expected arn:aws:bedrock-agentcore"),
        ({"endpoint": "m", "region": "us-west-2", "agent_runtime": ARN}, "the agent runtime is in eu-west-1"),
        ({"endpoint": None, "outputs": Path("/nonexistent.json")}, "--outputs /nonexistent.json"),
    ],
)
def test_what_cannot_be_understood_says_what_is_expected(options: dict[str, object], words: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(words)):
        settings(**({"region": "eu-west-1", "environment": {}} | options))  # type: ignore[arg-type]


def test_outputs_without_an_endpoint_are_no_silent_skip(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="it names no endpoint"):
        settings(endpoint=None, region=None, outputs=save(Outputs(region="eu-west-1"), tmp_path / "o"), environment={})
    with pytest.raises(NotConfiguredError, match="--endpoint NAME --region REGION, or --outputs FILE"):
        settings(endpoint=None, region="eu-west-1", environment={})


def test_no_credentials_is_a_reason_and_the_emulator_s_pair_stays_on_this_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "SSL_CERT_FILE", "AWS_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("BIDI_STATE_DIR", str(tmp_path))
    with pytest.raises(NotConfiguredError, match="no AWS credentials"), connected(Settings("m", "eu-west-1"), {}):
        pass
    with (
        Emulator(state_directory=tmp_path) as emulator,
        connected(Settings("m", "eu-west-1", emulator.url), {}) as cloud,
    ):
        assert cloud.account().access_key == "AKIDEXAMPLE"
        assert cloud.account().region == "eu-west-1"
        assert os.environ["SSL_CERT_FILE"] == str(emulator.ca_bundle)
    assert "SSL_CERT_FILE" not in os.environ


def test_a_server_that_is_not_there_or_not_trusted_is_told_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BIDI_STATE_DIR", str(tmp_path / "mine"))
    with Emulator(state_directory=tmp_path / "other") as emulator:
        chosen = Settings("m", "eu-west-1", emulator.url)
        with pytest.raises(UnreachableError, match=r"is not trusted\. Set SSL_CERT_FILE"), connected(chosen, {}):
            pass
        with connected(chosen, {"SSL_CERT_FILE": str(emulator.ca_bundle)}):
            pass
    with pytest.raises(UnreachableError, match=r"nothing answers at .* uv run emulator up"), connected(chosen, {}):
        pass


def test_the_budget_counts_down_to_nothing() -> None:
    now = 100.0
    budget = Budget(60.0, clock=lambda: now)
    assert budget.left == 60
    now = 159.0
    assert not budget.spent
    now = 161.0
    assert budget.spent
    assert budget.left == 0


def test_what_bills_is_only_done_with_yes_and_free_on_this_machine() -> None:
    assert disagreement("two answers", agreed=True, local=False) is None
    assert disagreement("two answers", agreed=False, local=True) is None
    assert "needs --yes" in str(disagreement("two answers", agreed=False, local=False))
    assert "two answers" in str(disagreement("two answers", agreed=False, local=False))


def test_the_price_of_what_runs_is_the_one_that_the_deployment_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prices = Prices.load()
    assert "2 x ml.g5.xlarge: about $2.82 an hour, about $67.58 a day" in standing_cost("ml.g5.xlarge", 2, prices)
    assert "about $1.13 an hour" in standing_cost("ml.g6.xlarge", 1, prices)
    assert "no price is known here" in standing_cost("ml.unknown.large", 1, prices)
    mine = tmp_path / "prices.toml"
    monkeypatch.setenv("DEPLOY_PRICES", str(mine))
    mine.write_text('[endpoint_hour]\n"ml.g5.xlarge" = 2.5\n')
    found = settings(endpoint="m", region="eu-west-1", environment={})
    assert "about $2.50 an hour" in standing_cost("ml.g5.xlarge", 1, found.prices)
    mine.write_text("nonsense")
    with pytest.raises(SettingsError, match=r"DEPLOY_PRICES=.* cannot be read"):
        settings(endpoint="m", region="eu-west-1", environment={})
