"""Problems x methods x seeds: every cell a run of `decpomdp learn` in a folder of its own.

A cell whose folder holds a finished run is not run again, so an interrupted table is continued by the same command. A
folder with runs of a problem that has changed since, or of other versions, is refused.
The value is the exact one that the run computed from the model after learning.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

from decpomdp.core import FormatError, InputError
from decpomdp.domains.load import ENDINGS, load
from decpomdp.experiments.cells import Cell, content_of, finished, result_of
from decpomdp.experiments.crew import Jobs, Progress, run_cells
from decpomdp.io.run_folder import can_resume, check_same, locked, mark, unfinished
from decpomdp.io.runs import RUN, source_digest, versions

PLAN = "benchmark.json"


@dataclass(frozen=True, slots=True)
class Plan:
    """What the table holds."""

    problems: tuple[str, ...]
    methods: tuple[str, ...]
    seeds: int
    time_limit: float | None
    steps: int | None
    threads: int | None


@dataclass(frozen=True, slots=True)
class Line:
    """One problem and method over all seeds."""

    problem: str
    method: str
    seeds: int
    median: float
    worst: float
    best: float
    nodes: str  # of the run with the median value
    largest: int  # controller of any run
    seconds: float  # median
    steps: float  # median
    untaught: int  # runs that played nothing they could learn from before their limit


def cell_of(folder: Path, plan: Plan, problem: str, method: str, seed: int, work: str = "") -> Cell:
    """One run: what it is, and the folder it is kept in."""
    name = Path(problem).name
    for ending in ENDINGS:
        name = name.removesuffix(ending)
    own = f"{name}-{method}-{seed}"
    settings = {"problem": problem, "method": method, "seed": seed, "out": str(folder / own)}
    limits = {"time_limit": plan.time_limit, "steps": plan.steps, "threads": plan.threads}
    return Cell(work, {**settings, **limits}, own_file=f"{own}/{RUN}")


def cells(folder: Path, plan: Plan, work: str) -> list[Cell]:
    """All cells; seed by seed, so that an unfinished table is about even."""
    keys = ((p, m, s) for s in range(plan.seeds) for p in plan.problems for m in plan.methods)
    return [cell_of(folder, plan, *key, work) for key in keys]


def open_table(folder: Path, plan: Plan) -> None:
    """Make the table's folder, or continue one with the same plan (more seeds may be asked for)."""
    _check_names(folder, plan)
    told = asdict(plan)
    del told["seeds"]
    told = json.loads(json.dumps(told))
    before = content_of(folder / PLAN)
    if before is None:
        mark(folder, PLAN, json.dumps(told, indent=2).encode(), "a new, empty or unfinished benchmark folder")
        before = content_of(folder / PLAN)
    if before != told:
        known = before or {}
        wrong = next((key for key in told if known.get(key) != told[key]), min({*known} - {*told}, default=""))
        raise InputError(
            f"{folder}: expected the plan of this folder ({wrong} = {known.get(wrong)}), got {told.get(wrong)}; "
            f"choose another --out"
        )


def _check_names(folder: Path, plan: Plan) -> None:
    """Two files of the same name would be kept in the same place."""
    owners: dict[str, str] = {}
    for problem in plan.problems:
        other = owners.setdefault(cell_of(folder, plan, problem, "", 0).own_file, problem)
        if other != problem:
            raise InputError(f"problems: expected different names, got {other} and {problem}")


def run_table(folder: Path, plan: Plan, jobs: Jobs, work: str, tell: Callable[[str], None]) -> None:
    """Run every cell that is not finished, here or on a cluster; `work` learns one team and leaves its run folder."""
    open_table(folder, plan)
    with locked(folder):
        check_kept(folder, cells(folder, plan, work))
        _run_table(folder, plan, jobs, work, tell)


