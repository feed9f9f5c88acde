"""Which faults the next sessions get, by endpoint."""

import contextlib
import threading
from collections.abc import Iterator

from emulator.wire.fault_plan import FaultPlan
from emulator.wire.faults import FaultError, Faults

__all__ = ["FaultSettings"]


class FaultSettings:
    """Faults of all endpoints, and of single ones in their place. May be changed from any thread.

    A session takes the faults that hold when it is opened. Its seed is made of ``seed``, the endpoint's name and the
    number of the session since the faults were set: the same sessions in the same order meet the same faults.
    """

    def __init__(self, faults: Faults | None = None, seed: int = 0) -> None:
        self._lock = threading.Lock()
        self._seed = seed
        self._faults: dict[str | None, tuple[Faults, int]] = {}
        self._once: dict[str | None, tuple[Faults, int, int]] = {}
        self._sessions: dict[str, int] = {}
        self.set(faults)

    def set(self, faults: Faults | None, endpoint: str | None = None, seed: int | None = None) -> None:
        """Let new sessions of an endpoint, or of all that have no faults of their own, have these faults.

        None takes the setting back; ``Faults()`` for one endpoint means that it has none, whatever the others have.
        """
        self._put(None if faults is None else (faults, self._seed if seed is None else seed), endpoint)

    def set_once(self, faults: Faults, endpoint: str | None = None, seed: int | None = None, sessions: int = 1) -> None:
        """Let only the next sessions, so many, have these faults; then what was set before holds again."""
        if sessions < 1:
            raise FaultError(f"faults for the next {sessions} sessions: expected is 1 or more")
        with self._lock:
            self._once[endpoint] = (faults, self._seed if seed is None else seed, sessions)

    def settings(self) -> dict[str | None, dict[str, object]]:
        """Return what is set, by endpoint (None: all others); ``sessions`` where only the next ones get it."""
        with self._lock:
            found: dict[str | None, dict[str, object]] = {
                endpoint: {"faults": str(faults), "seed": seed} for endpoint, (faults, seed) in self._faults.items()
            }
            for endpoint, (faults, seed, left) in self._once.items():
                found.setdefault(endpoint, {})["next"] = {"faults": str(faults), "seed": seed, "sessions": left}
            return found

    @contextlib.contextmanager
    def override(self, faults: Faults, endpoint: str | None = None, seed: int | None = None) -> Iterator[None]:
        """Set faults for a while; then what was set before holds again."""
        with self._lock:
            before = self._faults.get(endpoint)
        self.set(faults, endpoint, seed)
        try:
            yield
        finally:
            self._put(before, endpoint)

    def plan(self, endpoint: str) -> FaultPlan | None:
        """Return what goes wrong in the session that is being opened; None where nothing does."""
        with self._lock:
            once = self._take_once(endpoint)
            faults, seed = once or self._faults.get(endpoint, self._faults.get(None, _NOTHING))
            if not faults.active:
                return None
            number = self._sessions[endpoint] = self._sessions.get(endpoint, 0) + 1
            return FaultPlan(faults, f"{seed}/{endpoint}/{number}")

    def _take_once(self, endpoint: str) -> tuple[Faults, int] | None:
        for key in (endpoint, None):
            if key in self._once:
                faults, seed, left = self._once.pop(key)
                if left > 1:
                    self._once[key] = faults, seed, left - 1
                return faults, seed
        return None

    def _put(self, setting: tuple[Faults, int] | None, endpoint: str | None) -> None:
        with self._lock:
            if setting is None:
                self._faults.pop(endpoint, None)
                self._once.pop(endpoint, None)
            else:
                self._faults[endpoint] = setting
            if endpoint is None:
                self._sessions.clear()
            else:
                self._sessions.pop(endpoint, None)


_NOTHING = (Faults(), 0)
