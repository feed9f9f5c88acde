"""What a load run comes to, from the counts that Locust keeps: percentiles, real-time factor, errors, sessions."""

from collections.abc import Callable
from dataclasses import dataclass

from live_tests.load.turn import Heard

__all__ = ["FAILED", "FIRST_AUDIO", "REAL_TIME", "SESSION", "TURN", "Series", "lines", "rows"]

FIRST_AUDIO = "first audio"
TURN = "whole answer"
FAILED = "failed answer"
SESSION = "session opened"
REAL_TIME = "real-time factor, in thousandths"
_PERCENTILES = (0.5, 0.9, 0.95, 0.99)


@dataclass(frozen=True, slots=True)
class Series:
    """One row of Locust's statistics: how many, how many failed, and its percentiles (argument 0..1)."""

    requests: int
    failures: int
    percentile: Callable[[float], float]


def rows(heard: Heard) -> dict[str, float]:
    """Return the rows that a turn counts in, with its value in each: ms, for the real-time factor thousandths.

    A turn that failed is in a row of its own: an answer that was refused at once, or ended early, is none that came
    fast, and an overloaded endpoint has many of them.
    """
    opened = {} if heard.opened_ms is None else {SESSION: heard.opened_ms}
    if heard.error is not None:
        return opened | {FAILED: heard.total_ms}
    first = {} if heard.first_audio_ms is None else {FIRST_AUDIO: heard.first_audio_ms}
    factor = {} if heard.real_time_factor is None else {REAL_TIME: 1000 * heard.real_time_factor}
    return opened | first | factor | {TURN: heard.total_ms}


def lines(series: dict[str, Series], seconds: float, users: int, instances: int | None) -> list[str]:
    """Return the report. ``seconds`` is the time of the run, ``instances`` those behind the endpoint where known."""
    head = "".join(f"{f'p{100 * percentile:g}':>10}" for percentile in _PERCENTILES)
    found = [f"{'':<30}{'count':>8}{'errors':>8}{head}"]
    none = Series(0, 0, lambda _: 0.0)
    answered, failed = series.get(TURN, none), series.get(FAILED, none)
    asked = answered.requests + failed.requests
    for name in (SESSION, FIRST_AUDIO, TURN):
        row = series.get(name, none)
        counts = (asked, failed.requests) if name == TURN else (row.requests, row.failures)
        if any(counts):
            found.append(f"{name + ', ms':<30}{counts[0]:>8}{counts[1]:>8}{_percentiles(row, '10.0f')}")
    if REAL_TIME in series:
        row = series[REAL_TIME]
        found.append(f"{'real-time factor':<30}{row.requests:>8}{'':>8}{_percentiles(row, '10.3f', 1000)}")
    if failed.requests:
        found.append("percentiles: of the answers that came whole")
    if asked and seconds > 0:
        rate = answered.requests / seconds
        share = f"{failed.requests} of {asked} ({failed.requests / asked:.1%})"
        found.append(f"{users} callers, {seconds:.0f} s, {rate:.1f} answers/s, {share} failed")
        if instances:
            found.append(
                f"{instances} instance{'s' if instances > 1 else ''} behind the endpoint: "
                f"{users / instances:.1f} sessions and {rate / instances:.1f} answers/s each"
            )
    return found


def _percentiles(row: Series, form: str, divisor: float = 1.0) -> str:
    if not row.requests:
        return f"{'-':>10}" * len(_PERCENTILES)
    return "".join(format(row.percentile(percentile) / divisor, form) for percentile in _PERCENTILES)
