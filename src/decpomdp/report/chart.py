"""Curves with axes, drawn as SVG.

Values so far out that nothing else could be seen are cut off, and the caption says so. A curve of few points has a dot
at each, so that a single point can be seen. Every second curve is dashed, so that both of two equal ones are seen.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from decpomdp.report.markup import Markup, join, number, tag

Floats = NDArray[np.float64]

WIDTH, HEIGHT = 420, 220
LEFT, RIGHT, TOP, BOTTOM = 52.0, 12.0, 10.0, 34.0
WIDE, HIGH = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
PIECES = 120  # columns to which a long trace is reduced
DOTTED = 12  # points, up to which each is marked
FAR = 8.0  # times the usual range: values further out are cut off
COLOURS = 8


@dataclass(frozen=True, slots=True)
class Line:
    """One curve."""

    name: str
    x: Floats
    y: Floats
    error: Floats | None = None
    place: int = 0  # its colour: the same in all charts of a page

    @property
    def known(self) -> Floats:
        """All finite values."""
        return self.y[np.isfinite(self.y)]


@dataclass(frozen=True, slots=True)
class _Scale:
    x0: float
    x1: float
    y0: float
    y1: float

    def points(self, x: Floats, y: Floats) -> list[tuple[float, float]]:
        """Pixels of the thinned curve."""
        xs, ys = thinned(x, y, PIECES)
        across, up = WIDE / (self.x1 - self.x0), HIGH / (self.y1 - self.y0)
        return [((a - self.x0) * across, HIGH - (b - self.y0) * up) for a, b in zip(xs, ys, strict=True)]


def chart(lines: list[Line], title: str, axis: str, counted: bool = False) -> tuple[Markup, str]:
    """The chart, and words about a beginning that is cut off; `counted`: the horizontal axis has whole numbers."""
    xs = np.concatenate([line.x for line in lines])
    x0, x1 = float(xs.min()), float(xs.max())
    if x0 == x1:
        x0, x1 = x0 - 1, x1 + 1
    y0, y1 = _around(np.concatenate([_usual(_extents(line)) for line in lines]))
    scale = _Scale(x0, x1, y0, y1)
    whole = all(np.all(line.known == np.round(line.known)) for line in lines)
    ends = ", ".join(
        f"{line.name + ' ' if line.name else ''}from {line.known[0]:.4g} to {line.known[-1]:.4g}" for line in lines
    )
    frame = {"x": LEFT, "y": TOP, "width": WIDE, "height": HIGH, "overflow": "visible" if len(xs) <= DOTTED else None}
    drawn = tag(
        "svg",
        _grid(scale, whole, counted),
        tag("text", axis, class_="axis", x=WIDTH - RIGHT, y=HEIGHT - 3.0, text_anchor="end"),
        tag("svg", *(_curve(line, scale) for line in lines), class_="plot", **frame),
        tag("g", tag("line", y1=TOP, y2=TOP + HIGH), class_="cross"),
        class_="chart",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_label=f"{title} against {axis}: {ends}",
        data_range=f"{x0:.9g} {x1:.9g} {y0:.9g} {y1:.9g}",
        data_frame=f"{LEFT} {TOP} {WIDE} {HIGH}",
    )
    first = float(lines[0].known[0])
    cut = len(lines) == 1 and not y0 <= first <= y1
    return drawn, f"begins at {tick_label(first, abs(first) / 100)}" if cut else ""


def _around(values: Floats) -> tuple[float, float]:
    """The range of the values, with a margin."""
    low, high = float(values.min()), float(values.max())
    flat = high - low <= 1e-5 * max(abs(high), abs(low))  # rounding errors are not drawn
    margin = max(abs(high) * 0.1, 0.5) if flat else 0.06 * (high - low)
    return low - margin, high + margin


def _usual(values: Floats) -> Floats:
    """The values without those so far out that nothing else could be seen; counts are all kept."""
    if np.all(values == np.round(values)):
        return values
    low, high = np.quantile(values, (0.1, 0.9))
    span = max(high - low, 1e-3 * max(abs(high), abs(low), 1e-9))
    if np.ptp(values) <= FAR * span:
        return values
    return values[(values >= low - 2 * span) & (values <= high + 2 * span)]


def _extents(line: Line) -> Floats:
    """All known values of a curve, and how far its band reaches at the end."""
    if line.error is None or not np.isfinite(line.error[-1]) or not np.isfinite(line.y[-1]):
        return line.known
    return np.append(line.known, line.y[-1] + np.array([-2, 2]) * line.error[-1])


def _grid(scale: _Scale, whole: bool, counted: bool) -> Markup:
    parts = []
    step = max(step_for(scale.y1 - scale.y0, 4), 1.0 if whole else 0.0)
    for value in ticks(scale.y0, scale.y1, step):
        y = TOP + HIGH - (value - scale.y0) / (scale.y1 - scale.y0) * HIGH
        parts.append(tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y))
        parts.append(tag("text", tick_label(value, step), x=LEFT - 7, y=y + 4, text_anchor="end"))
    step = max(step_for(scale.x1 - scale.x0, 5), 1.0 if counted else 0.0)
    for value in ticks(scale.x0, scale.x1, step):
        x = LEFT + (value - scale.x0) / (scale.x1 - scale.x0) * WIDE
        parts.append(tag("line", class_="tick", x1=x, x2=x, y1=HEIGHT - BOTTOM, y2=HEIGHT - BOTTOM + 4))
        parts.append(tag("text", tick_label(value, step), x=x, y=HEIGHT - BOTTOM + 16, text_anchor="middle"))
    return tag("g", *parts, class_="grid")


def _curve(line: Line, scale: _Scale) -> Markup:
    """Two standard errors to either side, the curve, and dots where there are few."""
    colour, band = f"c{line.place % COLOURS}", None
    if line.error is not None and np.isfinite(line.error).any():
        known = np.isfinite(line.y) & np.isfinite(line.error)
        x, mean, wide = line.x[known], line.y[known], 2 * line.error[known]
        outline = scale.points(x, mean + wide) + scale.points(x, mean - wide)[::-1]
        band = tag("path", class_=f"band {colour}", d=_path(outline) + "z")
    points = scale.points(line.x, line.y)
    look = f"curve {colour} dashed" if line.place % 2 else f"curve {colour}"
    dots = [
        tag("circle", class_=f"dot {colour}", cx=x, cy=y, r=2.6)
        for x, y in points
        if len(points) <= DOTTED and 0 <= y <= HIGH
    ]
    return join([band, tag("path", class_=look, d=_path(points), data_name=line.name or None), *dots])


def _path(points: list[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{number(x)} {number(min(max(y, -9999.0), 9999.0))}" for x, y in points)


def ticks(low: float, high: float, step: float) -> list[float]:
    """The multiples of `step` from `low` to `high`.

    >>> ticks(-3.2, 9.6, 2.0)
    [-2.0, 0.0, 2.0, 4.0, 6.0, 8.0]
    """
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [place * step for place in range(first, last + 1)]


def step_for(span: float, about: int) -> float:
    """1, 2 or 5 times a power of ten, of which about so many make the span."""
    rough = span / about
    power = 10.0 ** math.floor(math.log10(rough))
    return min((m * power for m in (1.0, 2.0, 5.0, 10.0)), key=lambda step: abs(math.log(step / rough)))


def tick_label(value: float, step: float) -> str:
    """A number on an axis whose ticks are `step` apart.

    >>> tick_label(1500000.0, 500000.0), tick_label(0.25, 0.05), tick_label(12.0, 2.0), tick_label(-3e16, 1e16)
    ('1.5M', '0.25', '12', '-3e+16')
    """
    if abs(value) >= 1e12 or 0 < step < 1e-6:
        return f"{value:.3g}"
    _, unit, letter = next(
        (row for row in ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")) if abs(value) >= row[0]), (0.0, 1.0, "")
    )
    digits = max(0, -math.floor(math.log10(step / unit) + 1e-9)) if step > 0 and value else 0
    return f"{value / unit:.{digits}f}{letter}"


def thinned(x: Floats, y: Floats, pieces: int) -> tuple[list[float], list[float]]:
    """The line through all finite points as it looks in `pieces` columns of pixels: the ends and extremes of each."""
    fine = np.isfinite(x) & np.isfinite(y)
    x, y = x[fine], y[fine]
    if len(x) <= 4 * pieces:
        return x.tolist(), y.tolist()
    span = float(x.max() - x.min()) or 1.0
    column = np.minimum(((x - x.min()) / span * pieces).astype(int), pieces - 1)
    chosen: set[int] = set()
    for first, end in pairwise([*np.flatnonzero(np.diff(column, prepend=-1)).tolist(), len(x)]):
        part = y[first:end]
        chosen.update((first, end - 1, first + int(part.argmin()), first + int(part.argmax())))
    rows = sorted(chosen)
    return x[rows].tolist(), y[rows].tolist()
