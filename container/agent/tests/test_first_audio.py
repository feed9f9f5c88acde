"""When the first audio comes, of a whole turn on a clock that costs no time: for every pace of the model."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from strands import Agent

from container.agent.connection import Part
from container.agent.request import Mode, Request
from container.agent.settings import Settings
from container.agent.speech import SpeechSession
from container.agent.tests import virtual
from container.agent.tests.scripted import ScriptedModel, Step
from container.agent.tests.serving import checked, of
from container.agent.timeline import Timeline
from container.agent.turn import SAMPLE_RATE, Event, Turn
from emulator.bedrock.script import Turn as Answer

SENTENCES = (
    "A voice agent should not wait until its whole answer is written.",
    "It hands each sentence over as soon as the full stop is there.",
    "The voice then begins to speak while the model is still thinking.",
    "So you hear the first words long before the last one exists.",
    "Nobody likes to sit in silence while a machine makes up its mind.",
    "That is all there is to say about it, so have a pleasant evening.",
)
CHARACTERS_PER_S = 15
"""Of speech."""
LATENCY_S = 0.05
WORK_S = 0.03
"""What the container takes for each second of audio."""


class SteadyLink:
    """Speaks one request after the other; the audio of each comes when all of it has been made."""

    def __init__(self, characters_per_s: int = CHARACTERS_PER_S) -> None:
        self._characters_per_s = characters_per_s
        self._requests: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def send(self, data: bytes) -> None:
        """Take a request."""
        self._requests.put_nowait(json.loads(data))

    async def parts(self) -> AsyncIterator[Part]:
        """Answer until the client says goodbye."""
        while "text" in (request := await self._requests.get()):
            yield self._control("synthesis_start", request)
            pcm = bytes(2 * int(SAMPLE_RATE * len(request["text"]) / self._characters_per_s))
            await asyncio.sleep(LATENCY_S + WORK_S * _seconds(pcm))
            if pcm:
                yield Part(pcm, text=False)
            yield self._control("synthesis_complete", request)

    async def end_input(self) -> None:
        """Nothing to end."""

    async def close(self) -> None:
        """Nothing to let go of."""

    @staticmethod
    def _control(kind: str, request: dict[str, Any]) -> Part:
        return Part(json.dumps({"type": kind, "request_id": request["request_id"]}).encode(), text=True)


def _seconds(pcm: bytes) -> float:
    return len(pcm) / 2 / SAMPLE_RATE


async def turn(mode: Mode, text: str, rate: float, first_token: float) -> list[Event]:
    """One turn: its events, stamped by the clock of its event loop."""
    steps: list[Step] = [lambda: asyncio.sleep(first_token), *Answer(text).pieces]
    agent = Agent(model=ScriptedModel(steps, fragment_s=1 / rate), callback_handler=None)

    async def open_() -> SteadyLink:
        return SteadyLink()

    speech = SpeechSession(open_)
    timeline = Timeline("r", clock=asyncio.get_running_loop().time)
    one = Turn(Request("Tell me.", mode), agent, speech, timeline, Settings())
    running = asyncio.create_task(one.run())
    events = [event async for event in one.events()]
    await running
    await speech.close()
    return checked(events)


def at(events: list[Event], kind: str) -> float:
    """When the first event of a kind came, in milliseconds."""
    first: float = of(events, kind)[0]["t_ms"]
    return first


@pytest.mark.parametrize("count", [2, 3, 6])
@pytest.mark.parametrize("first_token", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("rate", [5, 20, 40, 80])
def test_bidi_is_heard_before_the_text_ends_and_batch_after_it(rate: int, first_token: float, count: int) -> None:
    text = " ".join(SENTENCES[:count])
    fragments: dict[Mode, int] = {"bidi": len(Answer(SENTENCES[0]).pieces) + 1, "batch": len(Answer(text).pieces)}
    turns = {mode: virtual.run(turn(mode, text, rate, first_token)) for mode in fragments}
    ahead = {mode: at(events, "text_done") - at(events, "audio_chunk") for mode, events in turns.items()}
    assert ahead["bidi"] > 0 > ahead["batch"]
    for mode, events in turns.items():
        assert [event["text"] for event in of(events, "sentence")] == list(SENTENCES[:count])
        assert [event["complete"] for event in of(events, "sentence_end")] == [True] * count
        assert (events[-1]["type"], events[-1]["first_audio_ms"]) == ("done", at(events, "audio_chunk"))
        # a sentence is said with the first fragment of the next one, and then only the container's work is waited for
        said = first_token + fragments[mode] / rate
        assert at(events, "sentence") == pytest.approx(1000 * said, abs=0.2)
        work = LATENCY_S + WORK_S * len(SENTENCES[0]) / CHARACTERS_PER_S
        assert at(events, "audio_chunk") == pytest.approx(1000 * (said + work), abs=0.2)
