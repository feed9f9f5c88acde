"""CT8: the audio is raw PCM of whole samples, of the declared length."""

import math

from contract_tests.answer import Answer
from contract_tests.audio import PcmFault, inspect_pcm
from contract_tests.audioformat import AudioFormat
from contract_tests.bench import Bench
from contract_tests.check import Check, Outcome
from contract_tests.conversation import Conversation
from contract_tests.profile import Profile
from contract_tests.verdict import Finding, Fix, failed, passed, warned

__all__ = ["PcmIntegrity"]

_SENTENCES = 3
_PAUSE_S = 0.5
_NUMBER = Fix(
    "Send a JSON number, computed from what was sent.",
    before='"total_duration_s": f"{seconds:.2f}"',
    after='"total_duration_s": round(sent_bytes / (2 * sample_rate), 3)',
)


class PcmIntegrity(Check):
    """Three sentences: even frames, no headers, no shifted or wrapped samples, the declared duration."""

    id = "CT8"
    name = "pcm-integrity"
    stake = "One lost byte turns speech into noise, a header in a chunk is a click, a wrong rate is a chipmunk."
    facts = ("frame.opaque", "frame.one-to-one", "frame.out-text")

    def applies(self, profile: Profile) -> str | None:
        """Only profiles that say what the audio is."""
        return profile.without_audio

    async def run(self, bench: Bench) -> Outcome:
        """Ask for three sentences; a container that ends the session after one of them gets a new session."""
        audio = bench.profile.audio
        if audio is None:
            raise RuntimeError("run() of a check that does not apply")
        answers: list[Answer] = []
        sentences = [*bench.profile.request.sentences] * _SENTENCES
        while len(answers) < _SENTENCES:
            async with bench.connect() as conversation:
                await self._session(conversation, sentences[len(answers) : _SENTENCES], answers)
                closing = await bench.closing(conversation)
            finding = _judge(audio, answers)
            if finding is not None:
                return finding, closing, bench.log(conversation)
        total = sum(len(frame) for answer in answers for frame in answer.audio)
        frames = sum(len(answer.audio) for answer in answers)
        seconds = total / 2 / audio.sample_rate
        undeclared = _undeclared(audio, answers)
        if undeclared is not None:
            return undeclared, closing, bench.log(conversation)
        return passed(f"{seconds:.2f} s of PCM in {frames} frames, as declared"), closing, bench.log(conversation)

    async def _session(self, conversation: Conversation, sentences: list[str], answers: list[Answer]) -> None:
        for number, sentence in enumerate(sentences):
            if number == 1:  # a pause: encoders that keep half a sample for later show it now
                await conversation.session.receive(_PAUSE_S)
            answer = await conversation.ask(f"pcm-{len(answers) + 1}", sentence)
            if number and not answer.complete and not answer.parts:
                return  # a session that ends after its first answer is the business of CT7
            answers.append(answer)
            if not answer.complete:
                return


def _judge(audio: AudioFormat, answers: list[Answer]) -> Finding | None:
    for number, answer in enumerate(answers, 1):
        what = f"sentence {number} of {_SENTENCES}"
        if not answer.complete:
            return failed(sent=what, expected="a complete answer", observed=answer.describe())
        if answer.undecodable or (audio.event is not None and not answer.audio):
            return _no_base64(what, audio, answer)
        declared = _declared(audio, answer)
        number_declared = declared if isinstance(declared, float) else None
        faults = inspect_pcm(answer.audio, audio.sample_rate, number_declared)
        if faults:
            return _faulty(what, audio, faults)
        if declared is not None and number_declared is None:
            return _no_number(what, audio, declared)
    return None


def _no_base64(what: str, audio: AudioFormat, answer: Answer) -> Finding:
    """Say what is wrong with messages that carry audio, or that there are none."""
    if answer.undecodable:
        observed = f"{len(answer.undecodable)} messages cannot be decoded, the first one: {answer.undecodable[0]}"
        causes = (
            (
                "Several base64 texts are joined, or one is cut: each message has to decode alone, and most decoders "
                "stop at the first padding without a word."
            ),
            "It is another alphabet (URL-safe base64, hex), or a data: URI.",
        )
    else:
        others = [str(control)[:80] for control in answer.controls] or ["none"]
        observed = f"no message is {audio.event}; what came: {'; '.join(others[:4])}"
        causes = ("No audio is sent.", "The profile names another event than the container sends.")
    return failed(
        sent=what,
        expected=str(audio),
        observed=observed,
        causes=causes,
        fix=Fix(
            "Encode the bytes of each message by themselves, whole samples in each.",
            before="delta = base64.b64encode(head).decode() + base64.b64encode(tail).decode()",
            after="delta = base64.b64encode(head + tail).decode()",
        ),
    )


def _declared(audio: AudioFormat, answer: Answer) -> object:
    """Return the declared seconds of audio as a float, what else is declared as it is, None if nothing is."""
    body = answer.end.body if answer.end else None
    if audio.duration_member is None or not isinstance(body, dict):
        return None
    value = body.get(audio.duration_member)
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    return repr(value) if audio.duration_member in body else None


def _undeclared(audio: AudioFormat, answers: list[Answer]) -> Finding | None:
    """Return a warning where the profile knows a declared duration and the container declares none."""
    if audio.duration_member is None or all(_declared(audio, answer) is not None for answer in answers):
        return None
    return warned(
        sent=f"{_SENTENCES} sentences",
        expected=f"the seconds of audio, as {audio.duration_member!r} in the end of each answer",
        observed=f"an end without it: {next(each.end for each in answers if _declared(audio, each) is None)}",
        causes=("The member is left out, or has another name.",),
        fix=_NUMBER,
    )


def _no_number(what: str, audio: AudioFormat, declared: object) -> Finding:
    return failed(
        sent=what,
        expected=f"{audio.duration_member!r} in the end of the answer as a JSON number, the seconds of audio",
        observed=f"{audio.duration_member!r} is {declared}, which is no number",
        causes=(
            "The duration is formatted for people (an f-string, `str()`, a decimal type) before it goes into the JSON.",
        ),
        fix=_NUMBER,
    )


def _faulty(what: str, audio: AudioFormat, faults: list[PcmFault]) -> Finding:
    first = faults[0]
    causes = dict.fromkeys(fault.cause for fault in faults)
    return failed(
        sent=what,
        expected=f"{audio}: whole samples in every message, nothing else",
        observed="\n".join(
            fault.text if fault.frame is None else f"frame {fault.frame}: {fault.text}" for fault in faults[:5]
        ),
        causes=tuple(causes),
        fix=Fix(first.fix),
    )
