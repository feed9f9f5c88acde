"""CT21: what the model writes is spoken in whole sentences, all of it, and nothing of a turn that is over."""

import re
import uuid
from collections.abc import Callable
from dataclasses import replace

from contract_tests.agents.bench import AgentBench
from contract_tests.agents.check import AgentCheck
from contract_tests.agents.checks.ending import judge_end
from contract_tests.agents.script import CASES, HELLO
from contract_tests.agents.turn import Turn
from contract_tests.check import Outcome
from contract_tests.verdict import Finding, Fix, failed, not_applicable, passed, warned

__all__ = ["Splitter"]

_LEAVE_AFTER_EVENTS = 4
_SESSION = "contract-splitter-"
_LOOK_AHEAD = Fix(
    "Decide at the character behind the mark: a full stop ends a sentence where white space follows and what stands "
    "before is no abbreviation; and flush what is left when the model has ended.",
    before="""\
if "." in buffer:
    sentence, buffer = buffer.split(".", 1)
    yield sentence + "." """.rstrip(),
    after="""\
while match := re.search(r"(?<!\\b[A-Z])(?<!\\bDr)(?<!\\bMr)[.!?…]+(?=\\s)", buffer):
    sentence, buffer = buffer[: match.end()], buffer[match.end() :]
    yield sentence.strip()
...                                     # and behind the loop over the deltas:
if buffer.strip():
    yield buffer.strip()""",
)
_OWN_BUFFER = Fix(
    "Make the buffer, and the splitter around it, for each turn; clear it where a turn is broken off.",
    before="splitter = Splitter()                     # of the module\n\nasync def turn(prompt):",
    after="async def turn(prompt):\n    splitter = Splitter()",
)
_OLD = (
    "The buffer of the splitter belongs to the module or to the session: what a turn left in it is "
    "spoken by the next one."
)
_ASKED = ("decimal", "three", "ellipsis", "tail", "abbreviations")
"""Texts that a model is asked for that is not the script; each answer costs."""
_NICE = {"abbreviations": 1, "year": 2, "aside": 2}
"""How many sentences a good splitter makes of it."""


class Splitter(AgentCheck):
    """Seven answers whose sentences are hard to find, one with a tool; then a turn that is left, and another one."""

    id = "CT21"
    name = "splitter"
    stake = (
        "Half a price is read aloud, the last sentence is never spoken, or the rest of an answer that was broken off "
        "comes back in the next one."
    )

    def run(self, bench: AgentBench) -> Outcome:
        """Compare what was spoken with what the model wrote."""
        bench.measure()
        if not bench.scripted or not bench.voiced:
            if bench.profile.text is not None and bench.profile.sentence is not None:
                return _unscripted(bench)
            what = "model is" if not bench.scripted else "voice is"
            reason = not_applicable(
                f"the agent's {what} not the scripted one, so it is not known what it should speak: start it here "
                "(agent:MODULE:APP), with the emulator's addresses and SPEECH_ENDPOINT, or name the events that carry "
                "text and sentences in its profile"
            )
            return reason, reason, bench.log()
        better: Finding | None = None
        for tag, deltas in CASES.items():
            turn = bench.take(tag)
            pieces = turn.pieces or bench.voice.texts
            finding = _judge(tag, deltas, pieces, turn)
            if finding is not None:
                return finding, judge_end(turn), bench.log()
            better = better or _judge_nicety(tag, deltas, pieces)
        finding = _judge_tool(bench) or _judge_left(bench)
        closing = judge_end(bench.turns[-1])
        return finding or better or passed(f"{len(CASES)} answers, all of each spoken"), closing, bench.log()


def _bare(text: str) -> str:
    return re.sub(r"\s+", "", text)


def _words(text: str) -> str:
    """Return the letters and digits alone: what stands around them for the eye is not spoken."""
    return re.sub(r"\W+", "", text)


def _unscripted(bench: AgentBench) -> Outcome:
    """Compare the agent's sentences with its own text, which is asked to hold what is hard to cut."""
    for tag in _ASKED:
        turn = bench.take(tag)
        finding = _judge_own(tag, turn)
        if finding is not None:
            return finding, judge_end(turn), bench.log()
    left, turn = _after_left(bench)
    finding = _judge_own("hello", turn)
    if finding is not None:
        after = f"a turn that the caller leaves after {len(left.events)} events; then, in the same session, another one"
        finding = replace(finding, sent=after, causes=(_OLD, *finding.causes), fix=_OWN_BUFFER)
    said = f"{len(_ASKED) + 1} answers of its own model, all of each in its sentences"
    return finding or passed(said), judge_end(turn), bench.log()


