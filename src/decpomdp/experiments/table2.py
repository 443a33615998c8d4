"""Table 2: five problems, two kinds of Dec-SBPR, MCEM, two planners that know the model, and our default search.

A cell learns or plans one team and evaluates it. Dec-SBPR and MCEM follow the paper's protocol: batches played one
after the other (50 episodes for Dec-SBPR), u = 100, first controllers made from the best episodes. In the columns of
fixed time both get the same processor time, a share of what the paper gives to MCEM, and neither stops by itself
before. Everything else is limited by counts, so that it can be repeated exactly; PeriEM, whose EM takes long on the two
large problems, by processor time too. Processor time on one thread does not depend on what else the machine does.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import product
from time import process_time
from typing import Any, NamedTuple

import msgspec
import numpy as np

from decpomdp.api import BY_PROBLEM, RunSetup, execute
from decpomdp.core import DecPOMDP, Fit
from decpomdp.core.run import Budget, Inputs, warm_up
from decpomdp.domains.load import load_model
from decpomdp.evaluation import exact_value, sampled_value
from decpomdp.experiments.cells import Cell, Settings
from decpomdp.experiments.experiment import Experiment, Results, TextTable, flat
from decpomdp.experiments.judge import Effort, Evidence, ResultRows, Weigh, on_side, texts_of
from decpomdp.experiments.means import ROUNDED, Comparison, Mean, above, compare, mean_of, size_verdict, verdict
from decpomdp.experiments.published import (
    DISCOUNT,
    LARGE,
    METHODS,
    PROBLEMS,
    TABLE2,
    TEST_EPISODES,
    TEST_STEPS,
    PublishedEntry,
)
from decpomdp.learners import BayesFit

LEARNERS = {"sbpr-iterations": "sbpr", "sbpr-time": "sbpr", "mcem-time": "mcem"}  # two columns of one method
PLANNERS = ("periem", "fb-hsvi")
BUDGET = ("processor_seconds", "steps", "iterations")  # limits that are not settings of the method
ENDLESS = 1_000_000  # failures in a row: the processor time ends the run first
LIMITS = texts_of("table2").limits
TESTING = 1_000_000  # added to the seed: test episodes have random numbers of their own


class Table2Result(msgspec.Struct, frozen=True):
    """The result of a cell: value and cost of one team."""

    value: float  # exact
    sampled: float  # as the paper measured
    sampled_error: float
    nodes: float
    inferred: float | None  # occupied in the posterior
    stopped: str
    seconds: float


def cells(effort: Effort) -> list[Cell]:
    """Problem x method x seed; the planners hardly depend on the seed: one."""
    found = []
    for seed, problem, method in product(range(effort["seeds"]), effort["problems"], effort["methods"]):
        if seed == 0 or method not in PLANNERS:
            settings = {"problem": problem, "method": LEARNERS.get(method, method), "seed": seed}
            limits, cost = _limits(effort, problem, method)
            found.append(Cell(f"{__name__}:work", {**settings, "limits": limits}, cost))
    return found


def _limits(effort: Effort, problem: str, method: str) -> tuple[dict[str, Any], float]:
    """The limits of the method, and about how many seconds they take."""
    large = 3.0 if problem in LARGE else 1.0
    clock = min(effort["longest"], effort["time_share"] * TABLE2[problem, "mcem"].seconds)
    kinds: dict[str, tuple[dict[str, Any], float]] = {
        "sbpr-iterations": ({"iterations": effort["iterations"]}, 0.04 * effort["iterations"]),
        "sbpr-time": ({"processor_seconds": clock}, clock),
        "mcem-time": ({"processor_seconds": clock}, clock),
        "mcem": ({"iterations": effort["mcem_iterations"]}, 0.005 * effort["mcem_iterations"]),
        "periem": (
            {"restarts": effort["restarts"], "processor_seconds": effort["planning"]},
            large * effort["restarts"],
        ),
        "fb-hsvi": ({"iterations": effort["rounds"]}, 2.0 * large * effort["rounds"]),
        "search": ({"steps": effort["steps"]}, 0.055 * effort["steps"] / 1e6),
    }
    return kinds[method]


def work(settings: Settings) -> Table2Result:
    """One team; settings are `problem`, `method`, `seed` and `limits`."""
    model = load_model(settings["problem"], DISCOUNT)
    _warm_up(settings["method"])
    began = process_time()
    fit = _fit(model, settings["method"], settings["seed"], settings["limits"])
    seconds = process_time() - began
    sampled = sampled_value(model, fit.team, TEST_EPISODES, TEST_STEPS, settings["seed"] + TESTING, threads=1)
    posterior = fit.posterior if isinstance(fit, BayesFit) else None
    return Table2Result(
        value=exact_value(model, fit.team).value,
        sampled=sampled.value,
        sampled_error=sampled.standard_error,
        nodes=float(np.mean(fit.team.nodes)),
        inferred=None if posterior is None else float(np.mean(posterior.sizes)),
        stopped=fit.stopped,
        seconds=seconds,
    )


def _fit(model: DecPOMDP, method: str, seed: int, limits: dict[str, Any]) -> Fit:
    seconds = limits.get("processor_seconds")
    fields = {key: value for key, value in limits.items() if key not in BUDGET}
    if seconds is not None and method in ("sbpr", "mcem"):
        fields["patience"] = ENDLESS
    budget = Budget(cpu_seconds=seconds, steps=limits.get("steps"), iterations=limits.get("iterations"))
    return execute(RunSetup(model, BY_PROBLEM[method](**fields), Inputs(seed, 1), budget))


@cache
def _warm_up(method: str) -> None:
    """Compiled code is loaded once per process; that time belongs to no cell."""
    warm_up(RunSetup(load_model("broadcast", DISCOUNT), BY_PROBLEM[method](), Inputs(0, 1)).method().toy())


def rows(results: Results) -> ResultRows:
    """One row per run; a method with limits on its time has a row of its own in the table."""
    names = {("sbpr", False): "sbpr-iterations", ("sbpr", True): "sbpr-time", ("mcem", True): "mcem-time"}
    found = flat(results, "problem", "method", "seed")
    timed = ("processor_seconds" in cell.settings["limits"] for cell, _ in results)
    pairs = zip(found, timed, strict=True)
    return ResultRows({**row, "method": names.get((row["method"], fixed), row["method"])} for row, fixed in pairs)


def tables(rows: ResultRows) -> list[TextTable]:
    """One table per problem: the paper's numbers next to ours."""
    ours = ("ours, exact", "worst .. best", "100 episodes", "|Z|", "s")
    header = (
        "method",
        "paper: value, |Z|, s",
        *ours,
        "value, compared with the paper's",
        "|Z|, compared with the paper's",
    )
    found = []
    for problem, some in rows.groups("problem").items():
        methods = [method for method in METHODS if some.where(method=method)]
        lines = tuple(_line(some.where(method=method), TABLE2.get((problem, method))) for method in methods)
        found.append(TextTable(PROBLEMS[problem], header, lines))
    return found


