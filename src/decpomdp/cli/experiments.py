"""`decpomdp reproduce` and `decpomdp benchmark`: many runs in one folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from decpomdp.cli import options, words

if TYPE_CHECKING:
    from decpomdp.experiments.experiment import Kind
    from decpomdp.experiments.pool import CellProgress

SECONDS = 60.0  # per run, if no limit is given
COLUMNS = ("problem", "method", "seeds", "median", "worst", "best", "known", "nodes", "largest", "seconds", "steps")
FORMATS = dict.fromkeys(("median", "worst", "best", "known"), ".4f") | {"seconds": ".0f", "steps": ".3g"}


def reproduce(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="table2, figure1, figure2, appendix, complexity, robustness or all."),
    ],
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer seeds, smaller sizes: ten minutes instead of more than an hour.")
    ] = False,
    seeds: Annotated[
        int | None,
        typer.Option("--seeds", min=1, max=1000, help="Number of seeds; default: depends on the experiment."),
    ] = None,
    out: Annotated[
        Path,
        typer.Option("--out", help="Folder for cells, data, figures and page; unfinished work in it is continued."),
    ] = Path("reproduced"),
    jobs: Annotated[
        int | None, typer.Option("--jobs", min=1, help="Cells to run at the same time; default: the number of cores.")
    ] = None,
    as_json: options.Json = False,
    engine: options.Engine = None,
    scheduler: options.Scheduler = None,
) -> None:
    """Compute the tables and figures of the paper and compare them with the published numbers on one page.

    Finished cells are saved: after an interrupt or a kill, run the same command again to continue.

    Experiments that are already in the folder but not named here stay on the page unchanged.
    """
    from decpomdp.core.progress import Progress
    from decpomdp.engines.threads import default_threads
    from decpomdp.experiments import reproduction
    from decpomdp.io.run_folder import locked
    from decpomdp.report.reproduced import write_reproduced

    kind: Kind = "quick" if quick else "full"
    names, efforts = reproduction.names_of(name), reproduction.efforts_of(kind, seeds)
    try:
        here = options.jobs_here(jobs, scheduler)
        with Progress() as progress, options.cluster_of(engine, scheduler, here) as cluster:

            def show(cells: "CellProgress") -> None:
                progress({"phase": line_of(cells)})

            reproduction.open_folder(out)
            with locked(out):
                where = cluster or jobs or default_threads()
                results = reproduction.reproduce(names, efforts, out, where, show, kind)
                page = write_reproduced(results, out)
                for line in (*reproduction.lost(out, results), reproduction.made_with(results)):
                    words.note(line)
    except KeyboardInterrupt:
        words.note(f"finished cells are saved in {out}; run the same command again to continue")
        raise
    claims = [claim for each in results if each.experiment.name in names for claim in each.claims]
    summary = [{"says": claim.says, "seen": claim.seen, "evidence": claim.evidence} for claim in claims]
    lines = [f"{claim.seen:<10} {claim.says}" for claim in claims]
    words.tell({"page": str(page), "claims": summary}, as_json, [*lines, f"written to {page}"])


def line_of(progress: "CellProgress") -> str:
    """12/80 cells (30 reused), 95 s, 430 s left: broadcast mcem seed 1"""
    line = f"{progress.done}/{progress.todo} cells ({progress.kept} reused)"
    if progress.done or progress.seconds >= 1:
        line += f", {progress.seconds:.0f} s"
    if progress.left is not None and progress.done < progress.todo:
        line += f", {progress.left:.0f} s left"
    return line if progress.last is None else f"{line}: {progress.last.name}"


def benchmark(
    out: Annotated[Path, typer.Option("--out", help="Folder of the table; an unfinished table is continued.")],
    problems: Annotated[
        str, typer.Option("--problems", help="Comma-separated names or .dpomdp files; default: the paper's six.")
    ] = "",
    suite: Annotated[
        bool, typer.Option("--suite", help="The 40 problems of benchmarks/suite.json (source checkout only).")
    ] = False,
    block: Annotated[
        int | None,
        typer.Option("--block", min=1, help="With --suite: number of the block of seeds for generated problems."),
    ] = None,
    methods: Annotated[
        str,
        typer.Option(
            "--methods",
            help="Comma-separated methods: those of `learn PROBLEM` and of `plan`.",
        ),
    ] = "search",
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Runs per problem and method, with seeds 0, 1, ...")] = 5,
    time_limit: Annotated[
        float | None,
        typer.Option("--time-limit", min=0, help="Seconds per run. [default: 60, or no limit with --steps]"),
    ] = None,
    steps: Annotated[int | None, typer.Option("--steps", min=1, help="Maximum number of joint steps per run.")] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", min=1, help="Runs at the same time on this machine. [default: 1]")
    ] = None,
    threads: Annotated[
        int | None, typer.Option("--threads", min=1, help="Threads per run; default: all cores.")
    ] = None,
    update_references: Annotated[
        bool,
        typer.Option(
            "--update-references", help="Store better teams in domains/references.json; default: report them."
        ),
    ] = False,
    as_json: options.Json = False,
    engine: options.Engine = None,
    scheduler: options.Scheduler = None,
) -> None:
    """Run every method on every problem with several seeds; print median, worst and best exact values."""
    from decpomdp.api import BY_PROBLEM, PLANNING
    from decpomdp.core import InputError
    from decpomdp.domains import registry
    from decpomdp.domains.load import load, load_model
    from decpomdp.experiments.benchmark import BenchmarkPlan, lines_of, new_references, run_table, suite_problems

    if suite and (problems or block is None):
        raise InputError("--suite: expected --block and no --problems")
    chosen = suite_problems(block) if suite and block else registry.split_names(problems) or registry.PAPER
    names = tuple(name.strip() for name in methods.split(",") if name.strip())
    unknown = [name for name in names if name not in BY_PROBLEM]
    if unknown or not names:
        got = repr(unknown[0]) if unknown else "none"
        raise InputError(f"--methods: expected names among {', '.join(BY_PROBLEM)}, got {got}")
    for method in names:
        if steps is not None and "steps" not in BY_PROBLEM[method].limits:
            raise InputError(f"--steps: not a limit of {method}; give a --time-limit")
    for problem in chosen:
        (load_model if any(method in PLANNING for method in names) else load)(problem)
    limit = SECONDS if time_limit is None and steps is None else time_limit
    plan = BenchmarkPlan(chosen, names, seeds, limit, steps, threads)
    with options.cluster_of(engine, scheduler, options.jobs_here(jobs, scheduler)) as cluster:
        where = cluster or jobs or 1
        try:
            run_table(out, plan, where, run_cell, words.note)
        except KeyboardInterrupt:
            words.note(f"finished runs are saved in {out}; run the same command again to continue")
            raise
    for message in new_references(out, plan, update_references):
        words.note(message)
    lines = lines_of(out, plan)
    for line in lines:
        if line["untaught"]:
            words.note("{problem} {method}: in {untaught} of {seeds} runs nothing was learned".format(**line))
    if as_json:
        words.tell({"lines": lines, "out": str(out)}, True, ())
        return
    cells = ([(key, line[key]) for key in COLUMNS] for line in lines)
    words.table(COLUMNS, [["" if v is None else format(v, FORMATS.get(key, "")) for key, v in row] for row in cells])


def run_cell(settings: Mapping[str, Any]) -> dict[str, bytes] | None:
    """Compute a cell: a run in its folder or, on a worker of a cluster, the files of the run."""
    from decpomdp.experiments.benchmark import in_temporary_folder

    if settings["remote"]:
        return in_temporary_folder(_run, settings)
    _run(settings, Path(settings["out"]))
    return None


def _run(settings: Mapping[str, Any], folder: Path) -> None:
    """One run of `decpomdp learn` or `plan`; an unfinished run is resumed.

    The files of a run that was killed before its first checkpoint are removed, and the run starts again.
    """
    from decpomdp.api import BY_PROBLEM, PLANNING, RunSetup
    from decpomdp.cli import runs
    from decpomdp.core.run import Budget, Inputs
    from decpomdp.io.run_folder import can_resume, empty

    problem, method = settings["problem"], settings["method"]
    command = "plan" if method in PLANNING else "learn"
    if can_resume(folder):
        run = runs.resumed(command, folder, settings["threads"])
    else:
        if folder.is_dir():
            empty(folder)
        budget = Budget(seconds=settings["time_limit"], steps=settings["steps"])
        inputs = Inputs(settings["seed"], settings["threads"])
        setup = RunSetup(runs.opened(command, problem), BY_PROBLEM[method](), inputs, budget)
        run = runs.started(command, problem, folder, setup)
    runs.execute(run, runs.Options(quiet=True))
