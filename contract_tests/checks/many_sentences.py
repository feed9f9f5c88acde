"""CT7: many requests on one session, with a pause between two of them, and more than one voice."""

from contract_tests.answer import Answer
from contract_tests.bench import Bench
from contract_tests.check import Check, Outcome
from contract_tests.client import Ended, Failed
from contract_tests.conversation import Conversation
from contract_tests.snippets import node
from contract_tests.verdict import Finding, Fix, failed, passed

__all__ = ["ManySentences"]

_IN_A_ROW = 5
_LOOP = Fix(
    "Loop until the caller closes or the socket is gone; take silence for normal and set no idle timer of your own.",
    before="""\
request = await read(websocket)
await serve(request)
await websocket.close(1000)""",
    after="""\
while (request := await read(websocket)) is not None:   # None: close message, or the caller has gone
    await serve(request)
await websocket.close(1000)""",
    elsewhere=(node.LOOP,),
)


class ManySentences(Check):
    """One session carries a whole conversation."""

    id = "CT7"
    name = "many-sentences-one-session"
    stake = (
        "One connection carries a whole conversation. A container that ends it after the first "
        "utterance, or in the pause "
        "between two turns, makes the second sentence silent."
    )
    facts = ("close.persistent", "wire.one-to-one")

    async def run(self, bench: Bench) -> Outcome:
        """Ask five times, pause, ask again, then once in each of two voices."""
        sentences = bench.profile.request.sentences
        async with bench.connect() as conversation:
            for number in range(_IN_A_ROW):
                answer = await conversation.ask(f"s{number + 1}", sentences[number % len(sentences)])
                finding = _judge(bench, f"request {number + 1} of {_IN_A_ROW} on one session", answer)
                if finding is not None:
                    return finding, await bench.closing(conversation), bench.log(conversation)
            finding = await self._pause(bench, conversation)
            if finding is None:
                for voice in bench.profile.request.voices[:2]:
                    answer = await conversation.ask(f"voice-{voice}", voice=voice)
                    finding = finding or _judge(bench, f"a request for the voice {voice}", answer)
            closing = await bench.closing(conversation)
        voices = len(bench.profile.request.voices[:2])
        good = passed(
            f"{_IN_A_ROW + 1 + voices} requests on one session, after {bench.idle_seconds:g} s of silence too"
        )
        return finding or good, closing, bench.log(conversation)

    async def _pause(self, bench: Bench, conversation: Conversation) -> Finding | None:
        conversation.session.note(f"is silent for {bench.idle_seconds:g} s")
        began = conversation.session.now
        event = await conversation.pause(bench.idle_seconds)
        if event is not None:
            return failed(
                sent=f"nothing for {bench.idle_seconds:g} s, between two requests",
                expected="the session stays open",
                observed=f"{event}, {event.at - began:.1f} s into the pause",
                causes=("An idle timer in the container, or in its server, takes a pause for the end.",),
                fix=_LOOP,
            )
        return _judge(
            bench, f"a request after {bench.idle_seconds:g} s of silence", await conversation.ask("after-pause")
        )


def _judge(bench: Bench, what: str, answer: Answer) -> Finding | None:
    if answer.complete and (bench.profile.audio is None or any(answer.audio)):
        return None
    if answer.complete:
        observed, causes = (
            "complete, but without a byte of audio",
            ("The voice or a state of the first request is kept, and later requests find nothing to say.",),
        )
    elif isinstance(answer.outcome, Ended):
        observed, causes = (
            f"{answer.describe()}: the container had closed the session",
            ("The handler returns, or closes, after one request instead of waiting for the next one.",),
        )
    elif isinstance(answer.outcome, Failed):
        observed, causes = (
            answer.describe(),
            ("The second request finds state of the first one and the handler raises.",),
        )
    else:
        observed, causes = answer.describe(), ("The handler has left its loop, but nobody has closed the socket.",)
    return failed(
        sent=what, expected="a complete answer on the same session", observed=observed, causes=causes, fix=_LOOP
    )
