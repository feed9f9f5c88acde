"""How fast a container works: texts that keep it busy for a while, and when the audio of an answer came."""

import math

from contract_tests.answer import Answer, json_object
from contract_tests.bench import Bench
from contract_tests.client import Part

__all__ = ["audio_parts", "busy_text", "first_audio_s", "longest_text"]

_LONGEST = 40
"""Sentences: about 1,000 characters, which no speech container should refuse."""


def busy_text(bench: Bench, seconds: float, least: int) -> str:
    """Return a text of whole sentences that is about ``seconds`` of work, of at least ``least`` sentences."""
    each = bench.baseline.seconds if bench.baseline else seconds
    count = min(_LONGEST, max(least, math.ceil(seconds / max(each, 0.01))))
    return _text(bench, count)


def longest_text(bench: Bench) -> str:
    """Return the longest text that a container is asked for to see how it works."""
    return _text(bench, _LONGEST)


def _text(bench: Bench, count: int) -> str:
    sentences = bench.profile.request.sentences
    return " ".join(sentences[number % len(sentences)] for number in range(count))


def audio_parts(answer: Answer) -> list[Part]:
    """Return the parts that hold audio; their data is the audio alone, as PCM16 where the profile says what it is."""
    return answer.audio_parts or [
        part for part in answer.parts if part.data_type != "UTF8" and part.data and json_object(part.data) is None
    ]


def first_audio_s(answer: Answer) -> float:
    """Return the seconds from the request to its first audio; to its first part, where the profile has no audio."""
    parts = audio_parts(answer) or answer.parts
    return parts[0].at - answer.sent_at if parts else 0.0
