"""CT9: audio comes in frames of a bounded size, and a message that is too large costs one session at most."""

from contract_tests.answer import Answer
from contract_tests.audioformat import AudioFormat
from contract_tests.bench import Bench
from contract_tests.check import Check, Outcome
from contract_tests.client import Ended, Failed, Silence
from contract_tests.profile import Profile
from contract_tests.snippets import aiohttp, node, websockets
from contract_tests.unpunctuated import unpunctuated
from contract_tests.verdict import Finding, Fix, Status, failed, not_applicable, passed, warned

__all__ = ["FrameSize"]

_MIB = 1024 * 1024
_CLIENT_LIMIT = _MIB
_CEILING = 256 * 1024
_MORE = 1.35
_LONGEST_S = 40.0
_MOST_CHARACTERS = 4000
_OVERSIZE = 2 * _MIB
_TOO_BIG = 1009
_SLICE = Fix(
    "Send PCM in slices of 20 to 100 ms (960 to 4,800 bytes at 24 kHz), as it is made: a slice costs nothing, and the "
    "first one can be played while the rest is computed.",
    before="await websocket.send_bytes(pcm)                       # as long as the text is",
    after="""\
for start in range(0, len(pcm), FRAME_BYTES):            # an even number: whole samples
    await websocket.send_bytes(pcm[start : start + FRAME_BYTES])""",
    elsewhere=(aiohttp.SLICE, websockets.SLICE, node.SLICE),
)
_LIMIT = Fix(
    "Set the limit on purpose, where the library takes it: it then closes with 1009 by itself. Refuse in the handler "
    "what is too long for the model, with an error message.",
    before="assert len(message) < LIMIT                     # leaves the handler",
    after="""\
uvicorn.run(app, ws_max_size=1 << 20)           # hypercorn: websocket_max_message_size; ws: maxPayload
...
if len(text) > LONGEST_TEXT:
    await websocket.send_text(json.dumps({"type": "error", "message": "text too long"}))
    continue""",
    elsewhere=(aiohttp.LIMIT, websockets.LIMIT, node.LIMIT),
)


class FrameSize(Check):
    """A text without a stop, for more than 1 MiB of audio; then a good request padded to 2 MiB."""

    id = "CT9"
    name = "frame-size"
    stake = (
        "Many clients and proxies refuse a message above 1 MiB with 1009: that is 21.8 s of 24 kHz PCM in one frame, "
        "and the short sentences of a test never come near it. A container that falls over a large message from one "
        "client falls over for all of them."
    )
    facts = ("frame.one-to-one", "limit.chunk", "unk.part-max")

    def applies(self, profile: Profile) -> str | None:
        """Only profiles that say what the audio is."""
        return profile.without_audio

    async def run(self, bench: Bench) -> Outcome:
        """Look at the frames of a long answer, and, where they are not beyond all measure, send the large message."""
        audio = bench.profile.audio
        if audio is None:
            raise RuntimeError("run() of a check that does not apply")
        async with bench.connect() as conversation:
            short = await conversation.ask("short")
        text = _long_text(bench, audio, sum(map(len, short.audio)))
        async with bench.connect() as conversation:
            answer = await conversation.request("long", text)
            await conversation.hear(answer, bench.patience_for(text))
            closing = await bench.closing(conversation)
        log = bench.log(conversation)
        frames = _judge_frames(audio, text, answer)
        if frames.status is Status.FAIL:
            return frames, closing, log
        oversize, oversize_closing, oversize_log = await self._oversize(bench)
        if Status.FAIL in {oversize.status, oversize_closing.status} or frames.status is Status.PASS:
            both = passed(f"{frames.observed}; {oversize.observed}")
            return both if oversize.status is Status.PASS else oversize, oversize_closing, oversize_log
        return frames, closing, log

    async def _oversize(self, bench: Bench) -> Outcome:
        async with bench.connect() as conversation:
            payload = bench.profile.request.render("oversize").encode()
            what = f"{len(payload)} bytes of a good request, padded with blanks to {_OVERSIZE:,}"
            await conversation.send(payload.ljust(_OVERSIZE), conversation.data_type, what)
            await conversation.follow_up("oversize")
            answer = await conversation.hear(conversation.expect("oversize"))
        log = bench.log(conversation)
        ping = await bench.ping()
        async with bench.connect() as fresh:
            again = await fresh.ask("fresh")
        if ping.silent or not again.complete:
            observed = f"{answer.describe()}; then /ping: {ping}, and a fresh session: {again.describe()}"
            return _taken_along(observed), not_applicable("not judged here"), bench.log(fresh)
        return _judge_oversize(answer), _judge_end(answer), log


def _long_text(bench: Bench, audio: AudioFormat, short_bytes: int) -> str:
    """Return a text that gives more audio than clients take in one message, or as much as is worth the wait."""
    wanted = min(_MORE * _CLIENT_LIMIT, 2 * audio.sample_rate * _LONGEST_S)
    request = bench.profile.request
    length = len(request.sentences[0]) * wanted / max(short_bytes, 1)
    # without a stop: a container that sends a frame for each sentence shows it, too
    return unpunctuated(request.sentences, round(min(length, _MOST_CHARACTERS)))


