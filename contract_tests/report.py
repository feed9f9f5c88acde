"""The text of a verdict: what happened, what was expected, why SageMaker does that, and what to do."""

import textwrap
from collections.abc import Iterator, Sequence

from contract_tests.machine import BUSY
from contract_tests.verdict import Finding, Status, Verdict
from contract_tests.visible import visible
from emulator import facts

__all__ = ["render", "summary_line", "why"]

_WIDTH = 110
_INDENT = "    "
_GENERAL = "sagemaker"
_FIRST = "CT0"
_BAD = frozenset({Status.FAIL, Status.WARN})


def summary_line(verdict: Verdict) -> str:
    """Return one line for the table at the end of a run; what a container sent cannot control the terminal."""
    head = f"{verdict.status:<4}  {verdict.id:<5} {verdict.name:<26} {verdict.level:<6} {verdict.seconds:6.1f} s"
    return f"{head}  {_first_sentence(visible(_both_sides(verdict)))}"


def why(fact_ids: Sequence[str]) -> str:
    """Return the heading above facts: whose they are."""
    return f"Why {'AgentCore' if all(each.startswith('agent.') for each in fact_ids) else 'SageMaker'} does that"


def next_steps(verdicts: Sequence[Verdict], profile: str, load: float = 0.0) -> Iterator[str]:
    """Yield what to do after a run, in a few words; nothing where all is said. ``load``: processes for each core."""
    failing = [verdict.id for verdict in verdicts if verdict.status is Status.FAIL]
    if failing:
        yield f"Failed: {', '.join(failing)}. The text of each is above: what was seen, probable causes, the fix."
        yield f"Begin with the first: the others may follow from it. `contract explain {failing[0]}` tells who met it."
    if load >= BUSY and any(verdict.status in _BAD for verdict in verdicts):
        yield (
            f"This machine was busy (load average {load:.1f} for each core): what a check says of time may be "
            "its doing, not the container's. Judge again when it is idle."
        )
    unjudged = sum(verdict.status is Status.NOT_APPLICABLE for verdict in verdicts)
    first = next((verdict.behaviour for verdict in verdicts if verdict.id == _FIRST), None)
    if first is not None and first.status is Status.WARN and first.fix is not None:  # a profile that fits better
        yield visible(f"{_FIRST}: {first.fix.text}")
    elif profile == _GENERAL and unjudged:
        those = "1 check needs" if unjudged == 1 else f"{unjudged} checks need"
        yield f"{those} to know more of the protocol: --profile, see docs/profiles.md."


def _both_sides(verdict: Verdict) -> str:
    """Return what was seen of the side that decides; it is named where closing behaviour is wrong."""
    closing = verdict.closing.status
    if closing not in _BAD:
        return verdict.worst.observed
    if verdict.worst is verdict.closing:
        return f"closing behaviour: {verdict.closing.observed}"
    return f"closing behaviour {closing} too; {verdict.behaviour.observed}"


def render(verdict: Verdict) -> str:
    """Return the full text of a verdict; what a container sent cannot control the terminal."""
    return visible("\n".join(_lines(verdict)))


def _lines(verdict: Verdict) -> Iterator[str]:
    yield f"{verdict.id} {verdict.name} ({verdict.level}): {verdict.status}"
    yield f"behaviour {verdict.behaviour.status}, closing behaviour {verdict.closing.status}"
    yield ""
    yield from _section("At stake", verdict.stake)
    main = verdict.behaviour if verdict.behaviour.status in _BAD else verdict.closing
    if main.status in _BAD:
        yield from _section("Sent", main.sent)
        yield from _section("Expected", main.expected)
        yield from _section("Seen", main.observed)
    if main is verdict.behaviour and verdict.closing.status in _BAD:
        both = f"expected: {verdict.closing.expected}\nseen: {verdict.closing.observed}"
        yield from _section(f"Closing behaviour ({verdict.closing.status})", both)
    yield from _why(verdict)
    yield from _remedy(main)
    if verdict.output:
        yield "The container's own output meanwhile, the last of it"
        yield from (f"{_INDENT}| {line}" for line in verdict.output)
        yield ""
    if verdict.log:
        yield "Wire log (seconds, hop, what)"
        yield from (f"{_INDENT}{line}" for line in verdict.log)


def _remedy(finding: Finding) -> Iterator[str]:
    if finding.causes:
        yield "Probable cause" + ("s, the likeliest first" if len(finding.causes) > 1 else "")
        for number, cause in enumerate(finding.causes, 1):
            mark = f"{number}. " if len(finding.causes) > 1 else ""
            yield from _wrapped(cause, _INDENT + mark, _INDENT + " " * len(mark))
        yield ""
    if finding.fix is not None:
        yield from _section("Fix", finding.fix.text)
        if finding.fix.after:
            yield from (f"{_INDENT}- {line}" for line in finding.fix.before.splitlines())
            yield from (f"{_INDENT}+ {line}" for line in finding.fix.after.splitlines())
            yield ""


def _why(verdict: Verdict) -> Iterator[str]:
    if not verdict.facts:
        return
    yield why(verdict.facts)
    for fact_id in verdict.facts:
        fact = facts.get(fact_id)
        yield from _wrapped(f"{fact.statement} [{fact.confidence}]", _INDENT, _INDENT)
        yield f"{_INDENT}  {fact.id}: {fact.url}"
    assumed = [each for each in verdict.facts if facts.get(each).confidence is facts.Confidence.ASSUMED]
    if assumed:
        rests = "This verdict rests on an assumption" if len(assumed) == 1 else "This verdict rests on assumptions"
        text = f"{rests} ({', '.join(assumed)}): nobody documents it, and AWS may do otherwise."
        yield from _wrapped(text, _INDENT, _INDENT)
    yield ""


def _section(title: str, text: str) -> Iterator[str]:
    if not text:
        return
    yield title
    for paragraph in text.splitlines():
        yield from _wrapped(paragraph, _INDENT, _INDENT)
    yield ""


def _wrapped(text: str, first: str, rest: str) -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )


def _first_sentence(text: str) -> str:
    line = text.splitlines()[0] if text else ""
    return line if len(line) <= 100 else f"{line[:99]}…"
