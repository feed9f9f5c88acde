"""Replay: the frames of a recorded session sent to another container, and its answers compared."""

import asyncio
import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from websockets.exceptions import ProtocolError

from emulator.endpoint import Endpoint
from emulator.recording import Recording, RecordingError
from emulator.sidecar import Closed, Lost, Sidecar
from emulator.switches import Switches
from emulator.wire.frames import Frame, Opcode
from emulator.wire.utf8 import writable

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

    ``paced`` keeps the recorded times between the frames. The answers are over when the container closes; once all
    is sent, when as many text messages have come as were recorded and then nothing for half a second, or after
    ``patience`` seconds of silence; and when the container takes no frame for ``patience`` seconds.

    Raises:
        RecordingError: it does not hold what the frames carried, or no WebSocket can carry them in this order.
        UpgradeRefusedError: the container does not accept the WebSocket.
    """
    outgoing = recording.frames("out")
    recorded = [frame for _, frame in recording.frames("in")]
    sidecar = await Sidecar.connect(endpoint.host, endpoint.port, recording.target, recording.request_id, Switches())
    answers = _Answers()
    receiving = asyncio.create_task(answers.receive(sidecar))
    sending = asyncio.create_task(_send(sidecar, outgoing, paced, patience))
    close = False
    try:
        # a container that has ended the session gets no more
        await asyncio.wait([receiving, sending], return_when=asyncio.FIRST_COMPLETED)
        if receiving.done():
            receiving.result()
        stuck = sending.result() if sending.done() else None
        if stuck is None:
            await answers.complete(sum(frame.opcode is Opcode.TEXT for frame in recorded), patience)
            close = True
    finally:
        for task in (receiving, sending):
            task.cancel()
        await asyncio.wait([receiving, sending])
        # only a container that reads can answer a Close
        if close:
            sidecar.start_close(1000)
        else:
            sidecar.abort()
        await sidecar.wait_closed()
    end = answers.end or stuck or "open"
    return _compare(_summary(recorded, _recorded_end(recording)), _summary(answers.frames, end))


async def _send(sidecar: Sidecar, frames: list[tuple[float, Frame]], paced: bool, patience: float) -> str | None:
    """Send the frames; returns what became of it where the container does not take them all."""
    loop = asyncio.get_running_loop()
    began, first = loop.time(), frames[0][0] if frames else 0.0
    for number, (at, frame) in enumerate(frames, 1):
        if paced:
            await asyncio.sleep(max(at - first - (loop.time() - began), 0.0))
        try:
            async with asyncio.timeout(patience):
                await sidecar.send(frame)
        except TimeoutError:
            return (
                f"open, but the container did not read: frame {number} of {len(frames)} could not be sent within "
                f"{patience:g} s"
            )
        except ProtocolError as error:
            raise RecordingError(f"frame {number} of {len(frames)} to the container cannot be sent: {error}") from error
    return None


class _Answers:
    """What the container has answered so far."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.end: str | None = None
        """How the container ended the session, None while it has not."""
        self._texts = 0
        self._news = asyncio.Event()

    async def receive(self, sidecar: Sidecar) -> None:
        """Take what comes until the container ends the session."""
        while self.end is None:
            match await sidecar.receive():
                case Frame() as frame:
                    self.frames.append(frame)
                    self._texts += frame.opcode is Opcode.TEXT
                case Closed(code=code):
                    self.end = f"closed with {code}"
                case Lost():
                    self.end = "dropped without a Close frame"
                case _:
                    continue
            self._news.set()

    async def complete(self, expected: int, patience: float) -> None:
        """Wait until nothing more is to be expected, now that all is sent."""
        while self.end is None:
            self._news.clear()
            try:
                async with asyncio.timeout(0.5 if self._texts >= expected else patience):
                    await self._news.wait()
            except TimeoutError:
                return


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
    except (ValueError, RecursionError):
        return repr(data.decode("utf-8", "replace"))
    if isinstance(body, dict):
        body = {name: value for name, value in body.items() if name not in _VOLATILE}
    return writable(json.dumps(body, sort_keys=True, ensure_ascii=False))


def _compare(recorded: list[str], replayed: list[str]) -> Comparison:
    differences = []
    for number in range(max(len(recorded), len(replayed))):
        before = recorded[number] if number < len(recorded) else "nothing"
        after = replayed[number] if number < len(replayed) else "nothing"
        if before != after:
            differences.append(f"answer {number + 1}: recorded {before}; replayed {after}")
    return Comparison(recorded, replayed, differences)
