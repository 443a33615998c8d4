"""A centralised critic: the return minus its prediction from all observations.

With many agents the team's reward is mostly due to the others. The part that can be predicted from information
available *before* a decision may be subtracted without changing the expected gradient. The critic is a linear
regression of the return from step t on

  a sketch of all agents' observations at t (64 random sums: the cost stays linear in the number of agents),
  the team's last two rewards, and the step itself (everything is centred step by step),

fitted as ridge regression to the episodes of the batch. With b_t its prediction, the gains

  discount^t (r_t + discount b_{t+1} - b_t)      summed from t on: discount^t (return from t on - b_t)

are the weights of the steps in the count pass. Only learning is centralised; the controllers use local observations.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Episodes
from decpomdp.kernels.sampling import sketch
from decpomdp.learners.rows import Floats
from decpomdp.learners.weighing import returns_to_go

SUMS = 64  # random sums of the observations
RIDGE = 1e-3  # relative to the mean variance of the features
KEY = np.uint64(20)  # of the random sums: the same ones in every batch


@dataclass(frozen=True, slots=True)
class CriticGains:
    """The critic's gains."""

    gains: list[Floats]  # [batch][r]
    spread: float  # standard deviation of the error of the predicted return of an episode
    explained: float  # share of the variance of the returns from a step on


def features(episodes: Episodes) -> Floats:
    """[r, f]: the inputs of the critic at every step."""
    table = np.empty((episodes.steps, SUMS + 2))
    sums = np.empty((episodes.steps, SUMS))
    sketch(np.ascontiguousarray(episodes.observations), KEY, sums)
    table[:, :SUMS] = sums
    times = episodes.times()
    for back in (1, 2):
        earlier = np.roll(episodes.rewards, back)
        table[:, SUMS + back - 1] = np.where(times >= back, earlier, 0.0)
    return table


def visit_weights(episodes: Episodes) -> Floats:
    """[r]: weights whose sum from any step on is the discount of that step."""
    discounts: Floats = episodes.discount ** episodes.times().astype(np.float64)
    weights = discounts * (1 - episodes.discount)
    last = episodes.offsets[1:] - 1
    weights[last] = discounts[last]
    return weights


def judge(batches: list[Episodes], known: list[Floats]) -> CriticGains:
    """Gains of every step of every batch; known[batch] is the result of `features`."""
    # DEPARTS: the paper weighs a decision by the rewards themselves, without a baseline
    discount = batches[0].discount
    times = np.concatenate([batch.times() for batch in batches])
    returns = np.concatenate([returns_to_go(batch) for batch in batches])
    counts = np.bincount(times)
    usual = np.bincount(times, returns) / counts  # [t]
    target = returns - usual[times]
    inputs = np.concatenate(known)
    centred = inputs - _by_step(inputs, times, counts)[times]
    weight = discount ** times.astype(np.float64)
    square = (centred * weight[:, None]).T @ centred
    square[np.diag_indices_from(square)] += RIDGE * (np.trace(square) / len(square) + 1e-300)
    slope = np.linalg.solve(square, centred.T @ (weight * target))
    predicted = usual[times] + centred @ slope
    left = returns - predicted
    explained = 1 - float(weight @ left**2) / max(float(weight @ target**2), 1e-300)
    ends = np.cumsum([batch.steps for batch in batches])[:-1]
    gains = [_gains(batch, part) for batch, part in zip(batches, np.split(predicted, ends), strict=True)]
    return CriticGains(gains, float(np.sqrt(np.mean(left[times == 0] ** 2))), explained)


def _gains(episodes: Episodes, predicted: Floats) -> Floats:
    """[r]: discount^t (r_t + discount b_{t+1} - b_t), b the prediction."""
    after = np.append(predicted[1:], 0.0)
    after[episodes.offsets[1:] - 1] = 0.0
    discounts = episodes.discount ** episodes.times().astype(np.float64)
    gains: Floats = discounts * (episodes.rewards + episodes.discount * after - predicted)
    return gains


def _by_step(inputs: Floats, times: NDArray[np.int64], counts: NDArray[np.int64]) -> Floats:
    """[t, f]: mean of every feature at every step."""
    sums = np.zeros((len(counts), inputs.shape[1]))
    np.add.at(sums, times, inputs)
    means: Floats = sums / counts[:, None]
    return means
