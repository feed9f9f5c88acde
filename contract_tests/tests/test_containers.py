"""The fault of each broken container as it shows on the wire, without the checks; the good ones show none."""

import asyncio
import contextlib
import http.client
import importlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import hypercorn.asyncio
import pytest
import uvicorn
from hypercorn.config import Config
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from contract_tests import broken, good
from contract_tests.audio import inspect_pcm
from contract_tests.containers import Container
from contract_tests.good.speech import STREAM_PATH

RATE = 24000
PATIENCE_S = 1.0
PING_LIMIT_S = 2.0
BAD: tuple[str | bytes, ...] = (
    "not json",
    "{}",
    '{"type": "Reset"}',
    "[1]",
    '{"text": ""}',
    '{"text": "Hi.", "voice": "nobody"}',
    b"\0\1",
    b"\xff",
    "",
)


def start_uvicorn(container: Container, listener: socket.socket) -> Callable[[], None]:
    config = uvicorn.Config(container.app, log_config=None, timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name=container.name)
    thread.start()

    def stop() -> None:
        server.should_exit = True
        thread.join(10)
        assert not thread.is_alive()

    return stop


def start_hypercorn(container: Container, listener: socket.socket) -> Callable[[], None]:
    module, attribute = container.app.split(":")
    app: Any = getattr(importlib.import_module(module), attribute)
    config = Config()
    config.bind = [f"fd://{listener.detach()}"]
    config.graceful_timeout = 1
    loop = asyncio.new_event_loop()
    asked = asyncio.Event()

    async def trigger() -> None:
        await asked.wait()

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(hypercorn.asyncio.serve(app, config, shutdown_trigger=trigger))

    thread = threading.Thread(target=run, name=container.name)
    thread.start()

    def stop() -> None:
        loop.call_soon_threadsafe(asked.set)
        thread.join(10)
        assert not thread.is_alive()

    return stop


