"""The page in a real browser, with an agent behind the emulator."""

import asyncio
import base64
import contextlib
import itertools
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator import Switches
from emulator.agentcore.start import agent_container
from emulator.bedrock.script import Script, Turn
from emulator.bench.codecs import CODECS
from emulator.server import Server
from emulator.tests.chromium import Tab, chromium
from emulator.tests.test_speech_bench import TONE, likeness

AGENT = f"{sys.executable} -m uvicorn emulator.tests.scripted_agent:app --host 127.0.0.1 --port {{port}}"
TEXT = "Ein Satz mit 李 und 😀. Noch einer. Und ein dritter."


@contextlib.asynccontextmanager
async def page(tmp_path: Path, cut: int = 0) -> AsyncIterator[Tab]:
    script = Script((Turn(TEXT, first_token=0.1, tokens_per_second=30),))
    server = Server(
        switches=Switches(agent_cut=cut), state_directory=tmp_path / "state", http_port=0, bedrock_script=script
    )
    async with (
        asyncio.timeout(120),
        chromium(tmp_path / "profile") as tab,
        server,
        agent_container(AGENT, server.certificates.environment(server.url)) as url,
    ):
        server.agents.runtimes.put("local", url)
        await tab.open(f"{server.http_url}/_page/")
        yield tab


async def column(tab: Tab, mode: str) -> dict[str, str]:
    names = ("first", "heard", "written", "received", "text", "error")
    script = ", ".join(f"{name}: document.querySelector('#{mode} .{name}').textContent" for name in names)
    fields: dict[str, str] = await tab.run(f"({{{script}}})")
    return fields


async def press(tab: Tab, button: str) -> None:
    await tab.run(f"document.querySelector('button[value={button}]').click()")


@pytest.mark.parametrize("cut", [0, 1])
async def test_text_and_audio_arrive_in_both_modes(cut: int, tmp_path: Path) -> None:
    async with page(tmp_path, cut) as tab:
        await press(tab, "both")
        await tab.until("document.querySelectorAll('.complete, .failed').length === 2")
        bidi, batch = [await column(tab, mode) for mode in ("bidi", "batch")]
        assert await tab.complaints() == []
    for each in (bidi, batch):
        assert each["error"] == ""
        assert each["text"] == TEXT
        assert each["first"].endswith(" ms")
        assert each["heard"].endswith(" ms")
    assert milliseconds(bidi["first"]) < milliseconds(bidi["written"])
    assert milliseconds(batch["first"]) >= milliseconds(batch["written"])


GAPLESS = """(async () => {
    const context = new OfflineAudioContext(1, 48000, 24000);
    await context.audioWorklet.addModule("worklet.js");
    const node = new AudioWorkletNode(context, "player", { numberOfInputs: 0, outputChannelCount: [1] });
    node.connect(context.destination);
    const samples = Float32Array.from({ length: 5000 }, (_, at) => (at + 1) / 8192);
    const paused = context.suspend(0.1);
    const rendering = context.startRendering();
    await paused;
    for (let at = 0, size = 1; at < samples.length; at += size, size = size * 2 + 1) {
        node.port.postMessage(samples.slice(at, at + size));
    }
    node.port.postMessage({ end: true });
    const synced = new Promise((resolve) => { node.port.onmessage = ({ data }) => data.synced && resolve(); });
    node.port.postMessage({ sync: true });
    await synced;
    await context.resume();
    const heard = (await rendering).getChannelData(0);
    const first = heard.findIndex((sample) => sample !== 0);
    const same = samples.every((sample, at) => heard[first + at] === sample);
    const silent = heard.subarray(first + samples.length).every((sample) => sample === 0);
    return [first >= 0, same, silent];
})()"""


async def test_the_player_leaves_no_gap_between_chunks(tmp_path: Path) -> None:
    async with page(tmp_path) as tab:
        for _ in range(5):
            assert await tab.run(GAPLESS) == [True, True, True]


def milliseconds(shown: str) -> int:
    return int(shown.removesuffix(" ms"))


async def test_over_the_websocket_audio_is_not_in_base64(tmp_path: Path) -> None:
    async with page(tmp_path) as tab:
        columns = {}
        for transport in ("sse", "ws"):
            await tab.run(f"document.querySelector('[name=transport]').value = '{transport}'")
            await press(tab, "batch")
            await tab.until("document.querySelector('#batch.complete, #batch.failed')")
            columns[transport] = await column(tab, "batch")
    for each in columns.values():
        assert (each["error"], each["text"]) == ("", TEXT)
        assert milliseconds(each["first"]) >= milliseconds(each["written"])
        assert each["heard"].endswith(" ms")
    sizes = {name: int(each["received"].removesuffix(" kB")) for name, each in columns.items()}
    audio = 3 * 4.8  # kB
    assert sizes["ws"] < audio * 4 / 3 < sizes["sse"]


