"""A turn of the agent out of its answer, however the body is cut."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from live_tests.agent import AgentError, Mode, Turn, compare, take_turn
from live_tests.tests.scripted_agent import events


def frame(event: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(event, ensure_ascii=False)}\n\n".encode()


class Clock:
    def __init__(self) -> None:
        self.now = 5.0

    def __call__(self) -> float:
        return self.now


def scripted(mode: Mode, clock: Clock, step: float = 0.1, piece: int = 50) -> Iterator[bytes]:
    """Yield the scripted agent's answer in pieces; ``step`` seconds pass before each event."""
    for number, event in enumerate(events(mode)):
        clock.now += step
        data = frame(event | {"t_ms": 100 * number})
        for start in range(0, len(data), piece):
            yield data[start : start + piece]


def turn(mode: Mode, **options: Any) -> Turn:
    clock = Clock()
    return take_turn(scripted(mode, clock, **options), mode, clock)


def test_a_turn_is_timed_from_agent_start() -> None:
    bidi, batch = turn("bidi"), turn("batch")
    # agent_start, three texts, sentence, audio_chunk
    assert bidi.first_text == pytest.approx(100)
    assert bidi.first_audio == pytest.approx(500)
    assert bidi.first_audio_agent == 500
    assert bidi.chunks == batch.chunks == 2
    assert bidi.overlaps
    assert bidi.heard_early
    # agent_start, six texts, text_done, sentence, audio_chunk
    assert batch.text_done == pytest.approx(700)
    assert batch.first_audio == pytest.approx(900)
    assert not batch.overlaps
    assert not batch.heard_early
    lines = compare([bidi] * 3, [batch] * 3)
    assert "in 3 of 3 turns in bidi mode audio came before the text was finished" in lines
    assert "bidi is heard 1.80 times earlier (published: 2.4 locally, 3.5 deployed)" in lines


def test_whether_audio_was_early_is_the_agent_s_own_clock() -> None:
    # all of it arrives at once: on the caller's clock nothing is early
    body = b"".join(frame(event | {"t_ms": 100 * number}) for number, event in enumerate(events("bidi")))
    assert take_turn(iter([body]), "bidi").heard_early


def test_a_slow_voice_is_no_batch() -> None:
    sent = ("agent_start", "text", "sentence", "text", "text_done", "audio_chunk", "sentence_end", "done")
    body = b"".join(frame({"type": kind, "t_ms": number, "seq": number}) for number, kind in enumerate(sent))
    slow = take_turn(iter([body]), "bidi")
    assert slow.overlaps
    assert not slow.heard_early


@pytest.mark.parametrize(
    ("tail", "words"),
    [
        ([], "ended without 'done', after agent_start"),
        ([{"type": "error", "message": "the voice is gone"}], "the agent reports: the voice is gone"),
        ([{"error": "boom", "error_type": "RuntimeError"}], "the agent reports: boom"),
        ([{"type": "text", "seq": 1}, {"type": "text", "seq": 1}], "text has seq 1 after 1"),
    ],
)
def test_an_answer_that_does_not_come_to_its_end_is_an_error(tail: list[dict[str, Any]], words: str) -> None:
    body = b"".join(map(frame, [{"type": "agent_start"}, *tail]))
    with pytest.raises(AgentError, match=words):
        take_turn(iter([body]), "bidi")
