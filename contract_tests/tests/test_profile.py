"""Profiles: the built-in ones, good files, and errors that name the file, the key and the near miss."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from contract_tests.mark import AnyReplyMark, JsonMark, SilenceMark, TextMark
from contract_tests.profile import ProfileError, builtin_profiles, load

GOOD = """
[request]
template = '{"say": "{text}", "id": "{id}"}'
[reply]
end = { json = { type = "done" } }
"""
AUDIO_WITH_ID = '[audio]\nsample_rate = 8000\nmember = "data"\nevent = { json = { type = "audio", id = "{id}" } }'
CANCEL_WITH_ID = '[cancel]\nmessage = "stop"\nack = { json = { type = "stopped", id = "{id}" } }'


def written(folder: Path, text: str) -> str:
    file = folder / "mine.toml"
    file.write_text(text, "utf-8")
    return str(file)


def test_built_in_profiles_load() -> None:
    names = ["deepgram-stt", "deepgram-tts", "echo", "kokoro", "kokoro-cancel", "openai-realtime", "sagemaker"]
    assert [load(name).name for name in builtin_profiles()] == names
    assert isinstance(load("sagemaker").end, AnyReplyMark)
    assert load("kokoro").id_member == "request_id"
    assert load("kokoro").audio is not None
    assert load("kokoro").parameters["voice"] == ("nosuch",)


def test_the_profile_with_cancel_is_the_other_one_and_a_cancel_message() -> None:
    ours = load("kokoro-cancel")
    assert ours.cancel is not None
    assert json.loads(ours.cancel.render("a")) == {"type": "cancel", "request_id": "a"}
    theirs = load("kokoro")
    same = replace(theirs, parameters={})  # it holds a NaN, which is not equal to itself
    assert replace(ours, name="kokoro", title=theirs.title, cancel=None, parameters={}) == same
    assert repr(ours.parameters) == repr(theirs.parameters)


def test_a_profile_is_a_few_lines(tmp_path: Path) -> None:
    profile = load(written(tmp_path, GOOD))
    assert profile.end == JsonMark({"type": "done"})
    assert (profile.close, profile.audio, profile.start, profile.error) == (None, None, None, None)
    assert not profile.parameters
    assert profile.bad_messages[0] == "not json"


def test_values_are_escaped_once(tmp_path: Path) -> None:
    profile = load(written(tmp_path, GOOD))
    text = 'She said "no\\yes" {id} \n \U0001f600'
    assert json.loads(profile.request.render("r1", text)) == {"say": text, "id": "r1"}


def test_plain_text_is_not_escaped(tmp_path: Path) -> None:
    text = GOOD.replace("""'{"say": "{text}", "id": "{id}"}'""", """'say {text}'\nformat = "plain\"""")
    assert load(written(tmp_path, text)).request.render("r1", 'a "b"') == 'say a "b"'


def test_other_ways_to_recognise_the_end(tmp_path: Path) -> None:
    by_text = load(written(tmp_path, GOOD.replace('json = { type = "done" }', "text = '^done'"))).end
    assert isinstance(by_text, TextMark)
    assert by_text.matches("done.", "r1")
    assert not by_text.matches("not done", "r1")
    assert load(written(tmp_path, GOOD.replace('json = { type = "done" }', "silence = 2"))).end == SilenceMark(2.0)


def test_a_wrong_value_goes_into_the_request_as_it_is(tmp_path: Path) -> None:
    profile = load(written(tmp_path, f"{GOOD}\n[parameters]\nspeed = [0, nan]\nsay = ['x']"))
    zero, nan = profile.parameters["speed"]
    assert json.loads(profile.request.render_with("r1", "speed", zero))["speed"] == 0
    assert '"speed": NaN' in profile.request.render_with("r1", "speed", nan)
    assert json.loads(profile.request.render_with("r1", "say", None)) == {"say": None, "id": "r1"}


def test_cancelling_and_http(tmp_path: Path) -> None:
    more = """
[cancel]
message = '{"stop": "{id}"}'
[invocations]
format = "plain"
body = "say {text}"
bad_body = "say"
"""
    profile = load(written(tmp_path, GOOD + more))
    assert profile.cancel is not None
    assert (profile.cancel.render("r1"), profile.cancel.ack) == ('{"stop": "r1"}', None)
    assert profile.invocations is not None
    assert profile.invocations.good.render("r1", 'a "b"') == 'say a "b"'
    assert profile.invocations.breaking is None


