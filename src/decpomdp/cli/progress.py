"""How long work shows itself: one line that changes in a terminal, a line now and then elsewhere."""

import sys
import time

from decpomdp.cli.runs import MANY
from decpomdp.core import Row
from decpomdp.core.fit import Cell

EVERY = {True: 0.1, False: 10.0}  # seconds between lines, by whether a terminal looks on


class Progress:
    """Shows chosen columns of a trace on standard error while it grows."""

    def __init__(self, columns: dict[str, str], quiet: bool = False) -> None:
        self.columns = columns  # key -> format, e.g. "value": "value {:.3f}"
        self.quiet = quiet
        self.live = sys.stderr.isatty()
        self.shown = 0.0
        self.width = 0

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        if self.width:
            sys.stderr.write("\r" + " " * self.width + "\r")
            sys.stderr.flush()

    def __call__(self, row: Row) -> None:
        now = time.monotonic()
        if self.quiet or now - self.shown < EVERY[self.live]:
            return
        self.shown = now
        line = "  ".join(_told(text, row[key]) for key, text in self.columns.items() if row.get(key) is not None)
        if self.live:
            sys.stderr.write("\r" + line.ljust(self.width))
            self.width = max(self.width, len(line))
        else:
            sys.stderr.write(line + "\n")
        sys.stderr.flush()


def _told(text: str, cell: Cell) -> str:
    """A cell in words; the nodes of many agents as their mean."""
    parts = cell.split("+") if isinstance(cell, str) else []
    if len(parts) > MANY and all(part.isdigit() for part in parts):
        cell = f"{sum(map(int, parts)) / len(parts):.2f}"
    return text.format(cell)
