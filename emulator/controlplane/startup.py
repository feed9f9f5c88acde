"""When a starting container is in service, and why it failed if it is not: a state machine without sockets."""

from dataclasses import dataclass

from emulator import facts

__all__ = ["Lifecycle", "Startup", "failure_reason"]

_MAX_REASON = 1024  # of FailureReason in the service model


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """The times of a container's life, in seconds; a test shortens them."""

    startup_limit: float = facts.seconds("life.startup")
    """Until /ping must answer; a variant's own ContainerStartupHealthCheckTimeoutInSeconds comes before it."""
    ping_timeout: float = facts.seconds("life.ping-timeout")
    """For one answer."""
    starting_interval: float = 0.5
    """Between two attempts at /ping while the container starts: shorter than SageMaker's, to save time."""
    running_interval: float = facts.seconds("life.ping-interval")
    """Between two looks at a container in service."""
    unhealthy_after: int = facts.integer("life.ping-unhealthy")
    """Failed attempts at /ping in a row after which a container in service is replaced."""
    stop_grace: float = facts.seconds("life.stop")
    """From SIGTERM to SIGKILL."""


class Startup:
    """Takes what /ping answered; ``ready`` and ``failure`` say what came of it."""

    def __init__(self, limit: float, now: float) -> None:
        self._limit = limit
        self._deadline = now + limit
        self._began = now
        self._good = 0
        self._last = "it was never asked"
        self.ready = False
        self.failure: str | None = None

    def answered(self, status: int, now: float) -> None:
        """/ping answered with an HTTP status."""
        if status == 200:
            self._good += 1
            self.ready = self._good >= facts.integer("life.ping-consistent")
            self._last = "it answered 200 once only"
        else:
            self._good = 0
            self._last = f"it answered HTTP {status}, expected is 200"
        self._look_at_clock(now)

    def silent(self, what: str, now: float) -> None:
        """/ping gave no answer."""
        self._good = 0
        self._last = what
        self._look_at_clock(now)

    def exited(self, status: int, now: float) -> None:
        """The container ended."""
        hint = ""
        if status in (126, 127):
            hint = " (the program was not found or cannot be run: see the ENTRYPOINT)"
        self.ready = False
        after = f"{now - self._began:.1f} s"
        self.failure = f"the container exited with status {status}{hint} after {after}, before /ping answered 200"

    def _look_at_clock(self, now: float) -> None:
        if not self.ready and now >= self._deadline:
            self.failure = f"/ping did not answer 200 within {self._limit:g} s; at last {self._last}"


def failure_reason(variant: str, cause: str, notes: list[str], output: str) -> str:
    """Return the FailureReason: what AWS says, then what the emulator knows, then the container's last lines."""
    said = facts.text("life.startup-text").replace("{variant}", variant)
    known = " ".join([f"(Emulator: {cause}.", *(f"{note}." for note in notes)]) + ")"
    if output:
        known += f" Last output of the container:\n{output}"
    whole = f"{said} {known}"
    if len(whole) <= _MAX_REASON:
        return whole
    cut = _MAX_REASON - len(said) - len(cause) - 60
    return f"{said} (Emulator: {cause}.) Last output of the container:\n…{whole[-cut:]}"
