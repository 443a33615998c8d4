"""`decpomdp runs`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from decpomdp.cli import words

if TYPE_CHECKING:
    from decpomdp.io.runs import RunRecord


def list_runs(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to search, with all folders below it.")],
    as_json: words.Json = False,
) -> None:
    """List and compare the runs found below a folder.

    In a terminal, as many columns as fit; in a file or a pipe, all of them, separated by tabs.
    """
    from decpomdp.core import InputError
    from decpomdp.io.runs import RUN, find_runs, read_record
    from decpomdp.report.listing import facts_of

    found = []
    for place in find_runs(folder):
        try:
            found.append((read_record(place / RUN), place.relative_to(folder) if place != folder else place))
        except InputError as error:
            words.note(f"skipped: {error}")
    if as_json:
        words.tell({"runs": [facts_of(record, place) for record, place in found]}, True, ())
    elif not found:
        words.tell({}, False, [f"no runs below {folder}"])
    elif sys.stdout.isatty():
        _for_people(found)
    else:
        _for_programs(found)


def _for_people(found: "list[tuple[RunRecord, Path]]") -> None:
    from shutil import get_terminal_size

    from decpomdp.report.listing import COLUMNS, LEGEND, cells, fitting, unsupported

    rows = [cells(record, place) for record, place in found]
    kept = fitting(rows, get_terminal_size().columns)
    words.table(kept, [[row[COLUMNS.index(name)] for name in kept] for row in rows])
    if any(unsupported(record) for record, _ in found):
        words.note(LEGEND)
    left = [name for name in COLUMNS if name not in kept]
    if left:
        words.note(f"columns not shown: {', '.join(left)}; use a wider terminal, a pipe or --json")


def _for_programs(found: "list[tuple[RunRecord, Path]]") -> None:
    from decpomdp.report.listing import complete, facts_of

    lines = ["\t".join(facts_of(*found[0])), *("\t".join(complete(record, place)) for record, place in found)]
    words.tell({}, False, lines)
