"""The agent: a real server, the real SDK, the real emulator; only model and container are scripted."""

import asyncio
import gc
import itertools
import json
import logging
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from typing import Any

import pytest
from strands import tool
from strands.types.streaming import StreamEvent

from container.agent.tests.conftest import InFront
from container.agent.tests.scripted import TWO, ScriptedModel, Step
from container.agent.tests.serving import agent, audio, checked, frames, idle, invoke, kinds, live, of
from container.agent.tests.voices import PCM, Endless, Says, Voice

SESSION = "x-amzn-bedrock-agentcore-runtime-session-id"


@tool
def weather(city: str = "here") -> str:
    """Return the weather."""
    return f"sunny in {city}"


async def test_what_is_null_is_left_out(in_front: InFront) -> None:
    nothing = dict.fromkeys(("mode", "voice", "speed", "format"))
    async with agent(Voice(), ScriptedModel(TWO), in_front) as client:
        events = await invoke(client, {"prompt": "Tell me.", **nothing})
        assert (events[0]["mode"], events[-1]["type"]) == ("bidi", "done")


async def test_a_turn(in_front: InFront) -> None:
    voice = Voice()
    async with agent(voice, ScriptedModel(TWO), in_front) as client:
        events = await invoke(client)
        assert kinds(events)[0] == "agent_start"
        assert (events[0]["mode"], events[0]["voice"], events[0]["format"], events[0]["sample_rate"]) == (
            "bidi", "af_heart", "pcm16", 24_000,
        )  # fmt: skip
        assert "".join(event["text"] for event in of(events, "text")) == "Hello there. How are you?"
        assert [event["text"] for event in of(events, "sentence")] == ["Hello there.", "How are you?"]
        assert [event["sentence"] for event in of(events, "sentence")] == [0, 1]
        assert audio(events) == PCM * 4
        assert [(event["complete"], event["duration_s"]) for event in of(events, "sentence_end")] == [(True, 0.4)] * 2
        assert (of(events, "text_done")[0]["stop_reason"], of(events, "text_done")[0]["characters"]) == ("end_turn", 25)
        done = events[-1]
        assert (done["type"], done["sentences"], done["total_chunks"], done["duration_s"]) == ("done", 2, 4, 0.8)
        assert done["first_text_ms"] <= done["first_sentence_ms"] <= done["first_audio_ms"] <= done["t_ms"]
    assert voice.asked == [["Hello there.", "How are you?"]]  # one session for the turn
    assert voice.closes == 1


async def test_bidi_speaks_while_the_model_still_writes(in_front: InFront) -> None:
    heard = asyncio.Event()
    model = ScriptedModel(["Hello there.", " How", heard.wait, " are you?"])
    async with agent(Voice(), model, in_front) as client:
        events = []
        async for event in live(client):
            events.append(event)
            if event["type"] == "audio_chunk":
                heard.set()  # the model goes on only when this client has the first audio
        assert kinds(events).index("audio_chunk") < kinds(events).index("text_done")
        assert checked(events)[-1]["type"] == "done"


async def test_batch_speaks_when_the_text_is_there(in_front: InFront) -> None:
    voice = Voice()
    async with agent(voice, ScriptedModel(TWO), in_front) as client:
        events = await invoke(client, {"prompt": "Tell me.", "mode": "batch", "voice": "bf_emma", "speed": 1.5})
        last_text = max(event["seq"] for event in of(events, "text"))
        assert min(event["seq"] for event in of(events, "sentence")) > last_text
        assert audio(events) == PCM * 4
        assert events[-1]["type"] == "done"
    assert voice.texts == ["Hello there.", "How are you?"]
    assert (voice.requests[0]["voice"], voice.requests[0]["speed"]) == ("bf_emma", 1.5)


