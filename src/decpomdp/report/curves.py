"""Learning curves: every numeric column of a trace against steps, sweeps, iterations or seconds, drawn as SVG.

Values so far out that nothing else could be seen are cut off, and the caption says so. A curve of few points has a dot
at each, so that a single point can be seen. Every second curve is dashed, so that both of two equal ones are seen.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from decpomdp.report.markup import Markup, join, number, tag

Floats = NDArray[np.float64]
Trace = Mapping[str, Sequence[object]]

AXES = {"steps": "joint steps", "sweep": "sweeps", "iteration": "iterations", "seconds": "seconds"}
NARROWEST, WIDEST = 1e-300, 1e300  # of an axis: ticks of others would overflow
COMPARED = {**AXES, "seconds": "seconds since the first row"}  # of several runs: the first may have compiled
COUNTED = {"steps", "sweep", "iteration"}  # axes of whole numbers
TITLES = {
    "value": "Value",
    "lower": "Proved bounds of the best value",
    "gap": "Gap between the bounds",
    "bound": "Lower bound of the evidence",
    "nodes": "Nodes per agent",
    "exploration": "Exploration rate",
    "sample_size": "Effective sample size",
    "accepted": "Changes accepted",
    "foretold": "Variance predicted by the critic",
}
TOGETHER = {"lower": ("lower", "upper")}  # drawn in one chart
SPREAD = {"value": "error"}  # standard errors of another column
NO_CHART = {"error", "upper", "mean_nodes", "start", "hops", "truncation"}  # part of other charts, or not drawn
FEW = 4  # agents whose nodes are drawn apart
WIDTH, HEIGHT = 420, 220
LEFT, RIGHT, TOP, BOTTOM = 60.0, 12.0, 10.0, 34.0
WIDE, HIGH = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
PIECES = 120  # columns to which a long trace is reduced
DOTTED = 12  # points, up to which each is marked
FAR = 8.0  # times the usual range: values further out are cut off
COLOURS = 8


@dataclass(frozen=True, slots=True)
class RunTrace:
    """The trace of one run."""

    name: str
    trace: Trace
    agents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TraceCurve:
    """One column of a trace."""

    name: str
    trace: Trace
    y: Floats
    error: Floats | None = None
    place: int = 0  # its colour: the same in all charts of a page

    @property
    def known(self) -> Floats:
        """All finite values."""
        return self.y[np.isfinite(self.y)]

    @property
    def reach(self) -> Floats:
        """All known values, and how far the band reaches at the end."""
        if self.error is None or not np.isfinite(self.error[-1]) or not np.isfinite(self.y[-1]):
            return self.known
        return np.append(self.known, self.y[-1] + np.array([-2, 2]) * self.error[-1])


def curves(sources: Sequence[RunTrace]) -> Markup | None:
    """Charts of one trace, or of several in common charts; None: no data."""
    several = len(sources) > 1
    sources = [_comparable(source) for source in sources] if several else sources
    axes = {axis: words for axis, words in (COMPARED if several else AXES).items() if _common(sources, axis)}
    by_key = {key: _curves_of(sources, key) for key in _keys(sources)}
    known = {key: found for key, found in by_key.items() if found}
    if not axes or not known:
        return None
    choice, first = None, next(iter(axes))
    if len(axes) > 1:
        buttons = [
            tag("button", words, type="button", data_axis=axis, aria_pressed="true" if axis == first else "false")
            for axis, words in axes.items()
        ]
        choice = tag("p", tag("span", "against"), *buttons, class_="choice", role="group", aria_label="Horizontal axis")
    empty = ", ".join(_title(key).lower() for key in by_key if key not in known)
    unknown = tag("p", f"No data for: {empty}.", class_="note unknown") if empty else None
    figures = [_figure(key, found, axis, words) for axis, words in axes.items() for key, found in known.items()]
    return tag("div", choice, unknown, tag("div", *figures, class_="charts"), class_="curves", data_axis=first)


def _title(key: str) -> str:
    return TITLES.get(key, key.replace("_", " ").capitalize())


def column(trace: Trace, key: str) -> Floats:
    """A column as numbers; other cells become NaN."""
    return np.array([np.nan if not isinstance(v, int | float) else float(v) for v in trace.get(key, ())])


def _common(sources: Sequence[RunTrace], axis: str) -> bool:
    """Whether all can be drawn against it: at least one as a curve, others at least as a point."""
    columns = [column(source.trace, axis) for source in sources]
    return all(_rises(values) for values in columns) and any(len(values) > 1 for values in columns)


def _rises(values: Floats) -> bool:
    """Whether all values are finite and none is below the one before; a single one is enough."""
    if len(values) < 2 or not np.isfinite(values).all():
        return len(values) == 1 and bool(np.isfinite(values[0]))
    span = float(values[-1]) - float(values[0])
    return bool(np.all(values[1:] >= values[:-1])) and NARROWEST < span < WIDEST


def _comparable(source: RunTrace) -> RunTrace:
    """Seconds since the first row, because one run may have compiled first; a planner's lower bound as its value."""
    trace = dict(source.trace)
    seconds = column(trace, "seconds")
    if len(seconds):
        trace["seconds"] = (seconds - seconds[0]).tolist()
    if "value" not in trace and "lower" in trace:
        trace["value"] = trace["lower"]
    return replace(source, trace=trace)


