"""Which faults the next sessions get, by endpoint."""

import threading

from emulator.wire.fault_plan import FaultPlan
from emulator.wire.faults import Faults

__all__ = ["FaultSettings"]


class FaultSettings:
    """Faults of all endpoints, and of single ones in their place. May be changed from any thread.

    A session takes the faults that hold when it is opened. Its seed is made of ``seed``, the endpoint's name and the
    number of the session since the faults were set: the same sessions in the same order meet the same faults.
    """

    def __init__(self, faults: Faults | None = None, seed: int = 0) -> None:
        self._lock = threading.Lock()
        self._seed = seed
        self._faults: dict[str | None, Faults] = {}
        self._sessions: dict[str, int] = {}
        self.set(faults)

    def get(self, endpoint: str | None = None) -> Faults | None:
        """Return what was set for an endpoint, or for all of them; None where nothing was."""
        with self._lock:
            return self._faults.get(endpoint)

    def set(self, faults: Faults | None, endpoint: str | None = None, seed: int | None = None) -> None:
        """Let new sessions of an endpoint, or of all that have no faults of their own, have these faults.

        None takes the setting back; ``Faults()`` for one endpoint means that it has none, whatever the others have.
        """
        with self._lock:
            if faults is None:
                self._faults.pop(endpoint, None)
            else:
                self._faults[endpoint] = faults
            if seed is not None:
                self._seed = seed
            if endpoint is None:
                self._sessions.clear()
            else:
                self._sessions.pop(endpoint, None)

    def plan(self, endpoint: str) -> FaultPlan | None:
        """Return what goes wrong in the session that is being opened; None where nothing does."""
        with self._lock:
            faults = self._faults.get(endpoint, self._faults.get(None))
            if faults is None or not faults.active:
                return None
            number = self._sessions[endpoint] = self._sessions.get(endpoint, 0) + 1
            return FaultPlan(faults, f"{self._seed}/{endpoint}/{number}")
