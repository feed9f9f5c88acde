"""Settings and the command line."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from container.agent import cli, score
from container.agent.settings import DEFAULT_MODEL_ID, Settings, SettingsError, from_environment
from container.agent.tests.gold import gold


def test_settings_without_an_environment() -> None:
    assert from_environment({}) == Settings()
    assert Settings().model_id == DEFAULT_MODEL_ID


def test_settings_from_the_environment() -> None:
    settings = from_environment({
        "SPEECH_ENDPOINT": "voice",
        "AGENT_MODEL_ID": "my.model",
        "AWS_DEFAULT_REGION": "eu-west-1",
        "AGENT_VOICE": "bf_emma",
        "AGENT_CLEAN_TEXT": "off",
        "SPEECH_KEEP_SESSIONS": "1",
        "SPEECH_TIMEOUT_S": "2.5",
    })  # fmt: skip
    assert settings == Settings(
        endpoint="voice",
        model_id="my.model",
        region="eu-west-1",
        voice="bf_emma",
        clean_text=False,
        keep_sessions=True,
        speech_timeout_s=2.5,
    )
    assert from_environment({"AWS_REGION": "a", "AWS_DEFAULT_REGION": "b"}).region == "a"


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("SPEECH_TIMEOUT_S", "soon", "expected a number of seconds above 0"),
        ("SPEECH_TIMEOUT_S", "-1", "expected a number of seconds above 0"),
        ("AGENT_MODEL_TIMEOUT_S", "nan", "expected a number of seconds above 0"),
        ("AGENT_CLEAN_TEXT", "maybe", "expected 1 or 0"),
        ("AWS_ENDPOINT_URL", "localhost:8443", "expected https://HOST or .*"),
        ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "https://", "expected https://HOST or .*"),
        ("AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME_HTTP2", "https://127.0.0.1:99999", ".* a port from 1 to 65535"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused_by_name(name: str, value: str, expected: str) -> None:
    with pytest.raises(SettingsError, match=f"^{name} is '{value}'; {expected}$"):
        from_environment({name: value})


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("AWS_PROFILE", "nope", "The config profile (nope) could not be found"),
        ("AWS_REGION", "a b", "region_name 'a b'"),
    ],
)
def test_aws_settings_that_cannot_work_are_told(
    name: str, value: str, expected: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SPEECH_ENDPOINT", "voice")
    monkeypatch.setenv(name, value)
    assert cli.main(["serve"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: no client of Amazon Bedrock can be made")
    assert expected in told


def test_an_address_of_aws_is_no_mistake() -> None:
    for address in ("https://127.0.0.1:8443", "http://[::1]:80/path", "https://vpce-1.runtime.amazonaws.com", ""):
        from_environment({"AWS_ENDPOINT_URL": address})


@pytest.mark.parametrize(
    ("name", "value", "arguments", "expected"),
    [
        ("SPEECH_TIMEOUT_S", "soon", [], "SPEECH_TIMEOUT_S is 'soon'; expected a number of seconds above 0"),
        ("SPEECH_ENDPOINT", "voice", ["--port", "99999"], "--port is 99999; expected a number from 0 "),
        ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "nonsense", [], "AWS_ENDPOINT_URL_BEDROCK_RUNTIME is 'nonsense'; "),
    ],
)
def test_the_command_line_says_what_is_wrong(
    name: str,
    value: str,
    arguments: list[str],
    expected: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(name, value)
    assert cli.main(["serve", *arguments]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"error: {expected}")
    assert told.count("\n") == 1


def test_help_names_the_variables(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        cli.main(["--help"])
    assert "SPEECH_ENDPOINT" in capsys.readouterr().out


def test_the_score_names_what_is_not_installed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing() -> score.Splitter:
        raise ImportError

    def whole(_: str, fragments: Iterator[str]) -> list[str]:
        return ["".join(fragments)]

    monkeypatch.setattr(score, "SPLITTERS", {"ours": lambda: score.ours, "none": lambda: whole, "absent": missing})
    assert score.main(["--failures"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert next(line for line in lines if line.startswith("ours")).split()[1:4] == [
        str(len(gold())),
        "of",
        str(len(gold())),
    ]
    assert int(next(line for line in lines if line.startswith("none")).split()[1]) < 20
    assert "absent               not installed" in lines


def test_every_variable_is_documented() -> None:
    code = Path(cli.__file__).with_name("settings.py").read_text(encoding="utf-8")
    page = (Path(cli.__file__).parents[2] / "docs" / "voice-agent.md").read_text(encoding="utf-8")
    names = set(re.findall(r'"((?:SPEECH|AGENT)_[A-Z_]+)"', code))
    assert len(names) >= 9
    assert {name for name in names if f"`{name}`" not in page} == set()