async def test_what_is_read_aloud_has_no_markup_and_what_is_shown_has(in_front: InFront) -> None:
    for clean, said in ((True, "Very bold."), (False, "**Very** bold.")):
        voice = Voice()
        async with agent(voice, ScriptedModel(["**Very** bold."]), in_front, clean_text=clean) as client:
            events = await invoke(client)
            sentence = of(events, "sentence")[0]
            assert (sentence["text"], sentence["spoken"]) == ("**Very** bold.", said)
        assert voice.texts == [said]


@pytest.mark.parametrize("answer", [[], [""], ["   \n"], ["**", "--- "], ["🙂", " 🎉\n\n```\nx = 1\n```"]])
async def test_an_answer_with_nothing_to_speak_is_a_turn_without_audio(in_front: InFront, answer: list[Step]) -> None:
    voice = Voice()
    for mode in ("bidi", "batch"):
        async with agent(voice, ScriptedModel(answer), in_front) as client:
            events = await invoke(client, {"prompt": "Tell me.", "mode": mode})
            assert set(kinds(events)) <= {"agent_start", "text", "text_done", "done"}
            assert events[-1]["type"] == "done"
    assert voice.texts == []


async def test_a_text_that_never_ends_a_sentence_is_spoken_all_the_same(in_front: InFront) -> None:
    heard = asyncio.Event()

    class Hears(Voice):
        async def answer(self, *arguments: object) -> None:
            heard.set()
            await super().answer(*arguments)  # type: ignore[arg-type]

    voice = Hears()
    # the model goes on only after the first words were spoken
    model = ScriptedModel([*["on and "] * 10, heard.wait, *["on and "] * 100])
    async with agent(voice, model, in_front, sentence_wait_s=0.2) as client:
        events = await invoke(client)
        assert events[-1]["type"] == "done"
    assert " ".join(voice.texts) == ("on and " * 110).strip()
    assert len(voice.texts) >= 3
    assert max(map(len, voice.texts)) <= 280


async def test_before_and_after_a_tool_are_two_sentences(in_front: InFront) -> None:
    voice = Voice()
    model = ScriptedModel(["Let me check", {"name": "weather"}], ["It is", " sunny."])
    async with agent(voice, model, in_front, tools=[weather]) as client:
        events = await invoke(client)
        assert events[-1]["type"] == "done"
        known = {"agent_start", "text", "sentence", "audio_chunk", "sentence_end", "text_done", "done"}
        assert set(kinds(events)) == known  # nothing of the tool is passed on
        assert "".join(event["text"] for event in events if event["type"] == "text") == "Let me check It is sunny."
        (told,) = [event for event in events if event["type"] == "text_done"]
        assert told["characters"] == len("Let me check It is sunny.")
    assert voice.asked == [["Let me check", "It is sunny."]]
    assert len(model.calls) == 2


async def test_a_turn_that_ends_before_its_session_is_open_leaves_nothing_in_the_log(
    in_front: InFront, caplog: pytest.LogCaptureFixture
) -> None:
    # at any moment of the opening: before the credentials are there, before it is connected, before it is answered
    for wait_s in (0.0, 0.005, 0.01, 0.02, 0.03):
        async with agent(Voice(), ScriptedModel([partial(asyncio.sleep, wait_s), ""]), in_front) as client:
            assert (await invoke(client))[-1]["type"] == "done"
            await idle(client)
        gc.collect()  # a task that nobody asked is complained about when it goes
        await asyncio.sleep(0)
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_a_client_that_leaves_stops_model_and_speech(in_front: InFront) -> None:
    voice = Endless()
    endless = itertools.chain(["Hello there."], itertools.repeat(" More"))
    model = ScriptedModel(endless, fragment_s=0.005)
    async with agent(voice, model, in_front) as client:
        async with aclosing(live(client)) as events:
            async for event in events:
                if event["type"] == "audio_chunk":
                    break
            assert (await client.get("/ping")).json()["status"] == "HealthyBusy"
        async with asyncio.timeout(20):
            await voice.left.wait()
        await idle(client)
        assert model.streaming == 0
        assert model.stop.is_set()


