"""What sessions show of the facts, and how answers are compared: scripted sessions, no network."""

import datetime
import fnmatch
import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from contract_tests import profile
from contract_tests.client import Ended, Failed, Part, Session
from emulator import facts
from emulator.parity import ParityReport, ReportError
from live_tests.parity.ledger import Ledger, Outcome
from live_tests.parity.report import Findings, document, summary
from live_tests.parity.transcript import differences, transcript
from live_tests.parity.unseen import REASONS, why
from live_tests.parity.watcher import Watcher
from live_tests.settings import Settings

START = b'{"type": "synthesis_start", "request_id": "a"}'
END = b'{"type": "synthesis_complete", "request_id": "a", "total_duration_s": 1.2}'


def session(
    heard: Sequence[tuple[bytes, str | None]] = (),
    over: Ended | Failed | None = None,
    *,
    sent: Sequence[tuple[bytes, str | None]] = ((b"{}", "UTF8"),),
    state: str | None = "COMPLETE",
    input_ended: float | None = 3.0,
) -> Session:
    made = Session()
    made.opened, made.request_id, made.variant = 0.2, "r-1", "AllTraffic"
    made.sent = [Part(1.0, data, kind, None) for data, kind in sent]
    made.heard = [Part(2.0, data, kind, state) for data, kind in heard]
    made.over = over
    made.input_ended = input_ended
    return made


SPOKEN = ((START, "UTF8"), (bytes(4800), "BINARY"), (bytes(2400), "BINARY"), (END, "UTF8"))


def watched(*sessions: Session, port: int | None = 8443) -> Ledger:
    ledger = Ledger()
    watcher = Watcher(ledger, profile.load("kokoro"), port, frozenset({"AllTraffic"}))
    for each in sessions:
        watcher(each)
    return ledger


def outcome(ledger: Ledger, fact_id: str) -> Outcome:
    return ledger.all()[fact_id].outcome


def test_a_good_session_confirms_what_can_be_seen_of_it() -> None:
    ledger = watched(session(SPOKEN, Ended(3.1)))
    for fact_id in (
        *("wire.port", "resp.request-id", "resp.variant", "resp.before-first-event", "resp.no-initial-event"),
        *("frame.out-text", "frame.one-to-one", "event.data-type", "unk.response-headers", "close.client-input"),
    ):
        assert outcome(ledger, fact_id) is Outcome.CONFIRMED, fact_id
    assert not ledger.those(Outcome.REFUTED)


@pytest.mark.parametrize(
    ("seen", "refuted"),
    [
        (session(((START, "BINARY"), (END, "UTF8")), Ended(3.1)), "frame.out-text"),
        (session((*SPOKEN, (bytes(4801), "BINARY")), Ended(3.1)), "frame.one-to-one"),
        (session(((START, None), (END, None)), Ended(3.1)), "unk.response-headers"),
        (session(SPOKEN, Ended(3.1), state=None), "unk.response-headers"),
        (session(((START, "TEXT"),), Ended(3.1)), "event.data-type"),
        (session(SPOKEN, Ended(3.1), state="FINAL"), "event.completion-state"),
        (session(SPOKEN, None), "close.client-input"),
        (session(over=Failed(3.0, "ModelStreamError", None, "gone")), "stream.model-error"),
        (session(over=Failed(3.0, "ModelError", "X", "upgrade refused: 403 Forbidden")), "err.424-upgrade"),
        (session(over=Failed(3.0, "ModelError", "X", "refused")), "unk.424-detail"),
        (session(over=Failed(3.0, "OSError", None, "gone"), sent=((bytes(2 << 20), None),)), "unk.part-max"),
    ],
)
def test_what_does_not_fit_a_fact_refutes_it(seen: Session, refuted: str) -> None:
    ledger = watched(seen)
    assert outcome(ledger, refuted) is Outcome.REFUTED
    # and one that fits does not hide it
    assert outcome(watched(session(SPOKEN, Ended(3.1)), seen), refuted) is Outcome.REFUTED
    assert outcome(watched(seen, session(SPOKEN, Ended(3.1))), refuted) is Outcome.REFUTED


def test_another_variant_and_port_are_noticed() -> None:
    foreign = session(SPOKEN, Ended(3.1))
    foreign.variant = None
    assert outcome(watched(foreign), "resp.variant") is Outcome.REFUTED
    assert outcome(watched(foreign, port=443), "wire.port") is Outcome.REFUTED
    assert outcome(watched(foreign, port=None), "wire.port") is Outcome.NOT_SEEN


