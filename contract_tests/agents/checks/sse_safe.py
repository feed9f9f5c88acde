"""CT20: each event of an agent's answer can be read and played as it comes, whatever its text holds."""

import base64
import binascii
import math

from contract_tests.agents.bench import AgentBench
from contract_tests.agents.check import AgentCheck
from contract_tests.agents.checks.ending import judge_end
from contract_tests.agents.turn import Turn
from contract_tests.agents.voice import Part
from contract_tests.check import Outcome
from contract_tests.verdict import Finding, Fix, Status, failed, passed

__all__ = ["SseSafe"]

_SENTENCE_S = 0.6
_SLOW = Part(seconds=_SENTENCE_S, duration=math.nan)
_EXPECTED = "server-sent events (text/event-stream), the data of each one JSON object that can be read by itself"

_FRAME = Fix(
    "Make one small dict for each event, of your own fields, and write it as strict JSON in ASCII: then no character "
    "in it is a line end for anybody, and no piece of the stream ends inside one.",
    before='yield f"data: {json.dumps(event, ensure_ascii=False)}\\n\\n"',
    after='yield f"data: {json.dumps(event, allow_nan=False)}\\n\\n"      # ensure_ascii is the default',
)
_FLAWS: tuple[tuple[str, str], ...] = (
    (
        "repr",
        (
            "An event of an SDK (an agent, a span, a UUID in it) is yielded as it is: what json.dumps() cannot write, "
            "bedrock-agentcore sends as the text of its repr()."
        ),
    ),
    (
        "constant",
        (
            "A number that is no number (0/0, a duration that the voice declared) goes through json.dumps(), which "
            "writes NaN unless allow_nan=False; JSON.parse() in a browser refuses the whole event."
        ),
    ),
    (
        "separator",
        (
            "The JSON is written with ensure_ascii=False, so that U+2028, U+2029 and U+0085 stand in it as they are; "
            "readers that cut with str.splitlines(), as httpx does, end the event there."
        ),
    ),
    ("not-json", "The text of the model, or the str() of a dict, is put behind `data:` without json.dumps()."),
    ("utf-8", "The stream is cut or joined as bytes in the middle of a character, or is in another encoding."),
    ("field", "A line feed of the text goes out as it is: what follows stands in a line of its own, without `data:`."),
    ("cut", "The end of the stream is written without the empty line that ends an event."),
)
_BASE64 = Fix(
    "Keep the odd byte for the next frame before base64; a reader decodes each event by itself.",
    before="yield event(data=base64.b64encode(frame).decode())",
    after="""\
pcm = rest + frame
whole = len(pcm) // 2 * 2
rest = pcm[whole:]
yield event(data=base64.b64encode(pcm[:whole]).decode())""",
)
_FORWARD = Fix(
    "Hand each frame on as it comes; let one task speak and another one listen.",
    before="""\
audio = b"".join([frame async for frame in speech])
yield event(data=base64.b64encode(audio).decode())""",
    after="""\
async for frame in speech:
    yield event(data=base64.b64encode(frame).decode())""",
)


class SseSafe(AgentCheck):
    """A turn full of awkward characters, its audio in odd frames over two seconds; then a turn that uses a tool."""

    id = "CT20"
    name = "sse-safe"
    stake = (
        "A browser plays each event as it comes. A separator in the text, half a sample in a chunk or an object of an "
        "SDK in the stream ends the answer in the middle, for some texts only."
    )
    facts = ("agent.container-path", "agent.chunks")

    def run(self, bench: AgentBench) -> Outcome:
        """Take both turns; the body travels in pieces of 701 bytes."""
        bench.measure()
        turn = bench.take("separators", _SLOW)
        finding = (
            _judge_frames(bench, turn) or _failed(bench, turn) or _judge_order(bench, turn) or _judge_audio(bench, turn)
        )
        closing = judge_end(turn)
        if finding is None and closing.status is not Status.FAIL:
            log = bench.log()
            tool = bench.take("tool")
            finding = _judge_frames(bench, tool) or _judge_order(bench, tool)
            if finding is None:
                return _passed(bench, turn), closing, log
        return finding or passed("the events are as they should be"), closing, bench.log()


def _passed(bench: AgentBench, turn: Turn) -> Finding:
    audio = f", {len(turn.audio)} of them audio that decodes by itself to whole samples" if turn.audio else ""
    unseen = "" if bench.scripted else "; its model is not the scripted one, so no awkward character may have come"
    return passed(f"{len(turn.events)} events over {turn.seconds:.1f} s{audio}{unseen}")