def _judge_frames(audio: AudioFormat, text: str, answer: Answer) -> Finding:
    if not answer.audio:
        return not_applicable(f"no audio came for a text of {len(text)} characters: {answer.describe()}")
    lengths = [len(frame) for frame in answer.audio]
    sizes = [audio.on_the_wire(length) for length in lengths]
    largest = max(sizes)
    seconds = max(lengths) / 2 / audio.sample_rate
    spoken = sum(lengths) / 2 / audio.sample_rate
    sent = f"a text of {len(text)} characters without a stop, for {spoken:.0f} s of speech"
    count = f"{len(sizes)} frames, the largest one with" if len(sizes) > 1 else "a single frame with"
    observed = f"{count} {largest:,} bytes ({seconds:.1f} s of audio)"
    if len(sizes) > 2 and sizes[-1] > _CLIENT_LIMIT // 16 and answer.audio[-1] == b"".join(answer.audio[:-1]):
        return failed(
            sent=sent,
            expected="every sample once",
            observed=f"{observed}; the last frame repeats all that came before it",
            causes=("The final message carries the whole clip for clients that did not listen to the stream.",),
            fix=_SLICE,
        )
    if largest > _CLIENT_LIMIT or (len(sizes) == 1 and largest > _CEILING):
        return failed(
            sent=sent,
            expected=f"frames of 20 to 100 ms; never more than {_CLIENT_LIMIT:,} bytes, which many clients refuse",
            observed=observed,
            causes=(
                "The clip of a whole request goes out as one frame, however long it is."
                if len(sizes) == 1
                else "One frame per sentence or per call of the model, however long that is.",
            ),
            fix=_SLICE,
        )
    if largest > _CEILING:
        return warned(
            sent=sent,
            expected=f"frames of at most {_CEILING:,} bytes; 20 to 100 ms are best",
            observed=observed,
            causes=("One frame per sentence, or per call of the model, however long that is.",),
            fix=_SLICE,
        )
    return passed(observed)


def _judge_oversize(answer: Answer) -> Finding:
    outcome = answer.outcome
    if answer.complete or outcome == "error" or (isinstance(outcome, Failed) and not outcome.without_close_frame):
        took = "was answered like any other" if answer.complete else f"was refused: {answer.describe()}"
        return passed(f"a message of {_OVERSIZE // _MIB} MiB {took}")
    if isinstance(outcome, Failed) and "reset" in outcome.message:
        return passed("a message of 2 MiB was refused by a reset")  # its Close frame may have been lost on the way
    causes: tuple[str, ...]
    if isinstance(outcome, Failed):
        causes = (
            (
                "The message was read to its end, and then the handler raised: an `assert`, a buffer of fixed size, a "
                "recursion. The exception leaves the handler, and the server drops the connection."
            ),
            (
                "The library raises on a message above its limit, and nobody catches that (`ws` without an 'error' "
                "listener)."
            ),
        )
    elif isinstance(outcome, Ended):
        causes = ("The container closes the session as after a success: the caller takes it for a short answer.",)
    else:
        causes = (
            "A message above a limit is dropped without a word: the caller waits for an answer that never comes.",
            "The message is parsed or copied in a way whose cost grows with the square of its length.",
        )
    return failed(
        sent=f"a good request in a message of {_OVERSIZE:,} bytes: valid, but padded with blanks",
        expected=f"the answer, an error message, or Close {_TOO_BIG}",
        observed=answer.describe(),
        causes=causes,
        fix=_LIMIT,
    )


def _judge_end(answer: Answer) -> Finding:
    outcome = answer.outcome
    if isinstance(outcome, Failed) and outcome.code != str(_TOO_BIG):
        return warned(
            sent=f"a message of {_OVERSIZE:,} bytes",
            expected=f"where it is too large, Close {_TOO_BIG} (RFC 6455, 7.4.1)",
            observed=str(outcome),
            causes=("The connection is dropped, or closed with a code that does not say why.",),
            fix=_LIMIT,
        )
    if isinstance(outcome, Failed):
        return passed(f"Close {_TOO_BIG}")
    return passed("the session stays open") if not isinstance(outcome, Silence) else not_applicable("not judged here")


def _taken_along(observed: str) -> Finding:
    return failed(
        sent=f"a good request in a message of {_OVERSIZE:,} bytes; afterwards GET /ping and a good request",
        expected="whatever becomes of that session: /ping answers, and a fresh session works",
        observed=observed,
        causes=(
            (
                "The process died or ran out of memory: an exception that nobody catches, a buffer that is copied "
                "again and again."
            ),
            "The message is still being worked on, on the event loop or under a lock that all sessions share.",
        ),
        fix=_LIMIT,
    )
