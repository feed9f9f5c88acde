"""A console script as a person has it at the terminal, in this process."""

import sys
from collections.abc import Callable

import pytest

from deploy import agent_cli, speech_cli

__all__ = ["Typed", "typed"]

Typed = Callable[..., str]


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Typed:
    """Run a command line to its end; returns all that it said."""

    def run(line: str, *more: str, expected: int = 1) -> str:
        name, *words = line.split()
        monkeypatch.setattr(sys, "argv", [name, *words, *more])
        with pytest.raises(SystemExit) as ended:
            (speech_cli if name == "speech-infra" else agent_cli).main()
        said = "".join(capsys.readouterr())
        assert (ended.value.code or 0) == expected, said
        return said

    return run
