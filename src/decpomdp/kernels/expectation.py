"""The expectation step of one agent on one chunk of episodes: filter forward, count backward.

The recursions of an HMM whose transition matrix depends on (action, observation) become matrix products if the
episodes that share (a, o) at a step are stored next to each other. `Slots` stores the steps of a chunk in that order:
grouped by the pair (a_t, o_{t+1}), then sorted by time; the last steps of episodes form a separate group at the end. A
position in that order is a *slot*. With p_t the filter's normaliser:

  filter   alpha_t(j) = act[a_t, j] sum_i alpha_{t-1}(i) move[pair, i, j] / p_t
  count    B_t(i) = nu_t + sum_j move[pair, i, j] C_{t+1}(j),   C_t(j) = act[a_t, j] B_t(j) / p_t
           visits[a, i] += alpha_t(i) B_t(i),   moves[pair, i, j] += alpha_t(i) C_{t+1}(j)   (times move, by the caller)

One backward pass handles all end times at once: the cost is linear in the length of an episode, for any rewards.
The products run in BLAS, which must be set to one thread (the chunks are processed in parallel). With tables in single
precision, everything except the tally is in single precision; a step whose p_t is below the smallest normal number
counts as impossible.

C_t(j) of a node that is almost impossible given the path so far may grow without limit along an episode. In double
precision it is clipped at `most` to avoid overflow. It is later multiplied by the probability of the node, which is 0
or so small that paths through the node were already lost to rounding.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.kernels.compiled import helper, inlined, kernel, reordered


@kernel
def running_sums(values: NDArray[np.float64], offsets: NDArray[np.int64], out: NDArray[np.float64]) -> None:
    """out[r]: sum of values[r, n] over all agents, from the beginning of the episode to row r."""
    for k in range(len(offsets) - 1):
        total = 0.0
        for row in range(offsets[k], offsets[k + 1]):
            for n in range(values.shape[1]):
                total += values[row, n]
            out[row] = total


@kernel
def own_ratios(
    logs: NDArray[np.float64],  # [r, 1] log probability of one agent's actions under its controller
    behaviour: NDArray[np.float32],  # [r] their probability under the behaviour
    offsets: NDArray[np.int64],  # [k + 1]
    log_cap: float,
    ratios: NDArray[np.float64],  # [r] out
) -> None:
    """ratios[r]: the probability of the agent's actions up to row r, controller over behaviour, capped."""
    for k in range(len(offsets) - 1):
        total = 0.0
        for row in range(offsets[k], offsets[k + 1]):
            total += logs[row, 0] - np.log(np.float64(behaviour[row]))
            ratios[row] = np.exp(min(total, log_cap))


class Slots(NamedTuple):
    """The steps of one agent in one chunk of episodes, pair by pair, each in order of time."""

    groups: NDArray[np.int64]  # [pair + 1, t + 1] first slot of every pair and time; the last pair: last steps
    onward: NDArray[np.int32]  # [slot] slot of the episode's next step; -1 at its end
    before: NDArray[np.int32]  # [slot] slot of its previous step; -1 at its beginning
    action: NDArray[np.int16]  # [slot]
    rows: NDArray[np.int64]  # [slot] row in the episodes' arrays
    first: NDArray[np.int16]  # [slot] at t = 0: 1 + the observation before the first action, 0 without one


class FilterTables(NamedTuple):
    """A possibly sub-normalised controller, in the layout of the products."""

    initial: NDArray[np.floating]  # [1 + o, i]
    act: NDArray[np.floating]  # [a, i]
    move: NDArray[np.floating]  # [a * O + o, i, j]
    back: NDArray[np.floating]  # [a * O + o, j, i] the same, transposed


class Tally(NamedTuple):
    """Soft counts."""

    firsts: NDArray[np.float64]  # [1 + o, i]
    visits: NDArray[np.float64]  # [a, i]
    moves: NDArray[np.float64]  # [a * O + o, i, j] without the factor move[...]


@reordered
def filter_chunk(slots: Slots, tables: FilterTables, alpha: NDArray, inverse: NDArray, scratch: NDArray) -> None:
    """Fill alpha[slot, i] and inverse[slot] = 1 / p_t (0 when the action is impossible)."""
    nodes, pairs = alpha.shape[1], slots.groups.shape[0] - 1
    for pair in range(pairs + 1):
        low, high = slots.groups[pair, 0], slots.groups[pair, 1]
        for slot in range(low, high):
            for i in range(nodes):
                scratch[slot - low, i] = tables.initial[slots.first[slot], i]
            _normalise(scratch, slot - low, tables.act, slots.action[slot], alpha, inverse, slot)
    for t in range(slots.groups.shape[1] - 2):
        for pair in range(pairs):
            low, high = slots.groups[pair, t], slots.groups[pair, t + 1]
            if high > low:
                np.dot(alpha[low:high], tables.move[pair], scratch[: high - low])
                for slot in range(low, high):
                    there = slots.onward[slot]
                    _normalise(scratch, slot - low, tables.act, slots.action[there], alpha, inverse, there)


@inlined
def _normalise(
    scratch: NDArray, row: int, act: NDArray, action: int, alpha: NDArray, inverse: NDArray, slot: int
) -> None:
    """alpha[slot] = scratch[row] * act[action] / p; 0 if p is below the smallest normal number."""
    total = act.dtype.type(0)
    for i in range(alpha.shape[1]):
        total += scratch[row, i] * act[action, i]
    possible = total >= np.finfo(act.dtype).tiny
    scale = act.dtype.type(1) / total if possible else act.dtype.type(0)
    inverse[slot] = scale
    for i in range(alpha.shape[1]):
        alpha[slot, i] = scratch[row, i] * act[action, i] * scale


