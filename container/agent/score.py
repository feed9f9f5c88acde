"""How many texts each splitter cuts as a person would: `python -m container.agent.score [--failures]`.

The texts are those of the splitter's own test (tests/gold.py): those of the first column it was made with, which is an
advantage over the others, those of the second are held-out ones. Each text is fed whole, by character, in pieces of
four characters and by word, and counts only if every feed gives exactly the gold. The third column is for those that
are right: how many of their sentences are given only when two or more words have come after them, the next one being
the look-ahead that is wanted. What is not installed is named.
"""

import argparse
import asyncio
import contextlib
import importlib
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any

from container.agent.sentences import SentenceSplitter

__all__ = ["Splitter", "failures", "look_ahead", "main", "ours"]

Splitter = Callable[[str, Iterator[str]], Iterable[str]]
"""Language and fragments to sentences, each as soon as it is certain."""

Case = tuple[str, str, list[str]]
"""Language, text, gold."""


def ours(language: str, fragments: Iterator[str]) -> Iterator[str]:
    """Cut with the splitter of this package."""
    splitter = SentenceSplitter(language)
    for fragment in fragments:
        yield from splitter.feed(fragment)
    yield from splitter.flush()


def _buffered(segment: Callable[[str, str], Sequence[str]]) -> Splitter:
    """Make a splitter of a function that cuts whole texts: all but the last sentence of the buffer are finished."""

    def split(language: str, fragments: Iterator[str]) -> Iterator[str]:
        buffer = ""
        for fragment in fragments:
            buffer += fragment
            finished = list(segment(language, buffer))[:-1]
            yield from finished
            buffer = _after(buffer, sum(len("".join(sentence.split())) for sentence in finished))
        yield from segment(language, buffer)

    return split


def _after(text: str, characters: int) -> str:
    """Return what follows the first `characters` that are no white space: some libraries take that away."""
    for at, char in enumerate(text):
        if not characters:
            return text[at:]
        characters -= not char.isspace()
    return ""


def _sentencex() -> Splitter:
    return _buffered(importlib.import_module("sentencex").segment)


def _pysbd() -> Splitter:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its regular expressions have invalid escapes
        library = importlib.import_module("pysbd")
        languages = importlib.import_module("pysbd.languages").LANGUAGE_CODES

    def segment(language: str, text: str) -> Sequence[str]:
        cut: list[str] = library.Segmenter(language=language if language in languages else "en", clean=False).segment(
            text
        )
        return cut

    return _buffered(segment)


def _stream2sentence() -> Splitter:
    library = importlib.import_module("stream2sentence")

    def split(language: str, fragments: Iterator[str]) -> Iterator[str]:
        del language  # its rules know none
        cut: Iterator[str] = library.generate_sentences(
            fragments, minimum_sentence_length=1, minimum_first_fragment_length=1, context_size=2
        )
        return cut

    return split


def _blingfire() -> Splitter:
    library = importlib.import_module("livekit.blingfire")
    return _buffered(lambda _, text: library.text_to_sentences(text).split("\n"))


def _pipecat() -> Splitter:
    aggregator: Any = importlib.import_module("pipecat.utils.text.simple_text_aggregator").SimpleTextAggregator

    def split(language: str, fragments: Iterator[str]) -> Iterator[str]:
        del language
        made: Any = aggregator()

        async def feed(fragment: str) -> list[str]:
            return [sentence.text async for sentence in made.aggregate(fragment)]

        with asyncio.Runner() as runner:
            for fragment in fragments:
                yield from runner.run(feed(fragment))
            if (rest := runner.run(made.flush())) is not None:
                yield rest.text

    return split


def _livekit() -> Splitter:
    tokenize: Any = importlib.import_module("livekit.agents.tokenize")

    def split(language: str, fragments: Iterator[str]) -> Iterator[str]:
        del language

        async def whole() -> list[str]:
            # it gives what it has to another task: when that is, only it knows, so the look-ahead is not measured
            stream = tokenize.blingfire.SentenceTokenizer(min_sentence_len=1, stream_context_len=1).stream()
            for fragment in fragments:
                stream.push_text(fragment)
            stream.end_input()
            return [sentence.token async for sentence in stream]

        yield from asyncio.run(whole())

    return split


