"""CT23: control messages come whole, each in a message of its own."""

from contract_tests.answer import Answer
from contract_tests.bench import Bench
from contract_tests.check import Check, Outcome
from contract_tests.mark import JsonMark
from contract_tests.profile import Profile
from contract_tests.verdict import Finding, Fix, failed, passed

__all__ = ["ControlFrames"]


class ControlFrames(Check):
    """A payload is control only if the whole of it parses as a JSON object, so a container must send it like that."""

    id = "CT23"
    name = "control-frames"
    stake = (
        "Behind SageMaker a client tells control from audio by whether the whole part parses as a "
        "JSON object. A message that "
        "comes in pieces, or glued to audio, is played as noise and never understood."
    )
    facts = ("frame.client-decode", "frame.one-to-one", "frame.opaque")

    def applies(self, profile: Profile) -> str | None:
        """Only protocols whose control messages are JSON objects."""
        return None if isinstance(profile.end, JsonMark) else f"profile {profile.name!r} has no JSON control messages"

    async def run(self, bench: Bench) -> Outcome:
        """Ask for two sentences and look at the shape of every control message."""
        finding: Finding | None = None
        answers: list[Answer] = []
        for number in (1, 2):  # a session each: whether one session carries both is the business of CT7
            async with bench.connect() as conversation:
                answer = await conversation.ask(f"control-{number}", bench.profile.request.sentences[number % 2])
                closing = await bench.closing(conversation)
            answers.append(answer)
            finding = _judge(answer)
            if finding is not None:
                break
        whole = sum(len(answer.controls) for answer in answers)
        audio = sum(len(answer.audio) for answer in answers)
        braces = sum(frame.startswith(b"{") for answer in answers for frame in answer.audio)
        more = f", {braces} of them beginning with a brace" if braces else ""
        good = passed(f"{whole} control messages, all whole, beside {audio} audio frames{more}")
        return finding or good, closing, bench.log(conversation)


def _judge(answer: Answer) -> Finding | None:
    expected = "each control message whole, in a message of its own: start, audio, end"
    if not answer.complete:
        return failed(sent="a good request", expected="a complete answer", observed=answer.describe())
    for control in answer.controls:
        if control.how == "split":
            return failed(
                sent="a good request",
                expected=expected,
                observed=f"a control message came in {control.parts} messages; only joined they parse: {control}",
                causes=(
                    "A stream writer with a fixed buffer, or a size limit, cuts the message without looking at it.",
                ),
                fix=Fix(
                    "Build the whole JSON first and send it with one call; keep control messages small.",
                    before="for piece in json_encoder.iterencode(event):\n    await websocket.send_text(piece)",
                    after="await websocket.send_text(json.dumps(event))",
                ),
            )
        if control.how == "glued":
            return failed(
                sent="a good request",
                expected=expected,
                observed="a control message shares its frame with audio, so the frame as a whole "
                f"does not parse: {control}",
                causes=("Event and first chunk are ready at once and are written as one buffer.",),
                fix=Fix(
                    "Send the event in a TEXT message of its own, then the audio.",
                    before="await websocket.send_bytes(json.dumps(event).encode() + pcm)",
                    after="await websocket.send_text(json.dumps(event))\nawait websocket.send_bytes(pcm)",
                ),
            )
    return None