def test_an_id_in_a_mark_is_the_id_of_the_request() -> None:
    mark = JsonMark({"type": "done", "request_id": "{id}"})
    assert mark.matches({"type": "done", "request_id": "r1", "more": 1}, "r1")
    assert not mark.matches({"type": "done", "request_id": "r2"}, "r1")


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        (("template", "tempalte"), ["request.template", "missing"]),
        (("[reply]", "[repyl]"), ["reply", "missing"]),
        (("end =", "ned ="), ["reply.end", "missing"]),
        (("[reply]", "[reply]\ntimeuot = 3.0"), ["reply.timeuot", "Did you mean 'timeout'"]),
        (("[reply]", '[reply]\ntimeout = "3"'), ["reply.timeout", "'3'", "a number"]),
        (("[reply]", "[reply]\ntimeout = 0"), ["reply.timeout", "above 0"]),
        (('json = { type = "done" }', 'json = { type = "done" }, silence = 1.0'), ["reply.end", "exactly one"]),
        (('json = { type = "done" }', "text = '['"), ["reply.end.text", "regular expression"]),
        (('"{text}"', "{text}"), ["request.template", "not JSON"]),
        (("{text}", "text"), ["request.template", "{text}"]),
        (("[reply]", 'voices = ["a"]\n[reply]'), ["request.voices", "{voice}"]),
        (("[reply]", "sentences = [1]\n[reply]"), ["request.sentences[0]", "a string"]),
        (("[reply]", "sentences = []\n[reply]"), ["request.sentences", "is empty"]),
        (("[reply]", "sentences = ['']\n[reply]"), ["request.sentences", "empty text"]),
        (("[request]", "[request]\nformat = 'pcm16'"), ["request.sample_rate", "samples per second"]),
        (('"id": "{id}"', '"id": "1"', '{ type = "done" }', '{ n = { id = "{id}" } }'), ["reply.end", "names {id}"]),
        (
            ('"id": "{id}"', '"id": "1"', 'json = { type = "done" }', "text = 'done {id}'"),
            ["reply.end", "names {id}, but request.template does not hold it"],
        ),
        (("[request]", '[audio]\nencoding = "mp3"\nsample_rate = 1\n[request]'), ["audio.encoding", "mulaw"]),
        (("[request]", '[audio]\nsample_rate = 1\nmember = "a"\n[request]'), ["audio.event", "is missing"]),
        (
            ("[request]", "[audio]\nsample_rate = 1\nevent = { json = { a = 1 } }\n[request]"),
            ["audio.member", "is missing", "base64"],
        ),
        (
            ("[request]", '[audio]\nsample_rate = 1\nevent = { text = "a" }\nmember = "a"\n[request]'),
            ["audio.event", "by a text"],
        ),
        (("[request]", '[close]\nmessage = "bye"\ncode = 7\n[request]'), ["close.code", "1000"]),
        (("[request]", "[parameters]\nspeed = 0\n[request]"), ["parameters.speed", "is 0, expected a list"]),
        (("[request]", "[parameters]\nspeed = []\n[request]"), ["parameters.speed", "not empty"]),
        (("[request]", "[parameters]\nspeed = [[0]]\n[request]"), ["parameters.speed[0]", "a string or a number"]),
        (
            ("[request]", "[parameters]\nspeed = [0]\n[request]\nformat = 'plain'"),
            ["parameters.speed", "has to be a JSON object"],
        ),
        (("[request]", "[cancel]\nack = { json = { a = 1 } }\n[request]"), ["cancel.message", "missing"]),
        (("[request]", '[cancel]\nmessage = "x"\nack = { silence = 1 }\n[request]'), ["cancel.ack", "silence"]),
        (("[request]", "[invocations]\nbody = '{}'\n[request]"), ["invocations.bad_body", "missing"]),
        (("[request]", "[invocations]\nbody = '{'\nbad_body = '{}'\n[request]"), ["invocations.body", "not JSON"]),
        (("[request]", "[invocations]\nbody = '{}'\nbad_body = '{\"v\": \"{voice}\"}'\n[request]"), ["{voice}"]),
        (("[request]", "[request"), ["not TOML"]),
        (("[reply]", f"[reply]\ntimeout = 1{'0' * 400}"), ["reply.timeout", "a finite number of seconds above 0"]),
        (("[reply]", f"[reply]\ntimeout = -1{'0' * 400}"), ["reply.timeout", "a finite number of seconds above 0"]),
        (("[reply]", "[reply]\ntimeout = nan"), ["reply.timeout", "is nan, expected a finite number"]),
        (("[reply]", "[reply]\ntimeout = inf"), ["reply.timeout", "is inf, expected a finite number"]),
        (("[reply]", f"[reply]\ntimeout = {'1' * 5000}"), ["a number of too many digits"]),
        (('{ json = { type = "done" } }', f"0x{'f' * 5000}"), ["reply.end", "too many digits, expected a table"]),
        (('json = { type = "done" }', "silence = inf"), ["reply.end.silence", "is inf"]),
        (('json = { type = "done" }', 'text = "a{99999999999}"'), ["reply.end.text", "no regular expression"]),
        (('json = { type = "done" }', f"text = '{'(' * 3000}{')' * 3000}'"), ["reply.end.text", "nested too deeply"]),
        (('{ type = "done" }', f"{{ a = {'[' * 3000}{']' * 3000} }}"), ["nested too deeply"]),
        (('{ type = "done" }', "{ at = 2024-01-01 }"), ["reply.end.json.at", "Write a date or a time as a text"]),
        (
            ("[request]", 'path = "/my/stream"\n[request]'),
            ["path: is '/my/stream'", "neither begins nor ends with one"],
        ),
        (("[request]", 'path = "my\\nstream"\n[request]'), ["path: is 'my\\nstream', which SageMaker refuses"]),
        (("[request]", 'query = "a\\r\\nb"\n[request]'), ["query: ", "K=V(&K=V)*"]),
        (
            ('"id": "{id}"', '"id": "1"', "[reply]", f"{AUDIO_WITH_ID}\n[reply]"),
            ["audio.event", "names {id}, but request.template does not hold it"],
        ),
        (
            ('"id": "{id}"', '"id": "1"', "[reply]", f"{CANCEL_WITH_ID}\n[reply]"),
            ["cancel.ack", "names {id}, but request.template does not hold it"],
        ),
        (("[request]", "[effects]\nspede = 1.5\n[request]"), ["effects.spede", "no counterpart in [parameters]"]),
    ],
)
def test_errors_name_the_file_and_the_key(tmp_path: Path, change: tuple[str, ...], parts: list[str]) -> None:
    text = GOOD
    for old, new in zip(change[::2], change[1::2], strict=True):
        assert old in text
        text = text.replace(old, new)
    file = written(tmp_path, text)
    with pytest.raises(ProfileError) as caught:
        load(file)
    assert all(part in str(caught.value) for part in [file, *parts]), str(caught.value)


