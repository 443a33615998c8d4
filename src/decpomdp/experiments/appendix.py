"""The appendix: value, inferred nodes and exploration rate per iteration, for the five problems."""

from dataclasses import dataclass

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
    judged,
)
from decpomdp.experiments.judging import compare, mean_of
from decpomdp.experiments.published import PROBLEMS, TABLE2
from decpomdp.interaction.sbpr_settings import SbprSettings

WORK = "decpomdp.experiments.sequence:work"
ABOUT = (
    "One unbroken sequence of batches of 50 episodes with u = 100, from the best replayed episode: one round of our "
    "loop. Values are exact, of the iteration's posterior mean and of its likeliest choices. Table 2 is the whole "
    "loop: more starts, and the best team kept. The update of the exploration rate is a reconstruction; "
    "the paper gives none. Ours begins optimistic (returns above a quantile count for more, docs/sbpr.md, which is not "
    f"in the paper); that falls to nothing after {SbprSettings().sobering:.0%} of the iterations, and values "
    "settle there."
)


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is run."""

    seeds: int = 6
    problems: tuple[str, ...] = tuple(PROBLEMS)
    iterations: int = 200
    every: int = 5


QUICK = Effort(seeds=3, iterations=60)
FULL = Effort()


def cells(effort: Effort) -> list[Cell]:
    """Problem x seed."""
    found = []
    for seed in range(effort.seeds):
        for problem in effort.problems:
            cost = (0.15 if problem in ("boxpushing", "marsrovers") else 0.05) * effort.iterations + 2
            settings = {"problem": problem, "seed": seed, "iterations": effort.iterations, "every": effort.every}
            found.append(Cell(WORK, settings, cost))
    return found


def rows(results: Results) -> list[Row]:
    """One row per iteration."""
    return [
        {"problem": cell.settings["problem"], "seed": cell.settings["seed"], **row}
        for cell, result in results
        for row in result
    ]


def tables(rows: Rows) -> list[Table]:
    """First and last iteration, beside the published value and size."""
    header = (
        "problem",
        "paper: value, |Z|",
        "iterations",
        "value: first",
        "last",
        "likeliest choices",
        "|Z|: first",
        "last ",
        "exploration: first",
        "last  ",
    )
    return [Table("First and last iteration", header, tuple(_line(rows, name) for name in distinct(rows, "problem")))]


def _line(rows: Rows, problem: str) -> tuple[str, ...]:
    some = chosen(rows, problem=problem)
    ends = min(column(some, "iteration")), max(column(some, "iteration"))

    def told(key: str, place: int) -> str:
        return mean_of(column(chosen(some, iteration=ends[place]), key)).words()

    entry = TABLE2[problem, "sbpr-iterations"]
    pairs = [told(key, place) for key in ("mean_nodes", "exploration") for place in (0, 1)]
    values = (told("value", 0), told("value", 1), told("decided", 1))
    return PROBLEMS[problem], f"{entry.value:g}, {entry.nodes:g}", f"{ends[1]:.0f}", *values, *pairs


def pictures(rows: Rows) -> list[Picture]:
    """A row of three panels per problem."""
    panels, sober = [], _sober(rows)
    for problem in distinct(rows, "problem"):
        some = chosen(rows, problem=problem)
        value = (_curve(some, "value", "posterior mean"), _curve(some, "decided", "likeliest choices"))
        size, rate = _curve(some, "mean_nodes", "occupied"), _curve(some, "exploration", "mean over visits")
        panels.append(
            (
                Panel(PROBLEMS[problem], "iteration", "value", (*value, _published(some, problem)), event=sober),
                Panel("", "iteration", "nodes per agent", (size,), from_zero=True, event=sober),
                Panel("", "iteration", "exploration rate", (rate,), from_zero=True, event=sober),
            )
        )
    caption = (
        "Sequential batches of 50 episodes, u = 100: value of the iteration's policy, occupied nodes, exploration "
        "rate. Bands: one standard deviation over seeds. Dashed across: the paper's table 2. Upright line: iteration "
        f"{sober:.0f}, where our optimism (not in the paper) has fallen to nothing."
    )
    return [Picture("appendix", caption, tuple(panels))]


def _sober(rows: Rows) -> float:
    """The iteration at which optimism ends, as `sequence` has it."""
    return SbprSettings().sobering * max(column(rows, "iteration"))


def _curve(some: Rows, key: str, name: str) -> Curve:
    known = [row for row in some if row[key] is not None]
    points = distinct(known, "iteration")
    means = [mean_of(column(chosen(known, iteration=i), key)) for i in points]
    error = tuple(m.spread for m in means)
    return Curve(name, tuple(float(i) for i in points), tuple(m.value for m in means), error)


def _published(some: Rows, problem: str) -> Curve:
    points = column(some, "iteration")
    return Curve("paper", (min(points), max(points)), (TABLE2[problem, "sbpr-iterations"].value,) * 2, None, "level")


def claims(rows: Rows) -> list[Claim]:
    """What the paper's plots are there to show."""
    told, rising, falling = [], 0, 0
    for problem in distinct(rows, "problem"):
        some = chosen(rows, problem=problem)
        ends = min(column(some, "iteration")), max(column(some, "iteration"))
        value, rate = (
            [mean_of(column(chosen(some, iteration=i), key)) for i in ends] for key in ("value", "exploration")
        )
        rising += _last_against_first(some, "value") == "above"
        falling += _last_against_first(some, "exploration") == "below"
        told.append(
            f"{PROBLEMS[problem]} {value[0].value:.2f} to {value[1].value:.2f}, exploring {rate[0].value:.2f} to "
            f"{rate[1].value:.2f}"
        )
    count = len(told)
    seen = "yes" if rising == falling == count else "no" if 0 in (rising, falling) else "partly"
    evidence = f"{'; '.join(told)}. Values rise on {rising}, the rate falls on {falling} of {count} problems."
    rule = (
        "the last iteration against the first, by interval or ranks; yes: both on every problem; partly: each on some."
    )
    says = "Over the iterations values rise while the exploration rate falls."
    return judged([Claim(says, seen, evidence, rule)], rows)


def _last_against_first(some: Rows, key: str) -> str:
    points = column(some, "iteration")
    last, first = (column(chosen(some, iteration=i), key) for i in (max(points), min(points)))
    return compare(last, first).side


EXPERIMENT = Experiment(
    "appendix",
    "Appendix: learning curves of the paper's loop",
    ABOUT,
    {"quick": QUICK, "full": FULL},
    cells,
    rows,
    tables,
    pictures,
    claims,
)
