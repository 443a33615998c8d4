"""Learning curves: every numeric column of a trace against steps, sweeps, iterations or seconds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from decpomdp.report.chart import COLOURS, Floats, Line, chart
from decpomdp.report.listing import in_words, sizes_of
from decpomdp.report.markup import Markup, table, tag

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
}
TOGETHER = {"lower": ("lower", "upper")}  # drawn in one chart
SPREAD = {"value": "error"}  # standard errors of another column
NO_CHART = {"error", "upper", "mean_nodes", "start", "hops", "truncation"}  # part of other charts, or not drawn

FEW = 4  # agents whose nodes are drawn apart


@dataclass(frozen=True, slots=True)
class RunTrace:
    """The trace of one run."""

    name: str
    trace: Trace
    agents: tuple[str, ...]


def curves(sources: Sequence[RunTrace]) -> Markup | None:
    """Charts of one trace, or of several in common charts; None: no data."""
    sources = [_comparable(source) for source in sources] if len(sources) > 1 else sources
    words = COMPARED if len(sources) > 1 else AXES
    axes = [axis for axis in AXES if _common(sources, axis)]
    keys = _keys(sources)
    drawn = [_figure(sources, key, axis) for axis in axes for key in keys]
    if not any(drawn):
        return _only_row(sources[0]) if len(sources) == 1 else None
    choice = None
    if len(axes) > 1:
        pressed = {axis: "true" if axis == axes[0] else "false" for axis in axes}
        buttons = [
            tag("button", words[axis], type="button", data_axis=axis, aria_pressed=pressed[axis]) for axis in axes
        ]
        choice = tag("p", tag("span", "against"), *buttons, class_="choice", role="group", aria_label="Horizontal axis")
    charts = tag("div", *drawn, class_="charts")
    return tag("div", choice, _unknown(sources, keys), charts, class_="curves", data_axis=axes[0])


def _only_row(source: RunTrace) -> Markup | None:
    """A trace of one row as a list: there is no curve through one point."""
    cells_of_row = [(key, cells[0]) for key, cells in source.trace.items() if len(cells) == 1 and cells[0] is not None]
    if not cells_of_row:
        return None
    rows = [(tag("th", _title(key), scope="row"), tag("td", _in_a_cell(key, cell))) for key, cell in cells_of_row]
    return tag(
        "div", tag("p", "The trace has one row, too few for curves:", class_="note"), table((), rows, "settings")
    )


def _in_a_cell(key: str, cell: object) -> str:
    if key == "nodes":
        sizes = _sizes(cell)
        return sizes_of([int(n) for n in sizes]) if all(n.isdigit() for n in sizes) else str(cell)
    return in_words(cell, ".6g") if isinstance(cell, float) else str(cell)


def _sizes(cell: object) -> list[str]:
    """Nodes per agent, written 3+4 or [3, 4]."""
    return [str(n) for n in cell] if isinstance(cell, list | tuple) else str(cell).split("+")


def _unknown(sources: Sequence[RunTrace], keys: Sequence[str]) -> Markup | None:
    """Names the columns without any number."""
    empty = [key for key in keys if not any(len(line.known) for s in sources for line in _lines(s, key, "", True))]
    if not empty:
        return None
    return tag("p", f"No data for: {', '.join(_title(key).lower() for key in empty)}.", class_="note unknown")


def _title(key: str) -> str:
    return TITLES.get(key, key.replace("_", " ").capitalize())


def column(trace: Trace, key: str) -> Floats:
    """A column as numbers; other cells become NaN."""
    return np.array([np.nan if not isinstance(v, int | float) else float(v) for v in trace.get(key, ())])


def _common(sources: Sequence[RunTrace], axis: str) -> bool:
    """Whether all can be drawn against it: at least one as a curve, others at least as a point."""
    rising = [_rises(source.trace, axis) for source in sources]
    points = [np.isfinite(values).all() for source in sources if len(values := column(source.trace, axis)) == 1]
    return any(rising) and sum(rising) + sum(points) == len(sources)


def _rises(trace: Trace, axis: str) -> bool:
    values = column(trace, axis)
    if len(values) < 2 or not np.isfinite(values).all():
        return False
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


def _figure(sources: Sequence[RunTrace], key: str, axis: str) -> Markup | None:
    several = len(sources) > 1
    lines = [line for source in sources for line in _lines(source, key, axis, several)]
    lines = [replace(line, place=place) for place, line in enumerate(lines) if len(line.known)]
    if not lines:
        return None
    words = COMPARED if several else AXES
    drawn, cut = chart(lines, _title(key), words[axis], axis in COUNTED)
    rows, known = sum(len(line.y) for line in lines), sum(len(line.known) for line in lines)
    gaps = f"{rows - known} of {rows} points have no value" if known < rows else ""
    names = [tag("span", tag("i", class_=f"c{line.place % COLOURS}"), line.name) for line in lines if len(lines) > 1]
    notes = [tag("span", note) for note in (cut, gaps) if note]
    return tag("figure", tag("figcaption", tag("b", _title(key)), *names, *notes), drawn, data_axis=axis)


def _lines(source: RunTrace, key: str, axis: str, several: bool) -> list[Line]:
    x = column(source.trace, axis) if axis else np.zeros(len(source.trace[key]))
    if key == "nodes":
        return _node_lines(source, x, several)
    keys = TOGETHER.get(key, (key,))
    spread = column(source.trace, SPREAD.get(key, ""))
    error = spread if len(spread) == len(x) and not several else None
    names = [source.name if several else "" if len(keys) == 1 else part for part in keys if part in source.trace]
    columns = [column(source.trace, part) for part in keys if part in source.trace]
    return [Line(name, x, y, error) for name, y in zip(names, columns, strict=True)]


def _node_lines(source: RunTrace, x: Floats, several: bool) -> list[Line]:
    """One curve per agent, or the mean of many."""
    rows = [_sizes(cell) for cell in source.trace["nodes"]]
    if any(not part.isdigit() for row in rows for part in row) or len({len(row) for row in rows}) != 1:
        return []
    sizes = np.array(rows, dtype=float)  # [row, n]
    if several or sizes.shape[1] > FEW or sizes.shape[1] != len(source.agents):
        return [Line(source.name if several else "", x, sizes.mean(axis=1))]
    return [Line(name, x, sizes[:, n]) for n, name in enumerate(source.agents)]
