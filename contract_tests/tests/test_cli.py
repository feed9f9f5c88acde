"""The command ``contract``: what it prints, and its exit status."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from contract_tests.agents.catalogue import AGENT_CHECKS
from contract_tests.catalogue import CHECKS
from contract_tests.cli.main import main
from contract_tests.image.checks import IMAGE_CHECKS
from contract_tests.lint.rules import RULES
from contract_tests.profile import load

ROOT = Path(__file__).parents[2]
BAD = "async def stream(websocket):\n    await websocket.receive_text()\n"
LABEL = "com.amazonaws.sagemaker.capabilities.bidirectional-streaming"
DOCKERFILE = f"""FROM --platform=linux/amd64 python:3.12-slim
LABEL {LABEL}=true
EXPOSE 8080
ENTRYPOINT ["python", "-m", "mine"]
"""


def ended(arguments: list[str]) -> int:
    """Return the exit status, whichever way it comes."""
    try:
        return main(arguments)
    except SystemExit as end:
        return int(end.code or 0)


def test_check_judges_a_container_and_writes_its_reports(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("from contract_tests.broken.receive_text import app\n", "utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n", "utf-8")  # the user's own
    (tmp_path / "known.txt").write_text("CT1  # ticket 7\nCT0\n", "utf-8")
    command = [sys.executable, "-m", "contract_tests.cli.main", "check", "mine:app", "--profile", "kokoro"]
    reports = ["--json", "r.json", "--html", "r.html", "--junit", "r.xml", "--baseline", "known.txt", "--annotations"]
    done = subprocess.run(
        [*command, "--only", "CT0", "--only", "ct1", *reports, "--", "--color=no"],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "HOME": str(tmp_path), "COLUMNS": "150"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1, done.stdout
    assert re.search(r"FAIL +CT0 .*does not fail any more", done.stdout)  # the stale entry
    assert re.search(r"WARN +CT1 .*expected \(ticket 7\): no reply", done.stdout)
    assert len(re.findall(r"^FAIL  CT0 ", done.stdout, re.MULTILINE)) == 2  # as soon as it is there, and at the end
    assert "test_contract.py::" not in done.stdout
    assert "::error title=CT0 good-request::it does not fail any more" in done.stdout
    assert "::warning title=CT1 text-and-binary::expected" in done.stdout
    document = json.loads((tmp_path / "r.json").read_text("utf-8"))
    assert [each["id"] for each in document["verdicts"]] == ["CT0", "CT1"]
    assert "<testsuite" in (tmp_path / "r.xml").read_text("utf-8")
    page = (tmp_path / "r.html").read_text("utf-8")
    assert "KeyError: &#x27;text&#x27;" in page  # the container's own output
    assert 'src="data:audio/wav;base64,' in page


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["check", "mine:app", "--only", "CT99"], 4, "no check CT99"),
        (["check"], 4, "TARGET"),
        (["chekc"], 4, "invalid choice"),
        (["lint", "nowhere"], 3, "no such file"),
        (["image", "nowhere"], 3, "there is no such file"),
        (["image", "nowhere", "--build-arg", "x"], 4, "NAME=VALUE"),
        (["explain", "CT9X"], 4, "Did you mean CT9?"),
        (["list", "--all"], 4, "unrecognized arguments: --all"),
    ],
)
def test_errors_say_what_to_do(
    arguments: list[str], status: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(arguments) == status
    assert words in capsys.readouterr().err


def test_everything_is_listed_and_explained(capsys: pytest.CaptureFixture[str]) -> None:
    ids = [each.id for each in (*CHECKS, *AGENT_CHECKS)]
    ids += [*(each.id for each in RULES), *(each.id for each in IMAGE_CHECKS)]
    assert ended(["list"]) == 0
    assert re.findall(r"^  (\w+)", capsys.readouterr().out, re.MULTILINE) == ids
    for each in ids:
        assert ended(["explain", each.lower()]) == 0
        assert capsys.readouterr().out.startswith(f"{each} ")
    assert ended(["explain", "text-and-binary"]) == 0
    output = capsys.readouterr().out
    for part in ("At stake", "receive_text()", "[documented]", "vllm/pull/49899", "broken/receive_text.py", "+ text ="):
        assert part in output


def test_lint_prints_place_reason_and_fix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "app.py"
    file.write_text(BAD, "utf-8")
    (tmp_path / "old.py").write_text("print 'x'\n", "utf-8")
    assert ended(["lint", str(tmp_path), "--annotations"]) == 1
    seen = capsys.readouterr()
    assert f"{file}:2:5: L1 text-only-receive: `receive_text()`" in seen.out
    for part in (
        "why: ",
        "fix: ",
        "+ message =",
        "1 finding in 1 file, 1 left out",
        f"::warning file={file},line=2,title=L1",
    ):
        assert part in seen.out
    assert "old.py is no Python 3.12" in seen.err
    assert ended(["lint", str(file), "--format", "json"]) == 1
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert (finding["line"], finding["id"], finding["check"]) == (2, "L1", "CT1")
    assert ended(["lint", str(file), "--select", "L4"]) == 0
    assert "no findings in 1 file" in capsys.readouterr().out


def test_image_judges_a_dockerfile_by_its_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "Dockerfile"
    file.write_text(DOCKERFILE, "utf-8")
    report = tmp_path / "image.json"
    assert ended(["image", str(tmp_path), "--json", str(report)]) == 0
    assert re.search(r"PASS +IM1 ", capsys.readouterr().out)
    assert json.loads(report.read_text("utf-8"))["verdicts"][0]["id"] == "IM1"
    file.write_text(DOCKERFILE.replace("=true", "=false").replace("EXPOSE 8080\n", ""), "utf-8")
    assert ended(["image", str(file)]) == 1
    assert f'+ LABEL {LABEL}="true"' in capsys.readouterr().out
    file.write_text(DOCKERFILE.replace("EXPOSE 8080\n", ""), "utf-8")
    assert ended(["image", str(file)]) == 0
    assert ended(["image", str(file), "--level", "SHOULD"]) == 1


def test_init_writes_a_profile_that_loads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.toml"
    assert ended(["init", str(file)]) == 0
    assert load(str(file)).request.sentences
    assert f"--profile {file}" in capsys.readouterr().out
    assert ended(["init", str(file)]) == 4
    assert "--force" in capsys.readouterr().err
    options = ["--title", "it's mine", "--request", '{"say": "{text}", "v": "{voice}", "n": "{id}"}', "--voice", "ann"]
    options += [
        "--end-json",
        '{"type": "done", "n": "{id}"}',
        "--error-json",
        '{"type": "oops"}',
        "--sample-rate",
        "8000",
        "--language",
        "en",
    ]
    options += [
        "--close",
        "bye",
        "--close-code",
        "4000",
        "--duration-member",
        "s",
        "--path",
        "my/ws",
        "--sentence",
        "Hi.",
    ]
    assert ended(["init", str(file), "--force", *options]) == 0
    profile = load(str(file))
    assert (profile.title, profile.path, profile.id_member) == ("it's mine", "my/ws", "n")
    assert profile.close is not None
    assert profile.audio is not None
    assert (profile.close.message, profile.close.code) == ("bye", 4000)
    assert (profile.audio.sample_rate, profile.audio.language) == (8000, "en")
    assert profile.request.render("1") == '{"say": "Hi.", "v": "ann", "n": "1"}'


def test_init_knows_audio_in_json(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    options = ["--sample-rate=8000", "--encoding=mulaw", '--audio-json={"type": "audio"}', "--audio-member=pcm.data"]
    assert ended(["init", str(file), '--end-json={"type": "done"}', *options]) == 0
    audio = load(str(file)).audio
    assert audio is not None
    assert audio.carried_by({"type": "audio", "pcm": {"data": "/38="}}, "1") == bytes(4)
    assert audio.carried_by({"type": "done"}, "1") is None


@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        (["x.txt"], 4, "has to end in .toml"),
        (["x.toml", "--end-json", "done"], 4, "expected a JSON object"),
        (["x.toml", "--request", "no placeholder"], 1, "does not hold {text}"),
    ],
)
def test_init_refuses_what_makes_no_profile(
    options: list[str],
    status: int,
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert ended(["init", *options]) == status
    assert words in capsys.readouterr().err
