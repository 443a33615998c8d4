"""How the command speaks: tables for people, JSON for programs, one line for a mistake."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import typer

PROBLEM = "A built-in problem (see `decpomdp list`) or the path of a .dpomdp file."

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Fixes every random choice.")]
Discount = Annotated[float | None, typer.Option("--discount", help="Use this discount instead of the problem's own.")]


def tell(result: Mapping[str, Any], as_json: bool, lines: Iterable[str]) -> None:
    """Print a result: as JSON, or as the given lines."""
    if as_json:
        from decpomdp.io.files import finite

        sys.stdout.write(json.dumps(finite(dict(result)), allow_nan=False) + "\n")
    else:
        for line in lines:
            sys.stdout.write(line + "\n")


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table for people."""
    from rich.console import Console
    from rich.table import Table

    grid = Table(box=None, pad_edge=False, header_style="bold")
    for title in header:
        grid.add_column(title, overflow="fold")
    for row in rows:
        grid.add_row(*row)
    Console(highlight=False, markup=False).print(grid)


def fail(message: str) -> None:
    """One clear line on standard error."""
    note("error: " + message)


def note(message: str) -> None:
    """A line beside the result."""
    sys.stderr.write(" ".join(message.split()) + "\n")
