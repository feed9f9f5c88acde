"""Time to first audio: the whole text as one batch against its first sentence alone."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from contract_tests.answer import Answer
from contract_tests.bench import Bench
from contract_tests.pace import audio_parts

__all__ = ["REFERENCE_MS", "SENTENCES", "NoAudioError", "Sample", "measure", "ratio", "table"]

SENTENCES = (
    "Good morning and thank you for calling our service desk today.",
    "My name is Clara, and I will stay with you until your question has been answered.",
    "Please tell me your order number first, so that I can look it up at once.",
    "After that we will find a solution together now.",
)
REFERENCE_MS = (329.3, 156.7)
"""Batch and first sentence on one ml.g5.xlarge with a text of this length, as published; 2.10 times."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One run; milliseconds since the request was sent.

    ``batch``: until the whole text is spoken, which is when a caller who takes it in one piece can begin to play;
    ``streamed``: the first audio of that same request; ``sentence``: the first audio of the first sentence alone.
    """

    batch: float
    streamed: float
    sentence: float


class NoAudioError(Exception):
    """Raised when a request of the benchmark is not answered with audio."""


async def measure(bench: Bench, runs: int) -> list[Sample]:
    """Take ``runs`` samples on one session, after a warm-up; the order of the two requests changes from run to run.

    Raises:
        NoAudioError: a request was not answered with audio.
    """
    samples = []
    whole = " ".join(SENTENCES)
    async with bench.client(), bench.connect() as conversation:
        patience = bench.patience_for(whole)

        async def ask(request_id: str, text: str) -> Answer:
            answer = await conversation.hear(await conversation.request(request_id, text), patience)
            if not answer.complete or not audio_parts(answer):
                raise NoAudioError(f"{text!r} got {answer.describe()}")
            return answer

        await ask("warm-up", SENTENCES[0])
        for run in range(runs):
            texts = [("whole", whole), ("first", SENTENCES[0])]
            answers = {name: await ask(f"{name}-{run}", text) for name, text in (texts if run % 2 else texts[::-1])}
            parts = audio_parts(answers["whole"])
            samples.append(
                Sample(
                    batch=1000 * (parts[-1].at - answers["whole"].sent_at),
                    streamed=1000 * (parts[0].at - answers["whole"].sent_at),
                    sentence=1000 * (audio_parts(answers["first"])[0].at - answers["first"].sent_at),
                )
            )
    return samples


def ratio(samples: Sequence[Sample]) -> float:
    """Return how many times earlier the first sentence is heard than the batch, by medians."""
    return statistics.median(s.batch for s in samples) / statistics.median(s.sentence for s in samples)


def table(samples: Sequence[Sample]) -> list[str]:
    """Return the samples as a table with medians and spread, milliseconds."""
    rows = {
        "batch: the whole text, in one piece": [sample.batch for sample in samples],
        "the same request, first audio": [sample.streamed for sample in samples],
        "first sentence alone, first audio": [sample.sentence for sample in samples],
    }
    text = " ".join(SENTENCES)
    lines = [
        f"time to first audio, ms: {len(text)} characters, {len(SENTENCES)} sentences; {len(samples)} runs in one",
        f"{'':<38}{'median':>9}{'min':>9}{'max':>9}",
    ]
    lines += [f"{name:<38}{statistics.median(row):>9.1f}{min(row):>9.1f}{max(row):>9.1f}" for name, row in rows.items()]
    batch, sentence = REFERENCE_MS
    lines.append(
        f"the first sentence is heard {ratio(samples):.2f} times earlier than the batch (published for ml.g5.xlarge: "
        f"{batch} / {sentence} ms = {batch / sentence:.2f} times)"
    )
    return lines
