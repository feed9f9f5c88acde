"""Replay: the frames of a recorded session sent to another container, and its answers compared."""

import asyncio
import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from emulator.endpoint import Endpoint
from emulator.recording import Recording
from emulator.sidecar import Closed, Lost, Sidecar
from emulator.switches import Switches
from emulator.wire.frames import Frame, Opcode

__all__ = ["Comparison", "replay"]

# answers differ in these from run to run, whatever the container
_VOLATILE = frozenset({"elapsed_s"})


@dataclass(frozen=True, slots=True)
class Comparison:
    """What differs. Text messages are compared as JSON where they are JSON, binary ones by their bytes in all."""

    recorded: list[str]
    replayed: list[str]
    differences: list[str] = field(default_factory=list)

    @property
    def same(self) -> bool:
        """Whether the other container answered alike."""
        return not self.differences


async def replay(
    recording: Recording, endpoint: Endpoint, *, paced: bool = False, patience: float = 10.0
) -> Comparison:
    """Send the recorded frames to ``endpoint`` and compare its answers.

    ``paced`` keeps the recorded times between the frames. The answers are over when the container closes, when as
    many text messages have come as were recorded and then nothing for half a second, or after ``patience`` seconds
    of silence.

    Raises:
        UpgradeRefusedError: the container does not accept the WebSocket.
    """
    sidecar = await Sidecar.connect(endpoint.host, endpoint.port, recording.target, recording.request_id, Switches())
    recorded = [frame for _, frame in recording.frames("in")]
    expected = sum(frame.opcode is Opcode.TEXT for frame in recorded)
    receiving = asyncio.create_task(_receive(sidecar, expected, patience))
    try:
        loop = asyncio.get_running_loop()
        began, first = loop.time(), next((at for at, _ in recording.frames("out")), 0.0)
        for at, frame in recording.frames("out"):
            if paced:
                await asyncio.sleep(max(at - first - (loop.time() - began), 0.0))
            await sidecar.send(frame)
        received, end = await receiving
    finally:
        receiving.cancel()
        sidecar.start_close(1000)
        await sidecar.wait_closed()
    return _compare(_summary(recorded, _recorded_end(recording)), _summary(received, end))


async def _receive(sidecar: Sidecar, expected: int, patience: float) -> tuple[list[Frame], str]:
    frames: list[Frame] = []
    texts = 0
    while True:
        try:
            async with asyncio.timeout(0.5 if texts >= expected else patience):
                event = await sidecar.receive()
        except TimeoutError:
            return frames, "open"
        match event:
            case Frame():
                frames.append(event)
                texts += event.opcode is Opcode.TEXT
            case Closed(code=code):
                return frames, f"closed with {code}"
            case Lost():
                return frames, "dropped without a Close frame"
            case _:
                pass


def _recorded_end(recording: Recording) -> str:
    for entry in recording.entries:
        if entry.hop == "container" and entry.direction == "out" and entry.kind in ("close", "eof"):
            return "open"  # it was the client that ended the session
        if entry.hop == "container" and entry.direction == "in" and entry.kind == "close":
            return f"closed with {entry.text.split(' ', 1)[0]}"
        if entry.hop == "container" and entry.direction == "in" and entry.kind == "eof":
            return "dropped without a Close frame"
    return "open"


def _summary(frames: Iterable[Frame], end: str) -> list[str]:
    """Return one line for each text message, one for each run of binary data between them, one for the end."""
    lines: list[str] = []
    binary = 0
    text: list[bytes] = []
    kind = Opcode.BINARY
    for frame in frames:
        if frame.opcode is not Opcode.CONTINUATION:
            kind = frame.opcode
        if kind is Opcode.BINARY:
            binary += len(frame.data)
            continue
        if binary:
            lines.append(f"BINARY, {binary} bytes")
            binary = 0
        text.append(frame.data)
        if frame.fin:
            lines.append(f"TEXT {_normalised(b''.join(text))}")
            text = []
    return [*lines, *([f"BINARY, {binary} bytes"] if binary else []), end]


def _normalised(data: bytes) -> str:
    try:
        body = json.loads(data)
    except ValueError:
        return repr(data.decode("utf-8", "replace"))
    if isinstance(body, dict):
        body = {name: value for name, value in body.items() if name not in _VOLATILE}
    return json.dumps(body, sort_keys=True, ensure_ascii=False)


def _compare(recorded: list[str], replayed: list[str]) -> Comparison:
    differences = []
    for number in range(max(len(recorded), len(replayed))):
        before = recorded[number] if number < len(recorded) else "nothing"
        after = replayed[number] if number < len(replayed) else "nothing"
        if before != after:
            differences.append(f"answer {number + 1}: recorded {before}; replayed {after}")
    return Comparison(recorded, replayed, differences)
