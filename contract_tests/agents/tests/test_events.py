"""Events out of bytes: what is read, and what is wrong with it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract_tests.agents.events import Event, read_events

TEXT = 'caf\u00e9 \U0001f600 "quoted" \\ and'


def one(data: bytes) -> Event:
    (event,) = read_events([(0.5, data)])
    return event


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_a_line_ends_in_three_ways(end: bytes) -> None:
    body = end.join([b": a comment", b"id: 7", b'data: {"a":', b"data: 1}", b"", b'data:{"b": 2}', b"", b""])
    assert [event.body for event in read_events([(0.0, body)])] == [{"a": 1}, {"b": 2}]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=60))
def test_blocks_end_anywhere(sizes: list[int]) -> None:
    body = b"".join(f"data: {json.dumps({'text': TEXT, 'n': n}, ensure_ascii=False)}\n\n".encode() for n in range(3))
    blocks: list[tuple[float, bytes]] = []
    at = 0
    while at < len(body):
        size = sizes[len(blocks) % len(sizes)]
        blocks.append((float(len(blocks)), body[at : at + size]))
        at += size
    events = read_events(blocks)
    assert [event.body for event in events] == [{"text": TEXT, "n": n} for n in range(3)]
    assert events[-1].at == len(blocks) - 1  # with its last byte, not before


def test_an_event_comes_with_its_last_byte() -> None:
    events = read_events([(1.0, b'data: {"a": 1}\n'), (2.0, b'\ndata: {"b"'), (3.0, b": 2}\n\n")])
    assert [event.at for event in events] == [2.0, 3.0]


@pytest.mark.parametrize(
    ("data", "flaw", "words"),
    [
        (b'data: {"a": NaN}\n\n', "constant", "NaN stands in the JSON"),
        (b'data: {"a": -Infinity}\n\n', "constant", "-Infinity"),
        (b"data: \"{'agent': <object>}\"\n\n", "repr", "a JSON string"),
        ('data: {"a": "x\u2028y"}\n\n'.encode(), "separator", "U+2028 stands"),
        ('data: {"a": "x\u2029\u0085y"}\n\n'.encode(), "separator", "U+2029 and U+0085"),
        (b"data: [1]\n\n", "not-json", "no JSON object"),
        (b"data: Hello there\n\n", "not-json", "no JSON"),
        (b'data: {"a": "\xff"}\n\n', "utf-8", "no UTF-8"),
        (b'data: {"a": 1}\nand more\n\n', "field", "and more"),
        (b'data: {"a": 1}', "cut", "inside an event"),
        (b'data: {"a": 1}\n', "cut", "inside an event"),
    ],
)
def test_what_is_wrong_is_named(data: bytes, flaw: str, words: str) -> None:
    event = one(data)
    assert words in event.flaws[flaw]


def test_what_is_escaped_is_safe() -> None:
    event = one(f"data: {json.dumps({'text': 'x\u2028y\u0085'})}\n\n".encode())
    assert event.body == {"text": "x\u2028y\u0085"}
    assert not event.flaws


def test_keep_alives_are_no_events() -> None:
    assert read_events([(0.0, b": ping\n\n: ping\n\nretry: 10\n\n")]) == []
