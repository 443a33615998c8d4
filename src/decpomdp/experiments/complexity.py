"""Table 1: how the time of one iteration grows with K, N, T, |Z| and |S|, beside the paper's orders."""

from dataclasses import dataclass, field
from typing import Any

from decpomdp.core.fit import Row
from decpomdp.experiments.cells import Cell
from decpomdp.experiments.complexity_claims import NAMES, claims, order_of, slope
from decpomdp.experiments.experiment import (
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
from decpomdp.experiments.published import COMPLEXITY, ORDERS

WORK = "decpomdp.experiments.sweep_time:work"
ABOUT = (
    "Processor seconds of one iteration (expect, filter, weigh, count, update, bound) on one thread, the least of "
    "several repeats, with no other cell running. Exponents are slopes of straight lines on logarithmic axes. Our "
    "backward pass sums the rewards of all later steps on its way, so that it is linear in T whatever the rewards; "
    "the paper's is quadratic when there is a reward at every step. Constant overheads and wide matrix products make "
    "slopes flatter than the orders."
)


@dataclass(frozen=True, slots=True)
class Effort:
    """What is varied, and what is held."""

    seeds: int = 2
    repeats: int = 7
    base: dict[str, Any] = field(default_factory=lambda: {"K": 1000, "N": 2, "T": 40, "Z": 30, "S": None})
    sizes: dict[str, tuple[int, ...]] = field(
        default_factory=lambda: {
            "K": (1000, 2000, 4000, 8000, 16_000),
            "N": (2, 4, 8, 16, 32),
            "T": (40, 80, 160, 320, 640),
            "T terminal": (40, 80, 160, 320, 640),
            "Z": (10, 20, 40, 80, 160),
            "S": (4, 16, 64, 256),
        }
    )


FULL = Effort()
QUICK = Effort(
    seeds=1,
    repeats=3,
    sizes={
        "K": (1000, 2000, 4000, 8000),
        "N": (2, 4, 8, 16),
        "T": (40, 80, 160, 320),
        "T terminal": (40, 80, 160, 320),
        "Z": (10, 20, 40, 80),
        "S": (4, 16, 64, 256),
    },
)


def cells(effort: Effort) -> list[Cell]:
    """What is varied x its sizes x seeds; each runs alone."""
    found = []
    for seed in range(effort.seeds):
        for vary, sizes in effort.sizes.items():
            for size in sizes:
                told = {**effort.base, vary.partition(" ")[0]: size, "terminal": vary == "T terminal"}
                settings = {"vary": vary, "size": size, "repeats": effort.repeats, "seed": seed, **told}
                work = told["K"] * told["N"] * told["T"] * told["Z"] ** 2 / 7.2e7  # of the base: about 35 ms
                found.append(Cell(WORK, settings, 0.3 + 0.1 * effort.repeats * work, alone=True))
    return found


def rows(results: Results) -> list[Row]:
    """One row per measurement."""
    keys = ("vary", "size", "K", "N", "T", "Z", "S", "seed")
    return [{**{key: cell.settings[key] for key in keys}, **result} for cell, result in results]


def tables(rows: Rows) -> list[Table]:
    """The paper's table, and our exponents."""
    orders = tuple((f"{symbol} ({part})", best, worst) for part, (symbol, best, worst) in COMPLEXITY.items())
    lines = []
    for vary in distinct(rows, "vary"):
        parts = [f"{slope(rows, vary, part):.2f} ({order_of(part, vary):g})" for part in COMPLEXITY]
        whole = f"{ORDERS[vary]:g}", f"{slope(rows, vary, 'whole'):.2f}"
        times = sorted(column(chosen(rows, vary=vary), "whole_seconds"))
        span = (
            f"{min(column(chosen(rows, vary=vary), 'size')):.0f} .. {max(column(chosen(rows, vary=vary), 'size')):.0f}"
        )
        lines.append((NAMES[vary], span, f"{1e3 * times[0]:.1f} .. {1e3 * times[-1]:.1f}", *whole, *parts))
    parts_too = (f"{part} (paper)" for part in COMPLEXITY)
    header = ("varied", "from .. to", "ms an iteration", "paper: exponent, at most", "ours", *parts_too)
    note = (
        "The last columns are the parts of an iteration; in brackets the paper's exponents: of its worst case (a "
        "reward at every step) or, with a reward at the end only, of its best."
    )
    return [
        Table("The paper's orders", ("part", "best case", "worst case"), orders),
        Table("Exponents", header, tuple(lines), note),
    ]


def pictures(rows: Rows) -> list[Picture]:
    """Time against each size, on logarithmic axes."""
    panels = [_panel(rows, vary) for vary in distinct(rows, "vary")]
    caption = "Processor time of one iteration against each size, with the fitted exponents; the rest held."
    return [Picture("complexity", caption, tuple(tuple(panels[i : i + 3]) for i in range(0, len(panels), 3)))]


def _panel(rows: Rows, vary: str) -> Panel:
    some = chosen(rows, vary=vary)
    sizes = sorted(distinct(some, "size"))
    curves = []
    for part in ("whole", "filter", "count"):
        y = tuple(1e3 * min(column(chosen(some, size=size), f"{part}_seconds")) for size in sizes)
        curves.append(Curve(f"{part}: {slope(rows, vary, part):.2f}", tuple(map(float, sizes)), y))
    return Panel(NAMES[vary], vary.partition(" ")[0], "ms", tuple(curves), logarithmic=True)


EXPERIMENT = Experiment(
    "complexity",
    "Table 1: how the time of one iteration grows",
    ABOUT,
    {"quick": QUICK, "full": FULL},
    cells,
    rows,
    tables,
    pictures,
    claims,
)
