"""What a load run comes to, from the counts that Locust keeps: percentiles, real-time factor, errors, sessions."""

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["FIRST_AUDIO", "REAL_TIME", "SESSION", "TURN", "Series", "lines"]

FIRST_AUDIO = "first audio"
TURN = "whole answer"
SESSION = "session opened"
REAL_TIME = "real-time factor, in thousandths"
_PERCENTILES = (0.5, 0.9, 0.95, 0.99)


@dataclass(frozen=True, slots=True)
class Series:
    """One row of Locust's statistics: how many, how many failed, and its percentiles (argument 0..1)."""

    requests: int
    failures: int
    percentile: Callable[[float], float]


def lines(series: dict[str, Series], seconds: float, users: int, instances: int | None) -> list[str]:
    """Return the report. ``seconds`` is the time of the run, ``instances`` those behind the endpoint where known."""
    head = "".join(f"{f'p{100 * percentile:g}':>10}" for percentile in _PERCENTILES)
    found = [f"{'':<30}{'count':>8}{'errors':>8}{head}"]
    for name in (SESSION, FIRST_AUDIO, TURN):
        if name in series:
            row = series[name]
            shown = "".join(f"{row.percentile(percentile):>10.0f}" for percentile in _PERCENTILES)
            found.append(f"{name + ', ms':<30}{row.requests:>8}{row.failures:>8}{shown}")
    if REAL_TIME in series:
        row = series[REAL_TIME]
        shown = "".join(f"{row.percentile(percentile) / 1000:>10.3f}" for percentile in _PERCENTILES)
        found.append(f"{'real-time factor':<30}{row.requests:>8}{'':>8}{shown}")
    turns = series.get(TURN)
    if turns is not None and seconds > 0:
        rate = turns.requests / seconds
        found.append(f"{users} callers, {seconds:.0f} s, {rate:.1f} answers/s, {_share(turns)} failed")
        if instances:
            found.append(
                f"{instances} instance{'s' if instances > 1 else ''} behind the endpoint: "
                f"{users / instances:.1f} sessions and {rate / instances:.1f} answers/s each"
            )
    return found


def _share(row: Series) -> str:
    return f"{row.failures} of {row.requests} ({row.failures / row.requests:.1%})" if row.requests else "0"