async def test_a_client_that_leaves_while_nothing_happens_is_noticed(in_front: InFront) -> None:
    model = ScriptedModel([asyncio.Event().wait])
    async with agent(Voice(), model, in_front) as client:
        async with aclosing(live(client)) as events:
            assert (await anext(events))["type"] == "agent_start"
        await idle(client)
        assert model.streaming == 0


async def test_a_reader_that_stops_reading_holds_up_the_turn_only(in_front: InFront) -> None:
    voice = Voice([PCM] * 150)  # 4 MB as events: more than socket buffers take
    async with agent(voice, ScriptedModel(TWO), in_front) as client:
        async with client.stream("POST", "/invocations", json={"prompt": "Tell me."}) as answer:
            blocks = answer.aiter_bytes()
            body = await anext(blocks)
            assert (await client.get("/ping")).json()["status"] == "HealthyBusy"
            assert audio(await invoke(client)) == PCM * 300  # another turn is not held up
            async for block in blocks:
                body += block
        assert audio(checked(frames(body))) == PCM * 300


async def test_turns_at_the_same_time_do_not_mix(in_front: InFront) -> None:
    calls: list[list[Any]] = []

    class Prompted(ScriptedModel):
        async def stream(self, messages: Any, *_: Any, **__: Any) -> AsyncGenerator[StreamEvent, None]:
            text = messages[-1]["content"][0]["text"]
            calls.append(list(messages))
            async for event in self._events([f"I am {text}.", " Are you", f" {text}?"]):
                yield event

    voice = Voice()
    async with agent(voice, Prompted, in_front) as client:
        names = [f"Number{at}" for at in range(6)]
        turns = await asyncio.gather(*(invoke(client, {"prompt": name}, **{SESSION: "s" * 40}) for name in names))
        for name, events in zip(names, turns, strict=True):
            assert [event["text"] for event in of(events, "sentence")] == [f"I am {name}.", f"Are you {name}?"]
            assert events[-1]["type"] == "done"
        assert len({events[0]["request_id"] for events in turns}) == 6
        # and the next one knows all of them, each prompt with its answer
        await invoke(client, {"prompt": "Nobody"}, **{SESSION: "s" * 40})
        known = [message["content"][0]["text"] for message in calls[-1]]
        asked, answered = known[:-1:2], known[1::2]
        assert sorted(asked) == names
        assert answered == [f"I am {name}. Are you {name}?" for name in asked]
    assert sorted(map(tuple, voice.asked[:6])) == [(f"I am {name}.", f"Are you {name}?") for name in names]


async def test_ping_answers_however_many_turns_are_open(in_front: InFront) -> None:
    gate = asyncio.Event()
    started: asyncio.Queue[None] = asyncio.Queue()

    async def wait() -> None:
        started.put_nowait(None)
        await gate.wait()

    async with agent(Voice(), lambda: ScriptedModel([wait, "Fine."]), in_front) as client:
        turns = [asyncio.create_task(invoke(client)) for _ in range(41)]  # more than the 40 threads of a thread pool
        await asyncio.gather(*(started.get() for _ in turns))
        assert (await client.get("/ping")).json()["status"] == "HealthyBusy"
        gate.set()
        assert {events[-1]["type"] for events in await asyncio.gather(*turns)} == {"done"}


async def test_a_conversation_is_remembered_by_its_session_alone(in_front: InFront) -> None:
    model = ScriptedModel(["One."], [RuntimeError("no")], ["Two."])
    one, other = {SESSION: "a" * 40}, {SESSION: "b" * 40}
    async with agent(Voice(), model, in_front) as client:
        await invoke(client, {"prompt": "first"}, **one)
        assert (await invoke(client, {"prompt": "fails"}, **one))[-1]["type"] == "error"
        await invoke(client, {"prompt": "second"}, **one)
        await invoke(client, {"prompt": "third"}, **other)
        await invoke(client, {"prompt": "fourth"})
    said = [[block["text"] for message in call for block in message["content"]] for call in model.calls]
    # a turn that failed leaves no half exchange behind
    assert said == [["first"], ["first", "One.", "fails"], ["first", "One.", "second"], ["third"], ["fourth"]]


