"""The command as a user runs it: pytest in a process of its own, in the user's directory."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from contract_tests.agents.catalogue import AGENT_CHECKS
from contract_tests.catalogue import CHECKS

ROOT = Path(__file__).parents[2]
ECHO = """
import sys
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute

async def ping(_):
    return Response({ping})

async def stream(ws):
    await ws.accept()
    while True:
        await ws.send_text(await ws.receive_text())

print("the model is loading", file=sys.stderr, flush=True)
{more}
app = Starlette(routes=[Route("/ping", ping), WebSocketRoute("/invocations-bidirectional-stream", stream)])
"""


def app(folder: Path, ping: str = "", more: str = "") -> str:
    (folder / "mine.py").write_text(ECHO.format(ping=ping, more=more), "utf-8")
    return "mine:app"


def noting(pid: Path) -> str:
    """Return what makes an app write its process id into a file."""
    return f"import os, pathlib; pathlib.Path({str(pid)!r}).write_text(str(os.getpid()))"


def run(cwd: Path, *arguments: str, within: float = 60.0) -> tuple[int, str, float]:
    """Return exit code, output and seconds."""
    command = [sys.executable, "-m", "pytest", "-m", "contract", "-p", "no:cacheprovider", "--color=no"]
    began = time.monotonic()
    done = subprocess.run(
        [*command, *arguments, str(ROOT / "contract_tests" / "test_contract.py")],
        cwd=cwd,
        env={**os.environ, "COLUMNS": "150"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=within,
        check=False,
    )
    return done.returncode, done.stdout, time.monotonic() - began


@pytest.mark.parametrize(
    ("server", "seen", "cause", "own_words"),
    [
        (
            "uvicorn",
            ["gone without a Close frame", "closing behaviour FAIL", "1006"],
            "KeyError('text')",
            "| KeyError: 'text'",
        ),
        ("hypercorn", ["silence for 5.0 s"], "`receive_text()` returns None", ""),
    ],
)
def test_a_receive_text_container_comes_out_red_by_name(
    server: str, seen: list[str], cause: str, own_words: str
) -> None:
    code, output, _ = run(
        ROOT,
        "--target",
        "contract_tests.broken.receive_text:app",
        "--server",
        server,
        "--profile",
        "kokoro",
        "-k",
        "CT1-",
    )
    words = re.sub(r"\s+", " ", output)
    for part in [
        "CT1 text-and-binary (MUST): FAIL",
        "one BINARY frame carrying UTF-8 JSON",
        "because the client set no DataType",
        "no reply",
        *seen,
        "A part with DataType BINARY, or with none, becomes a BINARY frame. [documented]",
        "https://docs.aws.amazon.com/sagemaker/latest/dg/your-algorithms-inference-code.html",
        "1. The handler reads with `receive_text()`",
        cause,
        "- text = await websocket.receive_text()",
        "+ message = await websocket.receive()",
        "SageMaker → container frame BINARY",
    ]:
        assert part in words, output
    assert code == 1
    assert output.count("At stake") == 1
    assert "ContractFailedError" not in output  # the verdict stands alone, without the code that raised it
    assert not re.search(r"^(?! +\|).*Traceback", output, re.MULTILINE)  # none but the container's own
    assert own_words in output
    assert ("The container's own output meanwhile" in output) == bool(own_words)


def test_any_container_is_judged_in_its_own_directory(tmp_path: Path) -> None:
    code, output, _ = run(tmp_path, "--target", app(tmp_path), "-k", "CT0 or CT1- or CT8 or CT24")
    assert code == 1, output
    assert re.search(r"PASS +CT0 ", output)
    assert re.search(r"FAIL +CT1 ", output)
    assert re.search(r"N/A +CT8 .*does not say what the audio is", output)
    assert re.search(r"WARN +CT24 .*HTTP 405", output)


def test_what_is_tested_afterwards_finds_no_container_and_the_environment_as_it_was(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    (tmp_path / "test_after.py").write_text(
        "import os, pathlib, pytest\n"
        "def environment():\n"
        "    return {name: value for name, value in os.environ.items() if name != 'PYTEST_CURRENT_TEST'}\n"
        "BEFORE = environment()\n"
        "def test_after():\n"
        "    assert environment() == BEFORE\n"
        "    with pytest.raises(ProcessLookupError):\n"
        f"        os.kill(int(pathlib.Path({str(pid)!r}).read_text()), 0)\n",
        "utf-8",
    )
    target = app(tmp_path, more=noting(pid))
    contract = str(ROOT / "contract_tests" / "test_contract.py")
    code, output, _ = run(tmp_path, "--target", target, "-m", "", "-k", "CT0 or after", contract, "test_after.py")
    assert code == 0, output
    assert "2 passed" in output


def test_strict_makes_a_should_count(tmp_path: Path) -> None:
    code, output, _ = run(tmp_path, "--target", app(tmp_path), "--contract-level", "SHOULD", "-k", "CT24")
    assert code == 1, output
    assert "CT24 ping (MUST): FAIL" in output


def test_a_profile_that_does_not_fit_is_said_once(tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text(
        """request = { template = '{"say": "{text}"}' }\nreply = { timeout = 0.5, end = { text = "^done$" } }""",
        "utf-8",
    )
    code, output, _ = run(tmp_path, "--target", app(tmp_path), "--profile", "other.toml", "-k", "not CT24")
    assert code == 1, output
    assert "none of them was recognised as the end" in re.sub(r"\s+", " ", output)
    assert set(re.findall(r"^FAIL +(CT\d+)", output, re.MULTILINE)) == {"CT0"}
    assert output.count("no good request is answered: see CT0") >= 5


@pytest.mark.parametrize(
    ("more", "ping", "parts"),
    [
        ("raise RuntimeError('no weights')", "", ["exited with code 1", "RuntimeError: no weights"]),
        (
            "",
            "status_code=503",
            ["did not answer 200 within 4 s (HTTP 503)", "the model is loading", "--start-timeout"],
        ),
    ],
)
def test_a_target_that_does_not_come_up_is_one_error(tmp_path: Path, more: str, ping: str, parts: list[str]) -> None:
    code, output, _ = run(tmp_path, "--target", app(tmp_path, ping, more), "--start-timeout", "4")
    for part in [*parts, "-m uvicorn mine:app", "what to do:"]:
        assert part in output, output
    assert code == 3
    assert " failed" not in output
    assert output.count("The target did not come up") == 1


def test_a_target_that_is_not_there(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"ws://127.0.0.1:{unused.getsockname()[1]}"
        code, output, _ = run(tmp_path, "--target", url, "--start-timeout", "1")
    assert code == 3, output
    assert f"{url.replace('ws', 'http')}/ping did not answer 200 within 1 s" in output
    assert "start the container first" in output
    assert "Traceback" not in output


def test_an_image_without_a_container_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nothing.sock")
    code, output, _ = run(tmp_path, "--target", "image:tts:1.2")
    assert code == 3, output
    assert "the container engine did not start it" in output
    assert "docker run --publish 8080 tts:1.2 serve" in output
    assert "docker info" in output
    assert "Traceback" not in output


def test_nothing_that_was_started_is_left(tmp_path: Path) -> None:
    app(tmp_path, more=noting(tmp_path / "pid"))
    code, output, _ = run(tmp_path, "--target", "mine:app", "--server", "hypercorn", "-k", "CT0")
    assert code == 0, output
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_nothing_behind(tmp_path: Path, number: signal.Signals) -> None:
    pid = tmp_path / "pid"
    app(tmp_path, more=noting(pid))
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--target", "mine:app", "--idle-seconds", "50"]
    test = f"{ROOT / 'contract_tests' / 'test_contract.py'}::test_contract[CT7-many-sentences-one-session]"
    # a test run in the background ignores Ctrl-C, and what it starts would too
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen([*command, "-v", test], cwd=tmp_path, stdout=subprocess.PIPE, text=True) as running:
        signal.signal(signal.SIGINT, before)
        try:
            deadline = time.monotonic() + 30
            while not (pid.exists() and pid.read_text()) and time.monotonic() < deadline:
                time.sleep(0.05)
            time.sleep(1.0)  # into the pause of CT7, of which nothing is to be seen from outside
            running.send_signal(number)
            output, _ = running.communicate(timeout=20)
        finally:
            running.kill()
    assert running.returncode == 2, output
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--target", "localhost:8080"], ["did you mean http://localhost:8080?", "image:NAME[:TAG]"]),
        (["--target", "a:b", "--server", "gunicorn"], ["--server 'gunicorn'", "uvicorn or hypercorn"]),
        (["--profile", "kokro"], ["--profile kokro", "Did you mean 'kokoro'?"]),
        (["--start-timeout", "-1"], ["expected seconds above 0"]),
        (["--idle-seconds", "long"], ["expected seconds above 0"]),
    ],
)
def test_bad_options_end_the_run_before_it_begins(tmp_path: Path, arguments: list[str], parts: list[str]) -> None:
    code, output, _ = run(tmp_path, *arguments)
    assert all(part in output for part in parts), output
    assert code == 4
    assert "Traceback" not in output


def test_the_checks_can_be_listed(tmp_path: Path) -> None:
    code, output, _ = run(tmp_path, "--list-checks")
    assert code == 0
    assert re.findall(r"^CT\d+", output, re.MULTILINE) == [check.id for check in (*CHECKS, *AGENT_CHECKS)]


REFUSES = """
import json
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute

