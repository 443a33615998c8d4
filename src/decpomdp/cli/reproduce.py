"""`decpomdp reproduce`."""

import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from decpomdp.cli import engine, resume, words

if TYPE_CHECKING:
    from decpomdp.experiments.crew import Progress

EVERY = 10.0  # seconds between lines where no terminal looks on


def reproduce(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="table2, figure1, figure2, appendix, complexity, robustness, or all of them: all."
        ),
    ],
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer seeds, smaller sizes: ten minutes instead of an hour.")
    ] = False,
    seeds: Annotated[
        int | None, typer.Option("--seeds", min=1, max=1000, help="Runs of everything; default: each its own number.")
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", help="Folder for cells, data, figures and page; an unfinished one is continued.")
    ] = Path("reproduced"),
    jobs: Annotated[
        int | None, typer.Option("--jobs", min=1, help="Cells at the same time; default: as many as cores.")
    ] = None,
    as_json: words.Json = False,
    engine_name: engine.Engine = engine.THREADS,
    scheduler: engine.Scheduler = None,
    resumed: resume.ResumeReproduce = None,
) -> None:
    """Compute the tables and figures of the paper, beside its published numbers, on one page.

    Finished cells are kept, however it is cut off; the same command, or --resume with its folder, goes on from there.
    """
    from decpomdp.engines.threads import default_threads
    from decpomdp.experiments import reproduction
    from decpomdp.experiments.crew import run_cells
    from decpomdp.io import run_folder
    from decpomdp.report.reproduced import write_reproduced

    kind, out = "quick" if quick else "full", out if resumed is None else resumed
    names, efforts = reproduction.names_of(name), reproduction.efforts_of(kind, seeds)
    try:
        here = engine.jobs_here(jobs, scheduler)
        with ExitStack() as stack, Shower() as tell, engine.opened(engine_name, scheduler, here) as cluster:
            run_folder.tidy(out)
            reproduction.open_folder(out)
            stack.enter_context(run_folder.locked(out))
            if resumed is None:
                run_folder.begin(out, resume.given.get())
            if (line := reproduction.reused(out, names, efforts)) is not None:
                words.note(line)
            if cluster is not None:  # what it has finished is not computed again
                run_cells(out, reproduction.cells_of(names, efforts), cluster, tell)
            shown = reproduction.reproduce(names, efforts, out, jobs or default_threads(), tell)
            page = write_reproduced(shown, out, kind)
            run_folder.finish(out)
    except KeyboardInterrupt:
        words.note(f"finished cells are kept in {out}; the same command goes on from there")
        raise
    claims = [claim for each in shown if each.experiment.name in names for claim in each.claims]
    told = [{"says": claim.says, "seen": claim.seen, "evidence": claim.evidence} for claim in claims]
    lines = [f"{claim.seen:<10} {claim.says}" for claim in claims]
    words.tell({"page": str(page), "claims": told}, as_json, [*lines, f"written to {page}"])


class Shower:
    """Overall progress and the time that is left, on standard error."""

    def __init__(self) -> None:
        self.live, self.last, self.width = sys.stderr.isatty(), 0.0, 0

    def __enter__(self) -> "Shower":
        return self

    def __exit__(self, *_: object) -> None:
        if self.width:
            words.aside("\r" + " " * self.width + "\r")

    def __call__(self, progress: "Progress") -> None:
        ends = progress.done in (0, progress.todo)
        now = time.monotonic()
        if not self.live and not ends and now - self.last < EVERY:
            return
        self.last = now
        line = told(progress)
        if self.live:
            words.aside("\r" + line.ljust(self.width))
            self.width = max(self.width, len(line))
        else:
            words.aside(line + "\n")


def told(progress: "Progress") -> str:
    """12/80 cells (30 kept), 95 s, 430 s left: broadcast mcem seed 1"""
    line = f"{progress.done}/{progress.todo} cells ({progress.kept} kept)"
    if progress.done:
        line += f", {progress.seconds:.0f} s"
    if progress.left is not None and progress.done < progress.todo:
        line += f", {progress.left:.0f} s left"
    return line if progress.last is None else f"{line}: {progress.last.name}"
