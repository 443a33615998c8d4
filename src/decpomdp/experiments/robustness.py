"""Is the method robust to c and d of eta ~ Gamma(c, d)? A grid over both, for both readings of d.

The paper: "these values were chosen for testing, but our approach is robust to other values of c and d". It does not
say whether d is a scale or a rate: its text describes a scale, its appendix computes with a rate.
"""

from collections.abc import Iterable
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np

from decpomdp.experiments.cells import Cell
from decpomdp.experiments.drawing import Panel, Picture, curve
from decpomdp.experiments.experiment import Effort, Evidence, Experiment, Item, TextTable, texts_of
from decpomdp.experiments.offline import work
from decpomdp.experiments.published import FOLLOW, PROBLEMS, C, D
from decpomdp.experiments.rows import Mean, ResultRows, flat

READINGS = ("scale", "rate")
HELD = {
    "episodes": "episodes K",
    "steps": "steps of an episode",
    "follow": "probability of following PBVI",
    "truncation": "nodes to begin with (truncation)",
    "limit": "sweeps at most",
    "tolerance": "tolerance of the bound",
}
UP = {"value": "value", "inferred": "nodes per agent"}
TEXTS = texts_of("robustness")
SLIGHT, FACTOR = TEXTS.limits["slight"], TEXTS.limits["factor"]


def cells(effort: Effort) -> list[Cell]:
    """Problem x reading x c x d x seed."""
    shared = {key: effort[key] for key in ("episodes", "steps", "sweeps", "tolerance", "truncation")}
    shared |= {"follow": FOLLOW, "method": "sbpr", "preset": "default", "evidence": None, "stop": "ours"}
    grid = product(range(effort["seeds"]), effort["problems"], READINGS, effort["c"], effort["d"])
    varied = (dict(zip(("seed", "problem", "reading", "c", "d"), point, strict=True)) for point in grid)
    return [Cell(work, shared | each, 0.012 * effort["sweeps"]) for each in varied]


def tables(rows: ResultRows) -> list[TextTable]:
    """The fixed settings, then one table per problem and reading: value and size over the grid."""
    result = [_held(rows)]
    for (problem, reading), some in rows.groups("problem", "reading").items():
        header = ("c", *(f"d = {d:g}" for d in some.distinct("d")))
        lines = tuple((f"{c:g}", *map(_entry, line.groups("d").values())) for c, line in some.groups("c").items())
        result.append(TextTable(f"{PROBLEMS[problem]}, d is a {reading}: value, nodes", header, lines))
    return result


def _held(rows: ResultRows) -> TextTable:
    """The settings shared by all fits, and the number of fits that did not converge."""
    settings = {key: ", ".join(f"{value:g}" for value in rows.distinct(key)) for key in HELD}
    ended = f"{len(rows.where(stopped='sweeps'))} of {len(rows)}"
    lines = [
        *((words, settings[key]) for key, words in HELD.items()),
        ("fits that ended at the limit of sweeps", ended),
    ]
    return TextTable("Settings of all fits", ("setting", "value"), tuple(lines))


def _entry(some: ResultRows) -> str:
    value, size = some["value"], some["inferred"]
    mark = " (paper's c, d)" if (some.first["c"], some.first["d"]) == (C, D) else ""
    return f"{value.value:.2f} (sd {value.spread:.2f}), {size.value:.1f}{mark}"


def pictures(rows: ResultRows) -> list[Picture]:
    """Values in the upper rows, sizes in the lower ones, a row per reading; a column per problem; a curve per c."""
    lines = [
        tuple(_panel(some, reading, key) for some in rows.groups("problem").values())
        for key in UP
        for reading in READINGS
    ]
    return [Picture("robustness", TEXTS.words["caption"], tuple(lines))]


def _panel(some: ResultRows, reading: str, key: str) -> Panel:
    curves = tuple(curve(some.where(reading=reading, c=c), "d", key, f"c = {c:g}") for c in some.distinct("c"))
    title = f"{PROBLEMS[some.first['problem']]}, d is a {reading}"
    return Panel(title, "d", UP[key], curves, logarithmic="x", span=_span(some, key), side_by_side=True)


def _span(some: ResultRows, key: str) -> tuple[float, float]:
    """The range of the y axis for a problem's points of both readings with their bars; sizes begin at 0."""
    means = some.means(key, "reading", "c", "d").values()
    low, high = min(m.value - m.spread for m in means), max(m.value + m.spread for m in means)
    room = 0.05 * (high - low) or 1.0
    return (low - room if key == "value" else 0.0), high + room


def _robust(rows: ResultRows, reading: str) -> Evidence:
    """Whether values vary no more over the grid than over the seeds."""
    items = [_on_problem(some) for some in rows.where(reading=reading).groups("problem").values()]
    without = {item.facts["without"] for item in items}
    return Evidence(items, worst=next(word for word in ("no", "partly", "yes") if word in without))


def _on_problem(some: ResultRows) -> Item:
    """The range of the means of the grid, with and without the point that widens it most."""
    means = some.means("value", "c", "d")
    without = {point: _spread(mean for other, mean in means.items() if other != point) for point in means}
    far = min(without, key=lambda point: without[point].width)
    span, rest, sizes = _spread(means.values()), without[far], _spread(some.means("inferred", "c", "d").values())
    facts = {"span": span, "noise": span.noise, "moved": span.moved, "far": far, "factor": FACTOR, "sizes": sizes}
    facts |= {"span_without": rest, "without": rest.moved, "some": some}
    holds = {"still": span.moved == "yes", "moved": span.moved == "no"}
    return Item(holds, name=PROBLEMS[some.first["problem"]], **facts)


class Spread(NamedTuple):
    """The range of the means of some points."""

    low: float
    high: float
    noise: float  # spread of seeds at one point; a standard deviation does not depend on their number

    @property
    def width(self) -> float:
        """From the lowest mean to the highest."""
        return self.high - self.low

    @property
    def moved(self) -> str:
        """Whether the grid moves the mean no more than the seeds ("yes"), or only slightly ("partly")."""
        slight = self.width <= SLIGHT * max(abs(self.low), abs(self.high))
        return "yes" if self.width <= self.noise else "partly" if slight else "no"


def _spread(means: Iterable[Mean]) -> Spread:
    values, spreads = zip(*((mean.value, mean.spread) for mean in means), strict=True)
    return Spread(min(values), max(values), FACTOR * float(np.median(spreads)))


COLUMNS = ("problem", "reading", "c", "d", "seed", "episodes", "steps", "follow", "truncation", "tolerance")
rows = partial(flat, keys=COLUMNS, limit="sweeps")
EXPERIMENT = Experiment("robustness", cells, rows, tables, {"robust": _robust}, pictures)
