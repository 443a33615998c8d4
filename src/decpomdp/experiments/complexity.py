"""Table 1: how the time of one iteration grows with K, N, T, |Z| and |S|, beside the paper's orders."""

import math
from dataclasses import dataclass, field
from typing import Any

from decpomdp.core.fit import Row
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
from decpomdp.experiments.judging import exponent
from decpomdp.experiments.published import COMPLEXITY, ORDERS

WORK = "decpomdp.experiments.sweep_time:work"
NAMES = {
    "K": "episodes K",
    "N": "agents N",
    "T": "length T, reward at every step",
    "T terminal": "length T, reward at the end only",
    "Z": "nodes |Z|",
    "S": "states |S|",
}
PARTS = ("whole", "filter", "count", "weigh", "bound")
NEAR = 0.35  # exponents closer than this are of one order: small sizes have overheads that do not grow
ORDERED = (  # what the paper says of a whole iteration
    ("An iteration scales linearly with the number of episodes and of agents.", ("K", "N")),
    ("An iteration takes time that does not depend on the number of states.", ("S",)),
    ("With a reward at the end only, an iteration is linear in the length of episodes.", ("T terminal",)),
    ("With a reward at every step, an iteration is quadratic in the length of episodes.", ("T",)),
    ("An iteration is quadratic in the number of nodes.", ("Z",)),
)
SQUARE = 2.0
BOUNDED = (  # what it says of bounds: of which sizes, and the lower one
    ("The algorithm is at most square in the problem size.", ("K", "N", "T", "T terminal", "Z", "S"), -math.inf),
    ("The time dependency on T is between linear and quadratic.", ("T", "T terminal"), 1.0),
)
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


def slope(rows: Rows, vary: str, part: str) -> float:
    """The exponent of a part's time; the least over seeds at every size."""
    some = chosen(rows, vary=vary)
    sizes = sorted(distinct(some, "size"))
    return exponent(sizes, [min(column(chosen(some, size=size), f"{part}_seconds")) for size in sizes])


def tables(rows: Rows) -> list[Table]:
    """The paper's table, and our exponents."""
    orders = tuple((f"{symbol} ({part})", best, worst) for part, (symbol, best, worst) in COMPLEXITY.items())
    lines = []
    for vary in distinct(rows, "vary"):
        ours = [f"{slope(rows, vary, part):.2f}" for part in PARTS]
        times = sorted(column(chosen(rows, vary=vary), "whole_seconds"))
        span = (
            f"{min(column(chosen(rows, vary=vary), 'size')):.0f} .. {max(column(chosen(rows, vary=vary), 'size')):.0f}"
        )
        lines.append((NAMES[vary], span, f"{1e3 * times[0]:.1f} .. {1e3 * times[-1]:.1f}", f"{ORDERS[vary]:g}", *ours))
    header = ("varied", "from .. to", "ms an iteration", "paper: exponent, at most", "ours", *PARTS[1:])
    return [
        Table("The paper's orders", ("part", "best case", "worst case"), orders),
        Table("Exponents", header, tuple(lines), "The last columns are the parts of an iteration."),
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


def steps_between(rows: Rows, vary: str) -> list[float]:
    """The local exponents of a whole iteration: between each size and the next."""
    some = chosen(rows, vary=vary)
    sizes = sorted(distinct(some, "size"))
    times = [min(column(chosen(some, size=size), "whole_seconds")) for size in sizes]
    return [exponent(sizes[i : i + 2], times[i : i + 2]) for i in range(len(sizes) - 1)]


def claims(rows: Rows) -> list[Claim]:
    """The orders of the paper's table, then its two sentences that bound them."""
    found = [_claim(rows, says, wanted) for says, wanted in ORDERED]
    found += [_bounded(rows, says, wanted, low) for says, wanted, low in BOUNDED]
    return [claim for claim in found if claim is not None]


def _told(rows: Rows, vary: str) -> str:
    local = ", ".join(f"{found:.2f}" for found in steps_between(rows, vary))
    return f"{NAMES[vary]}: exponent {slope(rows, vary, 'whole'):.2f}, from each size to the next {local}"


def _claim(rows: Rows, says: str, wanted: tuple[str, ...]) -> Claim | None:
    wanted = tuple(vary for vary in wanted if chosen(rows, vary=vary))
    if not wanted:
        return None
    local = {vary: steps_between(rows, vary) for vary in wanted}
    near = all(abs(slope(rows, vary, "whole") - ORDERS[vary]) <= NEAR for vary in wanted)
    late = all(abs(local[vary][-1] - ORDERS[vary]) <= NEAR for vary in wanted)
    slower = all(max(local[vary]) < ORDERS[vary] - NEAR for vary in wanted)
    told = "; ".join(_told(rows, vary) for vary in wanted)
    told += ". Ours grows more slowly than this order at every size." if slower else "."
    orders = " and ".join(f"{order:g}" for order in dict.fromkeys(ORDERS[vary] for vary in wanted))
    rule = (
        f"read as how time grows, not as a bound; yes: the exponents over all sizes and at the largest ones are within "
        f"{NEAR} of {orders}; partly: only those at the largest."
    )
    return Claim(says, "yes" if near and late else "partly" if late else "no", told, rule)


def _bounded(rows: Rows, says: str, wanted: tuple[str, ...], low: float) -> Claim | None:
    """Whether exponents stay between two bounds, at every size."""
    wanted = tuple(vary for vary in wanted if chosen(rows, vary=vary))
    if not wanted:
        return None
    local = [found for vary in wanted for found in steps_between(rows, vary)]
    seen = "yes" if all(low - NEAR <= found <= SQUARE + NEAR for found in local) else "no"
    at_least = "" if low == -math.inf else f"at least {low:g} and "
    rule = f"yes: from each size to the next, exponents are {at_least}at most {SQUARE:g}, give or take {NEAR}."
    return Claim(says, seen, "; ".join(_told(rows, vary) for vary in wanted) + ".", rule)


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
