import http.server
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import override

import pytest

from emulator.launch import TargetError, launched, ping_problem
from emulator.process import Process
from emulator.target import parse


def test_a_child_that_left_the_group_does_not_hold_up_the_end(tmp_path: Path) -> None:
    process = Process(["sh", "-c", "echo started; setsid sleep 30 & sleep 100"], tmp_path)
    while not process.tail():
        time.sleep(0.01)  # another process: there is no event to wait for
    began = time.monotonic()
    process.stop()
    assert time.monotonic() - began < 20
    assert process.tail() == ["started"]


@pytest.mark.parametrize("by_itself", [True, False])
def test_a_child_whose_output_is_shown_does_not_end_in_silence(
    by_itself: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    process = Process(["sh", "-c", "echo started; " + ("exit 3" if by_itself else "sleep 100")], tmp_path, echo=True)
    while not (process.exit_code == 3 if by_itself else process.tail()):
        time.sleep(0.01)  # another process: there is no event to wait for
    process.tail()  # waits for the last of its output
    process.stop()
    shown = capsys.readouterr().err
    assert "container | started\n" in shown
    assert ("container | (it has ended by itself, exit code 3)" in shown) is by_itself


class _Redirecting(http.server.BaseHTTPRequestHandler):
    @override
    def do_GET(self) -> None:  # type: ignore[misc]  # typeshed leaves the method out
        self.send_response(302 if self.path == "/ping" else 200)
        self.send_header("location", "/elsewhere")
        self.send_header("content-length", "0")
        self.end_headers()

    @override
    def log_message(self, format: str, *args: object) -> None:  # the name is the base class's
        pass


@pytest.fixture
def redirecting() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Redirecting)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_ping_that_redirects_is_not_healthy(redirecting: str, tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="HTTP 302"), launched(parse(redirecting), 0.3, tmp_path):
        pass


@pytest.mark.parametrize("server", ["uvicorn", "hypercorn"])
def test_an_app_by_its_file_is_served_from_anywhere(server: str, tmp_path: Path) -> None:
    package = tmp_path / "elsewhere" / "voice"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "answers.py").write_text("from emulator.bench.container import app\n")
    (package / "server.py").write_text("from .answers import app\n")
    here = tmp_path / "here"
    here.mkdir()
    with launched(parse(f"{package}/server.py:app", server), 60, here) as url:
        assert ping_problem(url, 10) == ""


def test_who_waits_for_long_is_told_what_for(
    redirecting: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("emulator.launch._PATIENCE_S", 0.2)
    with pytest.raises(TargetError), launched(parse(redirecting), 0.6, tmp_path):
        pass
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith(f"Waiting for {redirecting}/ping to answer 200: HTTP 302; 0 s of at most 0.6 s.")
