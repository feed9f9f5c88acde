"""Events of an agent's answer, however its body is cut."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.agentcore import sse
from emulator.agentcore.sse import EventReader, SseError

TEXT = 'Grüße \u2028 \u2029 \u0085 \x0b\x0c\x1c {"a"} \U0001f600 data: \\n'
EVENTS: list[dict[str, Any]] = [{"type": "text", "text": TEXT, "seq": number} for number in range(3)]


def frame(event: object, newline: str = "\n") -> bytes:
    return f"data: {json.dumps(event, ensure_ascii=False)}{newline}{newline}".encode()


@given(st.lists(st.integers(0, 600), max_size=30), st.sampled_from(["\n", "\r\n"]))
def test_events_come_whole_wherever_the_body_is_cut(cuts: list[int], newline: str) -> None:
    body = b": keep-alive\n\nid: 7\n\n" + b"".join(frame(event, newline) for event in EVENTS)
    places = sorted({0, len(body), *(cut % len(body) for cut in cuts)})
    reader = EventReader()
    assert [event for one, two in pairwise(places) for event in reader.feed(body[one:two])] == EVENTS
    reader.finish()


def test_an_event_is_given_as_soon_as_it_is_whole() -> None:
    reader = EventReader()
    assert reader.feed(b'data: {"type":\n') == []
    assert reader.feed(b'data:"agent_start"}\r\n\r') == []
    assert reader.feed(b"\n") == [{"type": "agent_start"}]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"data: {nope}\n\n", "is no JSON "),
        (b"data: [1]\n\n", "is no JSON object"),
        (b"data: " + b"[" * 100_000 + b"\n\n", "is no JSON "),
        (b"data: \xff\n\n", "is no JSON "),
        (b'data: {"a": 1}', "ended inside an event"),
        (b'data: {"a": 1}\n', "ended inside an event"),
        (b'data: {"a": 1}\n\ndata', "ended inside an event"),
    ],
)
def test_what_is_no_stream_of_events_is_an_error(body: bytes, words: str) -> None:
    def read() -> None:
        reader = EventReader()
        reader.feed(body)
        reader.finish()

    with pytest.raises(SseError, match=words):
        read()


@pytest.mark.parametrize("line", [b"data: " + b"x" * 90, b"data: " + b"x" * 20 + b"\n", b"x" * 90])
def test_an_event_without_an_end_is_not_kept_for_ever(line: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MOST_BYTES", 1000)
    reader = EventReader()

    def read() -> None:
        for _ in range(50):
            reader.feed(line)

    with pytest.raises(SseError, match="no end within 1,000 bytes"):
        read()