async def test_an_error_of_the_agent_is_shown_and_the_next_question_works(tmp_path: Path) -> None:
    async with page(tmp_path) as tab:
        await tab.run("document.querySelector('input').value = 'fail'")
        await press(tab, "bidi")
        await tab.until("document.querySelector('#bidi.failed')")
        assert (await column(tab, "bidi"))["error"] == "as it was asked to"
        for scheme in ("light", "dark"):
            await tab.prefer(scheme)
            assert await tab.contrast() >= 4.5
        await tab.run("document.querySelector('input').value = 'again'")
        await press(tab, "bidi")
        await tab.until("document.querySelector('#bidi.complete')")
        assert (await column(tab, "bidi"))["text"] == TEXT


async def test_what_came_before_an_error_is_heard_to_its_end(tmp_path: Path) -> None:
    async with page(tmp_path) as tab:
        await tab.run("document.querySelector('input').value = 'fail late'")
        await press(tab, "bidi")
        await tab.until("document.querySelector('#bidi.failed')")
        shown = await column(tab, "bidi")
        assert (shown["error"], shown["text"]) == ("as it was asked to", "Well.")
        await tab.until("document.querySelector('#bidi').dataset.gaps")  # set when the last sample was played
        after = await column(tab, "bidi")
        assert (after["error"], milliseconds(after["heard"]) > 0) == ("as it was asked to", True)
        assert await tab.run("document.querySelector('#bidi').className") == "failed"


async def test_a_question_can_be_stopped(tmp_path: Path) -> None:
    async with page(tmp_path) as tab:
        await press(tab, "bidi")
        await tab.until("document.querySelector('#bidi .text').textContent !== ''")
        await tab.run("document.querySelector('#stop').click()")
        await tab.until("document.querySelector('#bidi.failed')")
        assert (await column(tab, "bidi"))["error"] == "stopped"


STILL = (
    "globalThis.resume = AudioContext.prototype.resume; AudioContext.prototype.resume = AudioContext.prototype.suspend"
)
LOUD = "AudioContext.prototype.resume = globalThis.resume"


async def ask_without_an_end(tab: Tab) -> None:
    """Ask, and wait until all of the answer is there; its audio stands still."""
    # over a WebSocket nothing comes after `done` that could still be stopped
    await tab.run(f"document.querySelector('[name=transport]').value = 'ws'; {STILL}")
    await press(tab, "bidi")
    await tab.until("document.querySelector('#bidi li:last-child')?.textContent.includes(' done')")


async def test_what_is_stopped_while_its_audio_plays_is_stopped_not_complete(tmp_path: Path) -> None:
    async with page(tmp_path) as tab:
        await ask_without_an_end(tab)
        await tab.run("document.querySelector('#stop').click()")
        await tab.until("document.querySelector('#bidi.complete, #bidi.failed')")
        assert await tab.run("document.querySelector('#bidi').className") == "failed"
        assert (await column(tab, "bidi"))["error"] == "stopped"
        assert await tab.run("document.querySelector('form').className") == ""


async def test_a_question_while_audio_plays_has_the_column_to_itself(tmp_path: Path) -> None:
    async with page(tmp_path) as tab:
        await ask_without_an_end(tab)
        await tab.run(LOUD)
        await press(tab, "bidi")
        await tab.until("document.querySelector('#bidi .text').textContent !== ''")
        assert await tab.run("document.querySelector('#bidi').className") == ""
        await tab.until("document.querySelector('#bidi.complete, #bidi.failed')")
        shown = await column(tab, "bidi")
        assert (shown["error"], shown["text"]) == ("", TEXT)
        await tab.until("document.querySelector('form').className === ''")


@pytest.mark.parametrize("method", ["AudioContext.prototype.resume", "AudioWorklet.prototype.addModule"])
async def test_what_has_no_sound_says_so_and_the_next_question_tries_again(method: str, tmp_path: Path) -> None:
    async with page(tmp_path) as tab:
        await tab.run(f"globalThis.real = {method}; {method} = () => Promise.reject(new Error('no audio device'))")
        await press(tab, "both")
        await tab.until("document.querySelectorAll('.failed').length === 2")
        for mode in ("bidi", "batch"):
            assert (await column(tab, mode))["error"] == "no audio device"
        await tab.until("document.querySelector('form').className === ''")
        await tab.run(f"{method} = globalThis.real")
        await press(tab, "bidi")
        await tab.until("document.querySelector('#bidi.complete')")
        assert (await column(tab, "bidi"))["error"] == ""