def _judge_own(tag: str, turn: Turn) -> Finding | None:
    if turn.done and not "".join(turn.texts or ()).strip():
        return not_applicable(f"no event carries the text of the model, as its profile says: {turn.describe()}")
    return _judge(tag, tuple(turn.texts or ()), turn.pieces or [], turn, _words)


def _after_left(bench: AgentBench) -> tuple[Turn, Turn]:
    """Leave a turn in the middle of its sentence, and take another one in the same session."""
    session = f"{_SESSION}{uuid.uuid4()}"
    left = bench.take("unfinished", session=session, leave=lambda turn: len(turn.events) >= _LEAVE_AFTER_EVENTS)
    return left, bench.take("hello", session=session)


def _judge(
    tag: str, deltas: tuple[str, ...], pieces: list[str], turn: Turn, bare: Callable[[str], str] = _bare
) -> Finding | None:
    """Judge what was spoken of a text. ``bare``: what of it is compared, by default all but white space."""
    sent = f"deltas of the model: {' + '.join(map(repr, deltas))}"
    text = "".join(deltas)
    shown = " | ".join(pieces) or "nothing"
    if not pieces or not turn.done:
        return failed(sent=sent, expected=f"spoken: {text}", observed=f"{shown}; {turn.describe()}", fix=_LOOK_AHEAD)
    wanted, got = bare(text), bare("".join(pieces))
    if got != wanted:
        lost = wanted.startswith(got)
        return failed(
            sent=sent,
            expected=f"all of it is spoken: {text}",
            observed=f"spoken was: {shown}",
            causes=(
                "What stands behind the last full stop is never handed over: nothing flushes the buffer at the end."
                if lost
                else "Text is lost or said twice where a sentence is cut: only the first one in a delta is taken out.",
            ),
            fix=_LOOK_AHEAD,
        )
    bits = [piece for piece in pieces if not re.search(r"\w", piece)]
    if bits:
        return failed(
            sent=sent,
            expected="pieces that hold a word",
            observed=f"spoken was: {shown}; {bits[0]!r} is no text for a voice",
            causes=("It cuts at every full stop, so that an ellipsis becomes pieces of one dot each.",),
            fix=_LOOK_AHEAD,
        )
    numbers = [number for number in ("$3.50", "98.6") if number in text]
    if tag == "decimal" and not all(any(number in piece for piece in pieces) for number in numbers):
        return failed(
            sent=sent,
            expected="a number stays whole",
            observed=f"spoken was: {shown}",
            causes=("It cuts at every full stop, without a look at what follows: the next delta decides it.",),
            fix=_LOOK_AHEAD,
        )
    return None


def _judge_nicety(tag: str, deltas: tuple[str, ...], pieces: list[str]) -> Finding | None:
    wanted = _NICE.get(tag)
    if wanted is None or len(pieces) == wanted:
        return None
    return warned(
        sent=f"deltas of the model: {' + '.join(map(repr, deltas))}",
        expected=f"{wanted} piece{'s' if wanted != 1 else ''}",
        observed=f"spoken was: {' | '.join(pieces)}",
        causes=(
            "Abbreviations and initials are taken for the ends of sentences."
            if len(pieces) > wanted
            else "Short sentences are joined, so that the first one waits for the next.",
        ),
        fix=_LOOK_AHEAD,
    )


def _judge_tool(bench: AgentBench) -> Finding | None:
    turn = bench.take("tool")
    pieces = turn.pieces or bench.voice.texts
    if not any("lookIt" in piece for piece in pieces):
        return None
    return failed(
        sent="a text, the use of a tool, and another text",
        expected="the texts before and behind the tool are two sentences",
        observed=f"spoken was: {' | '.join(pieces)}",
        causes=("The buffer is not flushed where the model stops to use a tool, so that the two texts grow together.",),
        fix=Fix("Flush the splitter at the end of each message of the model, not of the turn only."),
    )


def _judge_left(bench: AgentBench) -> Finding | None:
    """Judge the turn behind one that was left."""
    left, turn = _after_left(bench)
    pieces = turn.pieces or bench.voice.texts
    if _bare("".join(pieces)) == _bare(HELLO):
        return None
    shown = " | ".join(pieces) or "nothing"
    rest = _bare("".join(pieces)).removesuffix(_bare(HELLO))
    mixed = bool(rest) and rest != _bare("".join(pieces))
    return failed(
        sent=f"a turn that the caller leaves after {len(left.events)} events; then, in the same session: {HELLO}",
        expected=f"spoken is: {HELLO}",
        observed=f"spoken was: {shown}; {turn.describe()}",
        causes=(
            _OLD if mixed else "A turn that was left keeps the agent, its voice or a lock: the next one cannot begin.",
        ),
        fix=_OWN_BUFFER,
    )
