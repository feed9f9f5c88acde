"""CT23: control messages come whole, each in a message of its own, and say what they have to: start, audio, one end."""

from contract_tests.answer import Answer, Control
from contract_tests.bench import Bench
from contract_tests.check import Check, Outcome
from contract_tests.mark import JsonMark
from contract_tests.profile import Profile
from contract_tests.verdict import Finding, Fix, failed, passed

__all__ = ["ControlFrames", "misnamed"]

_SENT = "a good request"
_QUEUED_S = 0.05
_ECHO = Fix(
    "Take the id from the request and put it, unchanged, into every message about it.",
    before='await send({"type": "synthesis_start", "request_id": session_id})',
    after='await send({"type": "synthesis_start", "request_id": request["request_id"]})',
)
_ENVELOPE = Fix(
    "Send the start before the first byte of audio and the end once, after the last one, from one place.",
    before="""\
async for chunk in synthesise(text):
    await websocket.send_bytes(chunk)
    if chunk.is_last:
        await send(end)
await send(end)                              # a second time""",
    after="""\
await send(start)
async for chunk in synthesise(text):
    await websocket.send_bytes(chunk)
await send(end)""",
)


class ControlFrames(Check):
    """A payload is control only if the whole of it parses as a JSON object, so a container must send it like that."""

    id = "CT23"
    name = "control-frames"
    stake = (
        "Behind SageMaker a client tells control from audio by whether the whole part parses as a "
        "JSON object. A message that comes in pieces, or glued to audio, is played as noise and never understood; a "
        "start or an end that is missing, doubled or named wrongly makes the client wait, or end the next answer."
    )
    facts = ("frame.client-decode", "frame.one-to-one", "frame.opaque")

    def applies(self, profile: Profile) -> str | None:
        """Only protocols whose control messages are JSON objects."""
        return None if isinstance(profile.end, JsonMark) else f"profile {profile.name!r} has no JSON control messages"

    async def run(self, bench: Bench) -> Outcome:
        """Ask for two sentences and look at the shape and the order of what comes."""
        finding: Finding | None = None
        answers: list[Answer] = []
        for number in (1, 2):  # a session each: whether one session carries both is the business of CT7
            async with bench.connect() as conversation:
                answer = await conversation.ask(f"control-{number}", bench.profile.request.sentences[number % 2])
                closing = await bench.closing(conversation)
                after = await conversation.hear(conversation.expect(answer.request_id), _QUEUED_S)
            answers.append(answer)
            finding = _shape(answer) or _envelope(bench.profile, answer) or _after_end(bench.profile, after)
            if finding is not None:
                break
        whole = sum(len(answer.controls) for answer in answers)
        audio = sum(len(answer.audio) for answer in answers)
        braces = sum(frame.startswith(b"{") for answer in answers for frame in answer.audio)
        more = f", {braces} of them beginning with a brace" if braces else ""
        good = passed(f"{whole} control messages, all whole and in order, beside {audio} audio frames{more}")
        return finding or good, closing, bench.log(conversation)


def misnamed(mark: object, answer: Answer) -> Control | None:
    """Return the control message that ``mark`` would recognise if it named the request, None if there is none."""
    if not isinstance(mark, JsonMark):
        return None
    return next((each for each in answer.controls if mark.matches_another(each.body, answer.request_id)), None)


def _shape(answer: Answer) -> Finding | None:
    expected = "each control message whole, in a message of its own: start, audio, end"
    if not answer.complete:
        return failed(sent=_SENT, expected="a complete answer", observed=answer.describe())
    for control in answer.controls:
        if control.how == "split":
            return failed(
                sent=_SENT,
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
                sent=_SENT,
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


def _envelope(profile: Profile, answer: Answer) -> Finding | None:
    """Judge the start: there, about this request, and before the audio."""
    if profile.start is None:
        return None
    expected = f"before the first audio {profile.start}, with the id {answer.request_id!r}"
    if "start" not in answer.order:
        other = misnamed(profile.start, answer)
        if other is not None:
            return failed(
                sent=f"{_SENT} with the id {answer.request_id!r}",
                expected=expected,
                observed=f"a start that names another request: {other}",
                causes=(
                    (
                        "The id is that of the session, of the previous request or a default: it is read from a "
                        "member that the request does not have, or kept where requests overwrite each other."
                    ),
                ),
                fix=_ECHO,
            )
        return failed(
            sent=_SENT,
            expected=expected,
            observed=f"no start: {_told(answer)}",
            causes=("The audio goes out as it comes from the model, and nobody announces it.",),
            fix=_ENVELOPE,
        )
    if "audio" in answer.order and answer.order.index("audio") < answer.order.index("start"):
        return failed(
            sent=_SENT,
            expected=expected,
            observed=f"audio ahead of the start: {_told(answer)}",
            causes=("Control messages and audio take different ways to the socket, and one overtakes the other.",),
            fix=_ENVELOPE,
        )
    return None


def _after_end(profile: Profile, after: Answer) -> Finding | None:
    """Judge what came behind the end of the answer and before the end of the session."""
    expected = f"nothing about the request after its end, {profile.end}"
    if "end" in after.order:
        return failed(
            sent=_SENT,
            expected=expected,
            observed=f"the end came twice, the second time as {after.end}",
            causes=(
                "Two places send it: the loop at its last chunk (or a `finally`), and the code behind the loop.",
                "The handler sends it, and the callback of the model's thread does, too.",
            ),
            fix=_ENVELOPE,
        )
    if after.audio:
        return failed(
            sent=_SENT,
            expected=expected,
            observed=f"{sum(map(len, after.audio)):,} bytes of audio came after it",
            causes=("Control messages and audio take different ways to the socket, and the end overtakes the audio.",),
            fix=_ENVELOPE,
        )
    return None


def _told(answer: Answer) -> str:
    return ", ".join(answer.order)
