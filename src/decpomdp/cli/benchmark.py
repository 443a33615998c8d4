"""`decpomdp benchmark`."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from decpomdp.cli import engine, words

SECONDS = 60.0  # per run, where nothing limits it


def benchmark(
    out: Annotated[Path, typer.Option("--out", help="Folder of the table; an unfinished one is continued.")],
    problems: Annotated[
        str, typer.Option("--problems", help="Comma-separated names or .dpomdp files; default: all built-in ones.")
    ] = "",
    methods: Annotated[str, typer.Option("--methods", help="Comma-separated.")] = "search",
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Runs of every cell: seeds 0, 1, ...")] = 5,
    time_limit: Annotated[
        float | None,
        typer.Option("--time-limit", min=0, help="Seconds per run. [default: 60, or no limit with --steps]"),
    ] = None,
    steps: Annotated[int | None, typer.Option("--steps", min=1, help="Joint steps per run.")] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", min=1, help="Runs at the same time on this machine. [default: 1]")
    ] = None,
    threads: Annotated[
        int | None, typer.Option("--threads", min=1, help="Threads per run; default: all cores.")
    ] = None,
    as_json: words.Json = False,
    engine_name: engine.Engine = None,
    scheduler: engine.Scheduler = None,
) -> None:
    """Run problems x methods x seeds, resumable, and print median, worst and best exact values."""
    from decpomdp import domains
    from decpomdp.api import PLAYING as METHODS
    from decpomdp.core import InputError
    from decpomdp.domains.load import load
    from decpomdp.experiments.benchmark import Plan, lines_of, run_table

    chosen, wanted = _names(problems) or domains.problems(), _names(methods)
    if not wanted:
        raise InputError(f"methods: expected names among {', '.join(METHODS)}, got none")
    for method in wanted:
        if method not in METHODS:
            raise InputError(f"methods: expected names among {', '.join(METHODS)}, got {method!r}")
    for problem in chosen:
        load(problem)
    limit = SECONDS if time_limit is None and steps is None else time_limit
    plan = Plan(chosen, wanted, seeds, limit, steps, threads)
    with engine.opened(engine_name, scheduler, engine.jobs_here(jobs, scheduler)) as cluster:
        where = cluster or jobs or 1
        try:
            run_table(out, plan, where, f"{__name__}:learned", words.note)
        except KeyboardInterrupt:
            words.note(f"what is finished stays in {out}; to go on: the same command")
            raise
    lines = list(lines_of(out, plan))
    for line in lines:
        if line.untaught:
            words.note(f"{line.problem} {line.method}: in {line.untaught} of {line.seeds} runs nothing was learned")
    if as_json:
        words.tell({"lines": [asdict(line) for line in lines], "out": str(out)}, True, ())
        return
    words.table(
        ("problem", "method", "seeds", "median", "worst", "best", "nodes", "largest", "seconds", "steps"),
        [
            (
                line.problem,
                line.method,
                str(line.seeds),
                f"{line.median:.4f}",
                f"{line.worst:.4f}",
                f"{line.best:.4f}",
                line.nodes,
                str(line.largest),
                f"{line.seconds:.0f}",
                f"{line.steps:.3g}",
            )
            for line in lines
        ],
    )


def _names(given: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in given.split(",") if name.strip())


def learned(settings: Mapping[str, Any]) -> None:
    """One `decpomdp learn`: the work of a cell of the table, done in a process of its own; one cut off goes on.

    What can be continued is never thrown away, whatever keeps it from going on now (a full disk, other versions).
    """
    from decpomdp.core import InputError
    from decpomdp.io.run_folder import can_resume, empty

    out = Path(settings["out"])
    if can_resume(out):
        wrong = _said(["learn", "--resume", str(out), "--json", "--quiet"])
        if wrong is not None:
            raise InputError(f"{out} cannot go on: {wrong}")
        return
    if out.is_dir():
        empty(out)  # killed before there was a state to go on from
    arguments = ["learn", settings["problem"], "--json", "--quiet"]
    for name in ("method", "seed", "out", "time_limit", "steps", "threads"):
        if settings[name] is not None:
            arguments += [f"--{name.replace('_', '-')}", str(settings[name])]
    wrong = _said(arguments)
    if wrong is not None:
        raise InputError(wrong)


def _said(arguments: list[str]) -> str | None:
    """What the command says is wrong; None when it went well."""
    import contextlib
    import io
    import os

    from decpomdp.cli.main import code_of

    with (
        contextlib.chdir(os.curdir),  # a run goes on in the folder where it began; the next one is not there
        contextlib.redirect_stderr(io.StringIO()) as said,
        contextlib.redirect_stdout(io.StringIO()),
    ):
        code = code_of(arguments)
    lines = said.getvalue().strip().splitlines() or ["no message"]
    return None if code == 0 else lines[-1].removeprefix("error: ")
