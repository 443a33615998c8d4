"""Learning curves: every numeric column of a trace against steps, sweeps, iterations or seconds.

The columns, their names and the ranges of the charts are chosen here; the page's script draws them. Outliers that
would hide all other values are cut off, and the caption says so.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from decpomdp.report.markup import Markup, data, tag

Floats = NDArray[np.float64]
Trace = Mapping[str, Sequence[object]]

AXES = {"steps": "joint steps", "sweep": "sweeps", "iteration": "iterations", "seconds": "seconds"}
NARROWEST, WIDEST = 1e-300, 1e300  # of an axis: others would overflow
COMPARED = {**AXES, "seconds": "seconds since the first row"}  # of several runs; one of them may have compiled first
TITLES = {
    "value": "Value",
    "lower": "Proved bounds of the best value",
    "gap": "Gap between the bounds",
    "bound": "Lower bound of the evidence",
    "nodes": "Nodes per agent",
    "exploration": "Exploration rate",
    "sample_size": "Effective sample size",
    "accepted": "Changes accepted",
    "predicted": "Variance predicted by the critic",
    "states": "States of the world",
    "heldout": "Held-out log likelihood per step",
}
NO_CHART = {"error", "upper", "mean_nodes", "start", "hops", "truncation"}  # part of other charts, or not drawn
FEW = 4  # agents up to which each has its own curve of nodes
PIECES = 120  # columns to which a long trace is reduced
FAR = 8.0  # ratio of the range to the 10-90 % range above which outliers are cut off
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
    error: Floats | None = None  # standard errors
    place: int = 0  # its colour: the same in all charts of a page; every second one is dashed

    @property
    def known(self) -> Floats:
        """All finite values."""
        return self.y[np.isfinite(self.y)]

    @property
    def look(self) -> str:
        """CSS class."""
        return f"c{self.place % COLOURS}"

    @property
    def reach(self) -> Floats:
        """All known values, and the ends of the error band at the last row."""
        if self.error is None or not np.isfinite(self.error[-1]) or not np.isfinite(self.y[-1]):
            return self.known
        return np.append(self.known, self.y[-1] + np.array([-2, 2]) * self.error[-1])

    def content(self, axes: Iterable[str]) -> dict[str, Any]:
        """The points for the page's script."""
        rows = thinned(self.y, PIECES)
        columns = {axis: column(self.trace, axis) for axis in axes}
        shown = {"name": self.name, "look": self.look, "dashed": self.place % 2 == 1, "y": _short(self.y[rows])}
        if self.error is not None:
            shown["error"] = _short(np.nan_to_num(self.error[rows]))
        return {**shown, "x": {axis: _short(values[rows]) for axis, values in columns.items()}}


def curves(sources: Sequence[RunTrace]) -> Markup | None:
    """Charts of one trace, or common charts of several; None: no data."""
    several = len(sources) > 1
    sources = [_comparable(source) for source in sources] if several else sources
    axes = {axis: words for axis, words in (COMPARED if several else AXES).items() if _common(sources, axis)}
    known = {key: drawn for key in _keys(sources) if (drawn := _curves_of(sources, key))}
    if not axes or not known:
        return None
    choice = None
    if len(axes) > 1:
        buttons = [tag("button", words, type="button", data_axis=axis) for axis, words in axes.items()]
        choice = tag("p", tag("span", "against"), *buttons, class_="choice", role="group", aria_label="Horizontal axis")
    figures = [_figure(TITLES.get(key, key.replace("_", " ").capitalize()), drawn) for key, drawn in known.items()]
    charts = [
        {"range": _range(drawn), "whole": all(map(_whole, drawn)), "curves": [curve.content(axes) for curve in drawn]}
        for drawn in known.values()
    ]
    stored = data("curves-data", {"axes": axes, "charts": charts})
    return tag("div", choice, tag("div", *figures, class_="charts"), stored, class_="curves")