DECODE = """(async (size) => {
    const { Mp3Decoder } = await import("./mp3.js");
    const bytes = Uint8Array.from(atob("DATA"), (char) => char.charCodeAt(0));
    const heard = [];
    const decoder = await Mp3Decoder.open(24000, (samples) => heard.push(...samples));
    for (let at = 0; at < bytes.length; at += size) decoder.feed(bytes.subarray(at, at + size));
    await decoder.end();
    return heard;
})(SIZE)"""


async def test_mp3_is_decoded_wherever_its_pieces_end(tmp_path: Path) -> None:
    data = b"".join(piece.data for piece in CODECS[1].encode(TONE))
    async with page(tmp_path) as tab:
        script = DECODE.replace("DATA", base64.b64encode(data).decode())
        heard = [await tab.run(script.replace("SIZE", str(size))) for size in (1, 100, len(data))]
    assert heard[0] == heard[1] == heard[2]
    pcm = (np.array(heard[0]) * 32767).astype("<i2").tobytes()
    assert likeness(pcm, TONE) > 0.98


# no network lets a test say where its blocks end: only fetch() is a stand-in
CUTS = """(async (base64) => {
    const { ask } = await import("./agent.js");
    const { openDecoder } = await import("./decoder.js");
    const whole = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
    const read = async (blocks) => {
        const start = (out) => { blocks.forEach((each) => out.enqueue(each)); out.close(); };
        globalThis.fetch = async () => new Response(new ReadableStream({ start }));
        const events = [];
        const samples = [];
        const decoder = await openDecoder("pcm16", 24000, (some) => samples.push(...some));
        for await (const { arrived, received, pcm, ...event } of ask({ path: "/", token: "t" }, {})) {
            events.push(event);
            if (pcm) decoder.feed(pcm);
        }
        await decoder.end();
        return { events, samples };
    };
    const ways = {};
    for (let at = 0; at <= whole.length; at += 1) ways[`cut at ${at}`] = [whole.slice(0, at), whole.slice(at)];
    for (let size = 1; size <= whole.length; size += 1) {
        const pieces = Array.from({ length: Math.ceil(whole.length / size) }, (_, at) => at * size);
        ways[`blocks of ${size}`] = pieces.map((at) => whole.slice(at, at + size));
    }
    const uncut = await read([whole]);
    const others = {};
    for (const [way, blocks] of Object.entries(ways)) {
        const result = await read(blocks).catch((error) => String(error));
        if (JSON.stringify(result) !== JSON.stringify(uncut)) others[way] = result;
    }
    return { uncut, ways: Object.keys(ways).length, others };
})("DATA")"""
SOUND = bytes(at * 37 % 256 for at in range(36))


def answer() -> tuple[list[dict[str, Any]], bytes]:
    """Events and their stream: lines end in both ways, chunks inside of samples, so base64 with every padding."""
    pieces = [SOUND[a:b] for a, b in itertools.pairwise((0, 1, 4, 9, 11, 18, 36))]
    events: list[dict[str, Any]] = [
        {"type": "agent_start", "format": "pcm16"},
        {"type": "text", "text": 'Zürich, 李, 😀\u2028"so"\n'},
        *({"type": "audio_chunk", "data": base64.b64encode(piece).decode()} for piece in pieces),
        {"type": "done"},
    ]
    frames = [": comment\n\n"]
    for event, end in zip(events, itertools.cycle(("\n", "\r\n"))):
        frames.append(f"data: {json.dumps(event, ensure_ascii=False)}{end}{end}")
    return events, "".join(frames).encode()


async def test_an_answer_is_the_same_wherever_its_blocks_end(tmp_path: Path) -> None:
    events, stream = answer()
    async with page(tmp_path) as tab:
        heard = await tab.run(CUTS.replace("DATA", base64.b64encode(stream).decode()))
    assert heard["others"] == {}
    assert heard["ways"] == 2 * len(stream) + 1
    assert heard["uncut"] == {"events": events, "samples": (np.frombuffer(SOUND, "<i2") / 32768).tolist()}


async def test_an_answer_in_mp3_is_played_or_clearly_refused(tmp_path: Path) -> None:
    async with page(tmp_path, cut=7) as tab:
        await tab.run("document.querySelector('[name=format]').value = 'mp3'")
        for transport in ("sse", "ws"):
            await tab.run(f"document.querySelector('[name=transport]').value = '{transport}'")
            await press(tab, "bidi")
            await tab.until("document.querySelector('#bidi.complete, #bidi.failed')")
            shown = await column(tab, "bidi")
            assert (shown["error"], shown["text"]) == ("", TEXT)
            assert milliseconds(shown["first"]) < milliseconds(shown["written"])
            assert shown["heard"].endswith(" ms")
        await tab.run("globalThis.AudioDecoder = undefined")  # as in a browser without it
        await press(tab, "bidi")
        await tab.until("document.querySelector('#bidi.failed')")
        assert "cannot decode MP3" in (await column(tab, "bidi"))["error"]
