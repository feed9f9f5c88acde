"""The linter: it points at the mistakes, and at nothing else."""

import textwrap
from pathlib import Path

import pytest

from contract_tests.lint.linter import NoSuchPathError, lint, lint_source
from contract_tests.lint.rules import RULES
from contract_tests.lint.source import Source
from contract_tests.tests.lint_bad import BAD
from contract_tests.tests.lint_good import GOOD

ROOT = Path(__file__).parents[2]


def found(text: str) -> list[tuple[str, str]]:
    """Return rule and source line of each finding."""
    text = textwrap.dedent(text)
    lines = text.splitlines()
    return [(each.rule.id, lines[each.line - 1].strip()) for each in lint_source(Source.parse(text, Path("app.py")))]


@pytest.mark.parametrize("name", BAD)
def test_points_at_the_line(name: str) -> None:
    text, expected = BAD[name]
    assert found(text) == expected


@pytest.mark.parametrize("name", GOOD)
def test_does_not_cry_wolf(name: str) -> None:
    assert found(GOOD[name]) == []


@pytest.mark.parametrize("folder", ["container/kokoro", "contract_tests/good", "contract_tests/checks"])
def test_what_is_known_to_be_good_has_no_finding(folder: str) -> None:
    result = lint((ROOT / folder).glob("*.py"))  # not its bench, which holds a naive server to compare with
    assert result.files > 5
    assert result.findings == ()
    assert result.unread == ()


def test_broken_containers_whose_fault_can_be_seen_have_the_fitting_finding() -> None:
    result = lint([ROOT / "contract_tests" / "broken"])
    assert {(each.path.stem, each.rule.id) for each in result.findings} == {
        ("blocked_loop", "L3"),
        ("fastapi_receive_json", "L1"),
        ("receive_text", "L1"),
        ("return_without_close", "L4"),
        ("text_only_branch", "L1"),
        ("text_only_branch", "L5"),
        ("unguarded_json", "L2"),
    }


@pytest.mark.parametrize(
    ("comment", "ids"),
    [
        ("", ["L1", "L2"]),
        ("  # contract: ignore[L1]", ["L2"]),
        ("  # contract: ignore[L1, L2] - only our own client comes here", []),
        ("  # contract: ignore", []),
        ("  # contract: ignore[L3]", ["L1", "L2"]),
    ],
)
def test_a_comment_switches_a_rule_off(comment: str, ids: list[str]) -> None:
    text = f"""
async def stream(websocket):
    while True:
        request = json.loads(await websocket.receive_text()){comment}
"""
    assert sorted(rule for rule, _ in found("import json\n" + text)) == ids


def test_folders_are_searched_without_what_is_not_ones_own(tmp_path: Path) -> None:
    bad = "async def stream(ws):\n    await ws.receive_text()\n"
    for place in ("app.py", "pkg/server.py", ".hidden/x.py", "node_modules/x.py", "env/lib/x.py", "notes.txt"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(bad, "utf-8")
    (tmp_path / "env" / "pyvenv.cfg").touch()
    (tmp_path / "pkg" / "old.py").write_text("print 'python 2'\n", "utf-8")
    (tmp_path / "pkg" / "odd.py").write_bytes(b"\xff\xfe\x00")
    result = lint([tmp_path, tmp_path / "app.py"])
    assert [str(each.path.relative_to(tmp_path)) for each in result.findings] == ["app.py", "pkg/server.py"]
    assert result.files == 4
    assert {path.name: why.split(":")[0] for path, why in result.unread} == {
        "old.py": "is no Python 3.12",
        "odd.py": "is no Python 3.12",
    }


@pytest.mark.parametrize(("name", "words"), [("nowhere", "no such file"), ("app.js", "no Python file")])
def test_a_path_that_cannot_be_looked_at(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "app.js").touch()
    with pytest.raises(NoSuchPathError, match=words):
        lint([tmp_path / name])


def test_every_rule_is_complete() -> None:
    assert [rule.id for rule in RULES] == [f"L{number}" for number in range(1, len(RULES) + 1)]
    for rule in RULES:
        assert rule.why.endswith(".")
        assert rule.fix.after
        assert rule.check.startswith("CT")
