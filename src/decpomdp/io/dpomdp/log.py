"""What the statements of a `.dpomdp` file say, kept compactly in their order, and how a table obeys them.

A statement sets a number, a row or a matrix at a place, and a later one overwrites an earlier one. A place is one
code per axis (see dpomdp_fields). Runs of statements that set one number at one index are obeyed together; numpy
assigns in order, so that the last of several numbers for one index stays.
"""

from array import array
from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.core.checks import Floats
from decpomdp.core.errors import InputError
from decpomdp.io.dpomdp.fields import Axis

SCALAR = -1
WORK = 4_000_000_000  # entries that the statements with wildcards or blocks of one letter may set
LEAST = 1_000  # entries that one of them counts for at least: it takes as long as setting so many
APART = 16  # so does every row of which it sets fewer
_HEAD = 2  # columns before the codes: the line, and which block is given (SCALAR: the value is all there is)


class Records(NamedTuple):
    """Statements in order."""

    lines: NDArray[np.int64]  # [r]
    given: NDArray[np.int64]  # [r] which of `blocks`, or SCALAR
    places: NDArray[np.int64]  # [r, axis] codes
    values: NDArray  # [r]
    blocks: Sequence[Floats]  # rows [n] and matrices [s, n]

    def take(self, chosen: NDArray) -> "Records":
        """Some of the statements, by mask or by index."""
        return Records(self.lines[chosen], self.given[chosen], self.places[chosen], self.values[chosen], self.blocks)

    def leading(self, axes: int) -> "Records":
        """The same statements about the first `axes` axes only, each with its value in place of any block."""
        return self._replace(places=self.places[:, :axes], given=np.full_like(self.given, SCALAR))


class Log:
    """Collects statements. 32 bits per code: a large file has millions of them."""

    def __init__(self, axes: int) -> None:
        self._columns = _HEAD + axes
        self._clear()

    def _clear(self) -> None:
        self.cells = array("i")  # line, given, codes; statement after statement
        self.values = array("d")
        self.blocks: list[Floats] = []
        self.numbers = 0  # in the blocks

    def add(self, line: int, places: Sequence[int], value: float) -> None:
        """One number for all of `places`."""
        self.cells.extend((line, SCALAR, *places))
        self.values.append(value)

    def add_block(self, line: int, places: Sequence[int], block: Floats) -> None:
        """A row or a matrix along the last axes."""
        self.cells.extend((line, len(self.blocks), *places))
        self.values.append(0.0)
        self.blocks.append(block)
        self.numbers += block.size

    def drain(self) -> Records:
        """All statements so far; the log is empty afterwards."""
        cells = np.array(self.cells, np.int64).reshape(-1, self._columns)
        records = Records(cells[:, 0], cells[:, 1], cells[:, _HEAD:], np.array(self.values, np.float64), self.blocks)
        self._clear()
        return records


def obey(table: NDArray, records: Records, axes: Sequence[Axis], work: int = 0) -> int:
    """Overwrites `table` as the statements say, one after the other. `work` was done before; how much it is now."""
    single = (records.given == SCALAR) & np.all(records.places >= 0, axis=1)
    done = 0
    for at in np.flatnonzero(~single).tolist():
        _scatter(table, records, slice(done, at))
        selected = [axis.select(code) for axis, code in zip(axes, records.places[at].tolist(), strict=True)]
        work += max(LEAST, _entries(table, selected))
        check_work(work, int(records.lines[at]))
        _fill(table, selected, records.values[at] if records.given[at] == SCALAR else records.blocks[records.given[at]])
        done = at + 1
    _scatter(table, records, slice(done, None))
    return work


def check_work(work: int, line: int) -> None:
    """Raise InputError for statements that set more entries than they may; they do so up to this line."""
    if work > WORK:
        raise InputError(f"line {line}: expected statements that set at most {WORK} entries, found more")


def _entries(table: NDArray, selected: list) -> int:
    """How many entries are selected, a row counted as APART at least."""
    *rows, row = (
        len(chosen) if isinstance(chosen, np.ndarray) else size if chosen == slice(None) else 1
        for chosen, size in zip(selected, table.shape, strict=True)
    )
    return prod(rows) * max(APART, row)


def _scatter(table: NDArray, records: Records, run: slice) -> None:
    places = records.places[run]
    if len(places):
        table.reshape(-1)[np.ravel_multi_index(tuple(places.T), table.shape)] = records.values[run]


def _fill(table: NDArray, selected: list, value: NDArray) -> None:
    if value.ndim:
        table[tuple(selected[: -value.ndim])] = value
        return
    if isinstance(selected[0], np.ndarray) and isinstance(selected[-1], np.ndarray):
        selected[0] = selected[0][:, None]  # every one of the first axis with every one of the last
    table[tuple(selected)] = value
