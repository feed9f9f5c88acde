"""A check that was not over in its time: whether that is the container's fault, or the time was too short for it."""

from contract_tests.answer import Answer
from contract_tests.bench import Bench
from contract_tests.client import Silence
from contract_tests.conversation import Conversation
from contract_tests.verdict import Finding, failed, not_applicable

__all__ = ["overrun"]

_LEAST_S = 5.0
_TIMES = 4


def overrun(check_id: str, bench: Bench, seconds: float) -> Finding:
    """Judge the container of a check that was cut after ``seconds``.

    One that answered all the while, at the pace that it has when nothing is wrong, has only been slow.
    """
    answers = [(each, answer) for each in bench.sessions for answer in each.answers]
    late = [answer for each, answer in answers if _is_overdue(bench, each, answer)]
    pace = bench.baseline.seconds if bench.baseline is not None else 0.0
    if answers and bench.baseline is not None and not late:
        return not_applicable(
            f"it was not over within {seconds:g} s, and until then the container answered at its own pace "
            f"({pace:.1f} s for a good request): it is too slow to be judged in that time"
        )
    observed = "it was not over by then; the wire log shows how far it came"
    if late:
        observed = (
            f"the answer to the request {late[-1].request_id!r} had not ended by then; a good one takes {pace:.1f} s"
        )
    return failed(
        sent=f"the messages of {check_id}", expected=f"an end of the check within {seconds:g} s", observed=observed
    )


def _is_overdue(bench: Bench, conversation: Conversation, answer: Answer) -> bool:
    """Tell whether an answer that was still under way had taken longer than its text explains."""
    if bench.baseline is None or not isinstance(answer.outcome, Silence):
        return False
    session = conversation.session
    share = max(1.0, conversation.longest_text / len(bench.profile.request.sentences[0]))
    until = session.input_ended if session.input_ended is not None else session.now  # it is ended when it is cut
    return until - answer.sent_at > _LEAST_S + _TIMES * share * bench.baseline.slowest
