"""Problems x methods x seeds: every cell a run of `decpomdp learn` in a process and a folder of its own.

A cell whose folder holds a finished run is not run again, so an interrupted table is continued by the same command.
The value is the exact one that the run computed from the model after learning.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from decpomdp.core import InputError
from decpomdp.domains.load import ENDINGS
from decpomdp.io.files import read_bytes, write_bytes
from decpomdp.io.runs import RUN

PLAN = "benchmark.json"
LIMIT = 10_000_000  # bytes of a file that we wrote ourselves


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
class Cell:
    """One run."""

    problem: str
    method: str
    seed: int

    @property
    def folder(self) -> str:
        """Where it is kept, below the table's own folder."""
        name = Path(self.problem).name
        for ending in ENDINGS:
            name = name.removesuffix(ending)
        return f"{name}-{self.method}-{self.seed}"


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


def cells(plan: Plan) -> list[Cell]:
    """All cells; seed by seed, so that an unfinished table is about even."""
    return [Cell(p, m, s) for s in range(plan.seeds) for p in plan.problems for m in plan.methods]


def open_table(folder: Path, plan: Plan) -> None:
    """Make the table's folder, or continue one with the same plan (more seeds may be asked for)."""
    told = asdict(plan)
    del told["seeds"]
    told = json.loads(json.dumps(told))
    if (folder / PLAN).exists():
        before = json.loads(read_bytes(folder / PLAN, LIMIT))
        if before != told:
            wrong = next(key for key in told if before.get(key) != told[key])
            raise InputError(
                f"{folder}: expected the plan of this folder ({wrong} = {before.get(wrong)}), got {told[wrong]}; "
                f"choose another --out"
            )
        return
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder}: expected a new, empty or unfinished benchmark folder, got another")
    folder.mkdir(parents=True, exist_ok=True)
    write_bytes(folder / PLAN, json.dumps(told, indent=2).encode())


def run_table(folder: Path, plan: Plan, jobs: int, tell: Callable[[str], None]) -> None:
    """Run every cell that is not finished, `jobs` at a time."""
    open_table(folder, plan)
    todo = [cell for cell in cells(plan) if result_of(folder, cell) is None]
    tell(f"{len(cells(plan))} runs, {len(todo)} to do, {jobs} at a time")
    with ThreadPoolExecutor(jobs) as pool:
        waiting = {pool.submit(run_cell, folder, plan, cell): cell for cell in todo}
        try:
            for number, done in enumerate(as_completed(waiting), 1):
                result = done.result()
                told = f"{result['value']['value']:.5f}, nodes {'+'.join(map(str, result['nodes']))}"
                tell(f"{number}/{len(todo)} {waiting[done].folder}: {told}, {result['seconds']:.0f} s")
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def run_cell(folder: Path, plan: Plan, cell: Cell) -> dict[str, Any]:
    """One `decpomdp learn`, in a process of its own."""
    target = folder / cell.folder
    if target.exists():
        shutil.rmtree(target)  # a run that was cut off
    command = [sys.executable, "-m", "decpomdp.cli.main", "learn", cell.problem, "--method", cell.method]
    command += ["--seed", str(cell.seed), "--out", str(target), "--json", "--quiet"]
    for option, value in (("--time-limit", plan.time_limit), ("--steps", plan.steps), ("--threads", plan.threads)):
        command += [option, str(value)] if value is not None else []
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 our own program
    result = result_of(folder, cell)
    if done.returncode != 0 or result is None:
        lines = done.stderr.strip().splitlines() or ["no message"]
        raise InputError(f"{cell.folder}: {lines[-1].removeprefix('error: ')}")
    return result


def result_of(folder: Path, cell: Cell) -> dict[str, Any] | None:
    """The record of a finished cell, or None."""
    path = folder / cell.folder / RUN
    return json.loads(read_bytes(path, LIMIT)) if path.exists() else None


def lines_of(folder: Path, plan: Plan) -> Iterator[Line]:
    """The table, one line per problem and method with at least one finished cell."""
    for problem in plan.problems:
        for method in plan.methods:
            found = [result_of(folder, Cell(problem, method, seed)) for seed in range(plan.seeds)]
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
    )
