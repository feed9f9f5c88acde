"""Servers with a fake model, and the real model once."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.applications import Starlette

from container.kokoro import engine
from container.kokoro.app import create_app
from container.kokoro.engine import Engine
from container.kokoro.phonemes import Phonemizer
from container.kokoro.settings import Settings
from container.kokoro.tests.fakes import FakeEngine, speech
from container.kokoro.tests.servers import SERVERS, serving
from container.kokoro.weights import Weights, resolve


@dataclass(frozen=True)
class Served:
    """A running container with a fake model."""

    port: int
    engine: FakeEngine
    server: str
    app: Starlette

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop of the server."""
        loop: asyncio.AbstractEventLoop = self.app.state.loop
        return loop

    def metric(self, name: str, **labels: str) -> float:
        """Return the value of one metric; 0 when it never was set."""
        self.app.state.telemetry.waiting.set(self.app.state.model.waiting)
        return metric(self.app.state.telemetry.exposition().decode(), name, **labels)

    async def settled(self, name: str, value: float, **labels: str) -> None:
        """Wait until a metric has this value: the server runs in another thread."""
        async with asyncio.timeout(20):
            while self.metric(name, **labels) != value:  # noqa: ASYNC110  # no event reaches this loop
                await asyncio.sleep(0.01)


def metric(exposition: str, name: str, **labels: str) -> float:
    """Return one value of an exposition."""
    for family in text_string_to_metric_families(exposition):
        for sample in family.samples:
            if sample.name == name and labels.items() <= sample.labels.items():
                return sample.value
    return 0.0


@contextmanager
def serve(settings: Settings, server: str = "uvicorn") -> Generator[Served]:
    """Run the container with a fake model and these settings."""
    fake = FakeEngine()
    app = create_app(lambda: speech(fake, settings), settings=settings)
    with serving(app, server, settings) as port:
        assert app.state.model.done.wait(20)
        yield Served(port, fake, server, app)
        fake.release.set()


@pytest.fixture(params=SERVERS)
def served(request: pytest.FixtureRequest) -> Generator[Served]:
    """Run the container on each server in turn."""
    with serve(Settings(), request.param) as running:
        yield running


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
