"""What a live run may take: time, and money beyond what the running endpoint costs anyway."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from deploy.prices import Prices, dollars

__all__ = ["Budget", "disagreement", "standing_cost"]


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


def standing_cost(instance_type: str, count: int, prices: Prices) -> str:
    """Return a line on what the endpoint costs while it exists, whether it is tested or not."""
    hour = prices.hour(instance_type, count)
    what = f"{count} x {instance_type}"
    if hour is None:
        return f"{what}: no price is known here; it is billed for every second that the endpoint exists"
    day = f"{dollars(hour)} an hour, {dollars(24 * hour)} a day"
    return f"{what}: {day}, while the endpoint exists (prices of {prices.dated}, us-east-1)"


def disagreement(what: str, *, agreed: bool, local: bool) -> str | None:
    """Return why something that bills beyond the running endpoint is not done, None where it may be.

    On this machine nothing bills.
    """
    if agreed or local:
        return None
    return f"needs --yes, since it bills beyond the running endpoint: {what}"
