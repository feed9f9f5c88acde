"""How the stream of a turn ended: the closing side of an agent's verdict."""

from contract_tests.agents.turn import Turn
from contract_tests.verdict import Finding, Fix, failed, not_applicable, passed

__all__ = ["judge_end"]

_END = Fix(
    "Send one event that says how the turn ended, whatever happened, and end the body behind it.",
    before="""\
async for event in agent.stream_async(prompt):
    yield frame(event)""",
    after="""\
try:
    async for event in agent.stream_async(prompt):
        yield frame(event)
except Exception as error:
    yield frame({"type": "error", "message": str(error)})
else:
    yield frame({"type": "done"})""",
)


def judge_end(turn: Turn) -> Finding:
    """Judge the end of a turn that went its way: one last event that says how it went, then the end of the body."""
    if turn.refused or turn.left:
        return not_applicable("there was no stream" if turn.refused else "the caller left")
    expected = "a last event that says how the turn ended, then the end of the body"
    if turn.broken:
        return failed(sent=turn.prompt, expected=expected, observed=turn.broken, fix=_END)
    profile = turn.profile
    last = [
        index for index, event in enumerate(turn.events) if profile.is_done(event.body) or profile.is_error(event.body)
    ]
    if len(last) > 1 or (last and last[0] != len(turn.events) - 1):
        return failed(
            sent=turn.prompt,
            expected=expected,
            observed=f"event {last[0]} of {len(turn.events)} says that the turn is over, but more follow: "
            f"{turn.events[last[0] + 1]}",
            causes=("Two tasks write to the stream, and one of them ends it while the other still works.",),
            fix=_END,
        )
    if profile.done is not None and not last:
        return failed(
            sent=turn.prompt,
            expected=expected,
            observed=f"the body ends without one: {turn.describe()}",
            causes=("A failure ends the generator as a success does, and the caller cannot tell them apart.",),
            fix=_END,
        )
    return passed("the body ended behind the last event")
