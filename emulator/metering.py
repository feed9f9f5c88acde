"""The metering socket of one session: dials it, reads its records, says when it ends."""

import asyncio
import logging

from emulator.endpoint import Variant
from emulator.sidecar import Closed, Lost, Ping, Pong, Sidecar, UpgradeRefusedError
from emulator.switches import Switches
from emulator.trace import SessionTrace
from emulator.wire.frames import Frame, preview
from emulator.wire.metering import BadRecordError, Meter, MeterOffer

__all__ = ["MeterSocket", "open_meter"]

_log = logging.getLogger("emulator.metering")


async def open_meter(data: Sidecar, variant: Variant, trace: SessionTrace, switches: Switches) -> "MeterSocket | None":
    """Open the metering socket that a container has offered on its data socket; None where it has not, or need not.

    Raises:
        UpgradeRefusedError: it offers one, requires it, and does not accept it.
    """
    offer = MeterOffer.of(data.response_headers)
    if offer is None or switches.metering == "off":
        return None
    trace.add("container", "out", "http", f"GET {offer.path} (Upgrade: websocket, for metering)")
    try:
        if offer.problem is not None:
            raise UpgradeRefusedError(offer.problem)
        sidecar = await Sidecar.connect(variant.host, variant.port, offer.path, trace.request_id, switches)
    except UpgradeRefusedError as error:
        what = f"no metering socket: {error}"
        trace.add("container", "in", "http", what)
        if offer.required:
            raise UpgradeRefusedError(f"{what}; the container requires one") from None
        _log.warning("session %s: %s", trace.request_id, what)
        return None
    trace.add("container", "in", "http", "101, for metering")
    return MeterSocket(sidecar, trace, required=offer.required)


class MeterSocket:
    """An open metering socket."""

    def __init__(self, sidecar: Sidecar, trace: SessionTrace, *, required: bool) -> None:
        self.required = required
        self._sidecar = sidecar
        self._trace = trace
        self._meter = Meter()

    async def read(self) -> str:
        """Take the records into the wire log until the socket ends; returns how it ended."""
        loop = asyncio.get_running_loop()
        while True:
            match event := await self._sidecar.receive():
                case Frame():
                    self._take(event, loop.time())
                case Closed():
                    return f"the container closed the metering socket with code {event.code} {event.reason!r}"
                case Lost():
                    return f"the container dropped the metering socket without a Close frame ({event.what})"
                case Ping() | Pong():
                    pass

    def _take(self, frame: Frame, now: float) -> None:
        try:
            record = self._meter.take(frame, now)
        except BadRecordError as error:
            self._trace.add("container", "in", "meter", f"dropped, {error}: {preview(frame.data)}")
            _log.warning("session %s: a metering message is dropped: %s", self._trace.request_id, error)
            return
        if not record.repeated:
            self._trace.count(record.dimension, record.units)
        self._trace.add("container", "in", "meter", record)

    def start_close(self, code: int) -> None:
        """Close it: the session is over (fact ``meter.data-drop``)."""
        if self._sidecar.start_close(code):
            self._trace.add("container", "out", "close", f"{code}, the metering socket")

    async def wait_closed(self) -> bool:
        """Wait until the container has ended the connection, then cut it; False if it had to be cut."""
        return await self._sidecar.wait_closed()

    def abort(self) -> None:
        """Cut the connection."""
        self._sidecar.abort()
