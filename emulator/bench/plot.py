"""A bar chart as SVG."""

from collections.abc import Collection, Sequence
from html import escape

__all__ = ["bars"]

_BAR, _WIDTH, _LETTER = 22, 640, 6.5


def bars(
    values: Sequence[tuple[str, float]], unit: str = "ms", *, title: str = "", strong: Collection[str] = ()
) -> str:
    """Return horizontal bars, one for each name and value; those of the `strong` names are coloured."""
    scale = _WIDTH / max((value for _, value in values), default=1)
    label = max((len(name) for name, _ in values), default=0) * _LETTER + 20
    top = 26 if title else 0
    height = _BAR * len(values) + 20 + top
    rows = [
        f'<text x="{label - 8:.0f}" y="{top + _BAR * number + 25}" text-anchor="end">{escape(name)}</text>'
        f'<rect x="{label:.0f}" y="{top + _BAR * number + 12}" width="{value * scale:.1f}" height="{_BAR - 6}" '
        f'fill="{"#2a7" if name in strong else "#999"}"/>'
        f'<text x="{label + value * scale + 6:.1f}" y="{top + _BAR * number + 25}">{_shown(value)} {unit}</text>'
        for number, (name, value) in enumerate(values)
    ]
    if title:
        rows.insert(0, f'<text x="12" y="20" font-weight="bold">{escape(title)}</text>')
    width = label + _WIDTH + 90
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" font-family="sans-serif" '
        f'font-size="12">\n' + "\n".join(rows) + "\n</svg>\n"
    )


def _shown(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"
