"""The agent as it is started, with the real Kokoro container; only the answer of the emulated Bedrock is scripted."""

import shlex
import sys

import httpx
import pytest

from container.agent.tests.conftest import InFront
from container.agent.tests.serving import audio, invoke, kinds, of
from emulator.bedrock.script import Script, Turn
from emulator.launch import launched


async def test_the_agent_speaks_with_kokoro(in_front: InFront, monkeypatch: pytest.MonkeyPatch) -> None:
    with launched("kokoro") as kokoro:
        emulator = in_front(kokoro)
        emulator.play_bedrock(Script((Turn("Yes. **No.**", tokens_per_second=0, first_token=0),)))
        monkeypatch.setenv("SPEECH_ENDPOINT", "voice")
        for name in ("SPEECH_TIMEOUT_S", "SPEECH_WORK_TIMEOUT_S"):  # this machine may have other work to do
            monkeypatch.setenv(name, "100")
        agent = f"command:{shlex.quote(sys.executable)} -m container.agent serve --host 127.0.0.1 --port {{port}}"
        with launched(agent) as url:
            async with httpx.AsyncClient(base_url=url, timeout=120) as client:
                events = await invoke(client)
    assert [event["spoken"] for event in of(events, "sentence")] == ["Yes.", "No."]
    assert events[-1]["type"] == "done", events[-1]
    seconds = len(audio(events)) / 48_000
    assert 0.5 < seconds < 4
    assert seconds == pytest.approx(events[-1]["duration_s"], abs=0.01)
    assert kinds(events)[0] == "agent_start"
