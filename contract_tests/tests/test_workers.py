"""A run spread over several processes: the same verdicts, one summary, one file of each kind."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from xml.etree import ElementTree as ET

import execnet
import pytest

from contract_tests.packing import pack, unpack
from contract_tests.sound import Sound
from contract_tests.tests.test_run import ROOT, app, run
from contract_tests.verdict import Fix, Level, Verdict, failed, passed
from contract_tests.workers import auto_workers, is_first, is_worker, taking_turns
from emulator.target import parse

CHOSEN = "CT0 or CT1- or CT8 or CT15 or CT24"


def judged(folder: Path, *more: str) -> tuple[int, str, list[dict[str, Any]]]:
    """Return exit code, output and verdicts of a run that writes every kind of report into ``folder``."""
    folder.mkdir()
    (folder / "known.txt").write_text("CT15  # ticket 7\n", "utf-8")
    reports = ["--contract-json=r.json", "--contract-html=r.html", "--junitxml=r.xml", "--contract-annotations"]
    target = "--target=contract_tests.broken.receive_text:app"
    chosen = ["--profile=kokoro", "--contract-baseline=known.txt", f"--rootdir={ROOT}", "-k", CHOSEN]
    code, output, _ = run(folder, target, *chosen, *reports, *more, within=240)
    return code, output, json.loads((folder / "r.json").read_text("utf-8"))["verdicts"]


type Judged = tuple[Path, int, str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def by_two(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    """A run of two workers: its folder, and what :func:`judged` returns."""
    folder = tmp_path_factory.mktemp("two") / "run"
    return folder, *judged(folder, "-n", "2")


def test_two_processes_judge_like_one(by_two: Judged, tmp_path: Path) -> None:
    code, alone, one = judged(tmp_path / "one")
    folder, code_of_two, together, two = by_two
    assert (code, code_of_two) == (1, 1), together
    assert [(each["id"], each["status"]) for each in two] == [
        ("CT0", "PASS"),
        ("CT1", "FAIL"),
        ("CT8", "PASS"),
        ("CT15", "FAIL"),  # the stale entry of the baseline
        ("CT24", "PASS"),
    ]
    for key in ("id", "level", "status", "facts"):
        assert [each[key] for each in one] == [each[key] for each in two]
    assert [each["behaviour"]["causes"] for each in one] == [each["behaviour"]["causes"] for each in two]
    assert two[1]["container_output"][-1] == "KeyError: 'text'"
    for output in (alone, together):
        assert output.count("= contract: the ASGI app contract_tests.broken.receive_text:app") == 1
        assert output.count("CT1 text-and-binary (MUST): FAIL") == 1
        assert output.count("::error title=CT1 text-and-binary") == 1
        assert output.count("2 failed, 3 passed") == 1
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", output)
        assert len(re.findall(r"^FAIL  CT1 ", output, re.MULTILINE)) == 2  # as soon as it is there, and at the end
        assert "no reply" in next(line for line in output.splitlines() if re.match(r"FAILED.*\[CT1-", line))
    page = (folder / "r.html").read_text("utf-8")
    assert 'src="data:audio/wav;base64,' in page
    assert page.count("<details") == 5


def test_junit_says_check_level_and_reason(by_two: Judged) -> None:
    cases = ET.parse(by_two[0] / "r.xml").getroot().findall(".//testcase")  # noqa: S314 - written here
    properties = [{each.attrib["name"]: each.attrib["value"] for each in case.iter("property")} for case in cases]
    assert {each["contract.id"] for each in properties} == {"CT0", "CT1", "CT8", "CT15", "CT24"}
    (failing,) = (each for each in properties if each["contract.id"] == "CT1")
    assert failing["contract.level"] == "MUST"
    assert (failing["contract.status"], failing["contract.closing"]) == ("FAIL", "FAIL")
    assert failing["contract.reason"].startswith("no reply")
    assert "receive_text()" in failing["contract.cause"]
    assert all("contract.cause" not in each for each in properties if each["contract.status"] == "PASS")


def test_without_a_target_the_run_ends_once(tmp_path: Path) -> None:
    target = app(tmp_path, more="raise RuntimeError('no weights')")
    code, output, _ = run(tmp_path, "--target", target, "-n", "1", within=120)
    assert code == 3, output
    assert output.count("The target did not come up") == 1
    assert "RuntimeError: no weights" in output
    assert "INTERNALERROR" not in output
    assert " failed" not in output


@pytest.mark.parametrize("shell", [(), ("sh", "-c", "trap '' INT; exec \"$@\"", "sh")], ids=["", "in the background"])
def test_an_interrupted_worker_leaves_nothing_behind(tmp_path: Path, shell: tuple[str, ...]) -> None:
    pids = tmp_path / "pids"
    pids.mkdir()
    app(tmp_path, more=f"import os, pathlib; (pathlib.Path({str(pids)!r}) / str(os.getpid())).touch()")
    command = [*shell, sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", "1", "-m", "contract", "-k"]
    command += ["CT0 or CT7"]
    command += ["--target", "mine:app", "--idle-seconds", "50", str(ROOT / "contract_tests" / "test_contract.py")]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None
            for line in running.stdout:
                if " CT0 " in line:
                    break
            assert running.poll() is None  # the first verdict is there long before the last one
            running.send_signal(signal.SIGTERM)
            output, _ = running.communicate(timeout=60)
        finally:
            running.kill()
    assert running.returncode == 2, output
    assert list(pids.iterdir())
    deadline = time.monotonic() + 30
    while (left := [pid for pid in pids.iterdir() if alive(int(pid.name))]) and time.monotonic() < deadline:
        time.sleep(0.05)  # processes of other processes: there is no event
    assert not left


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def worker(number: int) -> pytest.Config:
    return cast("pytest.Config", SimpleNamespace(workerinput={"workerid": f"gw{number}"}))


def test_a_target_that_runs_already_is_judged_in_turns(tmp_path: Path) -> None:
    shared = parse("http://127.0.0.1:8080")
    entered, leave = threading.Event(), threading.Event()
    folders = [tmp_path / "popen-gw0", tmp_path / "popen-gw1"]
    for folder in folders:
        folder.mkdir()

    def second() -> None:
        with taking_turns(worker(1), shared, folders[1]):
            entered.set()
            leave.wait(20)

    thread = threading.Thread(target=second)
    with taking_turns(worker(0), shared, folders[0]):
        thread.start()
        assert not entered.wait(0.2)
    assert entered.wait(20)
    with taking_turns(worker(0), parse("mine:app"), folders[0]):  # a target of its own waits for nobody
        leave.set()
    thread.join(20)


@pytest.mark.parametrize(
    ("target", "cores", "workers"),
    [
        ("mine:app", 1, 0),
        ("mine:app", 2, 2),
        ("mine:app", 64, 4),
        ("http://127.0.0.1:8080", 64, 0),
        ("kokoro", 2, 0),
        ("image:voice", 4, 2),
        ("kokoro", 64, 4),
    ],
)
def test_auto_means_a_few(target: str, cores: int, workers: int) -> None:
    assert auto_workers(parse(target), cores) == workers


def test_who_is_who() -> None:
    alone = cast("pytest.Config", SimpleNamespace())
    assert [is_worker(each) for each in (alone, worker(0), worker(1))] == [False, True, True]
    assert [is_first(each) for each in (alone, worker(0), worker(1))] == [True, True, False]


def test_a_verdict_travels_whole() -> None:
    finding = failed(sent="a", expected="b", observed="c", causes=["d", "e"], fix=Fix("f", "g", "h"))
    sound = Sound(b"\0\1\2\3", 24000, "request '1'")
    verdict = Verdict(
        "CT1",
        "name",
        Level.SHOULD,
        "much",
        ("frame.opaque",),
        finding,
        passed("Close 1000"),
        ("log",),
        ("out",),
        sound,
        1.5,
    )
    for each in (verdict, Verdict("CT2", "name", Level.MUST, "much", (), passed("a"), passed("b"))):
        assert unpack(execnet.loads(execnet.dumps(pack(each)))) == each
