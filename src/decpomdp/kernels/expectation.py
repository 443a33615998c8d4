"""The expectation step of one agent on one chunk of episodes: filter forward, count backward.

The recursions of an HMM whose transition matrix depends on (action, observation) become matrix products when the
episodes that share (a, o) at a step stand next to each other. `Slots` keeps the steps of a chunk in that order: the
steps at time t form a block, sorted by the pair (a_t, o_{t+1}) that leads on from them; steps with which an episode
ends stand last in their block. Position within a block is a *slot*. With p_t the normaliser of the filter:

  filter   alpha_t(j) = act[a_t, j] sum_i alpha_{t-1}(i) move[pair, i, j] / p_t
  count    C_t(j) = act[a_t, j] B_t(j) / p_t,   B_t(i) = nu_t + sum_j move[pair, i, j] C_{t+1}(j)
           visits[a, i] += alpha_t(i) B_t(i),   moves[pair, i, j] += alpha_t(i) C_{t+1}(j)   (times move, by the caller)

One backward pass serves all end times at once: the cost is linear in the length of an episode, whatever the rewards.
The products run in BLAS, which must be told to use one thread (the chunks are the parallel work).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.kernels.compiled import kernel, reordered


class Slots(NamedTuple):
    """The steps of one agent in one chunk of episodes, block by block."""

    blocks: NDArray[np.int64]  # [t + 1] first slot of every time step
    groups: NDArray[np.int64]  # [t, pair + 1] first slot of every pair in block t; the last entry: the episodes' ends
    onward: NDArray[np.int32]  # [slot] where the episode's next step is; -1 at its end
    action: NDArray[np.int16]  # [slot]
    rows: NDArray[np.int64]  # [slot] row in the episodes' arrays
    first: NDArray[np.int16]  # [slots of block 0] 0: nothing seen before the first action, 1 + o: o seen


class Tables(NamedTuple):
    """A possibly sub-normalised controller, laid out for the products."""

    initial: NDArray[np.float64]  # [1 + o, i]
    act: NDArray[np.float64]  # [a, i]
    move: NDArray[np.float64]  # [a * O + o, i, j]
    back: NDArray[np.float64]  # [a * O + o, j, i] the same, transposed


class Tally(NamedTuple):
    """Soft counts."""

    firsts: NDArray[np.float64]  # [1 + o, i]
    visits: NDArray[np.float64]  # [a, i]
    moves: NDArray[np.float64]  # [a * O + o, i, j] without the factor move[...]


@reordered
def filter_chunk(slots: Slots, tables: Tables, alpha: NDArray, inverse: NDArray, scratch: NDArray) -> None:
    """Fill alpha[slot, i] and inverse[slot] = 1 / p_t (0 when the action is impossible)."""
    nodes = alpha.shape[1]
    for slot in range(slots.blocks[1]):
        first, action = slots.first[slot], slots.action[slot]
        total = 0.0
        for i in range(nodes):
            total += tables.initial[first, i] * tables.act[action, i]
        inverse[slot] = 1.0 / total if total > 0.0 else 0.0
        for i in range(nodes):
            alpha[slot, i] = tables.initial[first, i] * tables.act[action, i] * inverse[slot]
    for t in range(1, len(slots.blocks) - 1):
        begin = slots.blocks[t - 1]
        for pair in range(slots.groups.shape[1] - 1):
            low, high = slots.groups[t - 1, pair], slots.groups[t - 1, pair + 1]
            if high > low:
                np.dot(alpha[low:high], tables.move[pair], scratch[low - begin : high - begin])
        for slot in range(begin, slots.groups[t - 1, -1]):
            there, row = slots.onward[slot], slot - begin
            action = slots.action[there]
            total = 0.0
            for i in range(nodes):
                total += scratch[row, i] * tables.act[action, i]
            scale = 1.0 / total if total > 0.0 else 0.0
            inverse[there] = scale
            for i in range(nodes):
                alpha[there, i] = scratch[row, i] * tables.act[action, i] * scale


@reordered
def count_chunk(
    slots: Slots,
    tables: Tables,
    alpha: NDArray[np.float64],  # [slot, i]
    inverse: NDArray[np.float64],  # [slot]
    nu: NDArray[np.float64],  # [row]
    tally: Tally,  # added to
    ahead: NDArray[np.float64],  # [slot of a block, i] scratch: B_t
    back: NDArray[np.float64],  # [slot of a block, i] scratch: C_{t+1}
    outer: NDArray[np.float64],  # [i, j] scratch
) -> None:
    """Add the chunk's soft counts to `tally`."""
    nodes = alpha.shape[1]
    for t in range(len(slots.blocks) - 2, -1, -1):
        begin, end = slots.blocks[t], slots.blocks[t + 1]
        for pair in range(slots.groups.shape[1] - 1):
            low, high = slots.groups[t, pair], slots.groups[t, pair + 1]
            if high > low:
                here = back[low - begin : high - begin]
                np.dot(here, tables.back[pair], ahead[low - begin : high - begin])
                np.dot(alpha[low:high].T, here, outer)
                tally.moves[pair] += outer
        ahead[slots.groups[t, -1] - begin : end - begin] = 0.0
        for slot in range(begin, end):
            weight, action, row = nu[slots.rows[slot]], slots.action[slot], slot - begin
            for i in range(nodes):
                ahead[row, i] += weight
                tally.visits[action, i] += alpha[slot, i] * ahead[row, i]
        if t > 0:
            before = slots.blocks[t - 1]
            for slot in range(before, slots.groups[t - 1, -1]):
                there = slots.onward[slot]
                action, scale, row = slots.action[there], inverse[there], there - begin
                for i in range(nodes):
                    back[slot - before, i] = tables.act[action, i] * ahead[row, i] * scale
    for slot in range(slots.blocks[1]):
        for i in range(nodes):
            tally.firsts[slots.first[slot], i] += alpha[slot, i] * ahead[slot, i]