@contextlib.contextmanager
def served(container: Container) -> Iterator[int]:
    """Serve `container` on a port of 127.0.0.1; connections wait in the listener until the server is up."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen(64)
    port = listener.getsockname()[1]
    stop = (start_uvicorn if container.server == "uvicorn" else start_hypercorn)(container, listener)
    try:
        yield port
    finally:
        stop()


@dataclass
class Turn:
    """What came back for one message; `outcome` is "complete", "error", "silence", "eof", "close N" or what is odd."""

    outcome: str = ""
    frames: list[bytes] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)


async def ask(ws: ClientConnection, message: str | bytes) -> Turn:
    """Send one message and read to the end of its answer."""
    turn = Turn()
    try:
        await ws.send(message)
        while not turn.outcome:
            async with asyncio.timeout(PATIENCE_S):
                note(turn, await ws.recv())
    except TimeoutError:
        turn.outcome = "silence"
    except ConnectionClosed as closed:
        turn.outcome = f"close {closed.rcvd.code}" if closed.rcvd else "eof"
    return turn


def note(turn: Turn, message: str | bytes) -> None:
    try:
        event = json.loads(message)
    except ValueError:
        if isinstance(message, bytes):
            turn.frames.append(message)
            if not turn.events:
                turn.outcome = "audio before start"
        else:
            turn.outcome = "half an event"
        return
    if isinstance(message, bytes):
        turn.outcome = "binary event"
        return
    turn.events.append(event)
    if event["type"] != "synthesis_start":
        turn.outcome = event["type"].removeprefix("synthesis_")


def say(request_id: str, text: str = "Hello there, nice to meet you.", voice: str = "af_heart") -> str:
    return json.dumps({"text": text, "voice": voice, "request_id": request_id})


def dial(port: int) -> connect:
    return connect(f"ws://127.0.0.1:{port}{STREAM_PATH}", proxy=None, max_size=None, compression=None)


async def text_frame(port: int) -> str:
    async with dial(port) as ws:
        return (await ask(ws, say("t"))).outcome


async def binary_frame(port: int) -> str:
    async with dial(port) as ws:
        turn = await ask(ws, say("b").encode())
        if turn.outcome == "silence":  # the session is none the worse for it
            assert (await ask(ws, say("c"))).outcome == "complete"
        return turn.outcome


async def bad_message(port: int) -> str:
    async with dial(port) as ws:
        for message in BAD:
            turn = await ask(ws, message)
            if turn.outcome != "error":
                return turn.outcome if isinstance(message, str) else f"bad binary: {turn.outcome}"
            assert len(turn.events) == 1
        return (await ask(ws, say("g"))).outcome


async def sentences(port: int) -> str:
    async with dial(port) as ws:
        for index, voice in enumerate(["af_heart", "am_michael", "af_heart"]):
            turn = await ask(ws, say(f"s{index}", voice=voice))
            if turn.outcome != "complete":
                return f"sentence {index}: {turn.outcome}"
            if {event["request_id"] for event in turn.events} != {f"s{index}"}:
                return f"sentence {index}: foreign id"
            if not turn.frames:
                return f"sentence {index}: early end"
        return "complete"


async def audio(port: int) -> str:
    async with dial(port) as ws:
        turn = await ask(ws, say("p"))
    if turn.outcome != "complete":
        return turn.outcome
    if any(len(frame) > 12_100 for frame in turn.frames):
        return "large frame"
    declared = turn.events[-1]["total_duration_s"]
    if not isinstance(declared, float):
        return "no number"
    faults = inspect_pcm(turn.frames, RATE, declared)
    return ", ".join(fault.kind for fault in faults) or "sound"


async def close(port: int) -> str:
    async with dial(port) as ws:
        return (await ask(ws, '{"type": "close"}')).outcome


async def ping(port: int) -> str:
    async with dial(port) as ws:
        await (await ws.ping())  # a session is open by now, whatever it understands
        for method in ("GET", "HEAD", "POST"):
            status = await asyncio.to_thread(ping_status, port, method)
            if status != "200":
                break
        return status


def ping_status(port: int, method: str) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PING_LIMIT_S)
    try:
        connection.request(method, "/ping")
        return str(connection.getresponse().status)
    except TimeoutError:
        return "late"
    finally:
        connection.close()


PROBES = (text_frame, binary_frame, bad_message, sentences, audio, close, ping)
GOOD = {
    "text_frame": "complete",
    "binary_frame": "complete",
    "bad_message": "complete",
    "sentences": "complete",
    "audio": "sound",
    "close": "close 1000",
    "ping": "200",
}


def everywhere(outcome: str) -> dict[str, str]:
    """Return the symptoms of a container whose every answer is spoilt."""
    return dict.fromkeys(["text_frame", "binary_frame", "bad_message", "audio"], outcome) | {
        "sentences": f"sentence 0: {outcome}"
    }


SYMPTOMS = {
    "model-missing": everywhere("error") | {"binary_frame": "error"},
    "receive-text": {"binary_frame": "eof", "bad_message": "bad binary: eof"},
    "receive-text-hypercorn": {"binary_frame": "silence", "bad_message": "bad binary: silence"},
    "text-only-branch": {"binary_frame": "silence", "bad_message": "bad binary: silence"},
    "control-as-binary": everywhere("binary event"),
    "unguarded-json": {"bad_message": "eof"},
    "closes-on-bad": {"bad_message": "close 1003"},
    "one-sentence": {"sentences": "sentence 1: close 1000"},
    "fragment-decode": {},  # takes fragments: tested below
    "fragment-log": {},
    "first-chunk-wait": {},  # takes a text without a word: tested below
    "empty-concat": {},
    "ping-locked": {},  # takes a long text and a look at the clock: the matrix
    "blocked-loop": {},
    "blocked-pong": {},  # takes a long text and a Ping: tested below
    "idle-timeout": {},  # takes a pause: tested below
    "odd-frames": {"audio": "odd-frame"},
    "wav-header": {"audio": "encoded"},
    "wrong-duration": {"audio": "duration"},
    "wrapping": {"audio": "wrapped"},
    "byte-shift": {"audio": "byte-shift"},
    "big-endian": {"audio": "byte-order"},
    "realtime-shift": {},  # another protocol: the matrix
    "float-samples": {"audio": "float"},
    "text-duration": {"audio": "no number"},
    "wrong-start-id": {"sentences": "sentence 0: foreign id"},
    "no-start": everywhere("audio before start") | {"bad_message": "audio before start"},
    "double-complete": {"sentences": "sentence 1: foreign id"},
    "collects": {},  # takes a look at the clock
    "clicks": {},  # takes a look at the joints
    "one-frame": {"audio": "large frame"},
    "oversize-raises": {},  # takes a large message: tested below
    "orphaned-work": {},  # takes a caller who hangs up
    "leftovers": {},  # the same
    "shared-queue": {},  # takes two callers at once
    "shared-voice": {},  # the same
    "task-per-message": {},  # takes two requests at once
    "stale-after-cancel": {},  # takes a cancel message
    "empty-200": {},  # HTTP only
    "silent-gap": {},  # HTTP only
    "aiohttp-text-only": {},  # serves itself: the matrix
    "aiohttp-deaf": {},
    "aiohttp-stop": {},
    "websockets-unguarded": {},
    "early-ping": {},  # takes a look right after its start
    "hypercorn-stop-hypercorn": {},  # the same
    "endless-worker": {},  # takes a SIGTERM
    "query-refused": {},  # takes a query string
    "deflate-refused": {},  # takes an offer of compression: none of the probes makes one
    "origin-demanded": {},  # refuses every probe
    "return-without-close": {"close": "eof"},
    "never-closes": {"close": "silence"},
    "silent-voice": {},  # takes a wrong parameter: tested below
    "nan-speed": {},
    "truncated-text": {},  # takes a long text: tested below
    "long-text-hangs": {},
    "split-control": everywhere("half an event"),
    "glued-control": everywhere("audio before start") | {"bad_message": "audio before start"},
    "ping-busy": {"ping": "503"},
    "ping-slow": {"ping": "late"},
}

SPEAKING = [
    container
    for container in (*good.CONTAINERS, *broken.CONTAINERS)
    if container.profile == "kokoro"
    and not container.blocks
    and container.caught_by != "CT18"  # start and stop
    and ":" in container.app  # the others serve themselves
]


async def observe(container: Container) -> dict[str, str]:
    with served(container) as port:
        if container.caught_by == "CT13":  # two callers at once are its very fault
            outcomes = [await probe(port) for probe in PROBES]
        else:
            outcomes = await asyncio.gather(*(probe(port) for probe in PROBES))
    return {probe.__name__: outcome for probe, outcome in zip(PROBES, outcomes, strict=True)}


@pytest.mark.parametrize("container", SPEAKING, ids=lambda container: container.name)
async def test_shows_its_fault_and_no_other(container: Container) -> None:
    assert await observe(container) == GOOD | SYMPTOMS.get(container.name, {})


LONG = "word " * 200


@pytest.mark.parametrize(
    ("name", "message", "outcome", "seconds"),
    [
        ("first-chunk-wait", say("n", "..."), "silence", 0),
        ("empty-concat", say("n", "..."), "eof", 0),
        ("starlette", say("n", "..."), "complete", 0),
        ("oversize-raises", say("o").ljust(2**20 + 1), "eof", 0),
        ("starlette", say("o").ljust(2**20 + 1), "complete", 0.6),
        ("silent-voice", say("v", voice="nobody"), "complete", 0),
        ("nan-speed", '{"text": "Hi.", "speed": NaN}', "eof", 0),
        ("starlette", '{"text": "Hi.", "speed": NaN}', "error", 0),
        ("truncated-text", say("l", LONG), "complete", 10),
        ("long-text-hangs", say("l", LONG), "silence", 0),
        ("starlette", say("l", LONG), "complete", 20),
    ],
)
async def test_takes_one_message(name: str, message: str, outcome: str, seconds: float) -> None:
    (container,) = [container for container in SPEAKING if container.name == name]
    with served(container) as port:
        async with dial(port) as ws:
            turn = await ask(ws, message)
            ws.transport.abort()  # some would wait for the Close frame for ever
    assert turn.outcome == outcome
    assert sum(map(len, turn.frames)) == seconds * 2 * RATE


@pytest.mark.parametrize(
    ("name", "outcome", "characters"),
    [("fragment-decode", "complete", 31), ("fragment-log", "eof", 0), ("starlette", "complete", 26)],
)
async def test_takes_fragments(name: str, outcome: str, characters: int) -> None:
    (container,) = [container for container in SPEAKING if container.name == name]
    payload = json.dumps({"text": "d\u00e9j\u00e0 vu, " * 2 + "caf\u00e9, na"}, ensure_ascii=False).encode()
    with served(container) as port:
        async with dial(port) as ws:
            with contextlib.suppress(ConnectionClosed):  # it may be over before the last fragment
                await ws.send((bytes([byte]) for byte in payload), text=True)
            turn = await ask(ws, "")
            ws.transport.abort()
    assert turn.outcome == outcome
    assert sum(map(len, turn.frames)) == round(characters * 0.02 * 2 * RATE)


async def test_idle_timeout_closes_in_a_pause() -> None:
    (idle,) = [container for container in broken.CONTAINERS if container.name == "idle-timeout"]
    with served(idle) as port:
        async with dial(port) as ws:
            assert (await ask(ws, say("i"))).outcome == "complete"
            async with asyncio.timeout(5):
                await ws.wait_closed()
            assert ws.close_code == 1000


async def test_a_good_container_sits_out_a_pause() -> None:
    with served(good.CONTAINERS[0]) as port:
        async with dial(port) as ws:
            assert (await ask(ws, say("i"))).outcome == "complete"
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(1.6):
                    await ws.wait_closed()
            assert (await ask(ws, say("j"))).outcome == "complete"


@pytest.mark.parametrize(("name", "answered"), [("blocked-pong", False), ("starlette", True)])
async def test_blocked_pong_answers_no_ping_at_work(name: str, *, answered: bool) -> None:
    (container,) = [container for container in SPEAKING if container.name == name]
    with served(container) as port:
        async with dial(port) as ws:
            await ws.send(say("l", "A long text. " * 10))
            assert json.loads(await ws.recv())["type"] == "synthesis_start"  # from here on it is at work
            done, _ = await asyncio.wait([asyncio.ensure_future(await ws.ping())], timeout=PATIENCE_S)
            assert await asyncio.to_thread(ping_status, port, "GET") == "200"
            ws.transport.abort()  # a Close frame would wait for its answer as long as the Ping
    assert bool(done) == answered


async def test_every_frame_of_brace_begins_with_a_brace() -> None:
    (brace,) = [container for container in good.CONTAINERS if container.name == "brace"]
    with served(brace) as port:
        async with dial(port) as ws:
            turn = await ask(ws, say("b"))
    assert len(turn.frames) > 1
    assert all(frame.startswith(b"{") for frame in turn.frames)


@pytest.mark.parametrize("name", ["echo", "echo-hypercorn"])
async def test_echo_answers_every_message_once_with_its_type(name: str) -> None:
    (echo,) = [container for container in good.CONTAINERS if container.name == name]
    messages: list[str | bytes] = ["", "text", b"", b"\0\1", "x" * 100_000, b"x" * 100_000]
    with served(echo) as port:
        async with dial(port) as ws:
            for message in messages:
                await ws.send(message)
            assert [await ws.recv() for _ in messages] == messages
        assert ping_status(port, "GET") == "200"


def test_every_broken_container_has_a_check_and_a_known_symptom() -> None:
    names = [container.name for container in broken.CONTAINERS]
    assert sorted(names) == sorted(SYMPTOMS)
    assert all(container.caught_by for container in broken.CONTAINERS)
    assert not any(container.caught_by for container in good.CONTAINERS)
    everything = [*names, *(container.name for container in good.CONTAINERS)]
    assert len(set(everything)) == len(everything)
