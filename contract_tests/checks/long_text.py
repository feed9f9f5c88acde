"""CT16: a long text without punctuation is spoken to its end, or refused; it is never cut without a word."""

from contract_tests.answer import Answer
from contract_tests.bench import Bench
from contract_tests.check import Check, Outcome
from contract_tests.client import Ended, Failed
from contract_tests.profile import Profile
from contract_tests.unpunctuated import unpunctuated
from contract_tests.verdict import Finding, Fix, failed, not_applicable, passed

__all__ = ["LongText"]

_LENGTH = 240
_TIMES = 3
_LEAST_SHARE = 0.8
_SPLIT = Fix(
    "Split before the model is called: at sentences, a long sentence at clauses, a long clause at words, with CJK "
    "punctuation among the marks. Refuse with an error message what is too long all the same.",
    before="""\
for sentence in re.split(r"(?<=[.!?]) ", text):
    speak(phonemes(sentence)[:510])          # what is longer is lost""",
    after="""\
for piece in pieces(text, limit=240):        # sentences, else clauses, else words
    speak(phonemes(piece))""",
)
_CLAMPED = "The text, or its phonemes, are clamped to what the model takes (510 for Kokoro), and the rest is dropped."
_CAPPED = "The model stops at its largest number of frames or tokens, and nobody notices that the text was not over."


class LongText(Check):
    """Some words without a stop, and the same words three times over: the second answer is three times as long."""

    id = "CT16"
    name = "long-text"
    stake = (
        "Models take a few hundred phonemes at a time. A longer sentence, as language models write them, is cut "
        "without a word, raises, or hangs: the caller hears half of it and is told that it was complete."
    )
    facts = ("frame.opaque", "frame.one-to-one")

    def applies(self, profile: Profile) -> str | None:
        """Only profiles that say what the audio is."""
        return profile.without_audio

    async def run(self, bench: Bench) -> Outcome:
        """Ask for both texts, each on a session of its own, and compare the lengths of the audio."""
        words = unpunctuated(bench.profile.request.sentences, _LENGTH)
        answers: list[Answer] = []
        for text in (words, " ".join([words] * _TIMES)):
            async with bench.connect() as conversation:
                answer = await conversation.request(f"long-{len(text)}", text)
                await conversation.hear(answer, bench.patience_for(text))
                closing = await bench.closing(conversation)
            log = bench.log(conversation)
            if answer.outcome == "error":
                observed = f"a text of {len(text)} characters is refused in words: {answer.error}"
                return passed(observed), closing, log
            if not answer.complete:
                return _lost(text, answer), closing, log
            answers.append(answer)
        return _judge(bench, words, answers), closing, log


def _judge(bench: Bench, words: str, answers: list[Answer]) -> Finding:
    rate = bench.profile.audio.sample_rate if bench.profile.audio else 1
    short, long = (sum(map(len, answer.audio)) / 2 / rate for answer in answers)
    if not short:
        return not_applicable("no audio came for the shorter text, which is for CT8 to say")
    if long >= _LEAST_SHARE * _TIMES * short:
        return passed(f"{len(words)} characters gave {short:.1f} s of audio, {_TIMES} times as many gave {long:.1f} s")
    reached = round(len(words) * long / short)
    return failed(
        sent=f"{len(words)} characters without punctuation; then the same words {_TIMES} times over",
        expected=f"{_TIMES} times as much audio ({_TIMES * short:.1f} s, at least {_LEAST_SHARE * _TIMES * short:.1f} "
        "s), or an error message",
        observed=f"{short:.1f} s, then {long:.1f} s and complete: the audio ends after about {reached} characters",
        causes=(_CLAMPED, _CAPPED) if long > 1.1 * short else (_CAPPED, _CLAMPED),
        fix=_SPLIT,
    )


def _lost(text: str, answer: Answer) -> Finding:
    outcome = answer.outcome
    causes: tuple[str, ...]
    if isinstance(outcome, Failed) and outcome.without_close_frame:
        causes = ("The model raises on more than it takes, and the exception leaves the handler.",)
    elif isinstance(outcome, Ended | Failed):
        causes = ("The handler closes the session on a text that is too long, instead of refusing that text.",)
    else:
        causes = (
            "The model raises in a worker thread, and the exception never reaches the stream, which waits for ever.",
            "The search for a place to split never ends where there is none.",
        )
    return failed(
        sent=f"a text of {len(text)} characters without punctuation",
        expected="complete, or an error message; the session stays open",
        observed=answer.describe(),
        causes=causes,
        fix=_SPLIT,
    )