def _keys(sources: Sequence[RunTrace]) -> list[str]:
    """Columns to draw: the well-known ones first, then all others that hold numbers."""
    shared = [key for key in sources[0].trace if all(key in source.trace for source in sources)]
    known = [key for key in TITLES if key in shared and _says_more(sources, key)]
    if len(sources) > 1:
        return known
    others = [key for key in shared if key not in (*TITLES, *AXES, *NO_CHART)]
    return known + [key for key in others if np.isfinite(column(sources[0].trace, key)).any()]


def _says_more(sources: Sequence[RunTrace], key: str) -> bool:
    """A lower bound without an upper one is the value."""
    upper = [column(source.trace, "upper") for source in sources]
    return key != "lower" or "value" not in sources[0].trace or any(np.isfinite(values).any() for values in upper)


def _curves_of(sources: Sequence[RunTrace], key: str) -> list[TraceCurve]:
    """The curves of one chart, without those of which no value is known."""
    several, found = len(sources) > 1, []
    for source in sources:
        if key == "nodes":
            found += _node_curves(source, several)
            continue
        parts = [part for part in TOGETHER.get(key, (key,)) if part in source.trace]
        error = column(source.trace, SPREAD[key]) if key in SPREAD and not several else np.empty(0)
        for part in parts:
            y, name = column(source.trace, part), source.name if several else part if len(parts) > 1 else ""
            found.append(TraceCurve(name, source.trace, y, error if len(error) == len(y) else None))
    return [replace(curve, place=place) for place, curve in enumerate(found) if len(curve.known)]


def _node_curves(source: RunTrace, several: bool) -> list[TraceCurve]:
    """Nodes, written 3+4 or [3, 4]: one curve per agent, or the mean of many."""
    cells = source.trace["nodes"]
    rows = [[str(n) for n in cell] if isinstance(cell, list | tuple) else str(cell).split("+") for cell in cells]
    if any(not part.isdigit() for row in rows for part in row) or len({len(row) for row in rows}) != 1:
        return []
    sizes = np.array(rows, dtype=float)  # [row, n]
    if several or sizes.shape[1] > FEW or sizes.shape[1] != len(source.agents):
        return [TraceCurve(source.name if several else "", source.trace, sizes.mean(axis=1))]
    return [TraceCurve(name, source.trace, sizes[:, n]) for n, name in enumerate(source.agents)]


def _figure(key: str, found: list[TraceCurve], axis: str, words: str) -> Markup:
    """A chart with its caption."""
    chart = _Chart(found, axis)
    rows, known = sum(len(curve.y) for curve in found), sum(len(curve.known) for curve in found)
    gaps = f"{rows - known} of {rows} points have no value" if known < rows else ""
    names = [tag("span", tag("i", class_=f"c{one.place % COLOURS}"), one.name) for one in found if len(found) > 1]
    notes = [tag("span", note) for note in (chart.cut(), gaps) if note]
    caption = tag("figcaption", tag("b", _title(key)), *names, *notes)
    return tag("figure", caption, chart.drawn(_title(key), words), data_axis=axis)