@kernel
def log_chunk(slots: Slots, inverse: NDArray, n: int, logs: NDArray[np.float64]) -> None:
    """logs[row, n] = ln p_t of agent n; minus infinity for an impossible action."""
    for slot in range(len(inverse)):
        logs[slots.rows[slot], n] = -np.log(np.float64(inverse[slot])) if inverse[slot] > 0.0 else -np.inf


@reordered
def count_chunk(
    slots: Slots,
    tables: FilterTables,
    alpha: NDArray,  # [slot, i]
    inverse: NDArray,  # [slot]
    nu: NDArray[np.float64],  # [row]
    tally: Tally,  # added to
    carried: NDArray,  # [slot, i] buffer for C_{t+1}
    scratch: NDArray,  # [slot of a group, i]
) -> None:
    """Add the chunk's soft counts to `tally`."""
    nodes, pairs = alpha.shape[1], slots.groups.shape[0] - 1
    most = alpha.dtype.type(np.finfo(alpha.dtype).max * 1e-12)  # a sum over all slots stays finite
    held = alpha.itemsize == 8  # in single precision the caller detects lost counts
    weights = np.empty(len(inverse), alpha.dtype)  # [slot]
    for slot in range(len(weights)):
        weights[slot] = nu[slots.rows[slot]]
    for t in range(slots.groups.shape[1] - 2, -1, -1):
        for pair in range(pairs + 1):
            low, high = slots.groups[pair, t], slots.groups[pair, t + 1]
            if high == low:
                continue
            if pair < pairs:
                np.dot(carried[low:high], tables.back[pair], scratch[: high - low])
            else:
                scratch[: high - low] = 0
            for slot in range(low, high):
                row, action, earlier, weight = slot - low, slots.action[slot], slots.before[slot], weights[slot]
                if earlier >= 0:
                    scale = inverse[slot]
                    for i in range(nodes):
                        onward = tables.act[action, i] * (scratch[row, i] + weight) * scale
                        carried[earlier, i] = max(-most, min(most, onward)) if held else onward
                else:
                    for i in range(nodes):
                        tally.firsts[slots.first[slot], i] += alpha[slot, i] * (scratch[row, i] + weight)
    _total(slots, tables, alpha, weights, carried, tally)


@reordered
def _total(
    slots: Slots, tables: FilterTables, alpha: NDArray, weights: NDArray, carried: NDArray, tally: Tally
) -> None:
    """Sum over slots, pair by pair: alpha_t(i) B_t(i) = alpha_t(i) nu_t + sum_j alpha_t(i) move(i, j) C_{t+1}(j)."""
    nodes, pairs = alpha.shape[1], slots.groups.shape[0] - 1
    moves, here = np.empty((nodes, nodes), alpha.dtype), np.empty(nodes, alpha.dtype)
    for pair in range(pairs):
        low, high = slots.groups[pair, 0], slots.groups[pair, -1]
        if high > low:
            np.dot(alpha[low:high].T, carried[low:high], moves)
            np.dot(weights[low:high], alpha[low:high], here)
            action = slots.action[low]  # the same for all slots of the pair
            _add(moves, here, tables.move[pair], tally.moves[pair], tally.visits[action])
    for slot in range(slots.groups[pairs, 0], slots.groups[pairs, -1]):
        for i in range(alpha.shape[1]):
            tally.visits[slots.action[slot], i] += alpha[slot, i] * weights[slot]


@helper
def _add(moves: NDArray, here: NDArray, move: NDArray, counts: NDArray, visits: NDArray) -> None:
    """counts += moves, visits += here + sum_j moves[., j] move[., j], in the order of j."""
    for i in range(len(here)):
        ahead = move.dtype.type(0)
        for j in range(len(here)):
            counts[i, j] += moves[i, j]
            ahead += moves[i, j] * move[i, j]
        visits[i] += here[i] + ahead


@kernel
def slot_order(
    actions: NDArray[np.int16],  # [r] of one agent
    observations: NDArray[np.int16],  # [r]
    starts: NDArray[np.int64],  # [k] first row of every episode of the chunk
    lengths: NDArray[np.int64],  # [k] of every episode of the chunk
    symbols: int,  # size of the observation alphabet
    slots: Slots,  # filled
) -> None:
    """Counting sort of the chunk's steps by pair and time."""
    pairs, times = slots.groups.shape[0] - 1, slots.groups.shape[1] - 1
    fill = np.zeros((pairs + 1, times), np.int64)
    for k in range(len(starts)):
        for t in range(lengths[k]):
            fill[_pair(actions, observations, starts[k] + t, t + 1 < lengths[k], symbols, pairs), t] += 1
    slot = 0
    for pair in range(pairs + 1):
        for t in range(times):
            count = fill[pair, t]
            slots.groups[pair, t] = slot
            fill[pair, t] = slot
            slot += count
        slots.groups[pair, times] = slot
    for k in range(len(starts)):
        earlier = -1
        for t in range(lengths[k]):
            row = starts[k] + t
            pair = _pair(actions, observations, row, t + 1 < lengths[k], symbols, pairs)
            slot = fill[pair, t]
            fill[pair, t] += 1
            slots.rows[slot] = row
            slots.action[slot] = actions[row]
            slots.first[slot] = observations[row] + 1
            slots.before[slot] = earlier
            slots.onward[slot] = -1
            if earlier >= 0:
                slots.onward[earlier] = slot
            earlier = slot


@helper
def _pair(actions: NDArray, observations: NDArray, row: int, goes_on: bool, symbols: int, pairs: int) -> int:
    return np.int64(actions[row]) * symbols + observations[row + 1] if goes_on else np.int64(pairs)
