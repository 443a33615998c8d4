"""Calibration of a world on held-out episodes: in steps that are rare in the other episodes, and in all steps.

A *rare* step is a pair (input, hidden state) with fewer than `KNOWN` expected visits in the episodes of the fit. Its
rows follow from the prior, that is from other rows. Held-out episodes have rare steps too. With the predicted reward
x_i and the actual reward y_i of held-out step i, and the probability w_i that the step is rare, the slope of y on x,
weighted by w, is about 1 if these rows predict well, and about 0 if they do not.

The *excess* of an observation or reward is its log probability plus the entropy of its predicted distribution. Its
expectation is 0 if the world is right, for any behaviour, and below 0 if the world is overconfident.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.worlds.belief import expected, normalised, steps_of
from decpomdp.worlds.data import Records
from decpomdp.worlds.posterior import Floats, Posterior

KNOWN = 1.0  # visits from which a step is known
STEPS, SLOPE, ERRORS = 100.0, 0.8, 2.0  # least number of rare held-out steps; least slope minus ERRORS standard errors


class Predictions(NamedTuple):
    """Held-out episodes, each step predicted from the steps before it."""

    reward: Floats  # [i] expected
    paid: Floats  # [i]
    rare: Floats  # [i] probability that the step is rare
    logs: Floats  # [k] log likelihood of every episode
    excess: Floats  # [k] sum over its observations and rewards


def trusted(posterior: Posterior, heldout: Records) -> bool:
    """Whether predictions of rare steps hold on held-out episodes."""
    steps = predictions(posterior, heldout)
    if steps.rare.sum() < STEPS:
        return False
    slope, error = weighted_slope(steps.reward, steps.paid, steps.rare)
    return slope - ERRORS * error >= SLOPE


def overconfidence(posterior: Posterior, heldout: Records) -> tuple[float, float]:
    """Nats a step by which held-out episodes are less likely than the world predicts; the same in standard errors."""
    excess = predictions(posterior, heldout).excess
    if len(excess) < 2:
        return 0.0, 0.0
    nats = -float(excess.sum()) / heldout.steps
    return nats, -float(excess.mean() / np.maximum(excess.std(ddof=1) / len(excess) ** 0.5, 1e-12))


def predictions(posterior: Posterior, records: Records) -> Predictions:
    """Predict every step of `records` from the steps before it."""
    log, tables, values = records.log, posterior.mean(), records.alphabet.values
    rare = (posterior.counts.pay.sum(-1) < KNOWN)[..., None] * 1.0  # [v, z, 1]
    firsts = np.cumsum([0, *records.groups])
    belief = np.tile(tables.start, (records.episodes, 1))  # [k, z] before the observations of a step
    logs, excess = np.zeros(records.episodes), np.zeros(records.episodes)
    rows = list[Floats]()

    def compare(k: NDArray[np.int64], chances: Floats, outcomes: NDArray[np.int32]) -> None:
        """Add the log probability of each outcome, and its excess."""
        own = np.log(np.maximum(chances[np.arange(len(k)), outcomes], 1e-300))
        logs[k] += own
        excess[k] += own - (chances * np.log(np.maximum(chances, 1e-300))).sum(1)

    for k, now, before in steps_of(records):
        here = belief[k]
        for table, first, symbols in zip(tables.see, firsts, log.symbols[now].T, strict=False):
            shown = symbols >= 0
            own, seen = before[shown], symbols[shown] - first
            compare(k[shown], expected(here[shown], own, table), seen)
            here[shown] = normalised(here[shown] * table[own, :, seen])
        acting = log.inputs[now] >= 0
        k, now, here = k[acting], now[acting], here[acting]
        v, paid = log.inputs[now], log.rewards[now]
        chances = expected(here, v, tables.pay)
        compare(k, chances, paid)
        value = values[v % len(values)]  # [i, r]
        rows.append(np.stack([(chances * value).sum(1), value[np.arange(len(k)), paid], expected(here, v, rare)[:, 0]]))
        belief[k] = expected(normalised(here * tables.pay[v, :, paid]), v, tables.move)
    reward, got, share = np.concatenate(rows, axis=1)
    return Predictions(reward, got, share, logs, excess)


def weighted_slope(x: Floats, y: Floats, weights: Floats) -> tuple[float, float]:
    """The slope of y on x and its standard error (robust against unequal variances); 0 if x does not vary."""
    x, y = x - np.average(x, weights=weights), y - np.average(y, weights=weights)
    spread = float((weights * x**2).sum())
    if spread <= 1e-12:
        return 0.0, 0.0
    slope = float((weights * x * y).sum()) / spread
    return slope, float(np.sqrt((weights**2 * x**2 * (y - slope * x) ** 2).sum())) / spread
