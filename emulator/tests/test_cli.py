import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from emulator import Faults
from emulator.cli import main
from emulator.tests.client import RawClient, event


@contextlib.contextmanager
def emulator_up(*arguments: str, state: Path, cwd: Path | None = None) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run ``emulator up`` as a user does, until it says that it is ready; give its process and what it printed."""
    command = [sys.executable, "-m", "emulator", "up", *arguments]
    process = subprocess.Popen(  # its own group, so that the signal is its alone
        [*command, "--state-dir", str(state)], cwd=cwd, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            if "Ctrl-C stops" in line:
                break
        yield process, "".join(lines)
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def test_up_prints_what_an_sdk_needs_and_stops_cleanly_on_ctrl_c(tmp_path: Path) -> None:
    with emulator_up("--target", "ws://127.0.0.1:9", "--port", "0", "--endpoint", "voice", state=tmp_path) as (
        process,
        printed,
    ):
        assert "Endpoint voice is served at https://127.0.0.1:" in printed
        assert str(tmp_path / "ca" / "ca.pem") in printed
        for name in ("AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME_HTTP2", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"):
            assert f"export {name}=" in printed
        assert 'endpoint_name="voice"' in printed
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10) == 0
        assert process.stdout is not None
        assert "Stopping" in process.stdout.read()


def test_the_printed_snippet_is_valid_python(tmp_path: Path) -> None:
    with emulator_up("--target", "ws://127.0.0.1:9", "--port", "0", state=tmp_path) as (_, printed):
        begin, end = printed.index("import asyncio"), printed.index("asyncio.run(main())")
        compile(printed[begin:end], "snippet", "exec")


def test_a_port_in_use_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        arguments = ["up", "--target", "ws://127.0.0.1:9", "--port", port, "--state-dir", str(tmp_path)]
        assert main(arguments) == 2
    error = capsys.readouterr().err
    assert f"cannot listen on 127.0.0.1:{port}" in error
    assert "Another emulator may be running" in error
    assert "--port" in error


@pytest.mark.parametrize("host", ["203.0.113.7", "300.1.1.1"])
def test_a_host_that_is_none_of_this_machine_is_no_port_in_use(
    host: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["up", "--target", "ws://127.0.0.1:9", "--host", host, "--port", "0", "--state-dir", str(tmp_path)]
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert f"cannot listen on {host}:0" in error
    assert "--host is an address of this machine" in error
    assert "Another emulator" not in error


@pytest.mark.parametrize(
    "target", ["localhost:8080", "https://x", "ws://", "ws://h:99999", "http://h/path", "http://[::1"]
)
def test_a_bad_target_says_what_is_expected(target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["up", "--target", target, "--port", "0", "--state-dir", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert f"--target {target!r}" in error
    assert "http://HOST:PORT" in error


async def test_an_app_is_served_and_ended_with_the_emulator(tmp_path: Path) -> None:
    app = "import os, pathlib\nfrom emulator.bench.container import app\n"
    (tmp_path / "voice.py").write_text(app + "pathlib.Path('pid').write_text(str(os.getpid()))\n")
    arguments = ("--target", "voice:app", "--port", "0", "--signatures", "off")
    with emulator_up(*arguments, state=tmp_path / "state", cwd=tmp_path) as (process, printed):
        port = int(printed.split("https://127.0.0.1:")[1].split("\n")[0])
        async with RawClient(port, tmp_path / "state" / "ca" / "ca.pem") as client:
            stream = await client.open("local")
            await client.send(stream, event(b"hi"))
            assert (await client.message(stream)).payload == b"hi"
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=10) == 0
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


async def test_faults_are_injected_in_every_session(tmp_path: Path) -> None:
    arguments = ("--target", "ws://127.0.0.1:9", "--port", "0", "--signatures", "off", "--fault-seed", "3")
    with emulator_up(*arguments, "--fault", "throttle", "--fault", "split=1,jitter=0.5", state=tmp_path) as (
        _,
        printed,
    ):
        assert "Faults in every session: split=1,throttle=true,jitter=0.5 (seed 3)" in printed
        port = int(printed.split("https://127.0.0.1:")[1].split("\n")[0])
        async with RawClient(port, tmp_path / "ca" / "ca.pem") as client:
            stream = await client.open("local")
            assert await client.status(stream) == 400
            assert client.headers(stream)["x-amzn-errortype"] == "ThrottlingException"


@pytest.mark.parametrize(
    ("given", "error"), [("thottle", "Did you mean throttle?"), ("split=0", "expected is a whole number, 1 or more")]
)
def test_a_bad_fault_says_what_is_expected(
    given: str, error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["up", "--target", "ws://127.0.0.1:9", "--port", "0", "--state-dir", str(tmp_path)]
    assert main([*arguments, "--fault", given]) == 2
    assert error in capsys.readouterr().err


def test_the_help_tells_every_fault(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["up", "--help"])
    printed = " ".join(capsys.readouterr().out.split())
    for name, _, _ in Faults.help():
        assert f"{name}: " in printed


def test_the_help_tells_every_form_of_a_target(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["up", "--help"])
    about = " ".join(capsys.readouterr().out.split()).partition("--target TARGET the container: ")[2]
    for form in ("MODULE:APP", "FILE.py:APP", "image:NAME", "command:WORDS {port}", "http://HOST:PORT", "kokoro"):
        assert form in about.partition("without it")[0]


def test_an_app_that_cannot_be_imported_is_one_clear_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["up", "--target", "no_such_module:app", "--port", "0", "--state-dir", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert "it exited with code" in error
    assert 'Could not import module "no_such_module"' in error
    assert "what to do" in error


def test_facts_prints_every_entry_with_its_source(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["facts"]) == 0
    printed = capsys.readouterr().out
    assert "ping.interval = 60.0\n  SageMaker sends a WebSocket Ping every 60 s.\n  documented: https://" in printed


def test_without_a_target_only_the_control_plane_is_served_also_without_tls(tmp_path: Path) -> None:
    with emulator_up("--port", "0", "--http-port", "0", "--local-image", "voice:1=true {port}", state=tmp_path) as (
        process,
        printed,
    ):
        assert "The control plane is served at https://127.0.0.1:" in printed
        assert "export AWS_ENDPOINT_URL=https://127.0.0.1:" in printed
        assert "export AWS_CA_BUNDLE=" in printed
        url = printed.partition("without TLS at ")[2].split()[0]
        body = b"x"
        with pytest.raises(HTTPError) as caught:  # no signature
            urlopen(Request(f"{url}/endpoints/nope/invocations", data=body), timeout=10)  # noqa: S310  # it is ours
        assert caught.value.code == 403
        caught.value.close()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=10) == 0


@pytest.mark.parametrize("given", ["voice:1", "=command", "voice:1="])
def test_a_bad_local_image_says_what_is_expected(
    given: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["up", "--port", "0", "--state-dir", str(tmp_path), "--local-image", given]) == 2
    assert "expected is IMAGE=COMMAND" in capsys.readouterr().err


@pytest.mark.parametrize("inside", ["", "/inside"])
def test_a_place_where_nothing_can_be_recorded_says_what_is_expected(
    inside: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    where = f"{tmp_path}/file{inside}"
    arguments = ["up", "--target", "no_such_module:app", "--port", "0", "--state-dir", str(tmp_path)]
    assert main([*arguments, "--record", where]) == 2
    printed = capsys.readouterr()
    assert f"--record {where}: no session can be written there" in printed.err
    assert "expected is a directory" in printed.err
    assert "Starting" not in printed.out


async def test_a_recording_that_fails_leaves_the_printed_log_alone(tmp_path: Path) -> None:
    recordings = tmp_path / "recordings"
    arguments = ("--target", "ws://127.0.0.1:9", "--port", "0", "--signatures", "off", "--log")
    with emulator_up(*arguments, "--record", str(recordings), state=tmp_path) as (process, printed):
        recordings.rmdir()
        port = int(printed.split("https://127.0.0.1:")[1].split("\n")[0])
        async with RawClient(port, tmp_path / "ca" / "ca.pem") as client:
            assert await client.status(await client.open("local")) == 424
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        log = process.stdout.read()
    assert "SageMaker → container  http" in log
    assert "client    ← SageMaker  http      424" in log
