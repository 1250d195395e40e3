"""A chart of the calls and their durations by day, as SVG. Pure; it needs no library."""

from collections.abc import Callable, Sequence
from html import escape
from typing import Final

from search_mcp.cli.usage.report import Calls

FORMATS: Final = (".svg",)
_WIDTH: Final = 720
_LEFT, _RIGHT = 64, 16
_HEIGHT: Final = 150
"""Height of each of the two charts."""
_TOPS: Final = (48, 268)
_BOTTOM: Final = _TOPS[1] + _HEIGHT + 40
_MOST_LABELS: Final = 8
_STEPS: Final = 4
_BLUE, _RED, _GRAY = "#3b78b5", "#c4453c", "#777777"


def drawn(days: Sequence[Calls]) -> str:
    """Draw the calls and errors of each day, and below them how long the calls took."""
    counts, errors = [each.count for each in days], [each.errors for each in days]
    halves, most = ([each.seconds(part) or 0.0 for each in days] for part in (0.5, 0.95))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_BOTTOM}" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        *_axes(_TOPS[0], "Calls a day", [("calls", _BLUE), ("with errors", _RED)], max(counts, default=0), "{:,.0f}"),
        *_bars(counts, max(counts, default=0), _BLUE),
        *_bars(errors, max(counts, default=0), _RED),
        *_days(days, _TOPS[0]),
        *_axes(_TOPS[1], "Duration, s", [("p50", _BLUE), ("p95", _RED)], max(most, default=0.0), "{:,.3g}"),
        *_line(halves, max(most, default=0.0), _BLUE),
        *_line(most, max(most, default=0.0), _RED),
        *_days(days, _TOPS[1]),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _text(x: float, y: float, text: str, anchor: str = "start", colour: str = "black") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} font-family="sans-serif" fill="{colour}">{escape(text)}</text>'


def _axes(top: int, title: str, names: Sequence[tuple[str, str]], highest: float, number: str) -> list[str]:
    parts = [_text(_LEFT, top - 16, title)]
    for position, (name, colour) in enumerate(reversed(names)):
        parts.append(_text(_WIDTH - _RIGHT - position * 90, top - 16, name, "end", colour))
    for step in range(_STEPS + 1) if highest else (0,):
        y = top + _HEIGHT * (1 - step / _STEPS)
        parts.append(f'<path d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}" stroke="{_GRAY}" stroke-width="0.3"/>')
        parts.append(_text(_LEFT - 6, y + 4, number.format(highest * step / _STEPS), "end", _GRAY))
    return parts


def _middle(position: int, count: int) -> float:
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (position + 0.5) / count


def _height(highest: float) -> Callable[[float], float]:
    return lambda value: _HEIGHT * value / highest if highest else 0.0


def _bars(values: Sequence[int], highest: int, colour: str) -> list[str]:
    width, height = 0.7 * (_WIDTH - _LEFT - _RIGHT) / max(1, len(values)), _height(highest)
    return [
        f'<rect x="{_middle(position, len(values)) - width / 2:.1f}" y="{_TOPS[0] + _HEIGHT - height(value):.1f}" '
        f'width="{width:.1f}" height="{height(value):.1f}" fill="{colour}"/>'
        for position, value in enumerate(values)
        if value
    ]


def _line(values: Sequence[float], highest: float, colour: str) -> list[str]:
    """Draw a line through the days that have a value."""
    height = _height(highest)
    points = [
        (_middle(position, len(values)), _TOPS[1] + _HEIGHT - height(value))
        for position, value in enumerate(values)
        if value
    ]
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    dots = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" fill="{colour}"/>' for x, y in points]
    return [f'<path d="M{path}" fill="none" stroke="{colour}"/>', *dots] if points else []


def _days(days: Sequence[Calls], top: int) -> list[str]:
    step = -(-len(days) // _MOST_LABELS) or 1
    return [
        _text(_middle(position, len(days)), top + _HEIGHT + 16, each.name[5:], "middle", _GRAY)
        for position, each in enumerate(days)
        if position % step == 0
    ]
