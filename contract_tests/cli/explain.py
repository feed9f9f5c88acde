"""``contract list`` and ``contract explain``: what the checks, the linter's rules and the image checks are about."""

import argparse
import difflib
import inspect
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

from contract_tests import broken
from contract_tests.agents.broken import AGENTS
from contract_tests.agents.catalogue import AGENT_CHECKS
from contract_tests.catalogue import CHECKS
from contract_tests.check import Claim
from contract_tests.exit_status import ExitStatus
from contract_tests.image.checks import IMAGE_CHECKS, ImageCheck
from contract_tests.lint.finding import Rule
from contract_tests.lint.rules import RULES
from contract_tests.report import why
from contract_tests.verdict import Fix
from emulator import facts

__all__ = ["add_to", "listing"]

_WIDTH = 110
_EVERYTHING: tuple[Claim | Rule | ImageCheck, ...] = (*CHECKS, *AGENT_CHECKS, *RULES, *IMAGE_CHECKS)


def add_to(commands: Any) -> None:
    """Add the two commands."""
    parser = commands.add_parser("list", help="list the checks")
    parser.set_defaults(run=_list)
    parser = commands.add_parser("explain", help="explain one of them: why, who met it, what to do")
    parser.set_defaults(run=_explain)
    parser.add_argument("id", metavar="ID", help="for example CT1, L2 or IM3")


def _list(_: argparse.Namespace) -> int:
    print("\n".join(listing()))
    return ExitStatus.GOOD


def listing() -> Iterator[str]:
    """Yield a line for each check."""
    yield "contract check: a running container"
    yield from (f"  {check.id:<5} {check.name:<26} {check.level:<6} {check.stake}" for check in CHECKS)
    yield "contract check agent: an agent behind AgentCore (agent:MODULE:APP, agent:http://HOST:PORT)"
    yield from (f"  {check.id:<5} {check.name:<26} {check.level:<6} {check.stake}" for check in AGENT_CHECKS)
    yield "contract lint: Python source"
    yield from (f"  {rule.id:<5} {rule.name:<26} {rule.check:<6} {rule.why}" for rule in RULES)
    yield "contract image: a Dockerfile, an archive, an image"
    yield from (f"  {check.id:<5} {check.name:<26} {check.level:<6} {check.stake}" for check in IMAGE_CHECKS)


def _explain(options: argparse.Namespace) -> int:
    wanted = options.id.upper()
    for each in _EVERYTHING:
        if each.id == wanted or each.name.upper() == wanted:
            lines = _check(each) if isinstance(each, Claim) else _rule(each) if isinstance(each, Rule) else _image(each)
            print("\n".join(lines).rstrip())
            return ExitStatus.GOOD
    known = [each.id for each in _EVERYTHING]
    near = difflib.get_close_matches(wanted, known, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    print(f"contract explain: nothing is called {options.id!r}.{hint} See `contract list`.", file=sys.stderr)
    return ExitStatus.USAGE


def _check(check: Claim) -> Iterator[str]:
    yield f"{check.id} {check.name} ({check.level})"
    yield ""
    yield from _section("What is done", inspect.getdoc(check) or "")
    yield from _section("At stake", check.stake)
    yield from _facts(check.facts)
    seen = [(each.stands_for, each.source) for each in broken.CONTAINERS if each.caught_by == check.id]
    seen += [(each.stands_for, each.source) for each in AGENTS if each.caught_by == check.id]
    if seen:
        yield "Seen in public"
        for stands_for, source in seen:
            yield from _wrapped(f"{stands_for} ({source})", "- ")
        yield ""
    module = sys.modules[type(check).__module__]
    for fix in dict.fromkeys(value for value in vars(module).values() if isinstance(value, Fix)):
        yield from _fix(fix)


def _rule(rule: Rule) -> Iterator[str]:
    yield f"{rule.id} {rule.name} (contract lint)"
    yield ""
    yield from _section("At stake", rule.why)
    yield from _section("The check that fails on such a container", rule.check)
    yield from _fix(rule.fix)
    yield from _section("To switch it off for a line", f"# contract: ignore[{rule.id}]")


def _image(check: ImageCheck) -> Iterator[str]:
    yield f"{check.id} {check.name} ({check.level}, contract image)"
    yield ""
    yield from _section("At stake", check.stake)
    yield from _facts(check.facts)


def _facts(ids: tuple[str, ...]) -> Iterator[str]:
    if not ids:
        return
    yield why(ids)
    for fact_id in ids:
        fact = facts.get(fact_id)
        yield from _wrapped(f"{fact.statement} [{fact.confidence}]", "")
        yield f"      {fact.id}: {fact.url}"
    yield ""


def _fix(fix: Fix) -> Iterator[str]:
    yield from _section("Fix", fix.text)
    if fix.after:
        yield from _lines("", fix.before, fix.after)
    for snippet in fix.elsewhere:
        yield from _lines(f"    {snippet.stack}:", snippet.before, snippet.after)


def _lines(title: str, before: str, after: str) -> Iterator[str]:
    yield from [title] if title else []
    yield from (f"    - {line}" for line in before.splitlines())
    yield from (f"    + {line}" for line in after.splitlines())
    yield ""


def _section(title: str, text: str) -> Iterator[str]:
    yield title
    for paragraph in text.splitlines():
        yield from _wrapped(paragraph, "")
    yield ""


def _wrapped(text: str, mark: str) -> list[str]:
    indent = "    "
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=indent + mark,
        subsequent_indent=indent + " " * len(mark),
        break_long_words=False,
        break_on_hyphens=False,
    )