def _figure(title: str, drawn: list[TraceCurve]) -> Markup:
    """The caption of a chart, and a place for the chart."""
    names = [tag("span", tag("i", class_=one.look), one.name) for one in drawn if len(drawn) > 1]
    (low, high), first = _range(drawn), float(drawn[0].known[0])
    cut = len(drawn) == 1 and not low <= first <= high
    note = tag("span", f"begins at {first:.4g}") if cut else None
    ends = (f"{one.name + ' ' if one.name else ''}from {one.known[0]:.4g} to {one.known[-1]:.4g}" for one in drawn)
    chart = tag("svg", class_="chart", viewBox="0 0 420 220", role="img", aria_label=f"{title}: {', '.join(ends)}")
    return tag("figure", tag("figcaption", tag("b", title), *names, note), chart)


def _whole(curve: TraceCurve) -> bool:
    return bool(np.all(curve.known == np.round(curve.known)))


def column(trace: Trace, key: str) -> Floats:
    """A column as numbers; other cells, and numbers that are too large for a chart, become NaN."""
    cells = (cell if isinstance(cell, int | float) and abs(cell) <= WIDEST else np.nan for cell in trace.get(key, ()))
    return np.fromiter(cells, float)


def _common(sources: Sequence[RunTrace], axis: str) -> bool:
    """Whether all traces can be drawn against this axis: at least one as a curve, the others at least as a point."""
    columns = [column(source.trace, axis) for source in sources]
    return all(_rises(values) for values in columns) and any(len(values) > 1 for values in columns)


def _rises(values: Floats) -> bool:
    """Whether all values are finite and non-decreasing over a positive range; a single value is enough."""
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
    bounded = any(np.isfinite(column(source.trace, "upper")).any() for source in sources)
    known = [key for key in TITLES if key in shared]
    if "lower" in known and "value" in sources[0].trace and not bounded:
        known.remove("lower")  # a lower bound without an upper one is the value
    if len(sources) > 1:
        return known
    others = [key for key in shared if key not in (*TITLES, *AXES, *NO_CHART)]
    return known + [key for key in others if np.isfinite(column(sources[0].trace, key)).any()]


def _curves_of(sources: Sequence[RunTrace], key: str) -> list[TraceCurve]:
    """The curves of one chart that have at least one known value."""
    several, chart_curves = len(sources) > 1, []
    for source in sources:
        if key == "nodes":
            chart_curves += _node_curves(source, several)
            continue
        parts = [part for part in ("lower", "upper") if part in source.trace] if key == "lower" else [key]
        error = column(source.trace, "error") if key == "value" and not several else np.empty(0)
        for part in parts:
            y, name = column(source.trace, part), source.name if several else part if len(parts) > 1 else ""
            chart_curves.append(TraceCurve(name, source.trace, y, error if len(error) == len(y) else None))
    return [replace(curve, place=place) for place, curve in enumerate(chart_curves) if len(curve.known)]


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


def _range(drawn: list[TraceCurve]) -> tuple[float, float]:
    """The range of all curves without outliers, with a margin."""
    values = np.concatenate([_usual(curve.reach) for curve in drawn])
    low, high = float(values.min()), float(values.max())
    flat = high - low <= max(1e-5 * max(abs(high), abs(low)), NARROWEST)  # rounding errors are not drawn
    margin = max(abs(high) * 0.1, 0.5) if flat else 0.06 * (high - low)
    return low - margin, high + margin


def _usual(values: Floats) -> Floats:
    """The values without outliers that would hide the others; counts have no outliers."""
    if np.all(values == np.round(values)):
        return values
    low, high = np.quantile(values, (0.1, 0.9))
    span = max(high - low, 1e-3 * max(abs(high), abs(low), 1e-9))
    if np.ptp(values) <= FAR * span:
        return values
    return values[(values >= low - 2 * span) & (values <= high + 2 * span)]


def _short(values: Floats) -> list[float]:
    return [float(f"{value:.9g}") for value in values]


def thinned(y: Floats, pieces: int) -> list[int]:
    """The rows to draw: all finite ones or, of a long curve, the ends and extremes of `pieces` parts."""
    rows = np.flatnonzero(np.isfinite(y))
    if len(rows) <= 4 * pieces:
        return rows.tolist()
    chosen: set[int] = set()
    for first, end in pairwise(np.linspace(0, len(rows), pieces + 1).astype(int).tolist()):
        part = rows[first:end]
        chosen.update(map(int, (part[0], part[-1], part[y[part].argmin()], part[y[part].argmax()])))
    return sorted(chosen)
