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
    judged,
)
from decpomdp.experiments.judging import Mean, mean_of
from decpomdp.experiments.published import FOLLOW, PROBLEMS, C, D

READINGS = ("scale", "rate")
UP = {"value": "value", "inferred": "nodes per agent"}
SLIGHT = 0.05  # share of a value that does not matter
FACTOR = 2.0  # standard deviations over seeds that the grid may move the mean by
Points = dict[tuple[float, float], Mean]  # c, d -> over seeds
ABOUT = (
    "Dec-SBPR from recorded episodes of the semi-random behaviour (as in figure 1), begun from the best episodes, for "
    "every c and d. Importance ratios are cut, so that more than one or two episodes have a say; without that the data "
    "say too little for a prior to matter. Values are exact, of the posterior mean; sizes are nodes occupied per "
    "agent."
)


@dataclass(frozen=True, slots=True)
class Effort:
    """The grid."""

    seeds: int = 5
    problems: tuple[str, ...] = tuple(PROBLEMS)
    c: tuple[float, ...] = (0.01, 0.1, 1.0, 10.0)
    d: tuple[float, ...] = (1e-8, 1e-6, 1e-4, 1e-2, 1.0)
    episodes: int = 1000
    steps: int = 10
    truncation: int = 20
    sweeps: int = 200
    tolerance: float = 1e-5
    cap: float = 10.0


