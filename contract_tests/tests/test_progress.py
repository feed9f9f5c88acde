"""What is shown while the checks run."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

from contract_tests.progress import status_line
from contract_tests.tests.test_run import ROOT

COMMAND = [sys.executable, "-m", "contract_tests.cli.main", "check", "contract_tests.good.echo:app"]
CHECKS = ["--only", "CT0", "--only", "CT7", "--idle-seconds", "1.5"]


def on_a_terminal(command: list[str], cwd: Path) -> tuple[int, str]:
    """Return exit status and what came on a terminal of 100 columns."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=cwd, env=environment, stdin=theirs, stdout=theirs, stderr=theirs) as running:
        os.close(theirs)
        seen = b""
        try:
            while True:
                try:
                    piece = os.read(ours, 65536)
                except OSError:  # Linux's way to say that nobody writes any more
                    break
                if not piece:
                    break
                seen += piece
        finally:
            running.kill() if running.poll() is None and not seen else None
            os.close(ours)
        return running.wait(60), seen.decode()


def test_a_terminal_says_what_is_waited_for(tmp_path: Path) -> None:
    code, seen = on_a_terminal([*COMMAND, *CHECKS], tmp_path)
    assert code == 0, seen
    drawn = re.findall(r"\r\x1b\[K(\d) of 2: ([^\r]*CT7-many-sentences-one-session \d+ s …)", seen)
    assert drawn, seen
    assert drawn[-1][0] == "1"  # CT0 is done, CT7 is waited for
    # what is left on the screen: the last line is erased before a verdict comes
    screen = [re.split(r"\r\x1b\[K", line.rstrip("\r"))[-1] for line in seen.split("\n")]
    assert not any(" …" in line and " of 2: " in line for line in screen)
    assert sum(" CT7 " in line for line in screen) == 2


def test_elsewhere_there_are_no_control_characters(tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, *CHECKS],
        cwd=tmp_path,
        env={**os.environ, "TERM": "xterm", "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", done.stdout)
    found = [line.split()[1] for line in done.stdout.splitlines() if line.startswith(b"PASS")]
    assert found == [b"CT0", b"CT7"] * 2  # as they come, and at the end


def test_the_line_fits_the_screen() -> None:
    running = {"CT5-loop-stays-free": 3.2, "CT12-disconnect-stops-work": 0.4}
    assert status_line(running, 8, 22, 100) == "8 of 22: CT5-loop-stays-free 3 s, CT12-disconnect-stops-work 0 s …"
    assert status_line(running, 8, 22, 20) == "8 of 22: CT5-loop-s…"