def test_marks_look_into_tables_and_find_the_id_there() -> None:
    mark = JsonMark({"type": "done", "response": {"meta": {"id": "{id}"}}})
    assert mark.id_path == ("response", "meta", "id")
    assert mark.matches({"type": "done", "response": {"meta": {"id": "r1", "more": 1}}}, "r1")
    assert not mark.matches({"type": "done", "response": {"meta": None}}, "r1")
    other = {"type": "done", "response": {"meta": {"id": "r2"}}}
    assert not mark.matches(other, "r1")
    assert mark.matches_another(other, "r1")
    assert mark.matches_another({"type": "done"}, "r1")
    assert not mark.matches_another({"type": "begun", "response": {"meta": {"id": "r2"}}}, "r1")
    profile = load("openai-realtime")
    assert profile.id_member == "response.metadata.request_id"
    assert profile.id_of({"response": {"metadata": {"request_id": "r2"}}}) == "r2"
    assert profile.id_of({"response": 1}, "none") == "none"


def test_a_text_mark_may_name_the_id() -> None:
    mark = load("echo").end
    assert mark.matches('{"request_id": "a.b"}', "a.b")
    assert not mark.matches('{"request_id": "axb"}', "a.b")


def test_a_request_may_be_audio_and_have_followers() -> None:
    request = load("deepgram-stt").request
    assert request.is_audio
    assert request.follow_ups("r1") == ['{"type": "Finalize"}']
    assert len(request.pcm("x" * 20)) == 2 * 16000
    assert "32,000 bytes of PCM16 at 16000 Hz" in request.render("r1", "x" * 20)
    assert request.pcm("") == b""


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ProfileError, match=r"Did you mean 'kokoro'\? Known: deepgram-stt, .*, sagemaker"):
        load("kokro")


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(ProfileError, match=r"nowhere\.toml.*cannot be read"):
        load("nowhere.toml")
