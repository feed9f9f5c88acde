"""CT25: the audio says the text: all of its words, in order, and nobody else's."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from contract_tests.answer import Answer
from contract_tests.bench import Bench
from contract_tests.check import Check, Outcome
from contract_tests.passage import LONG, SHORT
from contract_tests.profile import Profile
from contract_tests.recognition import LANGUAGES, align, spoken_words, unavailable, words_heard
from contract_tests.recognition.speechlike import unlike_speech
from contract_tests.verdict import Finding, Fix, Level, failed, not_applicable, passed, warned

__all__ = ["Heard", "SpeechSaysText", "judge"]

_WORST_RATE = 0.25
"""Errors per word. In eight voices of Kokoro 1 of 536 words was misheard (docs/recognition.md)."""
_NOT_UNDERSTOOD = 0.6
_LOST_WORDS = 4
"""In a row. A recogniser mistakes words for others; it passes over two at most."""
_FOREIGN_WORDS = 3
_SHORTER_S = 9.0
_SENT = "two English texts at once, one per session, a sentence of one beginning like a sentence of the other"
_EXPECTED = "the words of each text, all of them and no others, as a speech recogniser hears them"
_OWN = Fix(
    "Let all that a request needs belong to that request, down to its phonemes; let a cache compare the whole text and "
    "all that changes its sound, or do without one.",
    before="""\
key = f"{text[:40]}-{len(text)}"            # two texts, one key
audio = cache.setdefault(key, synthesise(text))""",
    after="""\
key = (text, voice, speed, sample_rate)     # the whole of what it depends on
audio = cache.setdefault(key, synthesise(text))""",
)
_ALL_PIECES = Fix(
    "Cut the text so that the pieces, joined, are the text again, and test that; let a full queue make its producer "
    "wait, never drop.",
    before="""\
if len(batch) + len(sentence) > limit:
    yield batch
    batch = ""                              # and the sentence?""",
    after="""\
if len(batch) + len(sentence) > limit:
    yield batch
    batch = ""
batch += sentence""",
)
_WHOLE_WORDS = Fix(
    "Give the model the pads that it was trained with, and trim by level, never by a fixed number of samples.",
    before="model(tokens)[trim:-trim]",
    after="trimmed(model([0, *tokens, 0]))         # up to the first sample that can be heard",
)


@dataclass(frozen=True, slots=True)
class Heard:
    """The sentences that were asked for, and the words that were heard, normalised."""

    sentences: tuple[str, ...]
    words: Sequence[str]

    @property
    def text(self) -> str:
        """What was asked for."""
        return " ".join(self.sentences)

    @property
    def said(self) -> str:
        """What was heard, as far as it fits into a report."""
        text = " ".join(self.words) or "no words"
        return text if len(text) <= 300 else f"{text[:300]}…"


class SpeechSaysText(Check):
    """Two texts at once, and a speech recogniser that listens to both answers."""

    id = "CT25"
    name = "speech-says-text"
    level = Level.SHOULD
    stake = (
        "Audio of the right length and level can say the wrong thing: a sentence lost between two calls of the model, "
        "first words swallowed, another caller's sentence. No figure of the signal shows it, and callers believe it."
    )
    facts = ("wire.one-to-one", "frame.opaque")

    def applies(self, profile: Profile) -> str | None:
        """Only speech in a language that the recogniser knows, where it is installed."""
        audio = profile.audio
        if audio is None:
            return profile.without_audio
        if profile.request.is_audio:
            return f"the requests of profile {profile.name!r} are audio"
        if audio.language is None:
            return f"profile {profile.name!r} does not say which language is spoken ([audio] language)"
        if audio.language not in LANGUAGES:
            return f"the recogniser knows {', '.join(sorted(LANGUAGES))}, not {audio.language!r}"
        return unavailable()

    async def run(self, bench: Bench) -> Outcome:
        """Ask for a sentence, and if it sounds like speech for two texts at once; listen to both."""
        async with bench.connect() as conversation:
            first = await conversation.ask("speech", SHORT[-1])
        why = _nothing_to_hear(bench, first)
        if why is not None:
            return not_applicable(why), not_applicable(why), bench.log(conversation)
        patience = bench.patience_for(" ".join((*LONG, *SHORT)))
        async with bench.connect() as one, bench.connect() as two:
            long = await one.request("speech-long", " ".join(LONG))
            short = await two.request("speech-short", " ".join(SHORT))
            await asyncio.gather(one.hear(long, patience), two.hear(short, patience))
            closing = await bench.closing(one)
        log = ("the session of the long text", *bench.log(one), "the session of the short text", *bench.log(two))
        for answer in (long, short):
            if not answer.complete or not answer.audio:
                unsaid = not_applicable(f"not answered in full, for CT13 and CT16 to say: {answer.describe()}")
                return unsaid, unsaid, log
        texts = ((LONG, long), (SHORT, short))
        heard = [Heard(sentences, await _words(bench, answer)) for sentences, answer in texts]
        finding = judge(*heard)
        if finding.causes:  # a fault is told only where a second way of listening does not take it back
            again = [Heard(sentences, await _words(bench, answer, _SHORTER_S)) for sentences, answer in texts]
            second = judge(*again)
            finding = finding if second.causes else second
        return finding, closing, log