@kernel
def slot_order(
    actions: NDArray[np.int16],  # [r] of one agent
    observations: NDArray[np.int16],  # [r]
    starts: NDArray[np.int64],  # [k] first row of every episode of the chunk
    lengths: NDArray[np.int64],  # [k] of every episode of the chunk
    symbols: int,  # size of the observation alphabet
    slots: Slots,  # filled
) -> None:
    """Counting sort of the chunk's steps, time by time, into `slots` (whose blocks are known already)."""
    times, pairs = slots.groups.shape[0], slots.groups.shape[1] - 1
    place = np.zeros(len(starts), np.int64)  # of every episode in the block before
    fill = np.zeros(pairs + 1, np.int64)
    for t in range(times):
        fill[:] = 0
        for k in range(len(starts)):
            if lengths[k] > t:
                fill[_pair(actions, observations, starts[k] + t, t + 1 < lengths[k], symbols, pairs)] += 1
        first = slots.blocks[t]
        for pair in range(pairs + 1):
            count = fill[pair]
            slots.groups[t, pair] = first
            fill[pair] = first
            first += count
        for k in range(len(starts)):
            if lengths[k] > t:
                row = starts[k] + t
                pair = _pair(actions, observations, row, t + 1 < lengths[k], symbols, pairs)
                slot = fill[pair]
                fill[pair] += 1
                slots.rows[slot] = row
                slots.action[slot] = actions[row]
                slots.onward[slot] = -1
                if t == 0:
                    slots.first[slot] = observations[row] + 1
                else:
                    slots.onward[place[k]] = slot
                place[k] = slot


@kernel
def _pair(actions: NDArray, observations: NDArray, row: int, goes_on: bool, symbols: int, pairs: int) -> int:
    return np.int64(actions[row]) * symbols + observations[row + 1] if goes_on else np.int64(pairs)