def _line(some: ResultRows, entry: PublishedEntry | None) -> tuple[str, ...]:
    method, value = some[0]["method"], some["value"]
    nodes, inferred = some["nodes"], some["inferred"] if some.column("inferred") else None
    size = f"{nodes.value:.1f}" + (f" ({inferred.value:.1f})" if inferred else "")
    paper, compared = "-", ("-", "-")
    if entry:
        paper = f"{entry.value:g}, {entry.size or f'{entry.nodes:g}'}, {entry.seconds:g}"
        # a planner's published value is no mean of test episodes: only its digits leave room
        mean = replace(value, half=max(value.half, ROUNDED)) if method in PLANNERS else _tested(some)
        kind = "not inferred" if method in PLANNERS else "preset"  # such sizes say nothing of the method
        compared = verdict(entry.value, mean), size_verdict(entry.nodes, inferred) if inferred else kind
    span, seconds = f"{value.least:.2f} .. {value.most:.2f}", f"{some['seconds'].value:.1f}"
    return METHODS[method], paper, f"{value}", span, f"{some['sampled']}", size, seconds, *compared


def _tested(some: ResultRows) -> Mean:
    return some.tested("value", "sampled_error")


class OnProblem(NamedTuple):
    """One problem of a claim: the methods that it names, in its order."""

    problem: str
    methods: tuple[ResultRows, ...]
    best: float  # value of FB-HSVI, here or in the paper

    @property
    def name(self) -> str:
        """For people."""
        return PROBLEMS[self.problem]

    @property
    def found(self) -> Comparison:
        """The first method against the second; a planner has one seed for all."""
        return compare(self.methods[0].column("value"), self.methods[1].column("value"))

    @property
    def loss(self) -> float:
        """The share of the best value that the low end of our interval loses."""
        return max(self.best - self.methods[0]["value"].low, 0.0) / abs(self.best)

    @property
    def misses(self) -> tuple[float, float, float]:
        """What our mean, the low end of our interval and the mean of the second method miss of the best value."""
        ours, other = (some["value"] for some in self.methods[:2])
        return self.best - ours.value, self.best - ours.low, self.best - other.value

    @property
    def against_periem(self) -> str:
        """Our value against the published one of PeriEM, in words; empty without one."""
        entry = TABLE2.get((self.problem, "periem"))
        side = above(_tested(self.methods[0]), mean_of([entry.value])) if entry else ""
        return f"; published {entry.value:.2f}: {side}" if entry else ""