QUICK = Effort(
    seeds=3,
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
            shared |= {"method": "sbpr", "cap": effort.cap, "normalise": False, "evidence": None}
            shared |= {"resize": True, "stop": "ours"}
            grid = ((reading, c, d) for reading in READINGS for c in effort.c for d in effort.d)
            given = [{**shared, "reading": reading, "c": c, "d": d} for reading, c, d in grid]
            found += [Cell(figure1.WORK, each, 0.012 * effort.sweeps) for each in given]
    return found


def rows(results: Results) -> list[Row]:
    """One row per fit."""
    keys = ("problem", "reading", "c", "d", "seed", "episodes", "steps", "follow", "cap", "truncation", "tolerance")
    return [
        {**{key: cell.settings[key] for key in keys}, "limit": cell.settings["sweeps"], **result}
        for cell, result in results
    ]


def tables(rows: Rows) -> list[Table]:
    """What was held, then one table per problem and reading: value and size over the grid."""
    found = [_held(rows)]
    for problem in distinct(rows, "problem"):
        for reading in READINGS:
            some = chosen(rows, problem=problem, reading=reading)
            columns = distinct(some, "d")
            lines = tuple((f"{c:g}", *(_entry(chosen(some, c=c, d=d)) for d in columns)) for c in distinct(some, "c"))
            title = f"{PROBLEMS[problem]}, d is a {reading}: value, nodes"
            found.append(Table(title, ("c", *(f"d = {d:g}" for d in columns)), lines))
    return found


def _held(rows: Rows) -> Table:
    """The settings that all fits share, and how they ended."""
    ended = len(chosen(rows, stopped="iterations"))
    names = {
        "episodes": "episodes K",
        "steps": "steps of an episode",
        "follow": "probability of following PBVI",
        "cap": "importance ratios cut at",
        "truncation": "nodes to begin with (truncation)",
        "limit": "sweeps at most",
        "tolerance": "tolerance of the bound",
    }
    lines = [(words, ", ".join(f"{value:g}" for value in distinct(rows, key))) for key, words in names.items()]
    lines.append(("fits that ended at the limit of sweeps", f"{ended} of {len(rows)}"))
    return Table("What all fits share", ("setting", "value"), tuple(lines))


def _entry(some: Rows) -> str:
    value, size = mean_of(column(some, "value")), mean_of(column(some, "inferred"))
    mark = " (paper's c, d)" if (some[0]["c"], some[0]["d"]) == (C, D) else ""
    return f"{value.value:.2f} (sd {value.spread:.2f}), {size.value:.1f}{mark}"


def pictures(rows: Rows) -> list[Picture]:
    """Values above, sizes below, both for each reading; a column per problem; a curve per c."""
    lines = [
        tuple(_panel(chosen(rows, problem=problem), reading, key) for problem in distinct(rows, "problem"))
        for key in UP
        for reading in READINGS
    ]
    caption = (
        "Value and inferred size over c and d, for both readings of d; panels of one problem have the same upright "
        "axis. Bars: one standard deviation over seeds. Points of the same d are drawn side by side."
    )
    return [Picture("robustness", caption, tuple(lines))]


def _panel(some: Rows, reading: str, key: str) -> Panel:
    curves = tuple(_curve(chosen(some, reading=reading, c=c), key) for c in distinct(some, "c"))
    title = f"{PROBLEMS[str(some[0]['problem'])]}, d is a {reading}"
    return Panel(title, "d", UP[key], curves, across_logarithmic=True, span=_span(some, key), beside=True)


def _curve(line: Rows, key: str) -> Curve:
    places = distinct(line, "d")
    means = [mean_of(column(chosen(line, d=d), key)) for d in places]
    y, error = tuple(m.value for m in means), tuple(m.spread for m in means)
    return Curve(f"c = {line[0]['c']:g}", tuple(float(d) for d in places), y, error)


def _span(some: Rows, key: str) -> tuple[float, float]:
    """The upright axis that holds a problem's points of both readings with their bars; sizes begin at 0."""
    points = (
        chosen(some, reading=r, c=c, d=d) for r in READINGS for c in distinct(some, "c") for d in distinct(some, "d")
    )
    means = [mean_of(column(point, key)) for point in points]
    low, high = min(m.value - m.spread for m in means), max(m.value + m.spread for m in means)
    room = 0.05 * (high - low) or 1.0
    return (low - room if key == "value" else 0.0), high + room


def claims(rows: Rows) -> list[Claim]:
    """Robust: over the grid, values move no more than over the seeds."""
    return judged([_robust(rows, reading) for reading in READINGS], rows)


def _robust(rows: Rows, reading: str) -> Claim:
    told, seen, without = [], [], []
    for problem in distinct(rows, "problem"):
        some = chosen(rows, problem=problem, reading=reading)
        points = {(c, d): chosen(some, c=c, d=d) for c in distinct(some, "c") for d in distinct(some, "d")}
        means = {point: mean_of(column(at, "value")) for point, at in points.items()}
        far = _farthest(means)
        rest = {point: mean for point, mean in means.items() if point != far}
        seen.append(_moved(means))
        without.append(_moved(rest))
        told.append(_told(PROBLEMS[problem], some, means, far, rest))
    first, second = (next(word for word in ("no", "partly", "yes") if word in some) for some in (seen, without))
    evidence = f"{'; '.join(told)}. Without these points, one for each problem, the verdict would be {second}."
    rule = (
        f"robust: from the worst to the best point of the grid the mean moves by no more than {FACTOR:g} standard "
        f"deviations over the seeds at one point, in the median; partly: by at most {SLIGHT:.0%} of the value. The "
        "worst problem decides."
    )
    return Claim(f"The approach is robust to other values of c and d (d read as a {reading}).", first, evidence, rule)


def _range(means: Points) -> tuple[float, float]:
    values = [mean.value for mean in means.values()]
    return min(values), max(values)


def _noise(means: Points) -> float:
    """What seeds at one point differ by; a standard deviation does not grow with their number, as a range does."""
    return FACTOR * float(np.median([mean.spread for mean in means.values()]))


def _moved(means: Points) -> str:
    """Whether the grid moves the mean no more than seeds differ, or slightly."""
    low, high = _range(means)
    slight = high - low <= SLIGHT * max(abs(low), abs(high))
    return "yes" if high - low <= _noise(means) else "partly" if slight else "no"


def _farthest(means: Points) -> tuple[float, float]:
    """The point without which the means lie closest together."""

    def left(point: tuple[float, float]) -> float:
        low, high = _range({other: mean for other, mean in means.items() if other != point})
        return high - low

    return min(means, key=left)


def _told(name: str, some: Rows, means: Points, far: tuple[float, float], rest: Points) -> str:
    (low, high), (less, more) = _range(means), _range(rest)
    sizes = [mean_of(column(chosen(some, c=c, d=d), "inferred")).value for c, d in means]
    return (
        f"{name}: {_moved(means)}, means from {low:.2f} to {high:.2f} over the grid (who played earns "
        f"{mean_of(column(some, 'behaviour')).value:.2f}), {FACTOR:g} standard deviations over seeds are "
        f"{_noise(means):.2f} (median); the point that moves the mean most is c = {far[0]:g}, d = {far[1]:g}, without "
        f"it from {less:.2f} to {more:.2f}: {_moved(rest)}; sizes {min(sizes):.1f} to {max(sizes):.1f}"
    )


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
