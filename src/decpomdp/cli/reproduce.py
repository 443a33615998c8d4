"""`decpomdp reproduce`."""

import threading
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from decpomdp.cli import engine, words

if TYPE_CHECKING:
    from decpomdp.experiments.crew import Progress
    from decpomdp.experiments.reproduction import Kind

EVERY, LIVE = 10.0, 1.0  # seconds between lines where no terminal looks on, and where one does


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

    Finished cells are kept: after an interrupt or a kill, the same command goes on from there. Experiments that are in
    the folder already and not named stay on the page as they were.
    """
    from decpomdp.engines.threads import default_threads
    from decpomdp.experiments import reproduction
    from decpomdp.experiments.crew import run_cells
    from decpomdp.io import run_folder
    from decpomdp.report.reproduced import write_reproduced

    kind: Kind = "quick" if quick else "full"
    names, efforts = reproduction.names_of(name), reproduction.efforts_of(kind, seeds)
    try:
        here = engine.jobs_here(jobs, scheduler)
        with ExitStack() as stack, Shower() as tell, engine.opened(engine_name, scheduler, here) as cluster:
            reproduction.open_folder(out)
            stack.enter_context(run_folder.locked(out))
            if (line := reproduction.reused(out, names, efforts)) is not None:
                words.note(line)
            if cluster is not None:  # what it has finished is not computed again
                run_cells(out, reproduction.cells_of(names, efforts), cluster, tell)
            shown = reproduction.reproduce(names, efforts, out, jobs or default_threads(), tell, kind)
            page = write_reproduced(shown, out)
            for line in reproduction.lost(out, shown):
                words.note(line)
    except KeyboardInterrupt:
        words.note(f"finished cells are kept in {out}; the same command goes on from there")
        raise
    claims = [claim for each in shown if each.experiment.name in names for claim in each.claims]
    told = [{"says": claim.says, "seen": claim.seen, "evidence": claim.evidence} for claim in claims]
    lines = [f"{claim.seen:<10} {claim.says}" for claim in claims]
    words.tell({"page": str(page), "claims": told}, as_json, [*lines, f"written to {page}"])


class Shower:
    """Overall progress and the time that is left, on standard error; also while no cell ends."""

    def __init__(self, every: float = EVERY) -> None:
        self.live, self.width = words.on_terminal(), 0
        self.every = LIVE if self.live else every
        self.progress: Progress | None = None
        self.came = self.shown = 0.0  # when the last progress came, and when a line was last shown
        self.lock, self.over = threading.Lock(), threading.Event()
        self.clock = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "Shower":
        self.clock.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.clock.join()
        if self.width:
            words.aside("\r" + " " * self.width + "\r")

    def __call__(self, progress: "Progress") -> None:
        with self.lock:
            self.progress, self.came = progress, time.monotonic()
            if self.live or progress.done in (0, progress.todo) or self.came - self.shown >= self.every:
                self._show(progress)

    def _watch(self) -> None:
        """Nobody calls while cells are under way: long ones, or the first, which wait for the compiler."""
        while not self.over.wait(min(self.every, LIVE)):
            with self.lock:
                now, last = time.monotonic(), self.progress
                if last is not None and last.done < last.todo and now - self.shown >= self.every:
                    self._show(later(last, now - self.came))

    def _show(self, progress: "Progress") -> None:
        self.shown, line = time.monotonic(), told(progress)
        if self.live:
            words.aside("\r" + line.ljust(self.width))
            self.width = max(self.width, len(line))
        else:
            words.aside(line + "\n")


def later(progress: "Progress", seconds: float) -> "Progress":
    """The same so many seconds later, when no other cell has ended; what took longer than foretold is not foretold."""
    left = None if progress.left is None or progress.left <= seconds else progress.left - seconds
    return replace(progress, seconds=progress.seconds + seconds, left=left)


def told(progress: "Progress") -> str:
    """12/80 cells (30 kept), 95 s, 430 s left: broadcast mcem seed 1"""
    line = f"{progress.done}/{progress.todo} cells ({progress.kept} kept)"
    if progress.done or progress.seconds >= 1:
        line += f", {progress.seconds:.0f} s"
    if progress.left is not None and progress.done < progress.todo:
        line += f", {progress.left:.0f} s left"
    return line if progress.last is None else f"{line}: {progress.last.name}"
