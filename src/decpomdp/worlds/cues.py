"""Starts whose states remember a cue: what one agent observed last, its most frequent observation aside.

A hidden value that only a later reward reveals, such as a word that is passed on and asked for three steps later, is
missed by noisy copies of states: near them the likelihood is flat. But if an agent saw a cue of the value, the pairs of
a state and the cue are almost the right states.
"""

import numpy as np
from numpy.typing import NDArray

from decpomdp.worlds.belief import likeliest_states
from decpomdp.worlds.data import Records
from decpomdp.worlds.posterior import Floats, Tables
from decpomdp.worlds.sweep import Sweeps

MOST, LARGEST = 128, 1e7  # states; numbers in their transitions
SMALL = 0.1  # visits of a row in addition to the counted ones


def with_cues(sweeps: Sweeps, tables: Tables, n: int) -> Tables | None:
    """A world whose states are the pairs of a state and a cue of agent n that occur in plain records.

    None if there are too many, or if they predict the records no better by Akaike's criterion.
    """
    records = sweeps.records
    states = likeliest_states(tables, records)
    used, pairs = np.unique(states * (records.groups[n] + 1) + cues_of(records, n), return_inverse=True)
    if len(used) > MOST or records.inputs * len(used) ** 2 > LARGEST:
        return None
    (before, fewer), (after, more) = _counted(records, states), _counted(records, pairs)
    gain = float(sweeps.logs(after).sum() - sweeps.logs(before).sum())
    return after if gain > more - fewer else None


def cues_of(records: Records, n: int) -> NDArray[np.int64]:
    """[r]: 1 + the last observation of agent n in the episode that is not its most frequent one; 0: none yet."""
    first, log = int(sum(records.groups[:n])), records.log
    seen = log.symbols[:, n] - first
    common = np.bincount(seen[seen >= 0], minlength=records.groups[n]).argmax()
    rows = np.arange(len(seen))
    begin = np.repeat(log.offsets[:-1], np.diff(log.offsets))
    last = np.maximum.accumulate(np.where((seen >= 0) & (seen != common), rows, -1))
    cues: NDArray[np.int64] = np.where(last >= begin, seen[last] + 1, 0)
    return cues


def _counted(records: Records, states: NDArray[np.int64]) -> tuple[Tables, int]:
    """The world in which every row has the given state, and the number of cells of its tables that occur."""
    log, size, inputs = records.log, int(states.max()) + 1, records.inputs
    begins = np.zeros(len(states), bool)
    begins[log.offsets[:-1]] = True
    later = np.flatnonzero(~begins)
    before = np.where(begins, inputs, np.roll(log.inputs, 1))
    cells = 0

    def rows(counts: Floats, *places: NDArray) -> Floats:
        nonlocal cells
        cells += len(np.unique(np.ravel_multi_index(places, counts.shape)))
        np.add.at(counts, places, 1.0)
        return counts / counts.sum(-1, keepdims=True)

    start = rows(np.full(size, SMALL), states[begins])
    move = rows(np.full((inputs, size, size), SMALL / size), log.inputs[later - 1], states[later - 1], states[later])
    see = []
    for group, first, symbols in zip(records.groups, np.cumsum([0, *records.groups]), log.symbols.T, strict=False):
        shown = symbols >= 0
        flat = np.full((inputs + 1, size, group), SMALL / group)
        see.append(rows(flat, before[shown], states[shown], symbols[shown] - first))
    paid = log.inputs >= 0
    pay = rows(
        SMALL * np.repeat(records.paid[:, None], size, axis=1), log.inputs[paid], states[paid], log.rewards[paid]
    )
    return Tables(start, move, tuple(see), pay), cells
