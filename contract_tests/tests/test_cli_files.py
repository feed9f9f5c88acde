"""The command ``contract`` where a file is not what it should be, and what it writes itself."""

import json
import tomllib
from pathlib import Path

import pytest

from contract_tests.cli.toml import toml_text, toml_value
from contract_tests.lint.rules import RULES
from contract_tests.mark import JsonMark
from contract_tests.profile import load
from contract_tests.tests.test_cli import BAD, DOCKERFILE, ended


def test_lint_knows_its_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "app.py"
    file.write_text(BAD, "utf-8")
    assert ended(["lint", "--select", "L99", "--select", "l1", str(file)]) == 4
    assert f"no rule L99; known: {', '.join(rule.id for rule in RULES)}" in capsys.readouterr().err
    assert ended(["lint", "--select", "l1", str(file)]) == 1


def test_lint_calls_nothing_good_that_it_could_not_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "old.py").write_text("print 'x'\n", "utf-8")
    (tmp_path / "good.py").touch()
    assert ended(["lint", str(tmp_path)]) == 3
    seen = capsys.readouterr()
    assert "old.py is no Python 3.12" in seen.err
    assert "no findings in 1 file, 1 left out" in seen.out
    assert ended(["lint", str(tmp_path), "--format", "json"]) == 3
    (unread,) = json.loads(capsys.readouterr().out)["unread"]
    assert unread["path"].endswith("old.py")
    assert "is no Python 3.12" in unread["why"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["init", "nowhere/x.toml"], "does not exist"),
        (["init", "folder.toml", "--force"], "that is a directory"),
        (["init", "x.toml", "--end-silence", "nan"], "expected seconds above 0"),
        (["init", "x.toml", "--timeout", "inf"], "expected seconds above 0"),
        (["init", "x.toml", "--end-json", '{"type": null}'], "--end-json '{\"type\": null}': null cannot be written"),
        (["init", "x.toml", "--end-json", '{"type": "\\ud83d"}'], "surrogates not allowed"),
        (["image", "Dockerfile", "--json", "nowhere/x"], "--json nowhere/x: the directory"),
        (["image", "Dockerfile", "--json", "folder.toml"], "that is a directory"),
    ],
)
def test_a_file_that_cannot_be_written_is_told_in_words(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder.toml").mkdir()
    Path("Dockerfile").write_text(DOCKERFILE, "utf-8")
    assert ended(arguments) == 4
    assert words in capsys.readouterr().err
    assert not Path("x.toml").exists()


def test_init_writes_marks_with_tables_inside(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    end = {"data": {"type": "done", "n": [1, 2.5, True]}, 'od"d': {"id": "{id}"}, "empty": {}, "big": 1e16}
    odd = ["--title", "a\n'b'\x00", "--sentence", "it's\r\na\tb\x7f", "--duration-member", "it's"]
    assert ended(["init", str(file), "--end-json", json.dumps(end), "--sample-rate=8000", *odd]) == 0
    profile = load(str(file))
    assert profile.end == JsonMark(end)
    assert profile.id_member == 'od"d.id'
    assert (profile.title, profile.request.sentences) == ("a\n'b'\x00", ("it's\r\na\tb\x7f",))
    assert profile.audio is not None
    assert profile.audio.duration_member == "it's"


def test_init_escapes_what_it_does_not_understand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.toml"
    assert ended(["init", str(file), "--sample-rate=8000", "--language", 'e"n']) == 1
    assert """audio.language: is 'e"n', expected two small letters""" in capsys.readouterr().err


@pytest.mark.parametrize("value", ["", "plain", "it's", 'a"b\\c', "\x00\x1f\x7f\r\n\t", "\u2028é😀"])
def test_texts_are_read_as_they_were_written(value: str) -> None:
    assert tomllib.loads(f"a = {toml_text(value)}\nb = {toml_value({value: value})}") == {
        "a": value,
        "b": {value: value},
    }