class _Chart:
    """Curves with axes."""

    def __init__(self, found: list[TraceCurve], axis: str) -> None:
        self.curves, self.axis = found, axis
        xs = np.concatenate([column(curve.trace, axis) for curve in found])
        self.points, self.x0, self.x1 = len(xs), float(xs.min()), float(xs.max())
        if self.x0 == self.x1:
            self.x0, self.x1 = self.x0 - 1, self.x1 + 1
        self.y0, self.y1 = _around(np.concatenate([_usual(curve.reach) for curve in found]))

    def cut(self) -> str:
        """Words about the beginning of a single curve that is cut off."""
        first = float(self.curves[0].known[0])
        cut = len(self.curves) == 1 and not self.y0 <= first <= self.y1
        return f"begins at {tick_label(first, abs(first) / 100)}" if cut else ""

    def drawn(self, title: str, axis: str) -> Markup:
        """As SVG."""
        frame = {"x": LEFT, "y": TOP, "width": WIDE, "height": HIGH}
        ends = (
            f"{one.name + ' ' if one.name else ''}from {one.known[0]:.4g} to {one.known[-1]:.4g}" for one in self.curves
        )
        return tag(
            "svg",
            self._grid(),
            tag("text", axis, class_="axis", x=WIDTH - RIGHT, y=HEIGHT - 3.0, text_anchor="end"),
            tag(
                "svg",
                *(self._curve(curve) for curve in self.curves),
                class_="plot",
                **frame,
                overflow="visible" if self.points <= DOTTED else None,
            ),
            tag("g", tag("line", y1=TOP, y2=TOP + HIGH), class_="cross"),
            class_="chart",
            viewBox=f"0 0 {WIDTH} {HEIGHT}",
            role="img",
            aria_label=f"{title} against {axis}: {', '.join(ends)}",
            data_range=f"{self.x0:.9g} {self.x1:.9g} {self.y0:.9g} {self.y1:.9g}",
            data_frame=f"{LEFT} {TOP} {WIDE} {HIGH}",
        )

    def _grid(self) -> Markup:
        parts = []
        whole = all(np.all(curve.known == np.round(curve.known)) for curve in self.curves)
        step = max(step_for(self.y1 - self.y0, 4), 1.0 if whole else 0.0)
        for value in ticks(self.y0, self.y1, step):
            y = TOP + HIGH - (value - self.y0) / (self.y1 - self.y0) * HIGH
            parts.append(tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y))
            parts.append(tag("text", tick_label(value, step), x=LEFT - 7, y=y + 4, text_anchor="end"))
        step = max(step_for(self.x1 - self.x0, 5), 1.0 if self.axis in COUNTED else 0.0)
        for value in ticks(self.x0, self.x1, step):
            x = LEFT + (value - self.x0) / (self.x1 - self.x0) * WIDE
            parts.append(tag("line", class_="tick", x1=x, x2=x, y1=HEIGHT - BOTTOM, y2=HEIGHT - BOTTOM + 4))
            parts.append(tag("text", tick_label(value, step), x=x, y=HEIGHT - BOTTOM + 16, text_anchor="middle"))
        return tag("g", *parts, class_="grid")

    def _curve(self, curve: TraceCurve) -> Markup:
        """Two standard errors to either side, the curve, and dots where there are few."""
        x, colour, band = column(curve.trace, self.axis), f"c{curve.place % COLOURS}", None
        if curve.error is not None and np.isfinite(curve.error).any():
            outline = self._pixels(x, curve.y + 2 * curve.error) + self._pixels(x, curve.y - 2 * curve.error)[::-1]
            band = tag("path", class_=f"band {colour}", d=_path(outline) + "z")
        points = self._pixels(x, curve.y)
        look = f"curve {colour} dashed" if curve.place % 2 else f"curve {colour}"
        dots = [
            tag("circle", class_=f"dot {colour}", cx=x, cy=y, r=2.6)
            for x, y in points
            if len(points) <= DOTTED and 0 <= y <= HIGH
        ]
        return join([band, tag("path", class_=look, d=_path(points), data_name=curve.name or None), *dots])

    def _pixels(self, x: Floats, y: Floats) -> list[tuple[float, float]]:
        """The thinned curve."""
        xs, ys = thinned(x, y, PIECES)
        across, up = WIDE / (self.x1 - self.x0), HIGH / (self.y1 - self.y0)
        return [((a - self.x0) * across, HIGH - (b - self.y0) * up) for a, b in zip(xs, ys, strict=True)]


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
    rough = max(span / about, 1e-300)
    power = 10.0 ** math.floor(math.log10(rough))
    return min((m * power for m in (1.0, 2.0, 5.0, 10.0)), key=lambda step: abs(math.log(step / rough)))


def tick_label(value: float, step: float) -> str:
    """A number on an axis whose ticks are `step` apart; in thousands, millions ... where that is shorter.

    >>> tick_label(1500000.0, 500000.0), tick_label(0.25, 0.05), tick_label(-13215.0, 5.0), tick_label(-3e16, 1e16)
    ('1.5M', '0.25', '-13215', '-3e+16')
    """
    if abs(value) >= 1e12 or 0 < step < 1e-6:
        return f"{value:.3g}"
    words = []
    for least, unit, letter in ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k"), (0.0, 1.0, "")):
        if abs(value) >= least:
            digits = max(0, -math.floor(math.log10(step / unit) + 1e-9)) if step > 0 and value else 0
            words.append(f"{value / unit:.{digits}f}{letter}")
    return min(words, key=len)


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
