"""How many texts each splitter cuts as a person would: `python -m container.agent.score [--failures]`.

The texts are those of the splitter's own test (tests/gold.py): those of the first column it was made with, which is an
advantage over the others, those of the second are held-out ones. Each text is fed whole, by character, in pieces of
four characters and by word, and counts only if every feed gives exactly the gold. What is not installed is named.
"""

import argparse
import contextlib
import importlib
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from container.agent.sentences import SentenceSplitter

__all__ = ["Splitter", "failures", "main"]

Splitter = Callable[[str, Iterator[str]], list[str]]
"""Language and fragments to sentences."""

Case = tuple[str, str, list[str]]
"""Language, text, gold."""


def ours(language: str, fragments: Iterator[str]) -> list[str]:
    """Cut with the splitter of this package."""
    splitter = SentenceSplitter(language)
    return [sentence for fragment in fragments for sentence in splitter.feed(fragment)] + splitter.flush()


def _buffered(segment: Callable[[str, str], Sequence[str]]) -> Splitter:
    """Make a splitter of a function that cuts whole texts: all but the last sentence of the buffer are finished."""

    def split(language: str, fragments: Iterator[str]) -> list[str]:
        done: list[str] = []
        buffer = ""
        for fragment in fragments:
            buffer += fragment
            finished = list(segment(language, buffer))[:-1]
            done += finished
            buffer = _after(buffer, sum(len("".join(sentence.split())) for sentence in finished))
        return [text for sentence in [*done, *segment(language, buffer)] if (text := sentence.strip())]

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

    def split(language: str, fragments: Iterator[str]) -> list[str]:
        del language  # its rules know none
        cut = library.generate_sentences(
            fragments, minimum_sentence_length=1, minimum_first_fragment_length=1, context_size=2
        )
        return [text for sentence in cut if (text := sentence.strip())]

    return split


def _blingfire() -> Splitter:
    library = importlib.import_module("livekit.blingfire")
    return _buffered(lambda _, text: library.text_to_sentences(text).split("\n"))


def _pipecat() -> Splitter:
    aggregator: Any = importlib.import_module("pipecat.utils.text.simple_text_aggregator").SimpleTextAggregator
    asyncio = importlib.import_module("asyncio")

    def split(language: str, fragments: Iterator[str]) -> list[str]:
        del language

        async def run() -> list[str]:
            made: Any = aggregator()
            found = []
            for fragment in fragments:
                found += [sentence.text async for sentence in made.aggregate(fragment)]
            rest = await made.flush()
            return found + ([rest.text] if rest is not None else [])

        return [text for sentence in asyncio.run(run()) if (text := sentence.strip())]

    return split


SPLITTERS: dict[str, Callable[[], Splitter]] = {
    "container.agent": lambda: ours,
    "pysbd": _pysbd,
    "sentencex": _sentencex,
    "stream2sentence": _stream2sentence,
    "livekit-blingfire": _blingfire,
    "pipecat-ai": _pipecat,
}


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
            got = split(language, iter(fragments))
        if got != gold:
            return got
    return None


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
    sys.stdout.write(f"{'':20} {'made with':>14} {'held out':>14}\n")
    for name, make in SPLITTERS.items():
        try:
            split = make()
        except ImportError:
            sys.stdout.write(f"{name:20} not installed\n")
            continue
        wrong = [failures(split, cases) for cases in columns]
        cells = [f"{len(cases) - len(found)} of {len(cases)}" for cases, found in zip(columns, wrong, strict=True)]
        sys.stdout.write(f"{name:20} {cells[0]:>14} {cells[1]:>14}\n")
        for (_, text, expected), got in [*wrong[0], *wrong[1]] if options.failures else []:
            sys.stdout.write(f"    {text!r}\n      expected {expected}\n      got      {got}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
