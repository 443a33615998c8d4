"""Is the method robust to c and d of eta ~ Gamma(c, d)? A grid over both, for both readings of d.

The paper: "these values were chosen for testing, but our approach is robust to other values of c and d". It calls d
neither a scale nor a rate: its text describes the first, its appendix computes with the second.
"""

from dataclasses import dataclass

import numpy as np

from decpomdp.core.fit import Row
from decpomdp.experiments import figure1
from decpomdp.experiments.cells import Cell
from decpomdp.experiments.experiment import (
    Claim,
    Curve,
    Experiment,
    Panel,
    Picture,
    Results,
    Rows,
    Table,
    chosen,
    column,
    distinct,
)
from decpomdp.experiments.judging import mean_of
from decpomdp.experiments.published import FOLLOW, PROBLEMS, C, D

READINGS = ("scale", "rate")
SLIGHT = 0.05  # share of a value that does not matter
ABOUT = (
    "Dec-SBPR from recorded episodes of the semi-random behaviour (as in figure 1), begun from the best episodes, for "
    "every c and d. Importance ratios are cut, so that more than one or two episodes have a say; without that the data "
    "say too little for a prior to matter. Values are exact, of the posterior mean; sizes are nodes occupied per agent."
)


@dataclass(frozen=True, slots=True)
class Effort:
    """The grid."""

    seeds: int = 3
    problems: tuple[str, ...] = ("dectiger", "broadcast", "recycling", "marsrovers")
    c: tuple[float, ...] = (0.01, 0.1, 1.0, 10.0)
    d: tuple[float, ...] = (1e-8, 1e-6, 1e-4, 1e-2, 1.0)
    episodes: int = 1000
    steps: int = 10
    truncation: int = 20
    sweeps: int = 200
    tolerance: float = 1e-5
    cap: float = 10.0


QUICK = Effort(
    seeds=2,
    problems=("dectiger", "broadcast", "recycling"),
    c=(0.01, 0.1, 1.0),
    d=(1e-6, 1e-3, 1.0),
    sweeps=60,
    tolerance=1e-4,
)
FULL = Effort()


def cells(effort: Effort) -> list[Cell]:
    """Problem x reading x c x d x seed."""
    options = {"sweeps": effort.sweeps, "tolerance": effort.tolerance, "truncation": effort.truncation}
    found = []
    for seed in range(effort.seeds):
        for problem in effort.problems:
            shared = figure1.settings(problem, effort.episodes, effort.steps, seed, FOLLOW) | options
            shared |= {"method": "sbpr", "cap": effort.cap, "normalise": False}
            grid = ((reading, c, d) for reading in READINGS for c in effort.c for d in effort.d)
            given = [{**shared, "reading": reading, "c": c, "d": d} for reading, c, d in grid]
            found += [Cell(figure1.WORK, each, 0.012 * effort.sweeps) for each in given]
    return found


def rows(results: Results) -> list[Row]:
    """One row per fit."""
    keys = ("problem", "reading", "c", "d", "seed", "episodes", "steps")
    return [{**{key: cell.settings[key] for key in keys}, **result} for cell, result in results]


def tables(rows: Rows) -> list[Table]:
    """One table per problem and reading: value and size over the grid."""
    found = []
    for problem in distinct(rows, "problem"):
        for reading in READINGS:
            some = chosen(rows, problem=problem, reading=reading)
            columns = distinct(some, "d")
            lines = tuple((f"{c:g}", *(_entry(chosen(some, c=c, d=d)) for d in columns)) for c in distinct(some, "c"))
            title = f"{PROBLEMS[problem]}, d is a {reading}: value, nodes"
            found.append(Table(title, ("c", *(f"d = {d:g}" for d in columns)), lines))
    return found


def _entry(some: Rows) -> str:
    value, size = mean_of(column(some, "value")), mean_of(column(some, "inferred"))
    mark = " (paper's c, d)" if (some[0]["c"], some[0]["d"]) == (C, D) else ""
    return f"{value.value:.2f} (sd {value.spread:.2f}), {size.value:.1f}{mark}"


def pictures(rows: Rows) -> list[Picture]:
    """Values above, sizes below; a column per problem; a curve per reading and c."""
    problems = distinct(rows, "problem")
    top = tuple(_panel(chosen(rows, problem=p), PROBLEMS[p], "value", "value") for p in problems)
    low = tuple(_panel(chosen(rows, problem=p), "", "inferred", "nodes per agent") for p in problems)
    caption = "Value and inferred size over c and d, for both readings of d. Bars: one standard deviation over seeds."
    return [Picture("robustness", caption, (top, low))]


def _panel(some: Rows, title: str, key: str, up: str) -> Panel:
    curves = []
    for reading in READINGS:
        for c in distinct(some, "c"):
            line = chosen(some, reading=reading, c=c)
            places = distinct(line, "d")
            means = [mean_of(column(chosen(line, d=d), key)) for d in places]
            style = "line" if reading == "scale" else "dotted"
            y, error = tuple(m.value for m in means), tuple(m.spread for m in means)
            curves.append(Curve(f"{reading}, c = {c:g}", tuple(float(d) for d in places), y, error, style))
    return Panel(title, "d", up, tuple(curves), across_logarithmic=True, from_zero=key != "value")


def claims(rows: Rows) -> list[Claim]:
    """Robust: over the grid, values move no more than over the seeds."""
    return [_robust(rows, reading) for reading in READINGS]


def _robust(rows: Rows, reading: str) -> Claim:
    told, seen = [], []
    for problem in distinct(rows, "problem"):
        some = chosen(rows, problem=problem, reading=reading)
        points = [chosen(some, c=c, d=d) for c in distinct(some, "c") for d in distinct(some, "d")]
        values = [mean_of(column(point, "value")) for point in points]
        means, sizes = (sorted(mean_of(column(point, key)).value for point in points) for key in ("value", "inferred"))
        across, within = means[-1] - means[0], float(np.median([v.most - v.least for v in values]))
        data = mean_of(column(some, "behaviour")).value
        slight = across <= SLIGHT * max(abs(means[0]), abs(means[-1]))
        seen.append("yes" if across <= within else "partly" if slight else "no")
        told.append(
            f"{PROBLEMS[problem]}: means from {means[0]:.2f} to {means[-1]:.2f} over the grid (who played earns "
            f"{data:.2f}), seeds at one point differ by {within:.2f} (median); sizes {sizes[0]:.1f} to {sizes[-1]:.1f}"
        )
    verdict = next(word for word in ("no", "partly", "yes") if word in seen)
    says = f"The approach is robust to other values of c and d (d read as a {reading})."
    rule = f" (Yes: the grid moves the mean by no more than that; partly: by at most {SLIGHT:.0%} of it.)"
    return Claim(says, verdict, "; ".join(told) + "." + rule)


EXPERIMENT = Experiment(
    "robustness",
    "Robustness to c and d, for both readings of Gamma(c, d)",
    ABOUT,
    {"quick": QUICK, "full": FULL},
    cells,
    rows,
    tables,
    pictures,
    claims,
)