def check_kept(folder: Path, wanted: Sequence[Cell]) -> None:
    """Refuse runs of other contents of the problem or of other versions: one line must not mix what differs."""
    now = cache(_facts)
    for cell in wanted:
        run = (folder / cell.place).parent
        if finished(folder, cell):
            before = _told(content_of(folder / cell.place))
            for name, here in now(cell.settings["problem"]).items():
                if before.get(name) != here:
                    words = f"expected a run with {name} {_short(here)}, as now, got {_short(before.get(name))}"
                    raise InputError(f"{folder / cell.place}: {words}; choose another --out")
        elif can_resume(run) and (record := unfinished(run)) is not None:
            try:
                check_same(record, source_digest(load(cell.settings["problem"])))
            except InputError as error:
                raise InputError(f"{run}: {error}; choose another --out") from None


def _facts(problem: str) -> dict[str, Any]:
    """What a result depends on, beside the plan."""
    model = load(problem)
    return {"digest of the problem": source_digest(model), "discount": model.discount, **versions()}


def _short(fact: Any) -> str:
    return "none" if fact is None else str(fact)[:24]  # as much of a digest as tells two apart


def _told(run: dict[str, Any]) -> dict[str, Any]:
    """The same of a finished run."""
    before = run.get("versions")
    facts = {"digest of the problem": run.get("digest"), "discount": run.get("discount")}
    return {**facts, **before} if isinstance(before, dict) else facts


def _run_table(folder: Path, plan: Plan, jobs: Jobs, work: str, tell: Callable[[str], None]) -> None:
    at_a_time = jobs if isinstance(jobs, int) else jobs.places

    def told(progress: Progress) -> None:
        if progress.last is None:
            tell(f"{progress.kept + progress.todo} runs, {progress.todo} to do, {at_a_time} at a time")
            return
        result = learned(folder, progress.last)
        if result is None:
            raise InputError(f"{folder / progress.last.place}: expected a finished run, got none")
        value = f"{result['value']['value']:.5f}, nodes {'+'.join(map(str, result['nodes']))}"
        name = Path(progress.last.own_file).parent
        tell(f"{progress.done}/{progress.todo} {name}: {value}, {result['seconds']:.0f} s")

    run_cells(folder, cells(folder, plan, work), jobs, told)


def learned(folder: Path, cell: Cell) -> dict[str, Any] | None:
    """What a finished run says of itself; None if it is not finished. FormatError if that is not enough for a line."""
    told: dict[str, Any] | None = result_of(folder, cell)
    if told is None:
        return None
    value, nodes = told.get("value"), told.get("nodes")
    numbers = [value.get("value") if isinstance(value, dict) else None, told.get("seconds"), told.get("steps")]
    numbers += nodes if isinstance(nodes, list) and nodes else [None]
    if any(isinstance(number, bool) or not isinstance(number, int | float) for number in numbers):
        words = "expected a run with a finite value, its nodes, seconds and steps, got another"
        raise FormatError(str(folder / cell.place), None, words)
    return told


def lines_of(folder: Path, plan: Plan) -> Iterator[Line]:
    """The table, one line per problem and method with at least one finished cell."""
    for problem in plan.problems:
        for method in plan.methods:
            found = [learned(folder, cell_of(folder, plan, problem, method, seed)) for seed in range(plan.seeds)]
            results = [result for result in found if result is not None]
            if results:
                yield _line(problem, method, results)


def _line(problem: str, method: str, results: Sequence[dict[str, Any]]) -> Line:
    ordered = sorted(results, key=lambda result: result["value"]["value"])
    values = [result["value"]["value"] for result in ordered]
    middle = ordered[(len(ordered) - 1) // 2]
    return Line(
        problem=problem,
        method=method,
        seeds=len(values),
        median=median(values),
        worst=values[0],
        best=values[-1],
        nodes="+".join(map(str, middle["nodes"])),
        largest=max(max(result["nodes"]) for result in results),
        seconds=median(result["seconds"] for result in results),
        steps=median(result["steps"] for result in results),
        untaught=sum(not result.get("learned", True) for result in results),
    )
