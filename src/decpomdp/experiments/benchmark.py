"""Problems x methods x seeds: every cell is a run of `decpomdp learn` or `plan` in its own folder.

A cell whose folder has a finished run is not run again, so the same command continues an interrupted table, and an
unfinished run is resumed from its checkpoint. benchmark.json contains the plan, the digests of the problems and the
versions: if any of them differs, the table is not continued. The value is the exact one that the run computed from the
model after learning. The command (`cli.experiments`) passes the work of a cell, which also writes the page of the run.

On a cluster, a cell runs in a temporary folder of the worker, and its files are sent back. Workers need the files of
problems at the same path; a file with different contents is rejected.
"""

import json
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from operator import attrgetter
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import msgspec

from decpomdp.core import FormatError, InputError
from decpomdp.domains.load import ENDINGS, is_file, load, load_model
from decpomdp.domains.references import is_better, offer
from decpomdp.domains.registry import is_model
from decpomdp.experiments import pool
from decpomdp.experiments.cells import Cell, Computed, Settings
from decpomdp.io.files import one_line_errors, read_bytes, write_bytes
from decpomdp.io.run_folder import empty, locked, mark
from decpomdp.io.runs import RUN, TEAM, RunRecord, read_record, source_digest, versions
from decpomdp.io.team import read_team

PLAN = "benchmark.json"
SUITE = Path(__file__).parents[3] / "benchmarks" / "suite.json"
BLOCK = 200  # the seeds of a block of the suite
LIMIT = 2**20  # bytes of a plan


@dataclass(frozen=True, slots=True)
class BenchmarkPlan:
    """Contents of the table."""

    problems: tuple[str, ...]
    methods: tuple[str, ...]
    seeds: int
    time_limit: float | None
    steps: int | None
    threads: int | None


class FinishedRun(NamedTuple):
    """A finished cell."""

    folder: Path
    record: RunRecord
    value: float
    how: str  # method that computed the value


Files = dict[str, bytes]  # of a run, by their names
Work = Callable[[Settings], Files | None]  # runs a cell in its folder or, on a cluster, returns its files


