"""The agent: a real server, the real SDK, the real emulator; only model and container are scripted."""

from container.agent.tests.conftest import InFront
from container.agent.tests.scripted import ScriptedModel
from container.agent.tests.serving import agent, audio, invoke, kinds, of
from container.agent.tests.voices import PCM, Voice


async def test_a_turn(in_front: InFront) -> None:
    voice = Voice()
    model = ScriptedModel(["Hello", " there.", " How are", " you?"])
    async with agent(voice, model, in_front) as client:
        events = await invoke(client)
        assert kinds(events)[0] == "agent_start"
        assert "".join(event["text"] for event in of(events, "text")) == "Hello there. How are you?"
        assert [event["text"] for event in of(events, "sentence")] == ["Hello there.", "How are you?"]
        assert audio(events) == PCM * 4
        assert [event["complete"] for event in of(events, "sentence_end")] == [True, True]
        assert len(of(events, "text_done")) == 1
        assert events[-1]["type"] == "done"
    assert voice.asked == [["Hello there.", "How are you?"]]
    assert voice.closes == 1