def _runs(rows: ResultRows, *methods: str) -> list[OnProblem] | None:
    """One for every problem; None unless all these methods were run on all of them."""
    found = []
    for problem, some in rows.groups("problem").items():
        planned, published = some.where(method="fb-hsvi"), TABLE2[problem, "fb-hsvi"].value
        best = max(published, planned["value"].value) if planned else published
        found.append(OnProblem(problem, tuple(some.where(method=method) for method in methods), best))
    return found if all(all(run.methods) for run in found) else None


def _evidence(runs: list[OnProblem], yes: bool, partly: bool, **facts: Any) -> Evidence:
    """With an item for each problem."""
    each = [
        {"run": run, "ours": ours, "other": run.methods[-1], "paper": TABLE2[run.problem, ours[0]["method"]]}
        for run in runs
        for ours in run.methods[:1]
    ]
    return Evidence(yes, partly, each, problems=len(runs), **facts)


def _weighed(weigh: Callable[..., Evidence | None]) -> Weigh:
    """Evidence of a claim about some methods, where they were all run."""

    def evidence(rows: ResultRows, *methods: str) -> Evidence | None:
        runs = _runs(rows, *methods)
        return None if runs is None else weigh(runs, *methods)

    return evidence


def _better(runs: list[OnProblem], method: str, _: str) -> Evidence:
    """Above MCEM: ours and ours, ours and the published one, the published one and the published one."""
    published = {run.problem: TABLE2[run.problem, "mcem"].value for run in runs}
    higher = sum(above(_tested(run.methods[0]), mean_of([published[run.problem]])) == "above" for run in runs)
    own = [run.name for run in runs if TABLE2[run.problem, method].value < published[run.problem]]
    words = f" The paper's own table has Dec-SBPR below MCEM on {' and '.join(own)}." if own else ""
    return _evidence(runs, *on_side([run.found.side for run in runs], "above"), higher=higher, own=words)


def _lower(runs: list[OnProblem], *_: str) -> Evidence:
    return _evidence(runs, *on_side([run.found.side for run in runs], "below"))


def _near(runs: list[OnProblem], *_: str) -> Evidence:
    near = sum(run.loss <= LIMITS["near"] for run in runs)
    return _evidence(runs, near >= LIMITS["some"], near > 0)


def _closer(runs: list[OnProblem], *_: str) -> Evidence:
    much = sum(run.misses[1] <= LIMITS["closer"] * run.misses[2] for run in runs)
    return _evidence(runs, much == len(runs), 2 * much >= len(runs))


def _sometimes(runs: list[OnProblem], *_: str) -> Evidence:
    return _evidence(
        runs, "above" in [run.found.side for run in runs], any("above" in run.against_periem for run in runs)
    )


def _needed(runs: list[OnProblem], method: str) -> Evidence | None:
    """The nodes occupied in the posterior against those of the smallest controllers that act the same."""
    if not all(run.methods[0].column("inferred") for run in runs):
        return None
    fitting = [
        run.name
        for run in runs
        if run.methods[0]["inferred"].value - run.methods[0]["nodes"].value <= LIMITS["needed"]
        and run.loss <= LIMITS["near"]
    ]
    return _evidence(runs, len(fitting) == len(runs), bool(fitting), fitting=", ".join(fitting) or "none")


EVIDENCE = (_better, _lower, _near, _closer, _sometimes, _needed)
EXPERIMENT = Experiment("table2", cells, rows, tables, {weigh.__name__[1:]: _weighed(weigh) for weigh in EVIDENCE})
