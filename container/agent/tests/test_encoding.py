"""The formats of an answer's audio, judged by another library's decoder."""

import importlib.util
import json

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from container.agent import encoding, request
from container.agent.encoding import encoder
from container.agent.request import InvalidRequestError
from container.agent.settings import SettingsError, from_environment
from container.agent.tests.conftest import InFront
from container.agent.tests.scripted import ScriptedModel
from container.agent.tests.serving import agent, audio, chunks, invoke, of
from container.agent.tests.test_socket import opened, say, turn
from container.agent.tests.voices import ClosesEarly, Voice

RATE = 24_000
SECONDS = np.arange(RATE) / RATE
SWEEP = (np.sin(2 * np.pi * (200 * SECONDS + 400 * SECONDS**2)) * 12_000 * np.hanning(RATE)).astype("<i2").tobytes()
"""One second, which sounds different at every moment."""
PIECES = [SWEEP[:4800], SWEEP[4800:4802], SWEEP[4802:40_000], SWEEP[40_000:]]


def decoded(pieces: list[bytes]) -> NDArray[np.float32]:
    """Decode pieces in order, each as it comes; samples from -1 to 1."""
    codec = av.CodecContext.create("mp3float", "r")
    assert isinstance(codec, av.AudioCodecContext)
    frames = [
        frame
        for piece in [*filter(None, pieces), None]
        for packet in codec.parse(piece)
        for frame in codec.decode(packet)
    ]
    frames += codec.decode(None)
    assert {frame.sample_rate for frame in frames} <= {RATE}
    return np.concatenate([frame.to_ndarray()[0] for frame in frames])


def likeness(heard: NDArray[np.float32], pcm: bytes) -> float:
    """Correlate what was heard with PCM, at the best of the delays that an encoder may have."""
    wanted = np.frombuffer(pcm, "<i2") / 32768
    best = 0.0
    for delay in range(2500):
        part = heard[delay : delay + len(wanted)]
        if len(part) == len(wanted):
            best = max(best, float(np.corrcoef(part, wanted)[0, 1]))
    return best


def test_mp3_in_pieces_is_the_sentence_to_its_end() -> None:
    made = encoder("mp3", RATE)
    pieces = [made.feed(piece) for piece in PIECES]
    size = sum(map(len, pieces))
    assert size > 0.8 * encoding.KBIT_S * 125  # so little is held back
    pieces.append(made.end())
    assert len(b"".join(pieces)) == pytest.approx(encoding.KBIT_S * 125, rel=0.15)  # an eighth of PCM
    heard = decoded(pieces)
    assert likeness(heard, SWEEP) > 0.99
    assert len(heard) == pytest.approx(RATE, abs=0.15 * RATE)


def test_sentences_one_after_the_other_are_one_stream() -> None:
    stream = []
    for _ in range(3):
        made = encoder("mp3", RATE)
        stream += [made.feed(SWEEP), made.end()]
    heard = decoded(stream)
    third = len(heard) // 3
    assert all(likeness(heard[at * third :], SWEEP) > 0.99 for at in range(3))


def test_a_sentence_without_audio_has_no_bytes() -> None:
    assert [encoder(name, RATE).end() for name in encoding.FORMATS] == [b"", b""]


async def test_a_turn_in_mp3(in_front: InFront) -> None:
    for settings, payload in (({}, {"format": "mp3"}), ({"audio_format": "mp3"}, {})):
        async with agent(Voice(PIECES), ScriptedModel(["One. Two."]), in_front, **settings) as client:
            events = await invoke(client, {"prompt": "Tell me.", **payload})
        assert events[0]["format"] == "mp3"
        assert {event["format"] for event in of(events, "audio_chunk")} == {"mp3"}
        for number in (0, 1):  # each sentence alone, and complete when its end is told
            mine = [event for event in events if event.get("sentence") == number]
            assert mine[-1]["type"] == "sentence_end"
            assert mine[-1]["duration_s"] == 1.0
            assert likeness(decoded(chunks(mine)), SWEEP) > 0.99
        assert likeness(decoded(chunks(events))[RATE:], SWEEP) > 0.99  # and both as they come
        assert (events[-1]["type"], events[-1]["duration_s"]) == ("done", 2.0)


async def test_the_audio_before_an_error_is_kept_in_mp3_too(in_front: InFront) -> None:
    voice = ClosesEarly()
    voice.chunks = [SWEEP]
    async with agent(voice, ScriptedModel(["One."]), in_front) as client:
        events = await invoke(client, {"prompt": "Tell me.", "format": "mp3"})
    assert events[-1]["code"] == "session_ended"
    assert likeness(decoded(chunks(events)), SWEEP) > 0.99


async def test_pcm_is_what_is_sent_unless_something_else_is_asked_for(in_front: InFront) -> None:
    async with agent(Voice(PIECES), ScriptedModel(["One."]), in_front) as client:
        plain = await invoke(client)
    async with agent(Voice(PIECES), ScriptedModel(["One."]), in_front, audio_format="mp3") as client:
        asked = await invoke(client, {"prompt": "Tell me.", "format": "pcm16"})
    for events in (plain, asked):
        assert events[0]["format"] == "pcm16"
        assert audio(events) == SWEEP


async def test_over_the_websocket_mp3_is_as_it_is(in_front: InFront) -> None:
    async with agent(Voice(PIECES), ScriptedModel(["One."]), in_front) as client, opened(client) as socket:
        await say(socket, prompt="first", format="mp3")
        _, heard = await turn(socket, whole_samples=False)
        await say(socket, prompt="second", format="mp4")
        refused, _ = await turn(socket)
    assert likeness(decoded([heard]), SWEEP) > 0.99
    assert "expected 'pcm16' or 'mp3'" in refused[-1]["message"]


@pytest.mark.parametrize("value", ["wav", "", 3, ["mp3"], True])
def test_another_format_is_refused_by_name(value: object) -> None:
    with pytest.raises(InvalidRequestError, match=r"expected 'pcm16' or 'mp3'") as caught:
        request.parse({"prompt": "x", "format": value})
    assert json.dumps(value) in str(caught.value)


def test_without_the_encoder_mp3_is_refused_and_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert from_environment({"AGENT_AUDIO_FORMAT": "mp3"}).audio_format == "mp3"
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(InvalidRequestError, match="needs the extra 'mp3'"):
        request.parse({"prompt": "x", "format": "mp3"})
    with pytest.raises(SettingsError, match="AGENT_AUDIO_FORMAT is 'mp3', which needs the extra 'mp3'"):
        from_environment({"AGENT_AUDIO_FORMAT": "mp3"})
    with pytest.raises(SettingsError, match="AGENT_AUDIO_FORMAT is 'ogg'; expected pcm16 or mp3"):
        from_environment({"AGENT_AUDIO_FORMAT": "ogg"})
    assert request.parse({"prompt": "x", "format": "pcm16"}).format == "pcm16"