SPLITTERS: dict[str, Callable[[], Splitter]] = {
    "container.agent": lambda: ours,
    "pysbd": _pysbd,
    "sentencex": _sentencex,
    "stream2sentence": _stream2sentence,
    "livekit-blingfire": _blingfire,
    "livekit-agents": _livekit,
    "pipecat-ai": _pipecat,
}


_UNTIMED = frozenset({"livekit-agents"})


def feeds(text: str) -> list[list[str]]:
    """Return the ways in which a text is fed."""
    words = [word + " " for word in text.split(" ")]
    words[-1] = words[-1][:-1]
    return [[text], list(text), [text[at : at + 4] for at in range(0, len(text), 4)], words]


def failures(split: Splitter, cases: Sequence[Case]) -> list[tuple[Case, list[str]]]:
    """Return the cases that are cut otherwise in one of the feeds, with the sentences that came out."""
    return [(case, got) for case in cases if (got := _failure(split, case)) is not None]


def _failure(split: Splitter, case: Case) -> list[str] | None:
    language, text, gold = case
    for fragments in feeds(text):
        got: list[str] = []
        with contextlib.suppress(Exception):  # what a library raises is a failure of it
            got = [sentence for each in split(language, iter(fragments)) if (sentence := each.strip())]
        if got != gold:
            return got
    return None


def look_ahead(split: Splitter, case: Case) -> list[int]:
    """Return how many words came after each sentence of a text, but the last, before it was given: 0 is at once.

    A word brings the white space before it along, as the tokens of a model do. The text must be one that is cut right.
    """
    language, text, gold = case
    words = re.findall(r"\s*\S+", text)
    taken = 0

    def counted() -> Iterator[str]:
        nonlocal taken
        for word in words:
            taken += 1
            yield word

    given = [taken for each in split(language, counted()) if each.strip()]
    sizes = list(accumulate(len(word.strip()) for word in words))
    ends = accumulate(len("".join(sentence.split())) for sentence in gold)
    complete = [next(at for at, size in enumerate(sizes, 1) if size >= end) for end in ends]
    return [at - end for at, end in zip(given, complete, strict=True)][:-1]


def _ahead(name: str, split: Splitter, columns: list[list[Case]], wrong: list[list[tuple[Case, list[str]]]]) -> str:
    if name in _UNTIMED:
        return "not measured"
    failed = [case for found in wrong for case, _ in found]
    right = [case for cases in columns for case in cases if case not in failed]
    words = [count for case in right for count in look_ahead(split, case)]
    return f"{sum(count > 1 for count in words)} of {len(words)}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m container.agent.score", description=__doc__)
    parser.add_argument("--failures", action="store_true", help="print each text that is cut otherwise")
    options = parser.parse_args(arguments)
    try:
        from container.agent.tests.gold import GOLD, HELD_OUT, gold  # noqa: PLC0415  # the tests are not in the image
    except ImportError:
        sys.stderr.write("error: container/agent/tests/gold.py, with the texts, is not here; run it in a checkout\n")
        return 2
    columns = [gold(GOLD), gold(HELD_OUT)]
    sys.stdout.write(f"{'':20} {'made with':>14} {'held out':>14} {'over one word ahead':>22}\n")
    for name, make in SPLITTERS.items():
        try:
            split = make()
        except ImportError:
            sys.stdout.write(f"{name:20} not installed\n")
            continue
        wrong = [failures(split, cases) for cases in columns]
        cells = [f"{len(cases) - len(found)} of {len(cases)}" for cases, found in zip(columns, wrong, strict=True)]
        sys.stdout.write(f"{name:20} {cells[0]:>14} {cells[1]:>14} {_ahead(name, split, columns, wrong):>22}\n")
        for (_, text, expected), got in [*wrong[0], *wrong[1]] if options.failures else []:
            sys.stdout.write(f"    {text!r}\n      expected {expected}\n      got      {got}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
