"""Table 2: five problems, two kinds of Dec-SBPR, MCEM, two planners that know the model, and our default search.

A cell learns or plans one team and evaluates it. Dec-SBPR and MCEM follow the paper's protocol: batches played one
after the other (50 episodes for Dec-SBPR), u = 100, first controllers made from the best episodes. In the columns of
fixed time both get the same processor time, a share of the paper's time for MCEM, and neither stops earlier. Everything
else is limited by counts, so that it is exactly repeatable; PeriEM also by processor time, because its EM takes long on
the two large problems. Processor time on one thread does not depend on other processes of the machine.
"""

import math
from dataclasses import replace
from functools import cache
from itertools import product
from time import process_time
from typing import Any

import msgspec
import numpy as np

from decpomdp.api import BY_PROBLEM, RunSetup, execute
from decpomdp.core import DecPOMDP, Fit, Team
from decpomdp.core.run import Budget, Inputs, warm_up
from decpomdp.domains.load import load_model
from decpomdp.evaluation import SampledValue, exact_value, sampled_value
from decpomdp.experiments.cells import Cell, Settings
from decpomdp.experiments.experiment import Effort, Evidence, Experiment, Item, TextTable, sides, text_table, texts_of
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
from decpomdp.experiments.rows import (
    ROUNDED,
    Mean,
    ResultRows,
    Results,
    above,
    compare,
    flat,
    mean_of,
    size_verdict,
    verdict,
)
from decpomdp.learners import BayesFit

LEARNERS = {"sbpr-iterations": "sbpr", "sbpr-time": "sbpr", "mcem-time": "mcem"}  # two columns of one method
PLANNERS = ("periem", "fb-hsvi")
BUDGET = ("processor_seconds", "steps", "iterations")  # limits that are not settings of the method
ENDLESS = 1_000_000  # failures in a row: the processor time ends the run first
TEXTS = texts_of("table2")
LIMITS = TEXTS.limits
TESTING = 1_000_000  # added to the seed for test episodes


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
    """Problem x method x seed; one seed for the planners, because they hardly depend on it."""
    planned = []
    for seed, problem, method in product(range(effort["seeds"]), effort["problems"], effort["methods"]):
        if seed == 0 or method not in PLANNERS:
            settings = {"problem": problem, "method": LEARNERS.get(method, method), "seed": seed}
            limits, cost = _limits(effort, problem, method)
            planned.append(Cell(work, {**settings, "limits": limits}, cost))
    return planned


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
    sampled = tested_like_paper(model, fit.team, settings["seed"])
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


def tested_like_paper(model: DecPOMDP, team: Team, seed: int) -> SampledValue:
    """Value and standard error of test episodes, whose random numbers differ from those of learning."""
    return sampled_value(model, team, TEST_EPISODES, TEST_STEPS, seed + TESTING, threads=1)


def _fit(model: DecPOMDP, method: str, seed: int, limits: dict[str, Any]) -> Fit:
    seconds = limits.get("processor_seconds")
    fields = {key: value for key, value in limits.items() if key not in BUDGET}
    if seconds is not None and method in ("sbpr", "mcem"):
        fields["patience"] = ENDLESS
    budget = Budget(cpu_seconds=seconds, steps=limits.get("steps"), iterations=limits.get("iterations"))
    return execute(RunSetup(model, BY_PROBLEM[method](**fields), Inputs(seed, 1), budget))


@cache
def _warm_up(method: str) -> None:
    """Load compiled code, once per process; this time is not part of any cell."""
    warm_up(RunSetup(load_model("broadcast", DISCOUNT), BY_PROBLEM[method](), Inputs(0, 1)).method().toy())


def rows(results: Results) -> ResultRows:
    """One row per run; a method with a time limit has a separate row in the table."""
    pairs = zip(flat(results, ("problem", "method", "seed")), results, strict=True)
    return ResultRows({**row, "method": _column(cell.settings)} for row, (cell, _) in pairs)


def _column(settings: Settings) -> str:
    """The row of the table to which a run belongs."""
    timed = "processor_seconds" in settings["limits"]
    columns = {"sbpr": ("sbpr-iterations", "sbpr-time"), "mcem": ("mcem", "mcem-time")}
    return columns[settings["method"]][timed] if settings["method"] in columns else str(settings["method"])


