"""The names that AWS's sample gives to what a turn answers: who reads its events finds the same fields here."""

import base64
import re
from pathlib import Path

from container.agent import app
from container.agent.tests.conftest import InFront
from container.agent.tests.scripted import ScriptedModel
from container.agent.tests.serving import agent, invoke, of
from container.agent.tests.voices import PCM, Voice

SAMPLE: dict[str, tuple[str, dict[str, object]]] = {
    "agent_start": ("agent_start", {"mode": "batch"}),
    "text_delta": ("text", {"seq": 1, "text": "Hello there."}),
    "audio_stream_start": ("agent_start", {"format": "pcm16", "voice": "bf_emma", "sample_rate": 24_000}),
    "audio_chunk": ("audio_chunk", {"seq": 4, "data": base64.b64encode(PCM).decode()}),
    "audio_stream_end": ("done", {"total_chunks": 2, "duration_s": 0.4}),
    "agent_end": ("done", {}),
    "error": ("error", {"message": "prompt is missing; expected a text that is not blank"}),
}
"""The events of the sample: which of ours has their fields, and what is in them in the turn below."""


async def test_every_field_of_the_sample_is_there_under_its_name(in_front: InFront) -> None:
    payload = {"prompt": "Tell me.", "mode": "batch", "voice": "bf_emma", "speed": 1.5, "endpoint": "another"}
    voice = Voice()
    async with agent(voice, ScriptedModel(["Hello there."]), in_front) as client:
        events = await invoke(client, payload)
        refused = await invoke(client, {})
    assert (voice.requests[0]["text"], voice.requests[0]["voice"], voice.requests[0]["speed"]) == (
        "Hello there.", "bf_emma", 1.5,
    )  # fmt: skip
    for ours, fields in SAMPLE.values():
        found = of(events + refused, ours)[0]
        assert {name: found.get(name) for name in fields} == fields
        assert isinstance(found["request_id"], str)


def test_the_table_of_the_sample_is_that_of_these_tests() -> None:
    page = (Path(app.__file__).parents[2] / "docs" / "voice-agent.md").read_text(encoding="utf-8")
    rows = page.partition("| event of the sample |")[2].partition("\n\n")[0].splitlines()[2:]
    told = {}
    for row in rows:
        event, fields, here = (re.findall("`([a-z0-9_]+)`", cell) for cell in row.strip("|").split("|"))
        told[event[0]] = (here[0], fields)
    assert told == {event: (ours, list(fields)) for event, (ours, fields) in SAMPLE.items()}
