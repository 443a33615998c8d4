"""Learning curves: every number of a trace against what it took: steps, sweeps, iterations or seconds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from decpomdp.report.chart import Floats, Line, chart, range_of
from decpomdp.report.listing import in_words, sizes_of
from decpomdp.report.markup import Markup, tag

Trace = Mapping[str, Sequence[object]]

AXES = {"steps": "joint steps", "sweep": "sweeps", "iteration": "iterations", "seconds": "seconds"}
NARROWEST, WIDEST = 1e-300, 1e300  # of an axis: beyond, its ticks are no numbers any more
COMPARED = {**AXES, "seconds": "seconds since the first row"}  # of several runs: one of them may have compiled first
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
SPREAD = {"value": "error"}  # a column that says how uncertain another is
BESIDE = {"error", "upper", "mean_nodes", "start", "hops", "truncation"}  # shown in others, or of no help to people

FEW = 4  # agents whose nodes are drawn apart


@dataclass(frozen=True, slots=True)
class Source:
    """Whose trace it is."""

    name: str
    trace: Trace
    agents: tuple[str, ...]


def curves(sources: Sequence[Source]) -> Markup | None:
    """All charts of one trace, or of several laid over each other; None: nothing to draw."""
    sources = [_comparable(source) for source in sources] if len(sources) > 1 else sources
    words = COMPARED if len(sources) > 1 else AXES
    axes = [axis for axis in AXES if _common(sources, axis)]
    keys = _keys(sources)
    drawn = [_figure(sources, key, axis) for axis in axes for key in keys]
    if not any(drawn):
        return _only_row(sources[0]) if len(sources) == 1 else None
    choice = None
    if len(axes) > 1:
        buttons = [
            tag(
                "button",
                words[axis],
                type="button",
                data_axis=axis,
                aria_pressed="true" if axis == axes[0] else "false",
            )
            for axis in axes
        ]
        choice = tag("p", tag("span", "against"), *buttons, class_="choice", role="group", aria_label="Horizontal axis")
    charts = tag("div", *drawn, class_="charts")
    return tag("div", choice, _unknown(sources, keys), charts, class_="curves", data_axis=axes[0])


def _only_row(source: Source) -> Markup | None:
    """A trace of one row as a list: there is no curve through one point."""
    told = [(key, cells[0]) for key, cells in source.trace.items() if len(cells) == 1 and cells[0] is not None]
    if not told:
        return None
    shown = [(_title(key), _in_a_cell(key, cell)) for key, cell in told]
    rows = [tag("tr", tag("th", name, scope="row"), tag("td", cell)) for name, cell in shown]
    note = tag("p", "The trace has one row, too few for curves:", class_="note")
    return tag("div", note, tag("div", tag("table", tag("tbody", *rows), class_="settings"), class_="wide"))


def _in_a_cell(key: str, cell: object) -> str:
    if key == "nodes":
        sizes = [str(n) for n in cell] if isinstance(cell, list | tuple) else str(cell).split("+")
        return sizes_of([int(n) for n in sizes]) if all(n.isdigit() for n in sizes) else str(cell)
    return in_words(cell, ".6g") if isinstance(cell, float) else str(cell)


def _unknown(sources: Sequence[Source], keys: Sequence[str]) -> Markup | None:
    """Words about columns that hold no number at all."""
    empty = [
        key for key in keys if not any(_known(line) for source in sources for line in _lines(source, key, "", True))
    ]
    if not empty:
        return None
    words = ", ".join(_title(key).lower() for key in empty)
    return tag("p", f"Not drawn, for not one number of it is known: {words}.", class_="note unknown")


def _known(line: Line) -> int:
    return int(np.isfinite(line.y).sum())


def _title(key: str) -> str:
    return TITLES.get(key, key.replace("_", " ").capitalize())


def column(trace: Trace, key: str) -> Floats:
    """A column as numbers; what is none becomes NaN."""
    return np.array([np.nan if not isinstance(v, int | float) else float(v) for v in trace.get(key, ())])


def _common(sources: Sequence[Source], axis: str) -> bool:
    """Whether all can be drawn against it: at least one as a curve, others at least as a point."""
    rising = [_rises(source.trace, axis) for source in sources]
    points = [np.isfinite(values).all() for source in sources if len(values := column(source.trace, axis)) == 1]
    return any(rising) and sum(rising) + sum(points) == len(sources)


def _rises(trace: Trace, axis: str) -> bool:
    values = column(trace, axis)
    if len(values) < 2 or not np.isfinite(values).all():  # an infinite place is none
        return False
    span = float(values[-1]) - float(values[0])
    return bool(np.all(values[1:] >= values[:-1])) and NARROWEST < span < WIDEST


def _comparable(source: Source) -> Source:
    """Times count from the first row, before which a run may have compiled what the next one finds compiled.

    A planner's lower bound is the value of its team: to be drawn beside the learners' values.
    """
    trace = dict(source.trace)
    seconds = column(trace, "seconds")
    if len(seconds):
        trace["seconds"] = (seconds - seconds[0]).tolist()
    if "value" not in trace and "lower" in trace:
        trace["value"] = trace["lower"]
    return replace(source, trace=trace)


def _keys(sources: Sequence[Source]) -> list[str]:
    """What to draw: the well-known columns first, then all others that hold numbers."""
    shared = [key for key in sources[0].trace if all(key in source.trace for source in sources)]
    known = [key for key in TITLES if key in shared and _says_more(sources, key)]
    if len(sources) > 1:
        return known
    others = [key for key in shared if key not in (*TITLES, *AXES, *BESIDE)]
    return known + [key for key in others if np.isfinite(column(sources[0].trace, key)).any()]


def _says_more(sources: Sequence[Source], key: str) -> bool:
    """A lower bound without an upper one is the value."""
    upper = [column(source.trace, "upper") for source in sources]
    return key != "lower" or "value" not in sources[0].trace or any(np.isfinite(values).any() for values in upper)


def _figure(sources: Sequence[Source], key: str, axis: str) -> Markup | None:
    several = len(sources) > 1
    lines = [line for source in sources for line in _lines(source, key, axis, several)]
    lines = [replace(line, place=place) for place, line in enumerate(lines) if _known(line)]
    if not lines:
        return None
    title = _title(key)
    names = [tag("span", tag("i", class_=f"c{line.place % 8}"), line.name) for line in lines if len(lines) > 1]
    y0, y1, cut = range_of(lines)
    rows, known = sum(len(line.y) for line in lines), sum(_known(line) for line in lines)
    gaps = f"{rows - known} of {rows} points are not known" if known < rows else ""
    notes = [tag("span", words) for words in (cut, gaps) if words]
    caption = tag("figcaption", tag("b", title), *names, *notes)
    counted = axis in COUNTED
    words = COMPARED if several else AXES
    return tag("figure", caption, chart(lines, title, words[axis], (y0, y1), counted), data_axis=axis)


def _lines(source: Source, key: str, axis: str, several: bool) -> list[Line]:
    x = column(source.trace, axis) if axis else np.zeros(len(source.trace[key]))
    if key == "nodes":
        return _node_lines(source, x, several)
    keys = TOGETHER.get(key, (key,))
    spread = column(source.trace, SPREAD.get(key, ""))
    error = spread if len(spread) == len(x) and not several else None
    names = [source.name if several else "" if len(keys) == 1 else part for part in keys if part in source.trace]
    columns = [column(source.trace, part) for part in keys if part in source.trace]
    return [Line(name, x, y, error) for name, y in zip(names, columns, strict=True)]


def _node_lines(source: Source, x: Floats, several: bool) -> list[Line]:
    """Sizes are written 3+4, or [3, 4]: one curve per agent, or the mean of many."""
    cells = source.trace["nodes"]
    rows = [[str(n) for n in cell] if isinstance(cell, list | tuple) else str(cell).split("+") for cell in cells]
    if any(not part.isdigit() for row in rows for part in row) or len({len(row) for row in rows}) != 1:
        return []
    sizes = np.array(rows, dtype=float)  # [row, n]
    if several or sizes.shape[1] > FEW or sizes.shape[1] != len(source.agents):
        return [Line(source.name if several else "", x, sizes.mean(axis=1))]
    return [Line(name, x, sizes[:, n]) for n, name in enumerate(source.agents)]
