"""What is proposed to somebody whose container speaks more than the default profile understands."""

import json
import shlex
from pathlib import Path

import pytest

from contract_tests.cli.main import main
from contract_tests.client import Part
from contract_tests.likely import likely_profile, profile_command
from contract_tests.profile import load


def parts(*messages: object) -> list[Part]:
    return [
        Part(0.0, message if isinstance(message, bytes) else json.dumps(message).encode(), "UTF8", "COMPLETE")
        for message in messages
    ]


@pytest.mark.parametrize(
    ("messages", "name"),
    [
        ([{"type": "synthesis_start"}, b"\0\1", {"type": "synthesis_complete", "request_id": "g"}], "kokoro"),
        ([{"type": "synthesis_complete", "request_id": "unknown"}], "kokoro"),
        ([b"\0\1", {"type": "Flushed", "sequence_id": 0}], "deepgram-tts"),
        ([{"type": "response.created"}, {"type": "response.done", "response": {}}], "openai-realtime"),
        ([{"type": "begin"}, b"\0\1", {"type": "done"}], None),
        ([b"\0\1"], None),
    ],
)
def test_a_known_end_names_its_profile(messages: list[object], name: str | None) -> None:
    assert likely_profile(parts(*messages), "g") == name


def test_the_proposed_command_writes_a_profile_that_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    end = {"event": "done", "ref": "g", "seconds": 1.5}
    command = shlex.split(profile_command(parts({"event": "begin"}, b"\0\1", end), "g"))
    assert command[0] == "contract"
    assert main(command[1:]) == 0
    profile = load("my.toml")
    assert profile.end.matches(end, "g")
    assert not profile.end.matches({"event": "begin"}, "g")
    assert not profile.end.matches(end, "h")


def test_where_no_message_is_json_the_command_is_an_example() -> None:
    assert profile_command(parts(b"\0\1"), "g").endswith("""'{"type": "done"}'""")
