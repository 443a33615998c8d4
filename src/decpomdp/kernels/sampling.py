"""Random numbers as a function of a counter, and constant-time draws from many discrete distributions.

`draw(key, counter)` is the SplitMix64 generator addressed by position. A draw from a distribution takes one 64-bit
number: its upper half chooses an entry of the alias table, its lower half decides between the entry's two outcomes.
Probabilities are exact to 2^-32, certain outcomes exactly. `sketch` projects observations on random signs.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.kernels.compiled import helper, inlined, kernel

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX1 = np.uint64(0xBF58476D1CE4E5B9)
MIX2 = np.uint64(0x94D049BB133111EB)
ONE, HALF = np.uint64(1), np.uint64(32)
LOW = np.uint64(0xFFFFFFFF)
S30, S27, S31 = np.uint64(30), np.uint64(27), np.uint64(31)


class Sampler(NamedTuple):
    """Many discrete distributions, one per row, as concatenated alias tables."""

    rows: NDArray[np.int32]  # [row, 2] first entry, number of entries
    entries: NDArray[np.uint32]  # [entry, 4] own outcome, other outcome, cut (below it: own), unused


def key_of(seed: int) -> np.uint64:
    """The key of the random numbers: the lowest 64 bits of any integer."""
    return np.uint64(int(seed) & 0xFFFFFFFFFFFFFFFF)


@inlined
def mix(value: np.uint64) -> np.uint64:
    """Scramble 64 bits."""
    value = (value ^ (value >> S30)) * MIX1
    value = (value ^ (value >> S27)) * MIX2
    return value ^ (value >> S31)


@inlined
def stream(seed: np.uint64, episode: int) -> np.uint64:
    """The key of one episode's random numbers."""
    return mix(mix(seed + GOLDEN) + np.uint64(episode) * GOLDEN)


@inlined
def draw(key: np.uint64, counter: int) -> np.uint64:
    """The counter-th 64 random bits of a stream."""
    return mix(key + np.uint64(counter) * GOLDEN)


@inlined
def pick(sampler: Sampler, row: int, bits: np.uint64) -> int:
    """Outcome drawn from distribution `row`."""
    first = sampler.rows[row, 0]
    place = first + np.int64(((bits >> HALF) * np.uint64(sampler.rows[row, 1])) >> HALF)
    low = np.uint32(bits & LOW)
    return np.int64(sampler.entries[place, 0] if low < sampler.entries[place, 2] else sampler.entries[place, 1])


@helper
def fill_alias(
    weights: NDArray[np.float64],  # [m] positive
    outcomes: NDArray[np.int64],  # [m]
    entries: NDArray[np.uint32],  # [m, 4] out
    small: NDArray[np.int64],  # [m] scratch
    large: NDArray[np.int64],  # [m] scratch
    scaled: NDArray[np.float64],  # [m] scratch
    m: int,
) -> None:
    """Alias table of one distribution (Vose's construction)."""
    total = 0.0
    for e in range(m):
        total += weights[e]
    smalls, larges = 0, 0
    for e in range(m):
        scaled[e] = weights[e] * m / total
        entries[e, 0] = entries[e, 1] = outcomes[e]
        entries[e, 2] = LOW
        entries[e, 3] = 0
        if scaled[e] < 1.0:
            small[smalls] = e
            smalls += 1
        else:
            large[larges] = e
            larges += 1
    while smalls > 0 and larges > 0:
        smalls -= 1
        poor, rich = small[smalls], large[larges - 1]
        entries[poor, 1] = outcomes[rich]
        entries[poor, 2] = np.uint32(scaled[poor] * 4294967296.0)
        scaled[rich] -= 1.0 - scaled[poor]
        if scaled[rich] < 1.0:
            larges -= 1
            small[smalls] = rich
            smalls += 1


@kernel
def fill_rows(
    counts: NDArray[np.int64],  # [row] entries of every row
    weights: NDArray[np.float64],  # [entry] positive
    outcomes: NDArray[np.int64],  # [entry]
    entries: NDArray[np.uint32],  # [entry, 4] out
) -> None:
    """Alias tables of rows, given their concatenated positive entries."""
    size = 0
    for m in counts:
        size = max(size, m)
    small, large, scaled = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size)
    first = 0
    for m in counts:
        part = slice(first, first + m)
        fill_alias(weights[part], outcomes[part], entries[part], small, large, scaled, m)
        first += m


def sampler(tables: list[NDArray[np.float64]]) -> Sampler:
    """Alias tables of the rows of several dense tables [row, outcome], concatenated."""
    places = [np.nonzero(table > 0) for table in tables]
    counts = np.concatenate(
        [np.bincount(row, minlength=len(table)) for table, (row, _) in zip(tables, places, strict=True)]
    )
    weights = np.concatenate([table[place] for table, place in zip(tables, places, strict=True)])
    entries = np.empty((len(weights), 4), np.uint32)
    fill_rows(counts, weights, np.concatenate([outcome for _, outcome in places]), entries)
    return Sampler(np.stack([np.cumsum(counts) - counts, counts], axis=1).astype(np.int32), entries)


@kernel
def sketch(
    observations: NDArray[np.int16],  # [r, n] -1: none
    seed: np.uint64,
    out: NDArray[np.float64],  # [r, at most 64] filled
) -> None:
    """Random sums over the agents' observations: every (agent, symbol) adds a fixed +1 or -1 to each sum."""
    for row in range(observations.shape[0]):
        for f in range(out.shape[1]):
            out[row, f] = 0.0
        for n in range(observations.shape[1]):
            signs = draw(stream(seed, n), 1 + np.int64(observations[row, n]))
            for f in range(out.shape[1]):
                out[row, f] += 1.0 - 2.0 * np.float64((signs >> np.uint64(f)) & ONE)