def suite_problems(block: int) -> tuple[str, ...]:
    """The problems of the suite; the seeds of the generated ones are the even numbers of this block."""
    try:
        named: dict[str, list[str]] = json.loads(SUITE.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{SUITE}: no such file; the suite is part of a source checkout") from None
    generated = [f"generated:{one},seed={BLOCK * block + 2 * place}" for place, one in enumerate(named["generated"])]
    return (*named["paper"], *named["families"], *generated)


def new_references(folder: Path, plan: BenchmarkPlan, update: bool) -> Iterator[str]:
    """Report the teams of a table that are better than the best known; with `update`, store them as references.

    Only runs with the exact value of a team for this model count; pbvi solves the centralised problem.
    """
    runs = finished_runs(folder, plan)
    for problem in filter(is_model, plan.problems):
        model = load_model(problem)
        teams = [(method, run) for method in plan.methods for run in runs[problem, method]]
        exact = [pair for pair in teams if pair[1].record.problem == model.name and pair[1].how.startswith("exact")]
        if not exact:
            continue
        method, best = max(exact, key=lambda pair: pair[1].value)
        if update:
            if offer(model, read_team(best.folder / TEAM), best.value, method, best.record.seconds):
                yield f"{model.name}: stored {best.value:.6g} as the best known value"
        elif is_better(model, best.value):
            yield f"{model.name}: {best.value:.6g} is better than the best known value (--update-references stores it)"


def run_folder(folder: Path, problem: str, method: str, seed: int) -> Path:
    """The folder of one run."""
    name = Path(problem).name
    for ending in ENDINGS:
        name = name.removesuffix(ending)
    return folder / f"{re.sub('[:,=]', '_', name)}-{method}-{seed}"


def cells(folder: Path, plan: BenchmarkPlan, work: Work, remote: bool) -> list[Cell]:
    """All cells; seed by seed, so that all entries of an unfinished table have about as many seeds."""
    shared = {"time_limit": plan.time_limit, "steps": plan.steps, "threads": plan.threads, "remote": remote}
    digests = {name: digest for name, (digest, _) in sources_of(plan).items()}
    planned = []
    for seed, name, method in product(range(plan.seeds), plan.problems, plan.methods):
        out = str(run_folder(folder, name, method, seed).absolute())
        problem = str(Path(name).absolute()) if is_file(name) else name  # workers have other working directories
        own = {"problem": problem, "digest": digests[name], "method": method, "seed": seed, "out": out}
        planned.append(Cell(work, own | shared))
    return planned


def sources_of(plan: BenchmarkPlan) -> dict[str, tuple[str, float]]:
    """The digest and the discount of every problem."""
    return {name: (source_digest(model), model.discount) for name in plan.problems for model in [load(name)]}


def open_table(folder: Path, plan: BenchmarkPlan) -> None:
    """Create the table's folder, or continue one with the same plan (the number of seeds may differ)."""
    owners: dict[Path, str] = {}
    for problem in plan.problems:
        other = owners.setdefault(run_folder(folder, problem, "", 0), problem)
        if other != problem:
            raise InputError(f"problems: expected different names, got {other} and {problem}")
    settings = {key: value for key, value in asdict(plan).items() if key != "seeds"}
    content = json.loads(json.dumps({**settings, "sources": sources_of(plan), **versions()}))
    mark(folder, PLAN, json.dumps(content, indent=2).encode(), "a new, empty or unfinished benchmark folder")
    try:
        before = msgspec.json.decode(read_bytes(folder / PLAN, LIMIT), type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        raise FormatError(str(folder / PLAN), None, "not the plan of a benchmark") from None
    if before != content:
        wrong = next(key for key in (*content, *before) if before.get(key) != content.get(key))
        raise InputError(
            f"{folder}: expected the plan of this folder ({wrong} = {before.get(wrong)}), got {content.get(wrong)}; "
            f"choose another --out"
        )


def run_table(folder: Path, plan: BenchmarkPlan, jobs: pool.Jobs, work: Work, tell: Callable[[str], None]) -> None:
    """Run every cell that is not finished, here or on a cluster; `work` runs one cell."""
    open_table(folder, plan)
    with locked(folder):
        wanted = cells(folder, plan, work, remote=not isinstance(jobs, int))
        pool.run(wanted, jobs, _is_finished, _save, partial(_report, tell, pool.width_of(jobs)))


def _is_finished(cell: Cell) -> bool:
    return finished_run(Path(cell.settings["out"])) is not None


def _save(cell: Cell, computed: Computed[Files | None]) -> None:
    """Write the files that a worker sent, run.json last; local runs have already written their files."""
    if computed.result is None:
        return
    folder = Path(cell.settings["out"])
    with one_line_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    empty(folder)
    with locked(folder):
        for name in sorted(computed.result, key=lambda name: name == RUN):
            write_bytes(folder / name, computed.result[name])


def in_temporary_folder(run: Callable[[Settings, Path], None], settings: Settings) -> Files:
    """On a worker: the files of a run."""
    if source_digest(load(settings["problem"])) != settings["digest"]:
        raise InputError(f"{settings['problem']}: expected the same file on the worker, got another one")
    with tempfile.TemporaryDirectory(prefix="decpomdp-") as place:
        out = Path(place) / Path(settings["out"]).name
        run(settings, out)
        return {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}


def _report(tell: Callable[[str], None], width: int, progress: pool.CellProgress) -> None:
    if progress.last is None:
        if progress.done == 0 and progress.seconds < pool.TICK:
            tell(f"{progress.kept + progress.todo} runs, {progress.todo} to do, {width} at a time")
        return
    folder = Path(progress.last.settings["out"])
    run = finished_run(folder)
    if run is None:
        raise InputError(f"{folder}: expected a finished run, got none")
    known = "" if run.record.best_known is None else f" (best known {run.record.best_known:.5f})"
    value = f"{run.value:.5f}{known}, nodes {'+'.join(map(str, run.record.nodes))}"
    tell(f"{progress.done}/{progress.todo} {folder.name}: {value}, {run.record.seconds:.0f} s")


def finished_run(folder: Path) -> FinishedRun | None:
    """None if the folder has no finished run; FormatError for one without a value or nodes."""
    record = read_record(folder / RUN) if (folder / RUN).is_file() else None
    if record is None or not record.finished:
        return None
    if record.value is None or record.value.value is None or not record.nodes:
        raise FormatError(str(folder / RUN), None, "expected a run with a finite value and its nodes, got one without")
    return FinishedRun(folder, record, record.value.value, record.value.method)


def finished_runs(folder: Path, plan: BenchmarkPlan) -> dict[tuple[str, str], list[FinishedRun]]:
    """The finished runs by problem and method, in the order of seeds."""
    return {
        (problem, method): [run for run in map(finished_run, folders) if run is not None]
        for problem, method in product(plan.problems, plan.methods)
        for folders in [[run_folder(folder, problem, method, seed) for seed in range(plan.seeds)]]
    }


def lines_of(folder: Path, plan: BenchmarkPlan) -> list[dict[str, Any]]:
    """The table, one line per problem and method with at least one finished cell."""
    return [_line(*names, runs) for names, runs in finished_runs(folder, plan).items() if runs]


def _line(problem: str, method: str, runs: Sequence[FinishedRun]) -> dict[str, Any]:
    """One problem and method over all seeds."""
    ordered, records = sorted(runs, key=attrgetter("value")), [run.record for run in runs]
    values = [run.value for run in ordered]
    return {
        "problem": problem,
        "method": method,
        "seeds": len(values),
        "median": median(values),
        "worst": values[0],
        "best": values[-1],
        "known": records[0].best_known,
        "nodes": "+".join(map(str, ordered[(len(ordered) - 1) // 2].record.nodes)),  # of the run with the median value
        "largest": max(max(record.nodes) for record in records),  # controller of any run
        "seconds": median(record.seconds for record in records),
        "steps": None if records[0].command == "plan" else median(record.steps or 0.0 for record in records),
        "untaught": sum(not record.learned for record in records),  # runs that learned nothing
    }
