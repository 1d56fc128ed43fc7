"""The time of a run over its slots as an SVG drawing: the simulated curve, what no run can beat, the run itself."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from asyncstate.report.terminal import count, short_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from asyncstate.analyse.what_if import WhatIf

_WIDTH, _HEIGHT = 900, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 30, 50, 60
_STEPS = 5
_STYLE = (
    "text { font: 12px system-ui, sans-serif; fill: #52606d; } .title { font-size: 15px; fill: #1f2933; } "
    ".grid { stroke: #e4e7eb; } .axis { stroke: #9aa5b1; } .curve { fill: none; stroke: #0a84a8; stroke-width: 2.5; } "
    ".bound { fill: none; stroke: #c99a2e; stroke-width: 1.5; stroke-dasharray: 6 4; } .dot { fill: #0a84a8; } "
    ".run { fill: #c52707; }"
)


def curve_svg(found: WhatIf, title: str) -> str:
    """Return the drawing. The slots stand on a logarithmic scale: doubling them is one step."""
    across, up = _scales(found)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}">',
        f'<style>{_STYLE}</style><rect width="100%" height="100%" fill="#ffffff"/>',
        f'<text class="title" x="{_LEFT}" y="28">{escape(title)}</text>',
        *_axes(found, across, up),
        _line("bound", [(across(point.slots), up(point.bound)) for point in found.points]),
        _line("curve", [(across(point.slots), up(point.seconds)) for point in found.points]),
        *_dots(found, across, up),
        *_legend(found),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _scales(found: WhatIf) -> tuple[Callable[[float], float], Callable[[float], float]]:
    low, high = math.log2(found.points[0].slots), math.log2(found.points[-1].slots)
    tallest = _tallest(found)
    inner_width, inner_height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM

    def across(slots: float) -> float:
        place = 0.5 if high == low else (math.log2(slots) - low) / (high - low)
        return _LEFT + inner_width * place

    def up(seconds: float) -> float:
        return _TOP + inner_height * (1 - seconds / tallest)

    return across, up


def _tallest(found: WhatIf) -> float:
    """Return the top of the scale of seconds: a round number not below any value."""
    most = max([point.seconds for point in found.points] + ([found.wall] if _has_run(found) else []))
    if most <= 0:
        return 1.0
    step = 10 ** math.floor(math.log10(most))
    return float(next(step * part for part in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if step * part >= most * 0.999))


def _has_run(found: WhatIf) -> bool:
    """Whether the recorded run is within the drawing."""
    return found.points[0].slots <= found.slots <= found.points[-1].slots


def _axes(found: WhatIf, across: Callable[[float], float], up: Callable[[float], float]) -> Iterator[str]:
    tallest = _tallest(found)
    right, floor = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    for step in range(_STEPS + 1):
        seconds = tallest * step / _STEPS
        height = up(seconds)
        kind = "axis" if step == 0 else "grid"
        yield f'<path class="{kind}" d="M{_LEFT} {height:.1f}H{right}"/>'
        label = "0" if step == 0 else short_time(seconds)
        yield f'<text x="{_LEFT - 8}" y="{height + 4:.1f}" text-anchor="end">{label}</text>'
    for slots in _marks(found):
        place = across(slots)
        yield f'<path class="axis" d="M{place:.1f} {floor}v5"/>'
        yield f'<text x="{place:.1f}" y="{floor + 19}" text-anchor="middle">{slots}</text>'


def _marks(found: WhatIf) -> list[int]:
    first, last = found.points[0].slots, found.points[-1].slots
    powers = [1 << bit for bit in range(last.bit_length()) if first <= 1 << bit <= last]
    return sorted({first, last, *(power for power in powers if power * 1.3 < last and power > first * 1.3)})


def _line(kind: str, places: Sequence[tuple[float, float]]) -> str:
    return f'<polyline class="{kind}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in places)}"/>'


def _dots(found: WhatIf, across: Callable[[float], float], up: Callable[[float], float]) -> Iterator[str]:
    for point in found.points:
        text = f"{count(point.slots, 'slot')}: {short_time(point.seconds)}, {point.speedup:.1f} times as fast as one"
        yield (
            f'<circle class="dot" cx="{across(point.slots):.1f}" cy="{up(point.seconds):.1f}" r="2.5">'
            f"<title>{text}</title></circle>"
        )
    if _has_run(found):
        text = f"The run itself: {count(found.slots, 'slot')}, {short_time(found.wall)}"
        yield (
            f'<circle class="run" cx="{across(found.slots):.1f}" cy="{up(found.wall):.1f}" r="5">'
            f"<title>{text}</title></circle>"
        )


def _legend(found: WhatIf) -> Iterator[str]:
    base = _HEIGHT - 16
    yield f'<path class="curve" d="M{_LEFT} {base - 4}h30"/><text x="{_LEFT + 38}" y="{base}">time by slots</text>'
    yield f'<path class="bound" d="M{_LEFT + 150} {base - 4}h30"/>'
    yield f'<text x="{_LEFT + 188}" y="{base}">no run is faster: critical path, work by slots</text>'
    if _has_run(found):
        yield f'<circle class="run" cx="{_LEFT + 480}" cy="{base - 4}" r="5"/>'
        yield f'<text x="{_LEFT + 492}" y="{base}">the run itself</text>'
