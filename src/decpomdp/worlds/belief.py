"""Beliefs over the states of a world along recorded episodes, for all episodes at once."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from decpomdp.worlds.data import Records
from decpomdp.worlds.posterior import Floats, Tables


def expected(belief: Floats, inputs: NDArray[np.int32], table: Floats) -> Floats:
    """[i, y]: the mean over belief[i, z] of the rows of table[v, z, y] for inputs[i]."""
    out = np.empty((len(belief), table.shape[-1]))
    for v in np.unique(inputs):
        out[inputs == v] = belief[inputs == v] @ table[v]
    return out


def normalised(table: NDArray[np.float64]) -> Floats:
    """Rows that sum to one; uniform if they are zero."""
    total = table.sum(1, keepdims=True)
    return np.where(total > 0, table / np.maximum(total, 1e-300), 1.0 / table.shape[1])


def steps_of(records: Records) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]]:
    """For t = 0, 1, ...: the episodes k with a row t, these rows, and the inputs before them."""
    log, lengths = records.log, np.diff(records.log.offsets)
    for t in range(int(lengths.max())):
        k = np.nonzero(t < lengths)[0]
        rows = log.offsets[:-1][k] + t
        yield k, rows, np.full(len(k), records.inputs, np.int32) if t == 0 else log.inputs[rows - 1]


def likeliest_states(tables: Tables, records: Records) -> NDArray[np.int64]:
    """[r]: the likeliest state of every row, given the rows before it, its observations and its reward."""
    log = records.log
    firsts = np.cumsum([0, *records.groups])
    belief = np.tile(tables.start, (records.episodes, 1))  # [k, z] before the observations of a step
    states = np.zeros(len(log.inputs), np.int64)
    for k, now, before in steps_of(records):
        here = belief[k]
        for table, first, symbols in zip(tables.see, firsts, log.symbols[now].T, strict=False):
            shown = symbols >= 0
            here[shown] = normalised(here[shown] * table[before[shown], :, symbols[shown] - first])
        acting = log.inputs[now] >= 0
        v, paid = log.inputs[now[acting]], log.rewards[now[acting]]
        here[acting] = normalised(here[acting] * tables.pay[v, :, paid])
        states[now] = here.argmax(1)
        belief[k[acting]] = expected(here[acting], v, tables.move)
    return states
