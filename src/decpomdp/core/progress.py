"""How long work shows itself to people: in a notebook, in a terminal, or in a log.

A watch for learning and planning. It picks the columns that people ask for out of every new row of a trace and shows
the latest ones, now and then: one line that changes in a notebook (a display that is updated in place, which every
front end can do, with no widgets installed) and in a terminal (only within a `with` block, where somebody clears it
in the end); elsewhere a new line after every few seconds.
"""

import math
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from types import TracebackType
from typing import Any, Self

from decpomdp.core import checks
from decpomdp.core.fit import Cell, Row, Watch

COLUMNS = {
    "phase": "{}",
    "iteration": "iteration {}",
    "sweep": "sweep {}",
    "value": "value {:.4f}",
    "error": "+- {:.4f}",
    "upper_bound": "at most {:.4f}",
    "bound": "bound {:.6g}",
    "sample_size": "sample size {:.1f}",
    "nodes": "nodes {}",
    "steps": "steps {:.3g}",
    "steps_per_second": "{:.2g} steps/s",
    "seconds": "{:.0f} s",
}
LIVE, LOGGED = 0.2, 5.0  # seconds between what is shown: where it replaces the last, and where it adds to it
MANY = 8  # agents whose nodes are told one by one


class Progress:
    """Shows how learning or planning goes on: give it as `watch`.

    In a notebook it is one line that changes. Elsewhere a line is printed every few seconds; in a terminal and within
    a `with` block, it is one line that changes and is gone in the end.

    Parameters
    ----------
    every
        Seconds between what is shown; None: 0.2 where it changes in place, 5 where lines are added.

    Examples
    --------
    >>> import decpomdp as dp
    >>> with dp.Progress() as watch:
    ...     fit = dp.learn("dectiger", steps=200_000, seed=1, watch=watch)
    """

    def __init__(self, every: float | None = None) -> None:
        self._every = None if every is None else checks.number("every", every, 0.0, 1e9)
        self._shown: float | None = None  # when
        self._latest = ""
        self._row: Row = {}
        self._inside = False
        self._width = 0
        self._display: Any = None

    def __enter__(self) -> Self:
        self._inside = True
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if _in_notebook() and self._latest:
            self._in_place(self._latest)  # the last word stays
        elif self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()
        self._inside, self._width, self._shown = False, 0, None

    def __call__(self, row: Row) -> None:
        """Show this row, unless another one was shown just now."""
        self._row = row
        self._latest = in_words(row)
        now, notebook = time.monotonic(), _in_notebook()
        live = notebook or (self._inside and sys.stderr.isatty())
        pause = self._every if self._every is not None else LIVE if live else LOGGED
        if self._shown is not None and now - self._shown < pause:
            return
        self._shown = now
        if notebook:
            self._in_place(self._latest)
        else:
            self._print(self._latest, live)

    def tick(self, seconds: float, phase: str) -> None:
        """Show the elapsed time between two rows."""
        row = {**self._row, "seconds": seconds, **({"phase": phase} if phase else {})}
        if self._row or phase:
            self(row)

    def _print(self, line: str, live: bool) -> None:
        sys.stderr.write("\r" + line.ljust(self._width) if live else line + "\n")
        self._width = max(self._width, len(line)) if live else 0
        sys.stderr.flush()

    def _in_place(self, line: str) -> None:
        content = {"text/plain": line}
        if self._display is None:  # a kernel runs, so that IPython is there
            display: Any = import_module("IPython.display").display
            self._display = display(content, raw=True, display_id=True)
        else:
            self._display.update(content, raw=True)


@contextmanager
def watching(wanted: bool, watch: Watch) -> Iterator[Watch]:
    """`watch` and, if `wanted`, a display beside it."""
    if not wanted:
        yield watch
        return
    with Progress() as shown:

        def both(row: Row) -> None:
            shown(row)
            watch(row)

        yield both


def in_words(row: Row, columns: Mapping[str, str] = COLUMNS) -> str:
    """A row of a trace on one line: what people ask for (key -> format), as far as it is known.

    >>> in_words({"phase": "compiling", "value": float("nan"), "error": None, "steps": 2000})
    'compiling  steps 2e+03'
    """
    known = {"steps_per_second": _speed(row), **row}
    return "  ".join(_told(text, known[key]) for key, text in columns.items() if _is_known(known.get(key)))


def _speed(row: Row) -> float | None:
    """Joint steps a second so far, where both are counted."""
    steps, seconds = row.get("steps"), row.get("seconds")
    if isinstance(steps, int | float) and isinstance(seconds, int | float) and seconds > 0:
        return steps / seconds
    return None


def _is_known(cell: Cell) -> bool:
    """Whether there is something to tell: not while nothing has been measured yet."""
    return cell is not None and not (isinstance(cell, float) and not math.isfinite(cell))


def _told(text: str, cell: Cell) -> str:
    """A cell in words; the nodes of many agents as their mean."""
    parts = cell.split("+") if isinstance(cell, str) else []
    if len(parts) > MANY and all(part.isdigit() for part in parts):
        cell = f"{sum(map(int, parts)) / len(parts):.2f}"
    return text.format(cell)


def _in_notebook() -> bool:
    """Whether a kernel runs this, whose front end can change what it shows."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None
