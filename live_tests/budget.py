"""What a live run may take: time, and money beyond what the running endpoint costs anyway."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

__all__ = ["PRICED_ON", "Budget", "disagreement", "hourly_price", "standing_cost"]

PRICED_ON = "2026-11"
"""When the prices below were last looked up; us-east-1, on demand, US dollars."""
_HOURLY = {
    "ml.g5.xlarge": 1.41,
    "ml.g5.2xlarge": 1.52,
    "ml.g6.xlarge": 1.13,
    "ml.g4dn.xlarge": 0.74,
    "ml.m5.large": 0.12,
    "ml.m5.xlarge": 0.23,
    "ml.c5.xlarge": 0.20,
}


@dataclass
class Budget:
    """Seconds that a run may take, counted from when it is made."""

    seconds: float
    clock: Callable[[], float] = time.monotonic
    began: float = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.clock()

    @property
    def left(self) -> float:
        """Seconds that are left, at least 0."""
        return max(0.0, self.began + self.seconds - self.clock())

    @property
    def spent(self) -> bool:
        """Whether nothing is left."""
        return self.left <= 0

    def __str__(self) -> str:
        return f"the time budget of {self.seconds / 60:g} minutes"


def hourly_price(instance_type: str, count: int = 1) -> float | None:
    """Return about how many dollars the instances cost in an hour, None for a type that is not in the table."""
    price = _HOURLY.get(instance_type)
    return None if price is None else price * count


def standing_cost(instance_type: str, count: int) -> str:
    """Return a line on what the endpoint costs while it exists, whether it is tested or not."""
    price = hourly_price(instance_type, count)
    what = f"{count} x {instance_type}"
    if price is None:
        return f"{what}: no price is known here; it is billed for every second that the endpoint exists"
    return f"{what}: about ${price:.2f} an hour, ${24 * price:.0f} a day, while the endpoint exists ({PRICED_ON})"


def disagreement(what: str, *, agreed: bool, local: bool) -> str | None:
    """Return why something that bills beyond the running endpoint is not done, None where it may be.

    On this machine nothing bills.
    """
    if agreed or local:
        return None
    return f"needs --yes, since it bills beyond the running endpoint: {what}"
