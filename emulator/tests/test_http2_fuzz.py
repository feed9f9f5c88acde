"""Connections of seeded nonsense: right and wrong frames, cut and changed; handlers do what handlers do."""

import asyncio
import random
from typing import Any, override

import pytest
from hpack import Encoder

from emulator.http2 import ClientGoneError, Http2Connection, Http2Stream
from emulator.switches import Switches
from emulator.tests.frames_client import PREFACE, REQUEST, frame

HEADERS = [REQUEST, REQUEST, REQUEST, [("x", "y")], [*REQUEST, ("content-length", "5")], [(":status", "100")]]
NUMBERS = (0, 1, 4, 100, 16_384, 70_000, 2**24 - 1, 2**31 - 1)
GOAWAY = b"\x07\x00\x00\x00\x00\x00"
"""Kind, flags and stream of one."""


class Wire(asyncio.Transport):
    """A transport without a socket."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = bytearray()
        self.closed = False

    @override
    def write(self, data: Any) -> None:
        self.sent += data

    @override
    def is_closing(self) -> bool:
        return self.closed

    @override
    def close(self) -> None:
        self.closed = True

    @override
    def abort(self) -> None:
        self.closed = True


class Nonsense:
    """Makes frames, some of them right: streams are mostly opened in order, and often reset at once."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)  # noqa: S311  # to be repeated, not to be secret
        self._encoder = Encoder()
        self._last = -1

    def frames(self) -> bytes:
        """Return the next frame or two."""
        chance = self.chance
        if chance.random() < 0.2:
            self._last += 2
            head = frame(1, chance.choice([4, 5]), self._last, self._encoder.encode(REQUEST))
            return head + (frame(3, 0, self._last, bytes(4)) if chance.random() < 0.5 else b"")
        kind = chance.choice([0, 0, 0, 1, 1, 2, 3, 3, 4, 5, 6, 7, 8, 8, 9, 200])
        flags = chance.choice([0, 1, 4, 5, 4, 8, 32, 44, 255])
        payload = self._payload(kind, flags)
        made = bytearray(
            frame(kind, flags, chance.choice([0, 1, 3, abs(self._last), abs(self._last), 2, 2**31 - 1]), payload)
        )
        if chance.random() < 0.03:
            made[chance.randrange(len(made))] ^= 1 << chance.randrange(8)
        return bytes(made if chance.random() > 0.03 else made[:-1])

    def _payload(self, kind: int, flags: int) -> bytes:
        chance = self.chance
        if kind in (1, 9):
            payload = self._encoder.encode(chance.choice(HEADERS))
        elif kind == 4:
            payload = chance.choice([1, 2, 3, 4, 5, 6, 8]).to_bytes(2) + chance.choice(NUMBERS).to_bytes(4)
        elif kind in (3, 8):
            payload = chance.choice(NUMBERS).to_bytes(4)
        elif kind == 7:
            payload = bytes(4) + chance.choice([0, 0, 0, 1]).to_bytes(4)
        else:
            payload = chance.randbytes({2: 5, 6: 8}.get(kind) or chance.choice([0, 1, 5, 100, 5000, 16_384]))
        if flags & 32 and kind == 1:
            payload = bytes(5) + payload
        if flags & 8 and kind in (0, 1, 5):
            payload = bytes([chance.choice([0, 1, 3, 255])]) + payload + bytes(3)
        return payload


async def _any_handler(stream: Http2Stream) -> None:
    does = random.Random(stream.id + len(stream.headers)).random()  # noqa: S311  # to be repeated, not to be secret
    try:
        if does < 0.2:
            await stream.fail(400, [("a", "b")], b"no")
            return
        await stream.start(200, [("a", "b")])
        while (data := await stream.receive()) is not None and does < 0.8:
            await stream.send(data)
        if does < 0.4:
            stream.reset()
        else:
            stream.end()
    except ClientGoneError:
        return


@pytest.mark.parametrize("block", range(0, 2000, 500))
async def test_any_frames_end_in_an_answer_or_a_goaway(block: int, caplog: pytest.LogCaptureFixture) -> None:
    ended = 0
    for seed in range(block, block + 500):
        nonsense, wire = Nonsense(seed), Wire()
        chance = nonsense.chance
        connection = Http2Connection(_any_handler, Switches(window=65_535, max_streams=2), set())
        connection.connection_made(wire)
        data = PREFACE + frame(4) + b"".join(nonsense.frames() for _ in range(chance.randint(1, 25)))
        at = 0
        while at < len(data):
            step = chance.choice([1, 9, 100, 5000, 70_000])
            connection.data_received(data[at : at + step])
            at += step
            if chance.random() < 0.3:
                await asyncio.sleep(0)
        ended += GOAWAY in wire.sent
        connection.connection_lost(None)
        async with asyncio.timeout(10):
            await connection.shut_down()  # returns at once: no handler is left behind
    assert 50 < ended < 500  # errors of both kinds, and connections without any
    assert not [record for record in caplog.records if record.levelname == "ERROR"]
