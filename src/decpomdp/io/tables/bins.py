"""Numbers as observations: bins of about equal size, whose labels hold their edges.

The labels are those of `Discretiser.binned`, so that a team which learned from such a table can be fed with numbers
(`Discretiser.of`). Edges are quantiles of the agent's own numbers, rounded to six digits.
"""

import numpy as np
from numpy.typing import NDArray

from decpomdp.core.agent import ranges
from decpomdp.io.tables.columns import Cells, Columns

MOST = 1000  # bins


def binned(
    columns: Columns, order: NDArray[np.int64], cells: Cells, bins: int
) -> tuple[NDArray[np.int64], list[tuple[str, ...]]]:
    """The symbol of every cell [r, n], -1 if it is empty, and the labels of every agent."""
    numbers = np.array([_number(label) for label in cells.labels] + [np.nan])
    columns.reject(
        (cells.codes >= 0) & np.isinf(numbers[cells.codes]), "observation", "a finite number to put into bins"
    )
    values = numbers[cells.codes][order]  # [r, n]
    symbols, alphabets = np.full(values.shape, -1), list[tuple[str, ...]]()
    for n, own in enumerate(values.T):
        known = own[~np.isnan(own)]
        middle = np.quantile(known, np.arange(1, bins) / bins, method="higher") if len(known) else np.zeros(0)
        edges = np.unique([float(f"{edge:.6g}") for edge in middle])
        edges = edges[edges > known.min()] if len(known) else edges  # no bin below the smallest number
        symbols[:, n] = np.where(np.isnan(own), -1, np.searchsorted(edges, own, side="right"))
        alphabets.append(tuple(ranges(0, edges)) or ("anything",))
    return symbols, alphabets


def _number(label: str) -> float:
    """NaN: empty; infinite: not a number."""
    try:
        return float(label)
    except ValueError:
        return np.inf
