"""The lines of code in fixes: Node's are run by its containers, and a verdict has those of its container's stack."""

import ast
import re
from dataclasses import replace
from pathlib import Path

import pytest

from contract_tests import broken, profile
from contract_tests.checks.bad_message_isolation import BadMessageIsolation
from contract_tests.checks.explicit_close import ExplicitClose
from contract_tests.checks.good_request import GoodRequest
from contract_tests.cli.main import main
from contract_tests.runner import run_checks
from contract_tests.snippets import aiohttp, libwebsockets, node, websockets
from contract_tests.stack import Stack, stack_of
from contract_tests.tests.serving import named, served
from contract_tests.verdict import Fix, Snippet

HERE = Path(broken.__file__).parents[1]
GOOD_NODE = [*(HERE / "good" / "node").glob("*.cjs")]
BROKEN_NODE = [*(HERE / "broken" / "node").glob("*.cjs")]
ALL = {Stack.AIOHTTP, Stack.WEBSOCKETS, Stack.NODE}
IN_CHECKS = {
    "CT1": ALL,
    "CT2": ALL,
    "CT3": {Stack.LIBWEBSOCKETS},
    "CT5": {Stack.NODE},
    "CT6": {Stack.AIOHTTP, Stack.NODE},
    "CT7": {Stack.NODE},
    "CT9": ALL,
    "CT11": ALL,
    "CT12": {Stack.NODE},
    "CT14": {Stack.NODE},
    "CT15": {Stack.NODE},
    "CT17": {Stack.AIOHTTP, Stack.NODE},
    "CT18": {Stack.AIOHTTP, Stack.NODE},
    "CT19": {Stack.NODE},
}


def snippets(module: object) -> dict[str, Snippet]:
    return {name: value for name, value in vars(module).items() if isinstance(value, Snippet)}


def code(text: str) -> str:
    """Return the lines without comments and indents."""
    lines = (re.sub(r"\s+//.*$", "", line).strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line) + "\n"


def blocks(text: str) -> list[str]:
    """Return what stands between lines of three dots."""
    return [code(block) for block in text.split("\n...\n")]


@pytest.mark.parametrize("name", snippets(node))
def test_what_is_right_for_node_stands_in_its_good_container(name: str) -> None:
    sources = [code(file.read_text()) for file in GOOD_NODE]
    for block in blocks(snippets(node)[name].after):
        assert any(block in source for source in sources), block


@pytest.mark.parametrize("name", ["CLOSE", "CONTROL_AS_TEXT", "GOODBYE", "GUARD", "READ_BOTH"])
def test_what_is_wrong_for_node_stands_in_a_broken_container(name: str) -> None:
    sources = [code(file.read_text()) for file in BROKEN_NODE]
    for block in blocks(snippets(node)[name].before):
        assert any(block in source for source in sources), block


@pytest.mark.parametrize("module", [aiohttp, websockets], ids=["aiohttp", "websockets"])
def test_python_snippets_are_python(module: object) -> None:
    for snippet in snippets(module).values():
        ast.parse(snippet.before)
        ast.parse(snippet.after)


@pytest.mark.parametrize("check", IN_CHECKS)
def test_explain_shows_the_stacks_on_which_a_fix_differs(check: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", check]) == 0
    shown = capsys.readouterr().out
    assert {stack for stack in Stack if f"    {stack}:\n" in shown} == IN_CHECKS[check]


def test_every_snippet_is_of_its_module_s_stack() -> None:
    stacks = {
        node: Stack.NODE,
        aiohttp: Stack.AIOHTTP,
        websockets: Stack.WEBSOCKETS,
        libwebsockets: Stack.LIBWEBSOCKETS,
    }
    for module, stack in stacks.items():
        assert {snippet.stack for snippet in snippets(module).values()} == {stack}


@pytest.mark.parametrize(
    ("headers", "stack"),
    [
        ({"server": "uvicorn"}, Stack.UVICORN),
        ({"server": "hypercorn-h11"}, Stack.HYPERCORN),
        ({"server": "Python/3.12 aiohttp/3.13.2"}, Stack.AIOHTTP),
        ({"server": "Python/3.12 websockets/17.4"}, Stack.WEBSOCKETS),
        ({"connection": "keep-alive", "keep-alive": "timeout=5"}, Stack.NODE),
        ({"server": "Apache", "keep-alive": "timeout=5"}, None),
        ({"x-powered-by": "Express"}, Stack.NODE),
        ({}, None),
    ],
)
def test_the_stack_shows_in_the_headers_of_ping(headers: dict[str, str], stack: Stack | None) -> None:
    assert stack_of(headers) is stack


def test_a_fix_without_lines_for_the_stack_keeps_the_usual_ones() -> None:
    fix = Fix("Read both.", "old", "new", (Snippet(Stack.NODE, "old(1)", "new(1)"),))
    assert fix.on(Stack.NODE).after == "new(1)"
    assert fix.on(Stack.AIOHTTP) == fix
    assert fix.on(None) == fix


def test_a_process_that_a_check_has_ended_is_told_with_the_lines_for_its_stack(tmp_path: Path) -> None:
    (tmp_path / "crash.cjs").write_text(f"""
        const {{ good, serve }} = require("{HERE}/good/node/speech.cjs");
        serve({{
          ...good,
          converse(ws, steps) {{
            ws.on("message", (data) => JSON.parse(data) && steps.answer(ws, data, steps));
          }},
        }});
    """)
    with served(replace(named("node-ws"), app=str(tmp_path / "crash.cjs"))) as port:
        _, verdict = run_checks(
            f"http://127.0.0.1:{port}", profile.load("kokoro"), [GoodRequest(), BadMessageIsolation()]
        )
    assert verdict.worst.fix is not None
    assert verdict.worst.fix.after == node.GUARD.after
    assert "the whole process ends" in verdict.worst.causes[0]


def test_the_verdict_on_a_node_container_has_the_lines_for_node() -> None:
    with served(named("node-close-without-code")) as port:
        (verdict,) = run_checks(f"http://127.0.0.1:{port}", profile.load("kokoro"), [ExplicitClose()])
    assert verdict.worst.fix is not None
    assert (verdict.worst.fix.before, verdict.worst.fix.after) == (node.CLOSE.before, node.CLOSE.after)