async def test_odd_characters_pass_unharmed(in_front: InFront) -> None:
    text = 'Line\u2028one\u2029two\x85three, "quoted" é 😀 \ud800 end.'
    async with agent(Voice(), ScriptedModel([text]), in_front) as client:
        events = await invoke(client)
        assert "".join(event["text"] for event in of(events, "text")) == text
        assert events[-1]["type"] == "done"


async def test_what_json_does_not_have_is_not_passed_on(in_front: InFront) -> None:
    voice = Says('{"type":"synthesis_start"}', PCM, '{"type":"synthesis_complete","total_duration_s":NaN}')
    async with agent(voice, ScriptedModel(["Hello."]), in_front) as client:
        events = await invoke(client)
        assert of(events, "sentence_end")[0]["duration_s"] == 0.2
        assert events[-1]["type"] == "done"


async def test_audio_in_odd_pieces_and_in_one_giant_piece(in_front: InFront) -> None:
    long = PCM * 40
    async with agent(Voice([PCM[:4063], PCM[4063:5760], PCM[5760:], long]), ScriptedModel(["Hi."]), in_front) as client:
        events = await invoke(client)
        assert audio(events) == PCM + long
        assert max(len(event["data"]) for event in of(events, "audio_chunk")) <= 32_000


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        ({}, "prompt is missing; expected a text"),
        ({"prompt": " "}, 'prompt is " "'),
        ({"prompt": 5}, "prompt is 5"),
        ({"prompt": "x" * 100_001}, "100001 characters"),
        ({"prompt": "x", "mode": "loud"}, "mode is \"loud\"; expected 'bidi' or 'batch'"),
        ({"prompt": "x", "voice": 5}, "voice is 5"),
        ({"prompt": "x", "speed": 0}, "speed is 0; expected a number from 0.5 to 2"),
        ({"prompt": "x", "speed": True}, "speed is true"),
        ([1], r"the payload is \[1\]; expected an object"),
        ("x", 'the payload is "x"'),
    ],
)
async def test_a_payload_that_makes_no_sense_is_one_error_event(
    in_front: InFront, payload: object, message: str
) -> None:
    voice = Voice()
    async with agent(voice, ScriptedModel(TWO), in_front) as client:
        (event,) = await invoke(client, payload)
        assert event["code"] == "invalid_request"
        assert re.search(message, event["message"])
        assert (await client.post("/invocations", content=b"{")).status_code == 400
    assert voice.asked == []


async def test_an_agent_without_a_voice_says_so(in_front: InFront) -> None:
    async with agent(Voice(), ScriptedModel(TWO), in_front, endpoint="") as client:
        (event,) = await invoke(client)
        assert event["code"] == "not_configured"
        assert "SPEECH_ENDPOINT" in event["message"]
        assert json.dumps(event)


async def test_a_speech_session_can_be_kept_for_the_conversation(in_front: InFront) -> None:
    voice = Voice()
    async with agent(voice, ScriptedModel(TWO), in_front, keep_sessions=True) as client:
        one, other = {SESSION: "a" * 40}, {SESSION: "b" * 40}
        for headers in (one, one, other, {}):
            assert audio(await invoke(client, **headers)) == PCM * 4
            await idle(client)
        assert [len(session) for session in voice.asked] == [4, 2, 2]
        await voice.down_to(2)
        assert voice.open == 2  # the one of no conversation is closed
    await voice.down_to(0)
    assert voice.closes == 3
