import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import ConnectionClosed

from container.kokoro import weights as weights_module
from container.kokoro.cli import main, parser
from container.kokoro.ending import ends_at
from container.kokoro.errors import SetupError
from container.kokoro.settings import Settings, from_environment
from container.kokoro.tests.client import TIMEOUT_S, ask, control, drain
from container.kokoro.tests.servers import session
from container.kokoro.weights import Weights

READY_S = 120


class Program:
    """`python -m container.kokoro` as a process; its stderr is read as it comes."""

    def __init__(self, *arguments: str, environment: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "container.kokoro", *arguments],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **(environment or {})},
        )
        self.log = ""
        self._grown = threading.Condition()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._grown:
                self.log += line
                self._grown.notify_all()
        with self._grown:
            self._grown.notify_all()
        self.process.stderr.close()

    def wait_for(self, pattern: str) -> re.Match[str]:
        with self._grown:
            self._grown.wait_for(lambda: re.search(pattern, self.log) or self.process.poll() is not None, READY_S)
        found = re.search(pattern, self.log)
        assert found, self.log
        return found

    def end(self) -> int:
        code = self.process.wait(READY_S)
        self._reader.join(TIMEOUT_S)
        return code


@contextmanager
def program(*arguments: str, environment: dict[str, str] | None = None) -> Generator[Program]:
    running = Program(*arguments, environment=environment)
    try:
        yield running
    finally:
        running.process.kill()
        running.end()


@pytest.mark.usefixtures("weights")
async def test_serve_is_listening_at_once_then_ready_then_stops_on_sigterm_while_speaking() -> None:
    with program("--port", "0", "--stop-grace", "0.5", "--log-format", "json", "serve") as running:
        port = int((await asyncio.to_thread(running.wait_for, r"running on http://127\.0\.0\.1:(\d+)"))[1])
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as http:
            assert (await http.get("/ping")).status_code == 503
            await asyncio.to_thread(running.wait_for, r"ready after .* onnx, .*int8, sha256 6e742170d309")
            assert (await http.get("/ping")).status_code == 200
        async with session(port) as ws:
            got = await ask(ws, {"text": "Hello there."})
            assert got.last["total_duration_s"] > 0.5
        async with session(port) as ws:  # a second one: the server has been idle in between
            await ws.send('{"text": "%s"}' % ("A long text goes on. " * 50))
            assert (await control(ws))["type"] == "synthesis_start"
            running.process.send_signal(signal.SIGTERM)
            with pytest.raises(ConnectionClosed) as closed:
                await drain(ws)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1001
        async with asyncio.timeout(TIMEOUT_S):
            assert await asyncio.to_thread(running.end) == 0
    assert "Traceback" not in running.log
    assert all("message" in json.loads(line) for line in running.log.splitlines())


def test_sigterm_ends_it_also_before_it_has_begun(tmp_path: Path) -> None:
    # the first module that the command line imports says that it is there, and takes for ever
    (tmp_path / "argparse.py").write_text(
        "import sys, time\nprint('importing', file=sys.stderr, flush=True)\ntime.sleep(600)\n"
    )
    with program("serve", environment={"PYTHONPATH": str(tmp_path)}) as running:
        running.wait_for("importing")
        running.process.send_signal(signal.SIGTERM)
        assert running.end() == 0
    assert "Traceback" not in running.log


def test_a_fetch_that_is_ended_is_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def resolve(*_: object) -> Weights:
        seen.append(signal.getsignal(signal.SIGTERM))
        raise SetupError("enough seen")

    monkeypatch.setattr(weights_module, "resolve", resolve)
    before = signal.getsignal(signal.SIGTERM)
    try:
        ends_at(signal.SIGTERM)  # as the process begins
        assert main(["fetch"]) == 1
    finally:
        signal.signal(signal.SIGTERM, before)
    assert seen == [signal.SIG_DFL]


@pytest.mark.parametrize(
    ("variable", "value"), [("KOKORO_SPIN", "yes"), ("KOKORO_SIGNED", "no"), ("KOKORO_THREADS", "9" * 5000)]
)
def test_a_wrong_setting_of_the_engine_ends_it_with_what_is_expected(variable: str, value: str) -> None:
    with program("--port", "0", environment={variable: value}) as running:
        assert running.end() == 1
    assert f"{variable} is '{value[:40]}', expected " in running.log
    assert "is no model that ONNX Runtime can load" not in running.log
    assert "Traceback" not in running.log


def test_weights_that_are_missing_end_the_process_with_what_to_do(tmp_path: Path) -> None:
    with program("serve", "--port=0", f"--weights={tmp_path}") as running:
        assert running.end() == 1
    assert f"error: the model could not be loaded.\n{tmp_path} holds no weights for the engine onnx." in running.log
    assert "Expected a .onnx file" in running.log
    assert "Traceback" not in running.log


def test_a_port_that_is_taken_ends_the_process() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, program("--port", str(taken.getsockname()[1])) as running:
        assert running.end() not in (0, None)
    assert "address already in use" in running.log


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"PORT": "http"}, "PORT is 'http', expected a whole number"),
        ({"PORT": "1" * 5000}, "PORT is '1111"),
        ({"PORT": "70000"}, "expected 0 to 65535"),
        ({"KOKORO_MAX_SESSIONS": "0"}, "KOKORO_MAX_SESSIONS is 0, expected 1 to 100000"),
        ({"KOKORO_STOP_GRACE": "11"}, "KOKORO_STOP_GRACE is 11.0, expected 0 to 10"),
        ({"KOKORO_IDLE": "nan"}, "KOKORO_IDLE is 'nan', expected a number"),
        ({"KOKORO_FIRST_CLAUSE": "yes"}, "KOKORO_FIRST_CLAUSE is 'yes', expected one of on, off"),
        ({"KOKORO_ENGINE": "tensorflow"}, "expected one of onnx, torch"),
    ],
)
def test_wrong_environment(environment: dict[str, str], words: str) -> None:
    with pytest.raises(SetupError, match=re.escape(words)):
        from_environment(environment)


def test_environment_is_the_default_of_the_command_line() -> None:
    environment = {"PORT": "9", "KOKORO_IDLE": "7.5", "HOST": "::1", "KOKORO_ENGINE": "torch", "KOKORO_WEIGHTS": "hub"}
    assert from_environment(environment) == Settings("::1", 9, "torch", "hub", idle_s=7.5)
    assert from_environment(dict.fromkeys(environment, "")) == Settings("127.0.0.1", 8080, "onnx", "auto") == Settings()
    options = parser(from_environment(environment)).parse_args(["--engine", "onnx", "serve"])
    assert (options.port, options.engine, options.command) == (9, "onnx", "serve")


def test_wrong_call_has_exit_code_2(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PORT", "x")
    assert main(["serve"]) == 2
    assert capsys.readouterr().err.startswith("error: PORT is 'x'")


def test_fetch_names_what_is_there(weights: Weights, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fetch"]) == 0
    assert str(weights.model) in capsys.readouterr().out
    assert main(["fetch", "--weights", "hub"]) == 1
    assert "--weights hub has no ONNX file" in capsys.readouterr().err
