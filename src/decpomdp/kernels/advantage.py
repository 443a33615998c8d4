"""One update of the core step: a natural gradient on tabular softmax, from episodes with their sampled nodes.

G_t is the return to go, b_t its mean over the episodes that are running at t, w_t = discount^t. For agent n, node i
and choice c (an action; or, when memory is learned, the next node after seeing o, with G of the step it leads to)

  S(i, c) = sum w_t (G_t - b_t),   W(i, c) = sum w_t   over the visits of i that chose c,   V(i) = S(i, .) / W(i, .)
  A(i, c) = (S(i, c) - V(i) W(i, c)) / (W(i, c) + PRIOR),   centred under the softmax probabilities of i.

For a softmax the natural gradient of the value is the advantage itself, not divided by the probability of the choice.
So the logit of a rare good choice rises as fast as that of a common one. Dividing by the root mean square over visits
makes the step independent of the scale of rewards.
"""

import numpy as np
from numpy.typing import NDArray

from decpomdp.kernels.compiled import inlined, kernel
from decpomdp.kernels.machines import ROOT, PlayedBatch
from decpomdp.kernels.sampling import fill_alias

PRIOR = 5.0  # pseudo-visits of weight 1 with advantage 0: a choice seen once or twice has little effect
LARGEST = 1.0  # change of a logit in one update, at most
DEPTH = 6.907755278982137  # ln 1000: largest distance of a logit from the best one, so that no choice is ruled out


@kernel
def gather(
    played: PlayedBatch,
    discount: float,
    free: bool,
    togo: NDArray[np.float64],  # [k, t] scratch
    act_sum: NDArray[np.float64],  # [n, i, a] out
    act_weight: NDArray[np.float64],  # [n, i, a] out
    hop_sum: NDArray[np.float64],  # [n, i, o, j] out when free
    hop_weight: NDArray[np.float64],  # [n, i, o, j] out when free
) -> None:
    """S and W of every choice."""
    episodes, horizon = played.rewards.shape
    agents = played.actions.shape[2]
    base, running = np.zeros(horizon), np.zeros(horizon)
    for k in range(episodes):
        ahead = 0.0
        for t in range(played.lengths[k] - 1, -1, -1):
            ahead = played.rewards[k, t] + discount * ahead
            togo[k, t] = ahead
            base[t] += ahead
            running[t] += 1.0
    for t in range(horizon):
        base[t] /= max(1.0, running[t])
    act_sum[:], act_weight[:] = 0.0, 0.0
    if free:
        hop_sum[:], hop_weight[:] = 0.0, 0.0
    for k in range(episodes):
        for n in range(agents):
            before, weight = np.int64(ROOT), 1.0
            for t in range(played.lengths[k]):
                gain = weight * (togo[k, t] - base[t])
                node = np.int64(played.nodes[k, t, n])
                act_sum[n, node, played.actions[k, t, n]] += gain
                act_weight[n, node, played.actions[k, t, n]] += weight
                if free:
                    hop_sum[n, before, played.observations[k, t, n], node] += gain
                    hop_weight[n, before, played.observations[k, t, n], node] += weight
                    before = node
                weight *= discount


@inlined
def softmax(logits: NDArray[np.float64], first: int, size: int, out: NDArray[np.float64]) -> None:
    """Probabilities of choices first .. size - 1."""
    top = logits[first]
    for c in range(first, size):
        top = max(top, logits[c])
    total = 0.0
    for c in range(first, size):
        out[c] = np.exp(logits[c] - top)
        total += out[c]
    for c in range(first, size):
        out[c] /= total


@kernel
def nudge(
    sums: NDArray[np.float64],  # [row, c]; becomes the advantage
    weights: NDArray[np.float64],  # [row, c]
    logits: NDArray[np.float64],  # [row, c] changed in place
    first: int,
    size: int,
    rate: float,
) -> None:
    """logits += rate * A / rms(A), for the choices first .. size - 1 of one agent."""
    chances = np.empty(logits.shape[1])
    power, visits = 0.0, 0.0
    for row in range(len(logits)):
        total, mass = 0.0, 0.0
        for c in range(first, size):
            total += sums[row, c]
            mass += weights[row, c]
        if mass == 0.0:
            continue
        softmax(logits[row], first, size, chances)
        mean = 0.0
        for c in range(first, size):
            sums[row, c] = (sums[row, c] - total / mass * weights[row, c]) / (weights[row, c] + PRIOR)
            mean += chances[c] * sums[row, c]
        for c in range(first, size):
            sums[row, c] -= mean
            power += weights[row, c] * (sums[row, c] * sums[row, c])
        visits += mass
    if power <= 0.0:
        return
    scale = rate / np.sqrt(power / visits)
    for row in range(len(logits)):
        top = -np.inf
        for c in range(first, size):
            logits[row, c] += min(LARGEST, max(-LARGEST, scale * sums[row, c]))
            top = max(top, logits[row, c])
        for c in range(first, size):
            logits[row, c] = max(logits[row, c], top - DEPTH)


@kernel
def soften(
    logits: NDArray[np.float64],  # [row, c]
    first: int,
    size: int,
    exploration: float,
    tables: NDArray[np.int64],  # [row, c] out, as in `machines.Soft`
) -> None:
    """Alias tables of (1 - exploration) softmax + exploration uniform, for the choices first .. size - 1."""
    chances, count = np.empty(logits.shape[1]), size - first
    outcomes, entries = np.empty(count, np.int64), np.empty((count, 4), np.uint32)
    small, large, scaled = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count)
    for c in range(count):
        outcomes[c] = first + c
    for row in range(len(logits)):
        softmax(logits[row], first, size, chances)
        for c in range(first, size):
            chances[c] = (1.0 - exploration) * chances[c] + exploration / count
        fill_alias(chances[first:size], outcomes, entries, small, large, scaled, count)
        for e in range(count):
            cut = (np.int64(entries[e, 2]) + 1) >> 16
            tables[row, e] = (cut << 32) | (np.int64(entries[e, 1]) << 16) | np.int64(entries[e, 0])
