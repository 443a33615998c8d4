"""`decpomdp runs`."""

from pathlib import Path
from typing import Annotated

import typer

from decpomdp.cli import words


def list_runs(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to look; all folders below it too.")],
    as_json: words.Json = False,
) -> None:
    """List and compare the runs found below a folder."""
    from decpomdp.core import InputError
    from decpomdp.io.runs import RUN, find_runs, read_record
    from decpomdp.report.listing import COLUMNS, cells, told

    found = []
    for place in find_runs(folder):
        try:
            found.append((read_record(place / RUN), place.relative_to(folder) if place != folder else place))
        except InputError as error:
            words.note(f"left out: {error}")
    if as_json:
        words.tell({"runs": [told(record, place) for record, place in found]}, True, ())
    elif found:
        words.table(COLUMNS, [cells(record, place) for record, place in found])
    else:
        words.tell({}, False, [f"no runs below {folder}"])
