"""What operators are told, and what they are never told: the words of clients."""

import asyncio
import io
import json
import logging
import re
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx
import pytest

from container.kokoro.logs import JsonFormatter, TextFormatter
from container.kokoro.settings import Settings
from container.kokoro.telemetry import Telemetry
from container.kokoro.tests.client import TIMEOUT_S, ask, control
from container.kokoro.tests.conftest import Served, serve
from container.kokoro.tests.servers import session as open_session

PAGE = Path(__file__).parents[3] / "docs" / "kokoro.md"
WORD = "marzipan"

ON_A_SOCKET: list[Any] = [
    {"text": f"All the {WORD}."},
    {"text": f"boom {WORD}"},
    {"text": f"{WORD}", "voice": "af_nobody"},
    {"text": f"{WORD}", "speed": WORD},
    {"text": f"{WORD} " * 10_000},
    {"text": [WORD]},
    {"type": WORD},
    f'{{"text": "{WORD}',
    f'"{WORD}"',
    WORD.encode() + b"\xff",
]
OVER_HTTP: list[bytes] = [
    json.dumps({"text": f"The {WORD} again."}).encode(),
    json.dumps({"text": f"boom {WORD}"}).encode(),
    json.dumps({"text": f"boom {WORD}", "stream": False}).encode(),
    json.dumps({"model": "kokoro", "input": f"{WORD}", "voice": "nobody"}).encode(),
    json.dumps({"text": WORD, "format": WORD}).encode(),
    f"{{{WORD}".encode(),
]


@pytest.fixture(params=[JsonFormatter, TextFormatter])
def log(request: pytest.FixtureRequest) -> Generator[io.StringIO]:
    """Collect the log as it is written in production: level INFO, everything that the server's libraries say."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(request.param())
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    logging.getLogger("httpx").setLevel(logging.WARNING)  # that is the client
    root.setLevel(logging.INFO)
    yield stream
    root.removeHandler(handler)
    root.setLevel(level)
    logging.getLogger("httpx").setLevel(logging.NOTSET)


async def misuse(served: Served) -> None:
    """Say the secret in every way there is."""
    async with open_session(served.port) as ws:
        for message in ON_A_SOCKET:
            await ask(ws, message)
        await ws.send(json.dumps({"text": f"hold the {WORD}", "request_id": "h"}))
        assert (await control(ws))["type"] == "synthesis_start"
        assert await asyncio.to_thread(served.engine.holding.wait, TIMEOUT_S)
        await ws.send(json.dumps({"type": "cancel"}))
        assert (await control(ws))["type"] == "synthesis_cancelled"
        served.engine.release.set()
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{served.port}", timeout=TIMEOUT_S) as http:
        for body in OVER_HTTP:
            await http.post("/invocations", content=body)
        await http.post(f"/{WORD}", content=b"{}")
    await served.settled("kokoro_sessions", 0)


async def test_no_word_of_a_client_is_logged(log: io.StringIO) -> None:
    with serve(Settings()) as served:
        await misuse(served)
    written = log.getvalue()
    for outcome in ("complete", "failed", "refused", "cancelled"):
        assert outcome in written
    assert WORD not in written


def test_a_library_s_warning_is_a_line_like_all_others() -> None:
    program = (
        "import warnings; from container.kokoro import logs, settings; "
        "logs.set_up(settings.Settings(log_format='json')); warnings.warn('old\\nand gone', FutureWarning)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    (line,) = map(json.loads, done.stderr.splitlines())
    assert line["level"] == "WARNING"
    assert "FutureWarning: old\nand gone" in line["message"]


async def test_texts_are_logged_on_wish_only(log: io.StringIO) -> None:
    with serve(Settings(log_text="on")) as served:
        speech = served.app.state.model.speech()
        speech.log_text = True  # the fake speech is made without it
        async with open_session(served.port) as ws:
            await ask(ws, {"text": f"boom {WORD}"})
    assert f"boom {WORD}" in log.getvalue()


def test_the_page_lists_every_metric() -> None:
    names = set(re.findall(r"(?m)^# HELP (kokoro_\w+)", Telemetry().exposition().decode()))
    names = {name for name in names if not name.endswith("_created")}
    listed = set(re.findall(r"(?m)^\| `(kokoro_\w+)", PAGE.read_text(encoding="utf-8")))
    assert listed == names
