"""The expectation step of a latent world on one chunk of episodes: filter forward, count backward.

A world is an input-output hidden Markov model. Row r of the log has the input v_r (the joint action, or the last joint
observation and the joint action), the reward category and the symbols that were seen before the action:

  e_t(z)     = pay[v_t, r_t, z] prod_g see[v_{t-1}, y_{t,g}, z]          v_{-1} = V: before the first action
  alpha_t(z) = e_t(z) sum_i alpha_{t-1}(i) move[v_{t-1}, i, z] / p_t     with start[z] in place of the sum at t = 0
  gamma_t(z) = alpha_t(z) beta_t(z)

If observations reveal much, few states explain a row. The filter keeps a list of active states: those whose emission
is above a tenth of `beam` times the largest, and whose filtered probability is above `beam`. If the states with a large
emission have almost no predicted mass, all states are considered. With beam 0 the recursions are exact.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.kernels.compiled import reordered

UNEXPECTED = 1e-4  # of the largest emission: if the candidates have less mass, all states are considered
LEAST = 1e-290  # less likely rows count as impossible: all states are then equally likely
DOUBT = 1e-3  # pairs of states that are both at least this likely add to `entropy`


class Log(NamedTuple):
    """Rows of episodes; a terminated episode has one more row, without input and reward."""

    offsets: NDArray[np.int64]  # [k + 1]
    inputs: NDArray[np.int32]  # [r] -1: after the end
    symbols: NDArray[np.int32]  # [r, g] position in a row of `see`; -1: none
    rewards: NDArray[np.int32]  # [r] category; -1: after the end


class Rows(NamedTuple):
    """The tables of a world (or expected logarithms, or counts), states last."""

    start: NDArray[np.float64]  # [z]
    move: NDArray[np.float64]  # [v, z, z1]
    see: NDArray[np.float64]  # [v + 1, y, z1] the symbols of all groups
    pay: NDArray[np.float64]  # [v, r, z]


@reordered
def filter_chunk(
    log: Log,
    first: int,
    last: int,
    world: Rows,
    beam: float,
    counting: bool,
    counts: Rows,  # added to
    entropy: NDArray[np.float64],  # [z, z] added to; [0, 0]: not computed
    logs: NDArray[np.float64],  # [k] filled: log likelihood of every episode
) -> None:
    """Likelihoods of the episodes first .. last - 1, and their expected counts."""
    states, longest, groups, before_first = len(world.start), 0, log.symbols.shape[1], world.pay.shape[0]
    for k in range(first, last):
        longest = max(longest, log.offsets[k + 1] - log.offsets[k])
    alpha = np.empty((longest, states))
    active = np.empty((longest, states), np.int32)
    emission = np.empty((longest, states))
    sizes = np.empty(longest, np.int64)
    scale = np.empty(longest)
    e, ahead, beta, onward, back = (
        np.empty(states),
        np.empty(states),
        np.empty(states),
        np.empty(states),
        np.empty(states),
    )
    candidates = np.empty(states, np.int32)
    for k in range(first, last):
        begin, length, total = log.offsets[k], log.offsets[k + 1] - log.offsets[k], 0.0
        for t in range(length):
            row = begin + t
            v, before = log.inputs[row], before_first if t == 0 else log.inputs[row - 1]
            if v >= 0:
                paid = world.pay[v, log.rewards[row]]
                for j in range(states):
                    e[j] = paid[j]
            else:
                for j in range(states):
                    e[j] = 1.0
            for g in range(groups):
                y = log.symbols[row, g]
                if y >= 0:
                    seen = world.see[before, y]
                    for j in range(states):
                        e[j] *= seen[j]
            peak = 0.0
            for j in range(states):
                peak = max(peak, e[j])
            mass, count = 0.0, 0
            for attempt in range(2):
                least = peak * beam * 0.1 if attempt == 0 else 0.0
                mass, count = 0.0, 0
                for j in range(states):
                    if e[j] > least:
                        candidates[count] = j
                        count += 1
                if t == 0:
                    for j in range(states):
                        ahead[j] = world.start[j]
                elif 3 * count > states:
                    for j in range(states):
                        ahead[j] = 0.0
                    for p in range(sizes[t - 1]):
                        weight, moves = alpha[t - 1, p], world.move[before, active[t - 1, p]]
                        for j in range(states):
                            ahead[j] += weight * moves[j]
                else:
                    for q in range(count):
                        ahead[candidates[q]] = 0.0
                    for p in range(sizes[t - 1]):
                        weight, moves = alpha[t - 1, p], world.move[before, active[t - 1, p]]
                        for q in range(count):
                            ahead[candidates[q]] += weight * moves[candidates[q]]
                for q in range(count):
                    j = candidates[q]
                    ahead[j] *= e[j]
                    mass += ahead[j]
                if beam == 0.0 or mass > peak * UNEXPECTED:
                    break
            kept = 0
            if mass > LEAST:
                for q in range(count):
                    j = candidates[q]
                    if ahead[j] > mass * beam:
                        alpha[t, kept], active[t, kept], emission[t, kept] = ahead[j] / mass, j, e[j]
                        kept += 1
            else:
                mass = LEAST
                for j in range(states):
                    alpha[t, j], active[t, j], emission[t, j] = 1.0 / states, j, LEAST
                kept = states
            sizes[t], scale[t] = kept, mass
            total += np.log(mass)
        logs[k] = total
        if not counting:
            continue
        mass = 0.0
        for q in range(sizes[length - 1]):
            mass += alpha[length - 1, q]
        for q in range(sizes[length - 1]):
            beta[q] = 1.0 / mass
        for t in range(length - 1, -1, -1):
            row, size = begin + t, sizes[t]
            v, before = log.inputs[row], before_first if t == 0 else log.inputs[row - 1]
            for q in range(size):
                j, gamma = active[t, q], alpha[t, q] * beta[q]
                if v >= 0:
                    counts.pay[v, log.rewards[row], j] += gamma
                if t == 0:
                    counts.start[j] += gamma
                for g in range(groups):
                    if log.symbols[row, g] >= 0:
                        counts.see[before, log.symbols[row, g], j] += gamma
            if len(entropy) > 0:
                for q in range(size):
                    one = alpha[t, q] * beta[q]
                    if one > DOUBT:
                        for p in range(q + 1, size):
                            other = alpha[t, p] * beta[p]
                            if other > DOUBT:
                                lost = one * np.log(one / (one + other)) + other * np.log(other / (one + other))
                                entropy[active[t, q], active[t, p]] -= lost
            if t > 0:
                for q in range(size):
                    onward[q] = emission[t, q] * beta[q] / scale[t]
                for p in range(sizes[t - 1]):
                    i, weight, got = active[t - 1, p], alpha[t - 1, p], 0.0
                    moves, moved = world.move[before, i], counts.move[before, i]
                    for q in range(size):
                        j = active[t, q]
                        share = moves[j] * onward[q]
                        got += share
                        moved[j] += weight * share
                    back[p] = got
                for p in range(sizes[t - 1]):
                    beta[p] = back[p]
