"""Credit with a critic: what was earned, less what was to be expected from all that was seen.

With many agents the team's reward is mostly the doing of others: one agent's decision drowns in it. Whatever can be
foretold from what was known *before* the decision is not to its credit and may be subtracted without changing the
expected gradient. The critic foretells the return from step t on linearly, from

  a sketch of all agents' observations at t (64 random sums: the cost stays linear in the number of agents),
  the team's last two rewards, and the step itself (everything is centred step by step),

by ridge regression on the episodes at hand. With b_t its forecast, the gains

  discount^t (r_t + discount b_{t+1} - b_t)      summed from t on: discount^t (return from t on - b_t)

are the step weights of the count pass. Only learning is centralised; the controllers see what they always saw.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Episodes
from decpomdp.kernels.sampling import sketch
from decpomdp.learners.rows import Floats

SUMS = 64  # random sums of the observations
RIDGE = 1e-3  # of the features' own spread
KEY = np.uint64(20)  # of the random sums: the same ones in every batch


@dataclass(frozen=True, slots=True)
class Judged:
    """The steps of some batches, judged."""

    gains: list[Floats]  # [batch][r]
    spread: float  # standard deviation of what the critic could not foretell of a whole episode
    foretold: float  # share of the variance of the returns from a step on that it could


def features(episodes: Episodes) -> Floats:
    """[r, f]: what was known before every decision."""
    found = np.empty((episodes.steps, SUMS + 2))
    sums = np.empty((episodes.steps, SUMS))
    sketch(np.ascontiguousarray(episodes.observations), KEY, sums)
    found[:, :SUMS] = sums
    times = episodes.times()
    for back in (1, 2):
        earlier = np.roll(episodes.rewards, back)
        found[:, SUMS + back - 1] = np.where(times >= back, earlier, 0.0)
    return found


def judge(batches: list[Episodes], known: list[Floats]) -> Judged:
    """Gains of every step of every batch; known[batch] as `features` has it."""
    # DEPARTS: the paper weighs a decision by the rewards themselves, without a forecast to hold against them
    discount = batches[0].discount
    times = np.concatenate([batch.times() for batch in batches])
    returns = np.concatenate([_onward(batch) for batch in batches])
    counts = np.bincount(times)
    usual = np.bincount(times, returns) / counts  # [t]
    target = returns - usual[times]
    inputs = np.concatenate(known)
    centred = inputs - _by_step(inputs, times, counts)[times]
    weight = discount ** times.astype(np.float64)
    square = (centred * weight[:, None]).T @ centred
    square[np.diag_indices_from(square)] += RIDGE * (np.trace(square) / len(square) + 1e-300)
    slope = np.linalg.solve(square, centred.T @ (weight * target))
    forecast = usual[times] + centred @ slope
    left = returns - forecast
    foretold = 1 - float(weight @ left**2) / max(float(weight @ target**2), 1e-300)
    ends = np.cumsum([batch.steps for batch in batches])[:-1]
    gains = [_gains(batch, part) for batch, part in zip(batches, np.split(forecast, ends), strict=True)]
    return Judged(gains, float(np.sqrt(np.mean(left[times == 0] ** 2))), foretold)


def _gains(episodes: Episodes, forecast: Floats) -> Floats:
    """Discounted: reward and forecast of the next step, less the forecast of this one."""
    after = np.append(forecast[1:], 0.0)
    after[episodes.offsets[1:] - 1] = 0.0
    discounts = episodes.discount ** episodes.times().astype(np.float64)
    gains: Floats = discounts * (episodes.rewards + episodes.discount * after - forecast)
    return gains


def _onward(episodes: Episodes) -> Floats:
    """[r]: discounted return from the step on, in the step's own money."""
    lengths, discount = episodes.lengths, episodes.discount
    worth = np.zeros((episodes.count, int(lengths.max())))
    inside = np.arange(worth.shape[1]) < lengths[:, None]
    worth[inside] = episodes.rewards
    for t in range(worth.shape[1] - 2, -1, -1):
        worth[:, t] += discount * worth[:, t + 1]
    onward: Floats = worth[inside]
    return onward


def _by_step(inputs: Floats, times: NDArray[np.int64], counts: NDArray[np.int64]) -> Floats:
    """[t, f]: mean of every feature at every step."""
    sums = np.zeros((len(counts), inputs.shape[1]))
    np.add.at(sums, times, inputs)
    means: Floats = sums / counts[:, None]
    return means
