"""`decpomdp report`."""

import os
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from decpomdp.cli import words

if TYPE_CHECKING:
    from decpomdp.report.performance import ShownRun


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders; several runs are compared.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="File of the page; default: report.html in the folder of a single run.")
    ] = None,
    problem: Annotated[
        str | None, typer.Option("--problem", help=words.PROBLEM + " Default: the problem of the run.")
    ] = None,
    animate: Annotated[
        Path | None,
        typer.Option(
            "--animate",
            metavar="FILE.svg|FILE.gif",
            help="Also write an episode of a single run as an animation (grid and street problems only).",
        ),
    ] = None,
    as_json: words.Json = False,
) -> None:
    """Write the page of a run (curves, controllers, replay), or one page that compares several runs."""
    from decpomdp.core import InputError
    from decpomdp.io.files import write_bytes
    from decpomdp.io.run_folder import locked
    from decpomdp.io.runs import read_run
    from decpomdp.report.page import write_page
    from decpomdp.report.performance import shown

    if len(runs) > 1 and out is None:
        raise InputError("--out: expected a file for the page of several runs, got none")
    if len(runs) > 1 and animate is not None:
        raise InputError(f"--animate: expected a single run, got {len(runs)}")
    if animate is not None and animate.suffix not in (".svg", ".gif"):
        raise InputError(f"--animate: expected a file that ends in .svg or .gif, got {animate}")
    own = runs[0] if out is None else _run_of(out, runs)
    # locked: a process that writes to this run also writes its page
    with locked(own) if own is not None and own.is_dir() else nullcontext():
        sources = [shown(read_run(folder), problem) for folder in runs]
        animation = None if animate is None else _animation(sources[0], animate)
        page = write_page(sources, out)
    for one in sources:
        if one.missing:
            words.note(f"{one.run.folder}: no replay: {one.missing}")
    result = {"page": str(page), "runs": [str(folder) for folder in runs], "bytes": page.stat().st_size}
    lines = [f"written to {page}"]
    if animation is not None and animate is not None:
        write_bytes(animate, animation)
        result |= {"animation": str(animate), "animation_bytes": len(animation)}
        lines.append(f"animation written to {animate}")
    words.tell(result, as_json, lines)


def _run_of(out: Path, runs: list[Path]) -> Path | None:
    """The run whose folder the page is written to, after resolving links; None: another folder."""
    folder = os.path.dirname(os.path.realpath(out))
    return next((run for run in runs if os.path.realpath(run) == folder), None)


def _animation(shown: "ShownRun", path: Path) -> bytes:
    from decpomdp.report.animation import animated_gif, animated_svg
    from decpomdp.report.replay import animated_replay

    replay, title = animated_replay(shown), shown.run.record.problem or shown.run.name
    return animated_svg(replay, title).encode() if path.suffix == ".svg" else animated_gif(replay, title)