async def ping(_):
    return Response()

async def stream(ws):
    await ws.accept()
    while True:
        text = await ws.receive_text()
        try:
            said = json.loads(text)["text"]
        except (TypeError, ValueError, KeyError) as problem:
            await ws.send_text(json.dumps({"error": str(problem)}))
        else:
            await ws.send_bytes(b"\\0\\1" * len(said))

app = Starlette(routes=[
    Route("/ping", ping, methods=["GET", "POST"]), WebSocketRoute("/invocations-bidirectional-stream", stream)
])
"""


def test_an_error_is_no_answer_to_a_binary_frame_even_where_any_reply_counts(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(REFUSES, "utf-8")
    code, output, _ = run(tmp_path, "--target", "mine:app", "--server", "hypercorn", "-k", "CT1-")
    assert code == 1, output
    words = re.sub(r"\s+", " ", output)
    assert "the TEXT frame got BINARY" in words
    assert 'the BINARY frame got TEXT \'{"error"' in words
    assert "`receive_text()`" in words


def test_a_container_that_refuses_the_default_request_is_not_called_good_in_silence(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(REFUSES.replace('["text"]', '["say"]'), "utf-8")
    code, output, _ = run(tmp_path, "--target", "mine:app", "-k", "CT0")
    assert code == 0, output
    assert "WARN  CT0" in output
    assert "Write a profile for it" in output


@pytest.mark.parametrize("level", ["MUST", "SHOULD"])
@pytest.mark.parametrize(
    ("methods", "status", "words"),
    [
        ("['GET']", 0, r"WARN +CT24 .*expected \(ticket 7\): .*HTTP 405"),
        ("['GET', 'POST']", 1, r"FAIL +CT24 .*it does not fail any more"),
    ],
)
def test_a_warning_may_be_expected_at_every_level(
    tmp_path: Path, methods: str, status: int, words: str, level: str
) -> None:
    (tmp_path / "mine.py").write_text(
        ECHO.format(ping="", more="").replace("ping)", f"ping, methods={methods})"), "utf-8"
    )
    (tmp_path / "known.txt").write_text("CT24  # ticket 7\n", "utf-8")
    arguments = ["--target", "mine:app", "--contract-baseline=known.txt", "--contract-level", level, "-k", "CT24"]
    code, output, _ = run(tmp_path, *arguments)
    assert code == status, output
    assert re.search(words, output), output
