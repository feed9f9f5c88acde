"""A bar chart as SVG."""

from collections.abc import Sequence
from html import escape

__all__ = ["bars"]

_BAR, _LABEL, _WIDTH = 22, 230, 640


def bars(values: Sequence[tuple[str, float]], unit: str = "ms") -> str:
    """Return horizontal bars, one for each name and value."""
    scale = _WIDTH / max((value for _, value in values), default=1)
    height = _BAR * len(values) + 20
    rows = [
        f'<text x="{_LABEL - 8}" y="{_BAR * number + 25}" text-anchor="end">{escape(name)}</text>'
        f'<rect x="{_LABEL}" y="{_BAR * number + 12}" width="{value * scale:.1f}" height="{_BAR - 6}" '
        f'fill="{"#2a7" if "bidi" in name else "#999"}"/>'
        f'<text x="{_LABEL + value * scale + 6:.1f}" y="{_BAR * number + 25}">{value:.0f} {unit}</text>'
        for number, (name, value) in enumerate(values)
    ]
    width = _LABEL + _WIDTH + 90
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
        f'font-size="12">\n' + "\n".join(rows) + "\n</svg>\n"
    )
