"""`decpomdp benchmark`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from decpomdp.cli import options, words

SECONDS = 60.0  # per run, if no limit is given
COLUMNS = ("problem", "method", "seeds", "median", "worst", "best", "known", "nodes", "largest", "seconds", "steps")
FORMATS = dict.fromkeys(("median", "worst", "best", "known"), ".4f") | {"seconds": ".0f", "steps": ".3g"}


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
