"""Figure 2: traffic with a hundred lights; test reward and controller size per iteration.

Three learners on the reconstructed problem (`traffic`): Dec-SBPR that begins with the hand-coded rule, Dec-SBPR that
begins at random, MCEM with three nodes. The policies that need no learning are drawn as levels.
"""

from dataclasses import asdict, dataclass
from typing import Any

from decpomdp.core.fit import Row
from decpomdp.experiments import traffic
from decpomdp.experiments.cells import Cell, Settings
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
from decpomdp.experiments.judging import Mean, above, mean_of

CURVES, LEVELS = "decpomdp.experiments.figure2:learning", "decpomdp.experiments.figure2:levels"
NAMES = {
    "sbpr-heuristic": "Dec-SBPR, heuristic first",
    "sbpr-exploration": "Dec-SBPR, exploration only",
    "mcem": "MCEM, 3 nodes",
}
ABOUT = (
    "The problem is a RECONSTRUCTION (docs/traffic.md): values are not to be held against the paper's, which prints "
    "none; only the order of the curves can be compared. Every point is the team of that iteration, as it is or with "
    "its likeliest choices, whichever tests better; nothing is kept from the best iteration. Departures: the paper's "
    "MCEM is given trajectories of the heuristic, ours begins with its best replayed episode, and on 10 x 10 lights it "
    "is still rising when it stops; Dec-SBPR's settings were found on this grid with seed 0, which is one of the seeds "
    "here. A clock that all lights keep earns more than anything learned here (docs/traffic.md)."
)


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is run."""

    seeds: int = 4
    side: int = 10  # lights along one street
    iterations: int = 60
    episodes: int = 500  # an iteration
    every: int = 5  # iterations between tests
    tests: int = 500


QUICK = Effort(seeds=3, side=6, iterations=40, episodes=200, tests=300)
FULL = Effort()


def cells(effort: Effort) -> list[Cell]:
    """Method x seed, and the policies that need no learning."""
    told = asdict(effort)
    del told["seeds"]
    cost = 3.3e-5 * effort.iterations * effort.episodes * effort.side**2
    learned = [
        Cell(CURVES, {"method": method, "seed": seed, **told}, cost)
        for seed in range(effort.seeds)
        for method in traffic.METHODS
    ]
    return [*learned, Cell(LEVELS, {"side": effort.side, "tests": 4 * effort.tests, "seed": 0}, 3.0)]


def learning(settings: Settings) -> list[dict[str, Any]]:
    """The points of one curve."""
    keys = ("iterations", "episodes", "every", "tests")
    effort = traffic.Effort(**{key: settings[key] for key in keys})
    points = traffic.curve(settings["method"], settings["seed"], effort, settings["side"], threads=1)
    return [asdict(point) for point in points]


def levels(settings: Settings) -> dict[str, Any]:
    """Value and standard error of the policies that need no learning."""
    return dict(traffic.fixed(settings["side"], settings["tests"], settings["seed"]))


def rows(results: Results) -> list[Row]:
    """One row per point; levels have iteration 0."""
    found: list[Row] = []
    for cell, result in results:
        if cell.work == CURVES:
            found += [{**point, "side": cell.settings["side"]} for point in result]
        else:
            found += [_level(name, told, cell.settings["side"]) for name, told in result.items()]
    return found


def _level(name: str, told: list[float], side: int) -> Row:
    point = traffic.Point(name, 0, 0, 0.0, told[0], told[1], 0.0, 0.0, None)
    return {**asdict(point), "side": side}


def tables(rows: Rows) -> list[Table]:
    """Values along the curves, sizes at the end, and the levels."""
    methods = [method for method in NAMES if chosen(rows, method=method)]
    iterations = distinct([row for row in rows if row["method"] in NAMES], "iteration")
    shown = [*iterations[:: max(1, len(iterations) // 8)], iterations[-1]]
    lines = [
        (str(i), *(mean_of(column(chosen(rows, method=m, iteration=i), "value")).words(1) for m in methods))
        for i in dict.fromkeys(shown)
    ]
    last = {m: chosen(rows, method=m, iteration=iterations[-1]) for m in methods}
    for key, words in (
        ("nodes", "nodes at the end"),
        ("acting", "nodes that act differently"),
        ("seconds", "s"),
    ):
        lines.append((words, *(f"{mean_of(column(last[m], key)).value:.2f}" for m in methods)))
    level = [
        (str(row["method"]), f"{row['value']:.1f} ± {1.96 * float(str(row['error'])):.1f}") for row in _levels(rows)
    ]
    side = rows[0]["side"]
    return [
        Table(f"{side} x {side} lights: test reward", ("iteration", *(NAMES[m] for m in methods)), tuple(lines)),
        Table("Policies that need no learning", ("policy", "value"), tuple(level)),
    ]


def _levels(rows: Rows) -> list[Row]:
    return [row for row in rows if row["method"] not in NAMES]


def pictures(rows: Rows) -> list[Picture]:
    """Test reward, controller size."""
    iterations = [float(i) for i in distinct([row for row in rows if row["method"] in NAMES], "iteration")]
    levels = [_flat(row, iterations) for row in _levels(rows) if row["method"] in ("heuristic", "random")]
    value = Panel("", "iteration", "test reward", (*(_curve(rows, m, "value") for m in NAMES), *levels))
    size = Panel("", "iteration", "nodes per agent", tuple(_curve(rows, m, "nodes") for m in NAMES), from_zero=True)
    side = rows[0]["side"]
    caption = f"Traffic, {side} x {side} lights (reconstruction): test reward and mean controller size per iteration."
    return [Picture("figure2", caption + " Bands: one standard deviation over seeds.", ((value, size),))]


def _curve(rows: Rows, method: str, key: str) -> Curve:
    some = chosen(rows, method=method)
    points = distinct(some, "iteration")
    means = [mean_of(column(chosen(some, iteration=i), key)) for i in points]
    error = tuple(m.spread for m in means)
    return Curve(NAMES[method], tuple(float(i) for i in points), tuple(m.value for m in means), error)


def _flat(row: Row, iterations: list[float]) -> Curve:
    value = column([row], "value")[0]
    return Curve(str(row["method"]), (iterations[0], iterations[-1]), (value, value), None, "level")


def claims(rows: Rows) -> list[Claim]:
    """What the paper reads off its figure."""
    last = max(column(rows, "iteration"))
    ends = {m: mean_of(column(chosen(rows, method=m, iteration=last), "value")) for m in NAMES}
    return [_order(ends), _beyond(rows, ends["sbpr-heuristic"]), _soon(rows, ends["mcem"]), _sizes(rows, last)]


def _order(ends: dict[str, Mean]) -> Claim:
    best = ends["sbpr-heuristic"]
    sides = [above(best, ends[other]) for other in ("sbpr-exploration", "mcem")]
    seen = "yes" if sides == ["above", "above"] else "no" if "below" in sides else "partly"
    told = "At the end: " + "; ".join(f"{NAMES[m]} {ends[m].words(1)}" for m in NAMES) + "."
    return Claim("With the heuristic Dec-SBPR achieves the best performance.", seen, told)


def _beyond(rows: Rows, learned: Mean) -> Claim:
    level = next(row for row in _levels(rows) if row["method"] == "heuristic")
    value = column([level], "value")[0]
    gain, side = learned.value - value, rows[0]["side"]
    seen = "yes" if gain > learned.half else "no" if gain < -learned.half else "partly"
    told = f"At the end {learned.words(1)}, where the heuristic has {value:.1f}; {side} x {side} lights."
    return Claim("(Ours, not the paper's:) learning that begins with the heuristic ends above it.", seen, told)


def _soon(rows: Rows, mcem: Mean) -> Claim:
    some = chosen(rows, method="sbpr-exploration")
    means = [(i, mean_of(column(chosen(some, iteration=i), "value"))) for i in distinct(some, "iteration")]
    passed = [i for i, mean in means if mean.value > mcem.value]
    seen = "yes" if passed and passed[0] <= 20 else "partly" if passed else "no"
    when = f"from iteration {passed[0]} on" if passed else "never"
    told = f"It passes what MCEM has at the end ({mcem.value:.1f}) {when}; it was tested every few iterations."
    return Claim("With exploration only, Dec-SBPR beats MCEM in a few iterations.", seen, told)


def _sizes(rows: Rows, last: float) -> Claim:
    some = chosen(rows, method="sbpr-exploration")
    first, end = (mean_of(column(chosen(some, iteration=i), "nodes")).value for i in (1, last))
    inferred = end < first - 1e-9
    told = (
        f"It has {end:.2f} nodes per agent at the end, MCEM 3; but it began with {first:.2f}, one node per action"
        + (", so the size was inferred." if inferred else ": the size is that of the start, the prior dropped no node.")
    )
    return Claim(
        "The inferred number of nodes is smaller than MCEM's preset one.", "yes" if inferred else "partly", told
    )


EXPERIMENT = Experiment(
    "figure2",
    "Figure 2: traffic, one agent per light",
    ABOUT,
    {"quick": QUICK, "full": FULL},
    cells,
    rows,
    tables,
    pictures,
    claims,
)
