"""Charts as SVG, without a plotting library: lines over numbers, bars over names."""

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import Any, Self

WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 200, 50, 56
MAX_TICKS = 8
LETTER = 6.0
COLOURS = ("#0b62a4", "#d2691e", "#3c8031", "#8e44ad", "#7f7f7f", "#b22222")

type Point = tuple[float, float]


@dataclass(frozen=True)
class Chart:
    """Named series of points (x, y); with `names`, x is an index into them and bars are drawn."""

    title: str
    x: str
    y: str
    series: Mapping[str, Sequence[Point]]
    names: Sequence[str] = ()

    def data(self) -> dict[str, Any]:
        """Return it for JSON."""
        return asdict(self)

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Self:
        """Read what `data` returned. Raises ValueError."""
        try:
            series = {str(name): [(float(x), float(y)) for x, y in points] for name, points in data["series"].items()}
            names = tuple(map(str, data.get("names", ())))
            return cls(str(data["title"]), str(data["x"]), str(data["y"]), series, names)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"no chart: {error!r}") from error

    def svg(self) -> str:
        """Return a picture of its own."""
        points = [point for line in self.series.values() for point in line]
        top = _ceiling(max((y for _, y in points), default=1.0))
        span = (-0.5, len(self.names) - 0.5) if self.names else _span([x for x, _ in points])

        def at(x: float, y: float) -> Point:
            across = (x - span[0]) / (span[1] - span[0] or 1)
            return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - y / top * (HEIGHT - TOP - BOTTOM)

        parts = [_text(WIDTH / 2, 26, self.title, "middle", 15)]
        for step in range(5):
            value = top * step / 4
            _, level = at(span[0], value)
            parts.append(_line((LEFT, level), (WIDTH - RIGHT, level), "#ddd"))
            parts.append(_text(LEFT - 8, level + 4, f"{value:g}", "end"))
        for x, label in enumerate(self.names) if self.names else _ticks([x for x, _ in points]):
            for number, line_of_it in enumerate(self._wrapped(label)):
                parts.append(_text(at(x, 0)[0], HEIGHT - BOTTOM + 16 + 13 * number, line_of_it, "middle", 11))
        parts.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, self.x, "middle"))
        turned = f'transform="rotate(-90 18 {HEIGHT / 2})"'
        parts.append(_text(18, HEIGHT / 2, self.y, "middle", more=turned))
        for number, (name, line) in enumerate(self.series.items()):
            colour = COLOURS[number % len(COLOURS)]
            parts += self._bars(number, line, at, colour) if self.names else _curve(line, at, colour)
            level = TOP + 12 + 20 * number
            parts.append(f'<rect x="{WIDTH - RIGHT + 14}" y="{level - 10}" width="12" height="12" fill="{colour}"/>')
            parts.append(_text(WIDTH - RIGHT + 32, level, name))
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">'
        background = f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>'
        return "\n".join([head, background, *parts, "</svg>", ""])

    def _wrapped(self, label: str) -> list[str]:
        """Return a name in at most two lines, as wide as its bars."""
        room = (WIDTH - LEFT - RIGHT) / max(len(self.names), 1)
        return textwrap.wrap(label, max(int(room / LETTER), 1), max_lines=2, placeholder="…")

    def _bars(self, number: int, line: Sequence[Point], at: Any, colour: str) -> list[str]:
        share = 0.8 / len(self.series)
        bars = []
        for x, y in line:
            left, level = at(x - 0.4 + number * share, y)
            right, bottom = at(x - 0.4 + (number + 1) * share, 0)
            size = f'width="{right - left:.1f}" height="{bottom - level:.1f}"'
            bars.append(f'<rect x="{left:.1f}" y="{level:.1f}" {size} fill="{colour}"/>')
            bars.append(_text((left + right) / 2, level - 4, f"{y:.3g}", "middle", 10))
        return bars


def _curve(line: Sequence[Point], at: Any, colour: str) -> list[str]:
    spots = [at(x, y) for x, y in line]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
    dots = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in spots]
    return [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>', *dots]


def _ticks(values: Sequence[float]) -> list[tuple[float, str]]:
    """Return all values where they are few, else seven in even steps."""
    found = sorted(set(values))
    if len(found) > MAX_TICKS:
        low, high = found[0], found[-1]
        found = [low + (high - low) * step / 6 for step in range(7)]
    return [(x, f"{x:.4g}") for x in found]


def _span(values: Sequence[float]) -> Point:
    return (min(values, default=0.0), max(values, default=1.0))


def _ceiling(value: float) -> float:
    """Return the next of 1, 2, 2.5, 4, 5, 8 times a power of ten: its quarters read well."""
    if value <= 0 or not math.isfinite(value):
        return 1.0
    power: float = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 2.5, 4, 5, 8, 10) if step * power >= value * (1 - 1e-9))


def _line(one: Point, two: Point, colour: str) -> str:
    return f'<line x1="{one[0]}" y1="{one[1]:.1f}" x2="{two[0]}" y2="{two[1]:.1f}" stroke="{colour}"/>'


def _text(x: float, y: float, text: str, anchor: str = "start", size: int = 12, more: str = "") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"'
    return f"<text {place} {more}>{escape(text)}</text>"
