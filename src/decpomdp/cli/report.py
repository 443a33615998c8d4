"""`decpomdp report`."""

from pathlib import Path
from typing import Annotated

import typer

from decpomdp.cli import words


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders; several are compared.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="The page; default: report.html in the folder of a single run.")
    ] = None,
    problem: Annotated[
        str | None, typer.Option("--problem", help=words.PROBLEM + " Default: what the run was learned from.")
    ] = None,
    as_json: words.Json = False,
) -> None:
    """Make the page of a run, or one page that compares several: curves, controllers, replay."""
    from decpomdp.core import InputError
    from decpomdp.io.runs import read_run
    from decpomdp.report.page import write_page
    from decpomdp.report.sources import shown

    if len(runs) > 1 and out is None:
        raise InputError("a page of several runs belongs to none of them; say where with --out PAGE.html")
    found = [shown(read_run(folder), problem) for folder in runs]
    page = write_page(found, out)
    for one in found:
        if one.missing:
            words.note(f"{one.run.folder}: without replay, for {one.missing}")
    result = {"page": str(page), "runs": [str(folder) for folder in runs], "bytes": page.stat().st_size}
    words.tell(result, as_json, [f"written to {page}"])
