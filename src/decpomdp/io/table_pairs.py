"""Which labels each agent has in one column of a long table, found in one go over its rows."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.io.table_cells import Cells


class Pairs(NamedTuple):
    """The pairs of an agent and a label that it has, in the order of agents."""

    agent: NDArray[np.int64]  # [pair]
    code: NDArray[np.int64]  # [pair] of the label
    of_row: NDArray[np.int64]  # [row] its pair, -1: the cell is empty

    @classmethod
    def find(cls, own: NDArray[np.int64], cells: Cells, size: int) -> "Pairs":
        """The pairs of a column whose rows belong to `size` agents: own[row]."""
        width = max(len(cells.labels), 1)
        some = cells.codes >= 0
        keys = (own * width + cells.codes)[some]
        if size * width <= 4 * len(own):  # a table of all pairs is no larger than the column
            there = np.zeros(size * width, bool)
            there[keys] = True
            found = np.flatnonzero(there)
            places = (np.cumsum(there) - 1)[keys]
        else:
            found, places = np.unique(keys, return_inverse=True)
        of_row = np.full(len(own), -1)
        of_row[some] = places
        return cls(found // width, found % width, of_row)

    def sums(self, of_pair: NDArray, size: int) -> NDArray[np.int64]:
        """[n]: the sum of whole numbers or truth values over the pairs of every agent."""
        return np.bincount(self.agent, of_pair, minlength=size).astype(np.int64)

    def starts(self, size: int) -> NDArray[np.int64]:
        """[n + 1]: where the pairs of every agent begin."""
        return np.searchsorted(self.agent, np.arange(size + 1))

    def rows_of(self, pairs: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """[row]: whether it has one of the pairs that are chosen."""
        return np.append(pairs, False)[self.of_row]
