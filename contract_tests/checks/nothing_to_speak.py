"""CT4: a text that holds nothing to speak is answered like any other, and the next request works."""

from contract_tests.answer import Answer
from contract_tests.bench import Bench
from contract_tests.blame import bad_message_ends_session, second_request_fails
from contract_tests.check import Check, Outcome
from contract_tests.client import Ended, Failed
from contract_tests.conversation import Conversation
from contract_tests.profile import Profile
from contract_tests.verdict import Finding, Fix, failed, passed

__all__ = ["NothingToSpeak"]

_TEXTS = ("", " ", "...", "。！？", ".\n.\n.", "😀", "a\u00a0b\tc")  # noqa: RUF001 - full-width marks are meant
_LEAST_WAIT_S = 3.0
_GUARD = Fix(
    "Look before the model is called: a text without a letter or digit is complete at once, with no audio. Never wait "
    "unconditionally for a first chunk, and carry an exception of the model to the caller.",
    before="""\
first = await chunks.get()                  # never comes for "..."
await websocket.send_bytes(first)""",
    after="""\
if any(character.isalnum() for character in text):
    async for chunk in synthesise(text):    # no chunk at all is fine
        await websocket.send_bytes(chunk)
await websocket.send_text(json.dumps(complete))""",
)


class NothingToSpeak(Check):
    """Empty text, blanks, lone punctuation and an emoji end by complete or error, in bounded time."""

    id = "CT4"
    name = "nothing-to-speak"
    stake = (
        "A language model emits an empty delta, a line of dots or a lone emoji as a sentence of its own. A container "
        "that waits there for a first chunk, or fails on it, takes the rest of the conversation with it."
    )
    facts = ("close.persistent", "frame.opaque")

    def applies(self, profile: Profile) -> str | None:
        """Only speech, or a protocol that can say that it refuses a text."""
        if profile.request.is_audio:
            return f"the requests of profile {profile.name!r} are audio"
        if profile.audio or profile.error:
            return None
        return f"profile {profile.name!r} says neither that the answer is audio ([audio]) nor what an error looks like"

    async def run(self, bench: Bench) -> Outcome:
        """Send one text after the other and then a good request; a session that ends early gets a successor."""
        left = list(_TEXTS)
        closing = passed("how sessions end is the business of CT2 and CT7 here")
        while left:
            async with bench.connect() as conversation:
                finding, done = await _session(bench, conversation, left)
                ended = await bench.closing(conversation)
            if finding is None:
                closing, done = ended, len(left)
            elif not await _known(bench, conversation, done):
                return finding, ended, bench.log(conversation)
            left = left[max(done, 1) :]  # a session that ended for a reason of its own gets a successor
        count = len(_TEXTS)
        return passed(f"{count} texts with nothing to speak were answered, and so was the next request"), closing, ()


async def _session(bench: Bench, conversation: Conversation, texts: list[str]) -> tuple[Finding | None, int]:
    """Send ``texts`` and a good request; return what is wrong, if anything, and how many texts were answered."""
    for number, text in enumerate(texts):
        patience = max(_LEAST_WAIT_S, bench.patience)
        answer = await conversation.hear(await conversation.request(f"nothing-{number}", text), patience)
        unrecognised = bench.profile.error is None and answer.parts and conversation.session.over is None
        if not (answer.complete or answer.outcome == "error" or unrecognised):
            return _lost(f"the text {text!r}", answer, patience, texts[number - 1] if number else None), number
    good = await conversation.ask_again("after-nothing")
    if good.complete:
        return None, len(texts)
    return _lost(f"a good request after the text {texts[-1]!r}", good, bench.patience, texts[-1]), len(texts)


async def _known(bench: Bench, conversation: Conversation, done: int) -> bool:
    """Tell whether the session would have ended after any good request, or after any bad message."""
    if conversation.session.over is None:
        return False
    return (done > 0 and await second_request_fails(bench)) or await bad_message_ends_session(bench)


def _lost(what: str, answer: Answer, patience: float, before: str | None) -> Finding:
    outcome = answer.outcome
    causes: tuple[str, ...]
    if isinstance(outcome, Failed) and outcome.without_close_frame:
        causes = (
            (
                "The phonemiser returns nothing, and the code behind it raises: an index into an empty list, a "
                "division by the number of samples, a concatenation of no chunks. The exception leaves the handler."
            ),
        )
    elif isinstance(outcome, Ended | Failed):
        causes = (
            "An empty text is taken for the end of the stream, and the container closes the session.",
            "The container closes the session on purpose when it refuses a text.",
        )
    elif answer.parts:
        causes = (
            "The handler has announced audio and waits for a first chunk, which the model never yields for this text.",
            "The model raises in a worker thread, and nobody carries the exception to the caller.",
        )
    else:
        causes = (
            "The text is dropped without a word (`if not text: continue`), and the caller waits for its answer.",
            "The model spins or waits on a text without phonemes.",
        )
    earlier = f", after the text {before!r} on the same session" if before is not None and "after" not in what else ""
    return failed(
        sent=f"{what}{earlier}",
        expected=f"complete (without audio is fine) or an error, within {patience:.0f} s; the session stays open",
        observed=answer.describe(),
        causes=causes,
        fix=_GUARD,
    )