def judge(long: Heard, short: Heard) -> Finding:
    """Compare what was heard in both answers with what was asked for; a finding without causes is no fault."""
    finding = _foreign(long, short) or _foreign(short, long)
    if finding is not None:
        return finding
    alignments = [align(each.text, each.words) for each in (long, short)]
    if min(alignment.rate for alignment in alignments) > _NOT_UNDERSTOOD:
        return warned(
            sent=_SENT,
            expected=_EXPECTED,
            observed=f"the recogniser understands next to nothing; for {short.text!r} it hears: {short.said}",
        )
    words = sum(len(alignment.reference) for alignment in alignments)
    errors = sum(alignment.errors for alignment in alignments)
    for each, alignment in zip((long, short), alignments, strict=True):
        if len(alignment.longest_gap) >= _LOST_WORDS:
            return _lost(each, alignment.longest_gap)
    finding = _swallowed(long, short)
    if finding is not None:
        return finding
    if errors > _WORST_RATE * words:
        worse = max(zip((long, short), alignments, strict=True), key=lambda pair: pair[1].rate)[0]
        return failed(
            sent=_SENT,
            expected=_EXPECTED,
            observed=f"{errors} of {words} words are wrong; for {worse.text!r} the recogniser hears: {worse.said}",
            causes=(
                "Text is changed or cut before it is spoken: a normaliser, a split inside words, another language.",
                "Pieces of audio are lost, doubled or out of order on their way.",
            ),
            fix=_ALL_PIECES,
        )
    return passed(f"{words - errors} of {words} words are heard as they were asked for")


def _foreign(own: Heard, other: Heard) -> Finding | None:
    """Find words of the other text in the answer to this one."""
    mine, theirs = (set(_runs(spoken_words(each.text))) for each in (own, other))
    runs = _runs(own.words)
    strays = [number for number, run in enumerate(runs) if run in theirs and run not in mine]
    if not strays:
        return None
    end = next((number for number in range(strays[0], len(runs)) if runs[number] not in theirs), len(runs))
    stray = own.words[strays[0] : end + _FOREIGN_WORDS - 1]
    return failed(
        sent=_SENT,
        expected=_EXPECTED,
        observed=f"the answer to {own.text!r} says {' '.join(stray)!r}, which belongs to the other text; "
        f"the recogniser hears: {own.said}",
        causes=(
            "A cache takes two texts for the same: its key holds a part of the text, its length or a short hash.",
            "The step from text to phonemes is shared and keeps state, so that callers get each other's words.",
        ),
        fix=_OWN,
    )


def _runs(words: Sequence[str]) -> list[tuple[str, ...]]:
    return [tuple(words[start : start + _FOREIGN_WORDS]) for start in range(len(words) - _FOREIGN_WORDS + 1)]


def _lost(heard: Heard, gap: Sequence[str]) -> Finding:
    return failed(
        sent=_SENT,
        expected=_EXPECTED,
        observed=f"{len(gap)} words in a row are not spoken, {' '.join(gap)!r}; the recogniser hears: {heard.said}",
        causes=(
            "A piece of the text is lost where it is cut for the model: the one that did not fit is never taken up.",
            "A queue between model and socket drops what it has no room for.",
        ),
        fix=_ALL_PIECES,
    )


def _swallowed(long: Heard, short: Heard) -> Finding | None:
    """Find the same end of most sentences missing."""
    for place, what in ((0, "first"), (-1, "last")):
        edges = [(spoken_words(sentence)[place], each.words) for each in (long, short) for sentence in each.sentences]
        lost = [word for word, words in edges if word not in words]
        if len(lost) > len(edges) / 2:
            return failed(
                sent=_SENT,
                expected=_EXPECTED,
                observed=f"the {what} words of {len(lost)} of {len(edges)} sentences are not heard: {', '.join(lost)}; "
                f"the recogniser hears: {long.said}",
                causes=(
                    f"The {what} sound of each piece is cut: the pads around the model's input are missing.",
                    "The model's output is trimmed too far.",
                ),
                fix=_WHOLE_WORDS,
            )
    return None


def _nothing_to_hear(bench: Bench, answer: Answer) -> str | None:
    if not answer.complete or not answer.audio or bench.profile.audio is None:
        return f"no audio came for one sentence, which is for CT0 and CT8 to say: {answer.describe()}"
    return unlike_speech(_samples(answer), bench.profile.audio.sample_rate)


async def _words(bench: Bench, answer: Answer, stretch_s: float | None = None) -> list[str]:
    rate = bench.profile.audio.sample_rate if bench.profile.audio else 1
    arguments = (stretch_s,) if stretch_s else ()
    return await asyncio.to_thread(words_heard, _samples(answer), rate, *arguments)


def _samples(answer: Answer) -> "np.ndarray[tuple[int], np.dtype[np.int16]]":
    pcm = b"".join(answer.audio)
    return np.frombuffer(pcm[: len(pcm) // 2 * 2], "<i2")