def tables(rows: ResultRows) -> list[TextTable]:
    """One table per problem: the paper's numbers next to ours."""
    tables_by_problem = []
    for problem, some in rows.groups("problem").items():
        methods = some.groups("method")
        lines = [_line(methods[name], TABLE2.get((problem, name))) for name in METHODS if name in methods]
        tables_by_problem.append(text_table(PROBLEMS[problem], TEXTS.columns["methods"], lines))
    return tables_by_problem


def _line(some: ResultRows, entry: PublishedEntry | None) -> dict[str, Any]:
    method, value = some.first["method"], some["value"]
    inferred = some["inferred"] if some.column("inferred") else None
    facts = dict.fromkeys(("paper", "value_compared", "size_compared"), "-")
    if entry:
        # a planner's published value is not a mean of test episodes: only its rounding is uncertain
        mean = replace(value, half=max(value.half, ROUNDED)) if method in PLANNERS else _tested(some)
        kind = "not inferred" if method in PLANNERS else "preset"  # such sizes are not compared
        facts = {
            "paper": f"{entry.value:g}, {entry.size or f'{entry.nodes:g}'}, {entry.seconds:g}",
            "value_compared": verdict(entry.value, mean),
            "size_compared": size_verdict(entry.nodes, inferred) if inferred else kind,
        }
    size = f"{some['nodes'].value:.1f}" + (f" ({inferred.value:.1f})" if inferred else "")
    return {"method": METHODS[method], "rows": some, "size": size, **facts}


def _tested(some: ResultRows) -> Mean:
    return some.tested("value", "sampled_error")


def _compared(rows: ResultRows, *methods: str) -> Evidence | None:
    """The first method on every problem, against the second; None unless all were run on all problems."""
    items, own = [], []
    for problem, some in rows.groups("problem").items():
        runs = [some.where(method=method) for method in methods]
        if not all(runs):
            return None
        planned, published = some.where(method="fb-hsvi"), TABLE2[problem, "fb-hsvi"].value
        best = max(published, planned["value"].value) if planned else published
        items.append(_on_problem(problem, runs[0], runs[1] if len(runs) > 1 else runs[0], best))
        paper, other = (TABLE2.get((problem, method)) for method in (methods[0], methods[-1]))
        own += [PROBLEMS[problem]] if paper and other and paper.value < other.value else []
    words = TEXTS.words["own"].format(problems=" and ".join(own))
    return Evidence(items, own=f" {words}" if own else "")


def _on_problem(problem: str, ours: ResultRows, other: ResultRows, best: float) -> Item:
    """Ours against another method and against the best value, that of FB-HSVI, here or in the paper."""
    value = ours["value"]
    side = compare(ours.column("value"), other.column("value"))  # a planner has one seed for all
    entry = TABLE2.get((problem, other.first["method"]))
    over_entry = above(_tested(ours), mean_of([entry.value])) if entry else ""
    loss = max(best - value.low, 0.0) / abs(best)
    misses = [best - number for number in (value.value, value.low, other["value"].value)]
    beyond = ours["inferred"].value - ours["nodes"].value if ours.column("inferred") else math.inf
    near = loss <= LIMITS["near"]
    holds = {
        **sides(side.side),
        "above published": over_entry == "above",
        "near": near,
        "closer": misses[1] <= LIMITS["closer"] * misses[2],
        "fitting": near and beyond <= LIMITS["needed"],
    }
    facts: dict[str, Any] = {"ours": ours, "other": other, "side": side, "best": best, "loss": loss, "misses": misses}
    facts["published"] = f"; published {entry.value:.2f}: {over_entry}" if entry else ""
    return Item(holds, name=PROBLEMS[problem], paper=TABLE2[problem, ours.first["method"]], **facts)


def _needed(rows: ResultRows, method: str) -> Evidence | None:
    """The nodes occupied in the posterior against those of the smallest equivalent controllers."""
    evidence = _compared(rows, method)
    if evidence is None or not all(item.facts["ours"].column("inferred") for item in evidence.items):
        return None
    return Evidence(evidence.items, fitting=", ".join(evidence.names("fitting")) or "none")


EXPERIMENT = Experiment("table2", cells, rows, tables, {"compared": _compared, "needed": _needed})
