from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from emulator import Emulator, Endpoint


@pytest.fixture(scope="session")
def state_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate authority of the test run's own."""
    return tmp_path_factory.mktemp("state")


InFront = Callable[[str], Emulator]


@pytest.fixture
def in_front(state_directory: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InFront]:
    """Start the emulator in front of a container's URL, as endpoint "voice", and set what `emulator up` prints."""
    started: list[Emulator] = []

    def start(url: str) -> Emulator:
        emulator = Emulator({"voice": Endpoint(url)}, state_directory=state_directory)
        emulator.__enter__()
        started.append(emulator)
        for name, value in emulator.environment.items():
            monkeypatch.setenv(name, value)
        return emulator

    yield start
    for emulator in started:
        emulator.__exit__(None, None, None)
