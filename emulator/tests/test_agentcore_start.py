import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from emulator.agentcore.start import AgentStartError, agent_command, agent_container
from emulator.cli import main

HEALTHY = (
    "from http.server import *\nimport os, sys\n"
    "class H(BaseHTTPRequestHandler):\n"
    "    def do_GET(self):\n"
    "        self.send_response(int(os.environ['ANSWER'])); self.end_headers()\n"
    "print('I listen,', os.getpid(), flush=True)\n"
    "HTTPServer(('127.0.0.1', int(sys.argv[1])), H).serve_forever()\n"
)


def test_what_agent_stands_for() -> None:
    assert agent_command("http://127.0.0.1:8080") is None
    assert agent_command("my {port}") == "my {port}"
    assert (agent_command("my.module:app") or "").split()[1:4] == ["-m", "uvicorn", "my.module:app"]
    assert "-m container.agent serve" in (agent_command("agent") or "")
    with pytest.raises(AgentStartError, match="expected one of"):
        agent_command("my_agent.py")


@pytest.fixture
def command(tmp_path: Path) -> str:
    (tmp_path / "agent.py").write_text(HEALTHY)
    return f"{sys.executable} {tmp_path / 'agent.py'} {{port}}"


async def test_an_agent_is_ready_when_its_ping_is_good_and_ends_with_the_block(command: str) -> None:
    heard: list[str] = []
    async with asyncio.timeout(30):
        async with agent_container(command, {"ANSWER": "200"}, heard=heard.append) as url:
            port = int(url.rpartition(":")[2])
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
        with pytest.raises(OSError, match=r"refused|failed"):
            await asyncio.open_connection("127.0.0.1", port)
    assert heard[0].startswith("I listen, ")


async def test_an_agent_that_never_gets_healthy_is_one_clear_error(command: str) -> None:
    with pytest.raises(AgentStartError, match=r"did not answer 200 within 0 s[\s\S]*command") as caught:
        async with agent_container(command, {"ANSWER": "503"}, limit=0.0):
            pass
    assert "agent.py" in str(caught.value)


async def test_an_agent_that_exits_says_its_last_words() -> None:
    words = f"{sys.executable} -c \"raise SystemExit('I cannot {{port}}')\""
    with pytest.raises(AgentStartError, match=r"exited with status 1[\s\S]*I cannot \d+"):
        async with agent_container(words, {}):
            pass


async def test_a_command_that_is_not_there() -> None:
    with pytest.raises(AgentStartError, match="cannot be run"):
        async with agent_container("/no/such/program {port}", {}):
            pass


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--agent", "agent.py"], "that is no agent"),
        (["--agent", "no_such_module:app"], "The agent did not come up: it exited"),
        (["--agent", "http://127.0.0.1:9", "--agent-name", "my-agent"], "no name of an agent"),
        (["--bedrock-script", "no-such-file.toml"], "No such file"),
    ],
)
def test_up_says_what_is_wrong(
    arguments: list[str], error: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["up", "--port", "0", "--state-dir", str(tmp_path), *arguments]) == 2
    assert error in capfd.readouterr().err


async def test_an_agent_that_is_no_longer_wanted_while_it_starts_is_ended(command: str) -> None:
    listening = asyncio.Event()
    said: list[str] = []

    async def start() -> None:
        async with agent_container(command, {"ANSWER": "503"}, heard=hear):
            pass

    def hear(line: str) -> None:
        said.append(line)
        listening.set()

    async with asyncio.timeout(30):
        starting = asyncio.ensure_future(start())
        await listening.wait()
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
    process = int(said[0].rpartition(" ")[2])
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


@pytest.mark.parametrize("answer", ["200", "503"])
def test_ctrl_c_ends_the_emulator_and_its_agent(answer: str, command: str, tmp_path: Path) -> None:
    arguments = [
        sys.executable,
        "-m",
        "emulator",
        "up",
        "--port",
        "0",
        "--state-dir",
        str(tmp_path),
        "--agent",
        command,
    ]
    process = subprocess.Popen(
        arguments,
        env={**os.environ, "ANSWER": answer},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        agent = 0
        # 503: it starts for ever; 200: until all is said
        wanted = "Ctrl-C stops" if answer == "200" else "agent | I listen"
        for line in process.stdout:
            if "agent | I listen" in line:
                agent = int(line.rpartition(" ")[2])
            if wanted in line:
                break
        process.send_signal(signal.SIGINT)
        said = process.stdout.read()
        assert process.wait(timeout=30) == 0
        assert "Stopping" in said
        assert "Traceback" not in said
        with pytest.raises(ProcessLookupError):
            os.kill(agent, 0)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
