"""Benchmarks on servers with a fake model, which run in this process in place of those that would be started."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from container.kokoro.bench import __main__ as bench
from container.kokoro.bench import naive, servers
from container.kokoro.bench.servers import NAIVE, Kind, Running
from container.kokoro.settings import Settings
from container.kokoro.tests.conftest import serve
from container.kokoro.tests.fakes import FakeEngine, FakeReader
from container.kokoro.tests.servers import serving


def start_fakes(monkeypatch: pytest.MonkeyPatch) -> list[Kind]:
    """Start fakes from now on; return what was started, as it comes."""
    started: list[Kind] = []

    @asynccontextmanager
    async def running(kind: Kind, engine: str) -> AsyncGenerator[Running]:
        del engine
        started.append(kind)
        if kind.command == NAIVE.command:
            app = naive.create_app(FakeEngine(), FakeReader())
            with serving(app, "hypercorn") as port:
                yield Running(kind.name, f"127.0.0.1:{port}", 0.1, 0.2)
            return
        settings = Settings(
            first_clause=kind.environment.get("KOKORO_FIRST_CLAUSE", "on"),
            max_sessions=int(kind.environment.get("KOKORO_MAX_SESSIONS", 64)),
            max_waiting=int(kind.environment.get("KOKORO_MAX_WAITING", 64)),
        )
        with serve(settings) as served:
            yield Running(kind.name, f"127.0.0.1:{served.port}", 0.1, 0.2)

    monkeypatch.setattr(servers, "running", running)
    return started


def result(tmp_path: Path, *arguments: str, code: int = 0) -> dict[str, Any]:
    """Run a benchmark, which has to end with this code; return what it wrote."""
    file = tmp_path / f"{arguments[0]}.json"
    assert bench.main([*arguments, "--json", str(file)]) == code
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    assert arguments[0] in bench.DRAWN or found["chart"] is None
    return found
