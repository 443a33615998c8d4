"""`decpomdp reproduce`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from decpomdp.cli import options, words

if TYPE_CHECKING:
    from decpomdp.experiments.experiment import Kind
    from decpomdp.experiments.pool import CellProgress


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