def _judge_frames(bench: AgentBench, turn: Turn) -> Finding | None:
    """Judge the stream and its events one by one; None if nothing is wrong."""
    sent = bench.profile.render(turn.prompt).decode()
    if turn.refused or not turn.blocks:
        return failed(
            sent=sent, expected=_EXPECTED, observed=turn.describe(), causes=("The agent fails on a plain turn.",)
        )
    if turn.content_type.partition(";")[0].strip().lower() != "text/event-stream":
        return failed(
            sent=sent,
            expected=_EXPECTED,
            observed=f"Content-Type {turn.content_type or 'absent'}: {turn.describe()}",
            causes=("The entry point returns its answer as a whole instead of yielding it, or names no media type.",),
            fix=Fix(
                "Return a stream, and say what it is.",
                before="return {'result': str(result)}",
                after='return StreamingResponse(frames(), media_type="text/event-stream")',
            ),
        )
    for kind, cause in _FLAWS:
        bad = [event for event in turn.events if kind in event.flaws]
        if bad:
            which = f"{len(bad)} of {len(turn.events)} events, the first after {bad[0].at:.2f} s"
            return failed(
                sent=sent, expected=_EXPECTED, observed=f"{which}: {bad[0].flaws[kind]}", causes=(cause,), fix=_FRAME
            )
    if bench.profile.known:
        unknown = [
            e
            for e in turn.events
            if e.body is not None and e.body.get(bench.profile.kind or "") not in bench.profile.known
        ]
        unknown = [event for event in unknown if not bench.profile.is_error(event.body)]
        if unknown:
            return failed(
                sent=sent,
                expected=f"events whose {bench.profile.kind!r} is one of {', '.join(bench.profile.known)}",
                observed=f"{len(unknown)} of {len(turn.events)} events are of another kind, the first: {unknown[0]}",
                causes=("Events of the SDK are passed on beside the agent's own: nothing says which may leave.",),
                fix=_FRAME,
            )
    return None


def _failed(bench: AgentBench, turn: Turn) -> Finding | None:
    if not turn.failed:
        return None
    return failed(
        sent=bench.profile.render(turn.prompt).decode(),
        expected="a turn that goes well: its events cannot be judged otherwise",
        observed=turn.describe(),
        causes=("The agent fails on a plain turn; its own output says why.",),
    )


def _judge_order(bench: AgentBench, turn: Turn) -> Finding | None:
    member = bench.profile.sequence
    if member is None:
        return None
    numbers = [event.body.get(member) for event in turn.events if event.body is not None]
    first = numbers[0] if numbers and isinstance(numbers[0], int) else 0
    if numbers == list(range(first, first + len(numbers))):
        return None
    at = next(index for index, number in enumerate(numbers) if number != first + index)
    return failed(
        sent=bench.profile.render(turn.prompt).decode(),
        expected=f"events numbered in order, each {member!r} one more than the one before",
        observed=f"event {at} has {numbers[at]!r}, expected was {first + at}: {turn.events[at]}",
        causes=("Two tasks number and send their events without a lock, so that they overtake each other.",),
        fix=Fix("Number an event where it is put into the one queue from which the stream is written."),
    )


def _judge_audio(bench: AgentBench, turn: Turn) -> Finding | None:
    """Judge the audio of a turn whose voice sent odd frames, slowly."""
    if bench.profile.audio is None or not bench.voiced:
        return None
    sent = f"{bench.profile.render(turn.prompt).decode()}, with a voice whose frames have an odd number of bytes"
    expected = "each audio event is base64 of whole 16-bit samples, and all of them together are what the voice sent"
    chunks: list[bytes] = []
    for number, (at, text) in enumerate(turn.audio):
        try:
            chunks.append(base64.b64decode(text, validate=True))
        except (binascii.Error, ValueError) as problem:
            return failed(
                sent=sent,
                expected=expected,
                observed=f"audio event {number} after {at:.2f} s is no base64 ({problem}): {text[:60]}…",
                causes=("Several base64 texts are joined in one event: decoders stop at the first padding, or raise.",),
                fix=_BASE64,
            )
    odd = [number for number, chunk in enumerate(chunks) if len(chunk) % 2]
    if odd:
        return failed(
            sent=sent,
            expected=expected,
            observed=f"{len(odd)} of {len(chunks)} audio events decode to an odd number of bytes, the first is event "
            f"{odd[0]} with {len(chunks[odd[0]]):,}",
            causes=("Each frame of the voice is encoded as it came, and a frame may end in the middle of a sample.",),
            fix=_BASE64,
        )
    return _judge_whole(bench, turn, sent, expected, chunks)


def _judge_whole(bench: AgentBench, turn: Turn, sent: str, expected: str, chunks: list[bytes]) -> Finding | None:
    heard, spoken = b"".join(chunks), bench.voice.pcm
    if heard != spoken:
        lost = "in another order, or changed" if len(heard) == len(spoken) else f"{len(heard):,} bytes"
        return failed(
            sent=sent,
            expected=expected,
            observed=f"the voice sent {len(spoken):,} bytes of audio, the events hold {lost}: {turn.describe()}",
            causes=(
                "An odd byte is thrown away at the end of each frame, and all that follows is moved by it."
                if 0 < len(spoken) - len(heard) <= 2 * len(chunks) + 2
                else "Audio that comes behind the end of the text, or of a queue that is full, is dropped.",
                "Two tasks write audio events, so that they overtake each other.",
            ),
            fix=_BASE64,
        )
    first = turn.began + turn.audio[0][0] if turn.audio else math.inf
    if turn.audio and first >= bench.voice.last_sent:
        return failed(
            sent=f"{sent}, over {_SENTENCE_S:g} s for each sentence",
            expected="the first audio event while the voice still speaks",
            observed=f"{len(chunks)} audio event{'s' if len(chunks) != 1 else ''}, the first one "
            f"{first - bench.voice.last_sent:.2f} s after the voice had sent its last frame",
            causes=(
                "All audio is collected and sent in one event, or at the end of the turn.",
                "The stream is buffered on its way: a compressing middleware, a proxy without X-Accel-Buffering: no.",
            ),
            fix=_FORWARD,
        )
    return None
