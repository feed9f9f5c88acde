"""Servers with a fake model, and the real model once."""

from collections.abc import Generator
from dataclasses import dataclass

import pytest

from container.kokoro import engine
from container.kokoro.app import create_app
from container.kokoro.engine import Engine
from container.kokoro.phonemes import Phonemizer
from container.kokoro.tests.fakes import FakeEngine, speech
from container.kokoro.tests.servers import SERVERS, serving
from container.kokoro.weights import Weights, resolve


@dataclass(frozen=True)
class Served:
    """A running container with a fake model."""

    port: int
    engine: FakeEngine
    server: str


@pytest.fixture(params=SERVERS)
def served(request: pytest.FixtureRequest) -> Generator[Served]:
    """Run the container on each server in turn."""
    fake = FakeEngine()
    app = create_app(lambda: speech(fake))
    with serving(app, request.param) as port:
        assert app.state.model.done.wait(20)
        yield Served(port, fake, request.param)
        fake.release.set()


@pytest.fixture(scope="session")
def phonemizer() -> Phonemizer:
    """Load the real phonemizer."""
    return Phonemizer()


@pytest.fixture(scope="session")
def weights() -> Weights:
    """Prepare the packaged weights and the voices; fetches the voices where they never were."""
    return resolve("auto", "onnx")


@pytest.fixture(scope="session")
def onnx(weights: Weights) -> Engine:
    """Load the real ONNX engine."""
    return engine.load("onnx", weights)
