"""Curves with axes, drawn as SVG. What lies so far out that nothing else could be seen is cut off and told in words.

A curve that never changes is a line like any other; one of few points has a dot at each, so that one point alone can be
seen. Every second curve is dashed: where two are the same, both can be seen.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from decpomdp.report.markup import Markup, join, number, tag
from decpomdp.report.ticks import around, said, step_for, thinned, ticks

Floats = NDArray[np.float64]

WIDTH, HEIGHT = 420, 220
LEFT, RIGHT, TOP, BOTTOM = 52.0, 12.0, 10.0, 34.0
PIECES = 120  # columns in which a long trace is thinned out
DOTTED = 12  # points, up to which each is marked
FAR = 8.0  # times the usual range: what lies further out is cut off


@dataclass(frozen=True, slots=True)
class Line:
    """One curve."""

    name: str
    x: Floats
    y: Floats
    error: Floats | None = None
    place: int = 0  # its colour: the same in all charts of a page


def chart(lines: list[Line], title: str, axis: str, between: tuple[float, float], counted: bool = False) -> Markup:
    """Curves with axes, as SVG; `between` are the ends of the upright axis, `counted`: the other one counts."""
    xs = np.concatenate([line.x for line in lines])
    (x0, x1), (y0, y1) = (float(xs.min()), float(xs.max())), between
    if x0 == x1:
        x0, x1 = x0 - 1, x1 + 1
    whole = all(np.all(known == np.round(known)) for line in lines for known in [line.y[np.isfinite(line.y)]])
    scale = _Scale(x0, x1, y0, y1, whole, counted)
    parts = [_grid(scale), tag("text", axis, class_="axis", x=WIDTH - RIGHT, y=HEIGHT - 3.0, text_anchor="end")]
    drawn = [_curve(line, line.place, scale) for line in lines]
    frame = tag(
        "svg",
        *drawn,
        x=LEFT,
        y=TOP,
        width=scale.wide,
        height=scale.high,
        class_="plot",
        overflow="visible" if len(xs) <= DOTTED else None,
    )
    hover = tag("g", tag("line", y1=TOP, y2=TOP + scale.high), class_="cross")
    return tag(
        "svg",
        *parts,
        frame,
        hover,
        class_="chart",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_label=f"{title} against {axis}: {_ends(lines)}",
        data_range=f"{x0:.9g} {x1:.9g} {y0:.9g} {y1:.9g}",
        data_frame=f"{LEFT} {TOP} {scale.wide} {scale.high}",
    )


@dataclass(frozen=True, slots=True)
class _Scale:
    x0: float
    x1: float
    y0: float
    y1: float
    whole: bool  # whether the curves are counts
    counted: bool  # whether the axis is
    wide: float = WIDTH - LEFT - RIGHT
    high: float = HEIGHT - TOP - BOTTOM

    def x(self, value: float) -> float:
        return (value - self.x0) / (self.x1 - self.x0) * self.wide

    def y(self, value: float) -> float:
        return self.high - (value - self.y0) / (self.y1 - self.y0) * self.high


def range_of(lines: list[Line]) -> tuple[float, float, str]:
    """Lowest and highest number of the axis, and words if a far beginning is cut off."""
    usual = np.concatenate([_usual(_extents(line)) for line in lines])
    y0, y1 = around(usual.tolist())
    first = float(lines[0].y[np.isfinite(lines[0].y)][0])
    return y0, y1, "" if len(lines) > 1 or y0 <= first <= y1 else f"begins at {said(first, abs(first) / 100)}"


def _usual(values: Floats) -> Floats:
    """The values without those that are so far out that nothing else could be seen; counts are all kept."""
    if np.all(values == np.round(values)):
        return values
    low, high = np.quantile(values, (0.1, 0.9))
    span = max(high - low, 1e-3 * max(abs(high), abs(low), 1e-9))
    if np.ptp(values) <= FAR * span:
        return values
    return values[(values >= low - 2 * span) & (values <= high + 2 * span)]


def _extents(line: Line) -> Floats:
    """All known numbers of a curve, and how far its band reaches at the end."""
    y = line.y[np.isfinite(line.y)]
    if line.error is None or not np.isfinite(line.error[-1]) or not np.isfinite(line.y[-1]):
        return y
    return np.append(y, line.y[-1] + np.array([-2, 2]) * line.error[-1])


def _grid(scale: _Scale) -> Markup:
    parts = []
    step = step_for(scale.y1 - scale.y0, 4)
    if scale.whole and step < 1:
        step = 1.0
    for value in ticks(scale.y0, scale.y1, step):
        y = TOP + scale.y(value)
        parts.append(tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y))
        parts.append(tag("text", said(value, step), x=LEFT - 7, y=y + 4, text_anchor="end"))
    step = step_for(scale.x1 - scale.x0, 5)
    if scale.counted and step < 1:
        step = 1.0
    for value in ticks(scale.x0, scale.x1, step):
        x = LEFT + scale.x(value)
        parts.append(tag("line", class_="tick", x1=x, x2=x, y1=HEIGHT - BOTTOM, y2=HEIGHT - BOTTOM + 4))
        parts.append(tag("text", said(value, step), x=x, y=HEIGHT - BOTTOM + 16, text_anchor="middle"))
    return tag("g", *parts, class_="grid")


def _curve(line: Line, place: int, scale: _Scale) -> Markup:
    x, y = thinned(line.x, line.y, PIECES)
    path = _path([(scale.x(a), scale.y(b)) for a, b in zip(x, y, strict=True)])
    look = f"curve c{place % 8} dashed" if place % 2 else f"curve c{place % 8}"
    drawn = tag("path", class_=look, d=path, data_name=line.name or None)
    dots = [
        tag("circle", class_=f"dot c{place % 8}", cx=scale.x(a), cy=scale.y(b), r=2.6)
        for a, b in zip(x, y, strict=True)
        if len(x) <= DOTTED and scale.y0 <= b <= scale.y1
    ]
    return join([_band(line, place, scale), drawn, *dots])


def _band(line: Line, place: int, scale: _Scale) -> Markup | None:
    """Two standard errors to either side."""
    if line.error is None or not np.isfinite(line.error).any():
        return None
    known = np.isfinite(line.y) & np.isfinite(line.error)
    x, mean, wide = line.x[known], line.y[known], 2 * line.error[known]
    over, under = thinned(x, mean + wide, PIECES), thinned(x, mean - wide, PIECES)
    there = [(scale.x(a), scale.y(b)) for a, b in zip(*over, strict=True)]
    back = [(scale.x(a), scale.y(b)) for a, b in zip(*under, strict=True)]
    return tag("path", class_=f"band c{place % 8}", d=_path(there + back[::-1]) + "z")


def _path(points: list[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{number(x)} {number(min(max(y, -9999.0), 9999.0))}" for x, y in points)


def _ends(lines: list[Line]) -> str:
    """First and last numbers, for those who cannot see the curve."""
    told = []
    for line in lines:
        known = line.y[np.isfinite(line.y)]
        told.append(f"{line.name + ' ' if line.name else ''}from {known[0]:.4g} to {known[-1]:.4g}")
    return ", ".join(told)
