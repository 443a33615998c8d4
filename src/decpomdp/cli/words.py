"""Output of the command: tables and lines of text, JSON, progress, one-line errors."""

import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from decpomdp.core import Row, Watch

WIDE = 400  # characters of a table that is written to a file or a pipe, so that no cell is folded
QUIET = 2.0  # seconds before progress is shown
HUGE = 1e15  # larger numbers are printed with an exponent
NOTHING_LEARNED, INTERRUPTED, TERMINATED = 1, 130, 143  # exit codes; the last two: after Ctrl-C and SIGTERM
ABANDONED = "decpomdp-after"  # name of threads that the end of the command does not wait for


def tell(result: Mapping[str, Any], as_json: bool, lines: Iterable[str]) -> None:
    """Print a result: as JSON, or as the given lines."""
    if as_json:
        from decpomdp.io.files import finite

        sys.stdout.write(json.dumps(finite(dict(result)), allow_nan=False) + "\n")
    else:
        from decpomdp.core.text import plain

        for line in lines:
            sys.stdout.write(plain(line) + "\n")


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table."""
    from rich.console import Console
    from rich.table import Table

    from decpomdp.core.text import plain

    grid = Table(box=None, pad_edge=False, header_style="bold")
    for title in header:
        grid.add_column(title, overflow="fold")
    for row in rows:
        grid.add_row(*map(plain, row))
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = WIDE
    console.print(grid)


def decimal(value: float, digits: int = 4) -> str:
    """A number with a fixed number of decimals; a huge number with an exponent.

    >>> decimal(-4.25), decimal(1e300)
    ('-4.2500', '1e+300')
    """
    return f"{value:.{digits}f}" if abs(value) < HUGE else f"{value:.{digits + 2}g}"


def fail(message: str) -> None:
    """One clear line on standard error."""
    note("error: " + message)


def note(message: str) -> None:
    """One line on standard error."""
    from decpomdp.core.text import on_a_line

    aside(on_a_line(message) + "\n")


@contextmanager
def counting(total: int, what: str, quiet: bool = False) -> "Iterator[Watch | None]":
    """Show how many of `total` episodes were played."""
    if quiet:
        yield None
        return
    from decpomdp.core.progress import Progress

    began = time.monotonic()
    with Progress() as progress:

        def watch(row: "Row") -> None:
            if time.monotonic() - began > QUIET:
                progress({"episodes": f"{row['episodes']} of {total} {what}"})

        yield watch


def aside(text: str) -> None:
    """Write to standard error, if it is open: a closed pipe must not end a run."""
    with suppress(OSError, ValueError, AttributeError):  # a closed pipe, a closed stream, no stream
        sys.stderr.write(text)
        sys.stderr.flush()
