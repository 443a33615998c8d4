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
    """List and compare the runs below a folder.

    A terminal shows the columns that fit; a file or a pipe gets all columns, separated by tabs.
    """
    from decpomdp.core import InputError
    from decpomdp.io.runs import RUN, find_runs, read_record
    from decpomdp.report.listing import facts_of

    listed = []
    for place in find_runs(folder):
        try:
            listed.append((read_record(place / RUN), place.relative_to(folder) if place != folder else place))
        except InputError as error:
            words.note(f"skipped: {error}")
    if as_json:
        words.tell({"runs": [facts_of(record, place) for record, place in listed]}, True, ())
    elif not listed:
        words.tell({}, False, [f"no runs below {folder}"])
    elif sys.stdout.isatty():
        _print_table(listed)
    else:
        _print_tabs(listed)


def _print_table(listed: "list[tuple[RunRecord, Path]]") -> None:
    from shutil import get_terminal_size

    from decpomdp.report.listing import COLUMNS, LEGEND, cells, fitting, unsupported

    rows = [cells(record, place) for record, place in listed]
    columns = fitting(rows, get_terminal_size().columns)
    words.table(columns, [[row[COLUMNS.index(name)] for name in columns] for row in rows])
    if any(unsupported(record) for record, _ in listed):
        words.note(LEGEND)
    hidden = [name for name in COLUMNS if name not in columns]
    if hidden:
        words.note(f"columns not shown: {', '.join(hidden)}; use a wider terminal, a pipe or --json")


def _print_tabs(listed: "list[tuple[RunRecord, Path]]") -> None:
    from decpomdp.report.listing import complete, facts_of

    lines = ["\t".join(facts_of(*listed[0])), *("\t".join(complete(record, place)) for record, place in listed)]
    words.tell({}, False, lines)
