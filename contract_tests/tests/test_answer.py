"""Reading answers: what is control and what is audio."""

import base64
import json

import numpy as np
import pytest

from contract_tests.answer import Answer, Reader, json_object
from contract_tests.audioformat import AudioFormat
from contract_tests.client import Part, Silence
from contract_tests.profile import load

START = b'{"type": "synthesis_start", "request_id": "r1"}'
END = b'{"type": "synthesis_complete", "request_id": "r1", "total_duration_s": 0.5}'


def read(*parts: tuple[bytes, str], profile: str = "kokoro") -> Answer:
    answer = Answer("r1", 0.0)
    reader = Reader(load(profile), answer)
    for number, (data, data_type) in enumerate(parts, 1):
        reader.feed(Part(float(number), data, data_type, "COMPLETE"))
    return answer


@pytest.mark.parametrize("payload", [b'{"a": 1', b'{"a": 1}\x00\x01', b"[1]", b"{", b"", b'"text"', b"{\xff}"])
def test_only_a_whole_json_object_is_control(payload: bytes) -> None:
    assert json_object(payload) is None


def test_a_good_answer() -> None:
    answer = read((START, "UTF8"), (b"\x01\x00" * 8, "BINARY"), (END, "UTF8"))
    assert answer.complete
    assert [(control.role, control.how) for control in answer.controls] == [("start", "whole"), ("end", "whole")]
    assert answer.audio == [b"\x01\x00" * 8]
    assert answer.longest_gap == 1.0


@pytest.mark.parametrize("pcm", [b"{\x01" * 400, b'{"\x00\x01' * 99, b"{\x00" + b"}" * 98, b"{}{}"])
def test_pcm_that_begins_with_a_brace_stays_audio(pcm: bytes) -> None:
    answer = read((START, "UTF8"), (pcm, "BINARY"), (pcm, "BINARY"), (END, "UTF8"))
    assert answer.audio == [pcm, pcm]
    assert {control.how for control in answer.controls} == {"whole"}


def test_control_in_pieces_is_understood_and_remembered() -> None:
    answer = read(
        (START[:9], "UTF8"), (START[9:], "UTF8"), (b"\x01\x00", "BINARY"), (END[:9], "UTF8"), (END[9:], "UTF8")
    )
    assert answer.complete
    assert [(control.how, control.parts) for control in answer.controls] == [("split", 2), ("split", 2)]
    assert answer.audio == [b"\x01\x00"]


def test_control_glued_to_audio_is_understood_and_remembered() -> None:
    answer = read((START + b"\x01\x00", "BINARY"), (b"\x02\x00" + END, "BINARY"))
    assert answer.complete
    assert [control.how for control in answer.controls] == ["glued", "glued"]
    assert answer.audio == [b"\x01\x00", b"\x02\x00"]


def test_an_answer_that_goes_on_has_no_outcome_yet() -> None:
    assert isinstance(read((START, "UTF8")).outcome, Silence)


def test_an_error_ends_the_answer() -> None:
    answer = read((b'{"type": "error", "message": "no such voice"}', "UTF8"))
    assert answer.outcome == "error"
    assert "no such voice" in answer.describe()


def test_what_came_is_kept_in_order() -> None:
    answer = read((START, "UTF8"), (b"\x01\x00", "BINARY"), (b"\x02\x00", "BINARY"), (END, "UTF8"))
    assert answer.order == ["start", "audio", "end"]


REALTIME_END = json.dumps({"type": "response.done", "response": {"metadata": {"request_id": "r1"}}}).encode()


def delta(data: object) -> tuple[bytes, str]:
    return json.dumps({"type": "response.output_audio.delta", "delta": data}).encode(), "UTF8"


def test_audio_in_json_messages_is_audio_and_no_control() -> None:
    pcm = bytes(range(256)) * 1000
    answer = read(
        delta(base64.b64encode(b"\x01\x00").decode()),
        delta(base64.b64encode(pcm).decode()),
        (REALTIME_END, "UTF8"),
        profile="openai-realtime",
    )
    assert answer.complete
    assert answer.audio == [b"\x01\x00", pcm]
    assert [part.at for part in answer.audio_parts] == [1.0, 2.0]
    assert answer.order == ["audio", "end"]
    assert not answer.undecodable


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ("AQA=AQA=", "no base64"),
        ("AQ-_", "no base64"),
        ("data:audio/pcm;base64,AQA=", "no base64"),
        (None, "is missing, which is no text"),
        (7, "is 7, which is no text"),
    ],
)
def test_a_message_that_should_carry_audio_and_does_not_is_remembered(data: object, problem: str) -> None:
    answer = read(delta(data), (REALTIME_END, "UTF8"), profile="openai-realtime")
    assert answer.audio == []
    assert problem in answer.undecodable[0]


def test_an_audio_format_turns_what_comes_into_pcm16() -> None:
    assert AudioFormat(8000, None, "pcm16be").pcm16(b"\x01\x02\x03\x04\x05") == b"\x02\x01\x04\x03\x05"
    # the ends and the middle of G.711's table, both signs
    codes = AudioFormat(8000, None, "mulaw").pcm16(bytes((0x00, 0x80, 0xFF, 0x7F, 0x9F)))
    assert np.frombuffer(codes, "<i2").tolist() == [-32124, 32124, 0, 0, 8316]
