"""The appendix: value, inferred nodes and exploration rate per iteration, for the five problems."""

from dataclasses import dataclass

from decpomdp.core.fit import Row
from decpomdp.experiments.appendix_claims import (
    FORMS,
    claims,
    ends,
    kept_words,
    last_size,
    last_value,
    size_judged,
    value_judged,
)
from decpomdp.experiments.cells import Cell
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
from decpomdp.experiments.judging import mean_of
from decpomdp.experiments.published import PROBLEMS, TABLE2
from decpomdp.interaction.sbpr.settings import SbprTuning

WORK = "decpomdp.experiments.sequence:work"
SHOWN = {**FORMS, "mean_nodes": "|Z|", "exploration": "exploration"}
ABOUT = (
    "One unbroken sequence of batches of 50 episodes with u = 100, from the best replayed episode: one round of our "
    "loop. Values are exact, of the iteration's posterior mean and of its likeliest choices. The paper says that its "
    'curves are "associated with the numbers reported in the first two columns of Table 2": so the last iteration is '
    "held against value and size of its column of fixed iterations. Our table 2 is more than this sequence, the whole "
    "loop: more starts, and the best team kept. The update of the exploration rate is a reconstruction; "
    "the paper gives none. Ours begins optimistic (returns above a quantile count for more, docs/sbpr.md, which is not "
    f"in the paper); that falls to nothing after {SbprTuning().sobering:.0%} of the iterations, and values "
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
    """One row per iteration; the error of a test is known at the last, and not in cells made by older code."""
    unknown = {f"{form}_error": None for form in FORMS}
    return [
        {"problem": cell.settings["problem"], "seed": cell.settings["seed"], **unknown, **row}
        for cell, result in results
        for row in result
    ]


def tables(rows: Rows) -> list[Table]:
    """First and last iteration, and the last beside the published value and size."""
    problems = distinct(rows, "problem")
    first = ("problem", "iterations", *(f"{name}: {end}" for name in SHOWN.values() for end in ("first", "last")))
    beside = (
        "problem",
        "paper: value, |Z|",
        "posterior mean",
        "posterior mean, beside the paper's",
        "likeliest choices",
        "likeliest choices, beside the paper's",
        "|Z|: least .. most",
        "|Z|, beside the paper's",
    )
    return [
        Table("First and last iteration", first, tuple(_course(rows, name) for name in problems), kept_words(rows)),
        Table(
            "The last iteration beside table 2 of the paper",
            beside,
            tuple(_end(rows, p) for p in problems),
            _note(rows),
        ),
    ]


def _course(rows: Rows, problem: str) -> tuple[str, ...]:
    some = chosen(rows, problem=problem)
    told = (mean_of(column(end, key)).words() for key in SHOWN for end in ends(some))
    return PROBLEMS[problem], f"{max(column(some, 'iteration')):.0f}", *told


def _end(rows: Rows, problem: str) -> tuple[str, ...]:
    some, entry = chosen(rows, problem=problem), TABLE2[problem, "sbpr-iterations"]
    values = (words for form in FORMS for words in (last_value(some, form).words(), value_judged(some, problem, form)))
    size = last_size(some)
    sizes = f"{size.value:.2f}: {size.least:g} .. {size.most:g}", size_judged(some, problem)
    return PROBLEMS[problem], f"{entry.value:g}, {entry.nodes:g}", *values, *sizes


def _note(rows: Rows) -> str:
    """How the intervals were made."""
    last = ends(rows)[1]
    missing = len(last) - len(column(last, "value_error"))
    wide = "Intervals are widened by the error of a mean of 100 test episodes"
    wide += f", but {missing} of {len(last)} cells were made by code that did not record it." if missing else "."
    return f"{wide} Sizes are nodes occupied in the posterior, the same for both kinds of choices."


def pictures(rows: Rows) -> list[Picture]:
    """A row of three panels per problem."""
    panels, sober = [], _sober(rows)
    for problem in distinct(rows, "problem"):
        some = chosen(rows, problem=problem)
        entry = TABLE2[problem, "sbpr-iterations"]
        value = (*(_curve(some, form, name) for form, name in FORMS.items()), _published(some, entry.value))
        size = (_curve(some, "mean_nodes", "occupied"), _published(some, entry.nodes))
        rate = (_curve(some, "exploration", "mean over visits"),)
        panels.append(
            (
                Panel(PROBLEMS[problem], "iteration", "value", value, event=sober),
                Panel("", "iteration", "nodes per agent", size, from_zero=True, event=sober),
                Panel("", "iteration", "exploration rate", rate, from_zero=True, event=sober),
            )
        )
    caption = (
        "Sequential batches of 50 episodes, u = 100: value of the iteration's policy, occupied nodes, exploration "
        "rate. Bands: one standard deviation over seeds. Dashed across: value and size in the paper's table 2. Upright "
        f"line: iteration {sober:.0f}, where our optimism (not in the paper) has fallen to nothing."
    )
    return [Picture("appendix", caption, tuple(panels))]


def _sober(rows: Rows) -> float:
    """The iteration at which optimism ends, as `sequence` has it."""
    return SbprTuning().sobering * max(column(rows, "iteration"))


def _curve(some: Rows, key: str, name: str) -> Curve:
    known = [row for row in some if row[key] is not None]
    points = distinct(known, "iteration")
    means = [mean_of(column(chosen(known, iteration=i), key)) for i in points]
    error = tuple(m.spread for m in means)
    return Curve(name, tuple(float(i) for i in points), tuple(m.value for m in means), error)


def _published(some: Rows, level: float) -> Curve:
    points = column(some, "iteration")
    return Curve("paper", (min(points), max(points)), (level,) * 2, None, "level")


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
