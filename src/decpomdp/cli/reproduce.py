"""`decpomdp reproduce`."""

import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from decpomdp.cli import engine, words

if TYPE_CHECKING:
    from decpomdp.experiments.judge import Kind
    from decpomdp.experiments.pool import Progress

EVERY = 10.0  # seconds between lines where there is no terminal


def reproduce(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="table2, figure1, figure2, appendix, complexity, robustness, or all of them: all."
        ),
    ],
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer seeds, smaller sizes: ten minutes instead of more than an hour.")
    ] = False,
    seeds: Annotated[
        int | None,
        typer.Option("--seeds", min=1, max=1000, help="Runs of what is named; default: each its own number."),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", help="Folder for cells, data, figures and page; an unfinished one is continued.")
    ] = Path("reproduced"),
    jobs: Annotated[
        int | None, typer.Option("--jobs", min=1, help="Cells at the same time; default: as many as cores.")
    ] = None,
    as_json: words.Json = False,
    engine_name: engine.Engine = None,
    scheduler: engine.Scheduler = None,
) -> None:
    """Compute the tables and figures of the paper, beside its published numbers, on one page.

    Finished cells are kept: after an interrupt or a kill, the same command continues. Experiments that are in
    the folder already and not named stay on the page as they were.
    """
    from decpomdp.engines.threads import default_threads
    from decpomdp.experiments import reproduction
    from decpomdp.io.run_folder import locked
    from decpomdp.report.reproduced import write_reproduced

    kind: Kind = "quick" if quick else "full"
    names, efforts = reproduction.names_of(name), reproduction.efforts_of(kind, seeds)
    try:
        here = engine.jobs_here(jobs, scheduler)
        with closing(Display()) as tell, engine.opened(engine_name, scheduler, here) as cluster:
            reproduction.open_folder(out)
            with locked(out):
                if (line := reproduction.reused(out, names, efforts)) is not None:
                    words.note(line)
                where = cluster or jobs or default_threads()
                shown = reproduction.reproduce(names, efforts, out, where, tell, kind)
                page = write_reproduced(shown, out)
                for line in reproduction.lost(out, shown):
                    words.note(line)
    except KeyboardInterrupt:
        words.note(f"finished cells are kept in {out}; the same command continues")
        raise
    claims = [claim for each in shown if each.experiment.name in names for claim in each.claims]
    told = [{"says": claim.says, "seen": claim.seen, "evidence": claim.evidence} for claim in claims]
    lines = [f"{claim.seen:<10} {claim.says}" for claim in claims]
    words.tell({"page": str(page), "claims": told}, as_json, [*lines, f"written to {page}"])


class Display:
    """Overall progress and the time that is left, on standard error: one line in a terminal, else a few lines."""

    def __init__(self) -> None:
        self.live, self.width, self.shown = words.on_terminal(), 0, -EVERY

    def __call__(self, progress: "Progress") -> None:
        """Called every second and after every cell."""
        now, line = time.monotonic(), in_words(progress)
        if self.live:
            words.aside("\r" + line.ljust(self.width))
            self.width = max(self.width, len(line))
        elif now - self.shown >= EVERY or progress.done == progress.todo:
            self.shown = now
            words.aside(line + "\n")

    def close(self) -> None:
        """Clear the line."""
        if self.width:
            words.aside("\r" + " " * self.width + "\r")


def in_words(progress: "Progress") -> str:
    """12/80 cells (30 kept), 95 s, 430 s left: broadcast mcem seed 1"""
    line = f"{progress.done}/{progress.todo} cells ({progress.kept} kept)"
    if progress.done or progress.seconds >= 1:
        line += f", {progress.seconds:.0f} s"
    if progress.left is not None and progress.done < progress.todo:
        line += f", {progress.left:.0f} s left"
    return line if progress.last is None else f"{line}: {progress.last.name}"
