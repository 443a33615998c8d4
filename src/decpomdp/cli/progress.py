"""How long work shows itself: one line that changes in a terminal, a line now and then elsewhere."""

import time

from decpomdp.cli import words
from decpomdp.core import DecPOMDP, Row, Simulator
from decpomdp.core.progress import in_words

EVERY = {True: 0.1, False: 10.0}  # seconds between lines, by whether a terminal looks on


def counting(total: int, what: str, problem: DecPOMDP | Simulator, quiet: bool = False) -> "Progress":
    """Shows how many episodes of `total` there were: from the first where they take long, else after a moment."""
    progress = Progress({"episodes": f"{{}} of {total} {what}"}, quiet)
    if hasattr(problem, "pace"):  # what says how slow it is
        progress({"episodes": 0})
    else:
        progress.shown = time.monotonic()
    return progress


class Progress:
    """Shows chosen columns of a trace on standard error while it grows."""

    def __init__(self, columns: dict[str, str], quiet: bool = False) -> None:
        self.columns = columns  # key -> format, e.g. "value": "value {:.3f}"
        self.quiet = quiet
        self.live = words.watched()
        self.shown = 0.0
        self.width = 0

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        if self.width:
            words.aside("\r" + " " * self.width + "\r")

    def __call__(self, row: Row) -> None:
        now = time.monotonic()
        if self.quiet or now - self.shown < EVERY[self.live]:
            return
        self.shown = now
        line = in_words(row, self.columns)
        if self.live:
            words.aside("\r" + line.ljust(self.width))
            self.width = max(self.width, len(line))
        else:
            words.aside(line + "\n")
