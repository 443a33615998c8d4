"""Beliefs over the states of a world along recorded episodes, for all episodes at once."""

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


def likeliest_states(tables: Tables, records: Records) -> NDArray[np.int64]:
    """[r]: the likeliest state of every row, given the rows before it, its observations and its reward."""
    log, starts, lengths = records.log, records.log.offsets[:-1], np.diff(records.log.offsets)
    firsts = np.cumsum([0, *records.groups])
    belief = np.tile(tables.start, (records.episodes, 1))  # [k, z] before the observations of a step
    states = np.zeros(len(log.inputs), np.int64)
    for t in range(int(lengths.max())):
        k = np.nonzero(t < lengths)[0]
        now = starts[k] + t
        before, here = (np.full(len(k), records.inputs) if t == 0 else log.inputs[now - 1]), belief[k]
        for table, first, symbols in zip(tables.see, firsts, log.symbols[now].T, strict=False):
            shown = symbols >= 0
            here[shown] = normalised(here[shown] * table[before[shown], :, symbols[shown] - first])
        acting = log.inputs[now] >= 0
        v, paid = log.inputs[now[acting]], log.rewards[now[acting]]
        here[acting] = normalised(here[acting] * tables.pay[v, :, paid])
        states[now] = here.argmax(1)
        belief[k[acting]] = expected(here[acting], v, tables.move)
    return states
