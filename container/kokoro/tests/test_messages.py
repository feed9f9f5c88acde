import json
from typing import Any

import pytest

from container.kokoro import messages
from container.kokoro.errors import RequestError
from container.kokoro.messages import MAX_TEXT, Cancel, Close, Utterance, parse

VOICES = ["af_bella", "af_heart", "bf_emma"]


def refusal(payload: str | bytes) -> RequestError:
    with pytest.raises(RequestError) as caught:
        parse(payload, VOICES)
    return caught.value


def test_a_cancel_of_1_does_not_mean_true() -> None:
    ids = (1, True, 1.0, "1", "unknown")
    means = {wanted: [Cancel(wanted).means(each) for each in ids] for wanted in (None, "1")}
    assert means == {None: [True] * 5, "1": [False, False, False, True, False]}
    assert [Cancel(1).means(each) for each in ids] == [True, False, True, False, False]
    assert [Cancel(True).means(each) for each in ids] == [False, True, False, False, False]


def test_defaults() -> None:
    assert parse('{"text": "Hi"}', VOICES) == Utterance("Hi", "af_heart", 1.0, 24_000, "unknown")


def test_null_means_default() -> None:
    payload = '{"text": "Hi", "voice": null, "speed": null, "sample_rate": null, "request_id": null, "type": null}'
    assert parse(payload, VOICES) == parse('{"text": "Hi"}', VOICES)


def test_all_fields_as_bytes() -> None:
    payload = b'{"text": "H\xc3\xa9", "voice": "bf_emma", "speed": 2, "sample_rate": 16000, "request_id": 7, "more": 1}'
    assert parse(payload, VOICES) == Utterance("Hé", "bf_emma", 2.0, 16_000, 7)


def test_close() -> None:
    assert parse('{"type": "close"}', VOICES) == Close()


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        ("not json", "invalid_json"),
        ("", "invalid_json"),
        (b"", "invalid_json"),
        (b"\x00\x01", "invalid_json"),
        ("[" * 100_000, "invalid_json"),
        ('{"speed": ' + "1" * 5000 + "}", "invalid_json"),
        (b"\xff\xfe", "invalid_utf8"),
        (b"\xc3\x28", "invalid_utf8"),
        ("[1]", "not_an_object"),
        ('"x"', "not_an_object"),
        ("null", "not_an_object"),
        ("3", "not_an_object"),
    ],
)
def test_frames_that_hold_no_object(payload: str | bytes, code: str) -> None:
    error = refusal(payload)
    assert (error.code, error.request_id, error.field) == (code, "unknown", None)


@pytest.mark.parametrize(
    ("fields", "code", "field"),
    [
        ({"text": None}, "text_required", "text"),
        ({"text": ""}, "text_required", "text"),
        ({"text": 5}, "invalid_text", "text"),
        ({"text": ["a"]}, "invalid_text", "text"),
        ({"text": "x" * (MAX_TEXT + 1)}, "text_too_long", "text"),
        ({"voice": []}, "invalid_voice", "voice"),
        ({"voice": {}}, "invalid_voice", "voice"),
        ({"voice": "nosuch"}, "unknown_voice", "voice"),
        ({"voice": "../../etc/passwd"}, "unknown_voice", "voice"),
        ({"speed": "fast"}, "invalid_speed", "speed"),
        ({"speed": True}, "invalid_speed", "speed"),
        ({"speed": 0}, "invalid_speed", "speed"),
        ({"speed": -1}, "invalid_speed", "speed"),
        ({"speed": 1e-6}, "invalid_speed", "speed"),
        ({"speed": 1e9}, "invalid_speed", "speed"),
        ({"speed": 10**4000}, "invalid_speed", "speed"),
        ({"speed": float("nan")}, "invalid_speed", "speed"),
        ({"speed": float("inf")}, "invalid_speed", "speed"),
        ({"sample_rate": 44_100}, "invalid_sample_rate", "sample_rate"),
        ({"sample_rate": "24000"}, "invalid_sample_rate", "sample_rate"),
        ({"sample_rate": True}, "invalid_sample_rate", "sample_rate"),
        ({"type": "Reset"}, "unknown_type", "type"),
        ({"type": ["close"]}, "unknown_type", "type"),
    ],
)
def test_fields_that_are_refused(fields: dict[str, Any], code: str, field: str) -> None:
    error = refusal(json.dumps({"text": "Hi", "request_id": "r"} | fields))
    assert (error.code, error.field, error.request_id) == (code, field, "r")
    assert field in error.message


@pytest.mark.parametrize("value", [[1], {"a": 1}, "x" * 257, float("nan"), float("inf"), 10**300])
def test_an_id_that_cannot_be_echoed_is_named(value: object) -> None:
    error = refusal(json.dumps({"text": "Hi", "request_id": value}))
    assert (error.code, error.field, error.request_id) == ("invalid_request_id", "request_id", "unknown")


def test_unknown_voice_offers_near_names() -> None:
    assert "af_heart" in refusal('{"text": "Hi", "voice": "af_hart"}').message


def test_control_frames_are_small_ascii_objects() -> None:
    asked = Utterance("Hi", request_id="é\u2028\ud800")
    frames = [
        messages.start(asked),
        messages.complete(asked, 1.23456789, 0.5, 2),
        messages.error(RequestError("code", "ü", field="text", request_id=asked.request_id)),
    ]
    for frame, kind in zip(frames, ("synthesis_start", "synthesis_complete", "error"), strict=True):
        assert frame.isascii()
        assert len(frame) < 1024
        assert json.loads(frame)["type"] == kind
        assert json.loads(frame)["request_id"] == asked.request_id
    assert json.loads(frames[1]) | {"type": 0, "request_id": 0} == {
        "type": 0,
        "request_id": 0,
        "total_duration_s": 1.2346,
        "elapsed_s": 0.5,
        "unspoken_characters": 2,
    }
    assert "unspoken_characters" not in messages.complete(asked, 1, 1, 0)
