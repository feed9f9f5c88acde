"""CT10: the first audio of a long text comes long before the last."""

from contract_tests.answer import Answer
from contract_tests.bench import Bench
from contract_tests.check import Check, Outcome
from contract_tests.joints import worst_joint
from contract_tests.pace import audio_parts, busy_text, first_audio_s, longest_text
from contract_tests.profile import Profile
from contract_tests.verdict import Finding, Fix, Level, Status, failed, not_applicable, passed

__all__ = ["FirstAudioEarly"]

_TRIES = 2
"""What is late once may be the machine's: it was busy with something else."""
_SENTENCES = 4
_WORK_S = 1.5
_TOO_QUICK_S = 0.5
_TOO_SHORT_S = 1.0
"""Of an answer that was meant to take :data:`_WORK_S`: on a busy machine most of it is not the model's time."""
_FIRST_BY = 0.5
_HALF_BY = 0.85
_STREAM = Fix(
    "Send the audio of each sentence, or of each segment of the model, as soon as it is there.",
    before="""\
pcm = b"".join(model.generate(text))          # waits for the last sentence
for frame in frames(pcm):
    await websocket.send_bytes(frame)""",
    after="""\
for sentence in sentences(text):              # or the model's own segments
    pcm = await asyncio.to_thread(model.generate, sentence)
    for frame in frames(pcm):
        await websocket.send_bytes(frame)""",
)
_JOIN = Fix(
    "Keep the state of decoder, filter and phase from one chunk to the next; where the model starts anew, fade out and "
    "in over a few milliseconds.",
    before="await websocket.send_bytes(decode(segment))",
    after="await websocket.send_bytes(crossfade(previous, decode(segment)))   # 5 ms are enough",
)


class FirstAudioEarly(Check):
    """A text of several sentences: when its audio comes, and whether the frames join."""

    id = "CT10"
    name = "first-audio-early"
    level = Level.SHOULD
    stake = (
        "A caller hears nothing until the first frame. A container that collects the whole answer first has the "
        "latency of a batch job, and the longer the answer, the longer the silence."
    )
    facts = ("frame.one-to-one", "frame.out-text")

    def applies(self, profile: Profile) -> str | None:
        """Only profiles that say what the audio is."""
        return profile.without_audio

    async def run(self, bench: Bench) -> Outcome:
        """Ask for a text of several sentences and look at when each part of its audio came."""
        text, longest = busy_text(bench, _WORK_S, _SENTENCES), longest_text(bench)
        late = 0
        while late < _TRIES:
            async with bench.connect() as conversation:
                answer = await conversation.ask("early", text)
                closing = await bench.closing(conversation)
            finding = _judge(answer, len(text))
            if answer.complete and answer.seconds < _TOO_SHORT_S and len(text) < len(longest):
                text = longest  # it is quicker than it was once, and that text shows nothing
                continue
            if finding.status is not Status.FAIL:
                break
            late += 1
        return finding, closing, bench.log(conversation)


def _judge(answer: Answer, characters: int) -> Finding:
    parts = audio_parts(answer)
    if not answer.complete or not parts:
        return not_applicable(f"the text of {characters} characters was not spoken: {answer.describe()}")
    sent = f"a text of {characters} characters in several sentences"
    total, first = answer.seconds, first_audio_s(answer)
    joint = worst_joint([part.data for part in parts])
    if total >= _TOO_QUICK_S:
        finding = _timing(sent, answer)
        if finding is not None:
            return finding
    if joint is not None:
        return failed(
            sent=sent,
            expected="no step at the joint of two frames that is larger than the steps inside the frames",
            observed=f"a step of {joint.step} of 32768 before audio frame {joint.frame}, a click; the largest inside a "
            f"frame is {joint.inner}",
            causes=(
                "Each chunk is decoded or encoded on its own; the state of the one before (phase, filter) is lost.",
                "Samples are dropped or sent twice where two chunks meet.",
            ),
            fix=_JOIN,
        )
    if total < _TOO_QUICK_S:
        return passed(f"the whole answer took {total:.2f} s: too quick to tell early from late")
    return passed(
        f"the first audio after {first:.2f} s of {total:.2f} s ({first / total:.0%}), {len(parts)} frames in all"
    )


def _timing(sent: str, answer: Answer) -> Finding | None:
    """Judge when the audio came: the first frame, then the half of all bytes."""
    parts = audio_parts(answer)
    total, first = answer.seconds, first_audio_s(answer)
    if first > _FIRST_BY * total:
        causes = [
            "All audio is collected (a list that is joined, an encoder, a file) before the first frame is sent.",
            "The text is given to the model in one piece, and the model only returns whole clips.",
        ]
        if len(parts) == 1:
            causes = ["The whole clip goes out as one frame when it is finished.", *causes[1:]]
        return failed(
            sent=sent,
            expected=f"the first audio by {_FIRST_BY:.0%} of the time that the whole answer takes",
            observed=f"the first audio came after {first:.2f} s of {total:.2f} s ({first / total:.0%}), in "
            f"{len(parts)} frame{'s' if len(parts) != 1 else ''} within {parts[-1].at - parts[0].at:.2f} s",
            causes=causes,
            fix=_STREAM,
        )
    half = sum(len(part.data) for part in parts) / 2
    arrived, middle = 0, parts[-1]
    for part in parts:
        arrived += len(part.data)
        if arrived >= half:
            middle = part
            break
    reached = (middle.at - answer.sent_at) / total
    if reached > _HALF_BY:
        return failed(
            sent=sent,
            expected=f"audio that comes as it is made: half of it by {_HALF_BY:.0%} of the time",
            observed=f"a first frame after {first:.2f} s, but half of the audio only by {reached:.0%} of {total:.2f} s",
            causes=(
                "Only the first piece is sent early (silence, a header, one sentence); the rest is collected.",
                "The send queue is flushed at the end: nothing hands the event loop over between two pieces.",
            ),
            fix=_STREAM,
        )
    return None
