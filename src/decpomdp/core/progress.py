"""The progress display: one line that is updated in a notebook or a terminal, a new line every few seconds elsewhere.

It shows the main columns of the latest row of the trace and the elapsed time. Nothing is shown in the first second. A
notebook needs no widgets: the output is updated in place. In a terminal the line is cleared at the end.
"""

import math
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from types import TracebackType
from typing import Any, Self

from decpomdp.core import checks
from decpomdp.core.fit import Cell, Row

COLUMNS = {
    "seconds": "{:.0f} s",
    "phase": "{}",
    "iteration": "iteration {}",
    "sweep": "sweep {}",
    "episodes": "{}",
    "value": "value {:.4f}",
    "error": "± {:.4f}",
    "best": "(best known {:.4f})",
    "lower": "lower bound {:.4f}",
    "upper": "upper bound {:.4f}",
    "bound": "bound {:.6g}",
    "sample_size": "sample size {:.1f}",
    "nodes": "nodes {}",
    "points": "points {}",
    "steps": "steps {:.3g}",
    "steps_per_second": "{:.2g} steps/s",
}
LIVE, LOGGED = 0.2, 5.0  # seconds between updates: in place, and as new lines
DELAY = 1.0  # seconds before the first line without a row
MANY = 8  # agents up to which nodes are shown one by one


class Progress:
    """Shows the progress of learning or planning.

    Pass it as `watch`, or use `progress=True`, which also shows the elapsed time between rows.

    Parameters
    ----------
    every
        Seconds between updates; None: 0.2 in place, 5 as new lines.
    best
        The best known value, shown next to the current one.

    Examples
    --------
    >>> import decpomdp as dp
    >>> with dp.Progress() as watch:
    ...     fit = dp.learn("dectiger", steps=200_000, seed=1, watch=watch)
    """

    def __init__(self, every: float | None = None, best: float | None = None) -> None:
        self._every = None if every is None else checks.number("every", every, 0.0, 1e9)
        self._best = None if best is None else checks.number("best", best, -math.inf, math.inf)
        self._began: float | None = None  # time of the first tick
        self._shown: float | None = None  # time of the last update
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
            self._in_place(self._latest)  # leave the final line visible
        elif self._width:
            _write("\r" + " " * self._width + "\r")
        self._inside, self._width, self._shown, self._began = False, 0, None, None

    def __call__(self, row: Row) -> None:
        """Show this row, unless the last update is too recent."""
        self._row = row
        self._show(row)

    def tick(self, seconds: float, phase: str = "") -> None:
        """Show the elapsed time with the latest row."""
        self._began = time.monotonic() if self._began is None else self._began
        if self._shown is None and time.monotonic() - self._began < DELAY:
            return
        phase = phase or ("" if self._row else "starting")
        row = {**self._row, "seconds": seconds, **({"phase": phase} if phase else {})}
        if phase == "compiling":
            row = {"phase": f"compiling ({time.monotonic() - self._began:.0f} s, not counted)"}
        self._show(row)

    def _show(self, row: Row) -> None:
        self._latest = line_of({**row, "best": self._best} if "value" in row else row)
        now, notebook = time.monotonic(), _in_notebook()
        live = notebook or (self._inside and sys.stderr is not None and sys.stderr.isatty())
        pause = self._every if self._every is not None else LIVE if live else LOGGED
        if self._shown is not None and now - self._shown < pause:
            return
        self._shown = now
        if notebook:
            self._in_place(self._latest)
        elif live:
            _write("\r" + self._latest.ljust(self._width))
            self._width = max(self._width, len(self._latest))
        else:
            _write(self._latest + "\n")

    def _in_place(self, line: str) -> None:
        content = {"text/plain": line}
        if self._display is None:  # inside a kernel IPython is always installed
            display: Any = import_module("IPython.display").display
            self._display = display(content, raw=True, display_id=True)
        else:
            self._display.update(content, raw=True)


def line_of(row: Row, columns: Mapping[str, str] = COLUMNS) -> str:
    """A row of a trace on one line: the given columns (key -> format) that have a value.

    >>> line_of({"phase": "compiling", "value": float("nan"), "error": None, "steps": 2000})
    'compiling  steps 2e+03'
    """
    known = {"steps_per_second": _speed(row), **row}
    return "  ".join(_text(text, known[key]) for key, text in columns.items() if _is_known(known.get(key)))


def _speed(row: Row) -> float | None:
    """Joint steps per second so far; None if steps or seconds are not in the row."""
    steps, seconds = row.get("steps"), row.get("seconds")
    if isinstance(steps, int | float) and isinstance(seconds, int | float) and seconds > 0:
        return steps / seconds
    return None


def _is_known(cell: Cell) -> bool:
    return cell is not None and not (isinstance(cell, float) and not math.isfinite(cell))


def _text(text: str, cell: Cell) -> str:
    """A cell as text; the nodes of many agents as their mean."""
    if isinstance(cell, tuple):
        cell = "+".join(f"{part:g}" for part in cell)
    parts = cell.split("+") if isinstance(cell, str) else []
    if len(parts) > MANY and all(part.isdigit() for part in parts):
        cell = f"{sum(map(int, parts)) / len(parts):.2f}"
    return text.format(cell)


def _write(text: str) -> None:
    with suppress(OSError, ValueError, AttributeError):  # a closed pipe, a closed stream, no stream
        sys.stderr.write(text)
        sys.stderr.flush()


def _in_notebook() -> bool:
    """Whether this process is an IPython kernel, whose output can be updated in place."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None
