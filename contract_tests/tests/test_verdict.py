"""Verdicts: their status, and the text that a user reads."""

from dataclasses import replace

import pytest

from contract_tests.catalogue import CHECKS
from contract_tests.report import next_steps, render, summary_line
from contract_tests.verdict import Finding, Fix, Level, Status, Verdict, failed, not_applicable, passed, warned
from emulator import facts

BAD = failed(
    sent="one BINARY frame",
    expected="an answer",
    observed="no reply",
    causes=("the likeliest", "another"),
    fix=Fix("Read both kinds.", before="old()", after="new()"),
)
WARNING = warned(sent="Close", expected="Close 1000", observed="EOF")


def verdict(behaviour: Finding, closing: Finding, level: Level = Level.MUST) -> Verdict:
    return Verdict(
        "CT0", "a-check", level, "a lot", ("frame.default-binary",), behaviour, closing, ("0.1 client sends",)
    )


@pytest.mark.parametrize(
    ("behaviour", "closing", "status"),
    [
        (passed("fine"), passed("Close 1000"), Status.PASS),
        (passed("fine"), not_applicable("no trace"), Status.PASS),
        (passed("fine"), WARNING, Status.WARN),
        (BAD, passed("Close 1000"), Status.FAIL),
        (passed("fine"), replace(BAD), Status.FAIL),
        (not_applicable("why"), not_applicable("why"), Status.NOT_APPLICABLE),
    ],
)
def test_the_worse_side_decides(behaviour: Finding, closing: Finding, status: Status) -> None:
    assert verdict(behaviour, closing).status is status


def test_should_warns_and_strict_fails() -> None:
    should = verdict(BAD, passed("Close 1000"), Level.SHOULD)
    assert should.graded(strict=False).status is Status.WARN
    assert should.graded(strict=True).status is Status.FAIL
    assert verdict(passed("fine"), WARNING).graded(strict=True).status is Status.FAIL
    assert verdict(BAD, WARNING).graded(strict=False).status is Status.FAIL


def test_the_text_says_everything_in_order() -> None:
    text = render(verdict(BAD, WARNING))
    fact = facts.get("frame.default-binary")
    wanted = [
        "CT0 a-check (MUST): FAIL",
        "behaviour FAIL, closing behaviour WARN",
        "a lot",
        "one BINARY frame",
        "an answer",
        "no reply",
        "expected: Close 1000",
        "seen: EOF",
        f"[{fact.confidence}]",
        fact.url,
        "1. the likeliest",
        "2. another",
        "Read both kinds.",
        "- old()",
        "+ new()",
        "0.1 client sends",
    ]
    places = [text.find(part) for part in wanted]
    assert -1 not in places, text
    assert places == sorted(places), text


def test_a_verdict_that_rests_on_an_assumption_says_so() -> None:
    known = verdict(BAD, WARNING)
    assert "rests on" not in render(known)
    text = " ".join(render(replace(known, facts=("frame.default-binary", "unk.part-max"))).split())
    assert "This verdict rests on an assumption (unk.part-max): nobody documents it" in text


def test_a_failed_end_alone_is_told_as_the_failure() -> None:
    text = render(verdict(passed("spoke well"), BAD))
    assert "no reply" in text
    assert "spoke well" not in text
    assert "closing behaviour: no reply" in summary_line(verdict(passed("spoke well"), BAD))


def test_the_line_of_a_verdict_tells_both_sides_apart() -> None:
    both = summary_line(verdict(BAD, WARNING))
    assert "closing behaviour WARN too; no reply" in both
    assert "closing" not in summary_line(verdict(BAD, passed("Close 1000")))


def test_every_check_is_complete() -> None:
    ids = [check.id for check in CHECKS]
    assert len(set(ids)) == len(ids)
    for check in CHECKS:
        assert check.stake.endswith(".")
        assert all(facts.get(fact_id).url for fact_id in check.facts)
        assert check.facts


def test_what_a_container_sent_cannot_control_the_terminal() -> None:
    odd = failed(sent="x", expected="y", observed="a\x1b[2Jb\x07c\x00")
    text = render(verdict(odd, passed("fine")))
    assert r"a\x1b[2Jb\x07c\x00" in text
    assert not [letter for letter in text if not letter.isprintable() and letter != "\n"]


def test_a_run_ends_with_what_to_do() -> None:
    fails, unjudged = verdict(BAD, BAD), verdict(not_applicable("why"), not_applicable("why"))
    first, second, third = next_steps([fails, unjudged], "sagemaker")
    assert first.startswith("Failed: CT0.")
    assert "`contract explain CT0`" in second
    assert third == "1 check needs to know more of the protocol: --profile, see docs/profiles.md."
    assert not list(next_steps([verdict(passed("fine"), WARNING), unjudged], "kokoro"))
    assert not list(next_steps([unjudged], "kokoro", load=9.0))
    (busy,) = next_steps([verdict(passed("fine"), WARNING), unjudged], "kokoro", load=4.6)
    assert busy.startswith("This machine was busy (load average 4.6 for each core)")
    fits = warned(sent="a", expected="b", observed="c", fix=Fix("It speaks like 'kokoro'."))
    assert list(next_steps([verdict(fits, passed("fine")), unjudged], "sagemaker")) == ["CT0: It speaks like 'kokoro'."]