def test_exceptions_confirm_their_shape() -> None:
    failure = Failed(
        3.0, "ModelError", "X", 'message "Failed to establish WebSocket connection".', {"log_stream_arn": "arn:aws:x"}
    )
    ledger = watched(session(over=failure), session(over=Failed(3.0, "ModelStreamError", "1011", "boom")))
    assert outcome(ledger, "err.424-upgrade") is Outcome.CONFIRMED
    assert outcome(ledger, "unk.424-detail") is Outcome.CONFIRMED
    assert outcome(ledger, "stream.model-error") is Outcome.CONFIRMED


def test_every_pattern_of_what_is_not_seen_fits_a_fact() -> None:
    for patterns in REASONS.values():
        for pattern in patterns:
            assert fnmatch.filter(facts.table(), pattern), pattern
    assert "upload" in why("inv.too-large")


def test_an_unknown_fact_is_an_error_at_once() -> None:
    with pytest.raises(facts.UnknownFactError):
        Ledger().confirm("wire.prot", "x")


def test_a_transcript_tells_messages_runs_of_audio_and_the_end() -> None:
    told = transcript(session(SPOKEN, Ended(3.1), sent=((b"\xff", None),)))
    assert told == {
        "sent": [r"unset '\xff'"],
        "heard": [
            'UTF8 {"request_id": "a", "type": "synthesis_start"}',
            "BINARY 7200 bytes",
            'UTF8 {"request_id": "a", "total_duration_s": "#", "type": "synthesis_complete"}',
        ],
        "end": "once the client had ended its input, the stream ended without an error",
    }
    assert transcript(session(SPOKEN, Ended(2.5)))["end"] == "the stream ended without an error"
    assert transcript(session(SPOKEN))["end"] == "left open"


def test_answers_are_alike_where_only_engine_or_account_differ() -> None:
    longer = ((START, "UTF8"), (bytes(9600), "BINARY"), (END.replace(b"1.2", b"1.6"), "UTF8"))
    one, other = transcript(session(SPOKEN, Ended(3.1))), transcript(session(longer, Ended(3.2)))
    assert differences({"p": [one]}, {"p": [other]}) == []
    ends = [
        transcript(session(over=Failed(2.0, "ModelError", "X", f"see {arn} of account {account}, id: {account}x")))
        for arn, account in (("arn:aws:logs:eu-west-1:1:log", "111"), ("arn:aws:logs:us-west-2:000:local", "000"))
    ]
    assert differences({"p": [ends[0]]}, {"p": [ends[1]]}) == []


def test_a_difference_is_told_once_with_both_sides() -> None:
    good = transcript(session(SPOKEN, Ended(3.1)))
    silent = transcript(session(((START, "UTF8"),), Failed(2.0, "ModelStreamError", "1006", "dropped")))
    found = differences({"p": [good], "q": [good, good]}, {"p": [silent], "q": [good]})
    assert found == [
        "p: answer 2: BINARY 7200 bytes; the emulator: nothing more",
        f"p: end: {good['end']}; the emulator: ModelStreamError 1006: dropped",
        "q: 2 sessions; the emulator had 1",
    ]


def test_the_report_of_a_run_against_aws_can_be_imported(tmp_path: Path) -> None:
    findings = Findings(watched(session(SPOKEN, None)))
    when = datetime.datetime(2026, 1, 2, 23, 30, tzinfo=datetime.UTC)
    path = tmp_path / "report.json"
    path.write_text(document(Settings("voice", "eu-west-1"), findings, [], when), "utf-8")
    read = ParityReport.load(path)
    assert (read.date, read.region) == (when.date(), "eu-west-1")
    assert read.outcomes["wire.port"][0] == "confirmed"
    body = json.loads(path.read_text("utf-8"))
    assert (body["against"], body["date"], body["region"]) == ("aws", "2026-01-02", "eu-west-1")
    assert set(body["facts"]) == set(facts.table())
    assert body["facts"]["close.client-input"]["outcome"] == "refuted"
    assert "why" not in body["facts"]["wire.port"]
    assert body["facts"]["err.throttle"]["why"].startswith("AWS does it in trouble of its own")
    lines = summary(Settings("voice", "eu-west-1"), findings)
    told = re.findall(r"^  not seen +(\d+): ", "\n".join(lines), re.MULTILINE)
    assert sum(map(int, told)) == len(findings.ledger.those(Outcome.NOT_SEEN))
    assert "  refuted close.client-input: the output did not end within 3 s after the client's input" in lines
    assert "facts --import" in lines[-1]
    local = Settings("voice", "eu-west-1", "https://127.0.0.1:8443")
    path.write_text(document(local, findings, [], when), "utf-8")
    with pytest.raises(ReportError, match="made against 'emulator'"):
        ParityReport.load(path)
