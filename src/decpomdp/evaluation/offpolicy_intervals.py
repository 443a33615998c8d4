"""Two kinds of interval: one that is usually right, and one that is proved.

*Bootstrap.* Episodes are drawn again with replacement; the quantiles of the re-computed estimates are corrected for
bias and skewness (BCa; Efron 1987). Nothing is assumed about the rewards, and nothing is promised: when a few episodes
carry all the weight, those that are missing from the data are missing from every new draw.

*Guaranteed.* For independent values X_k >= 0 with mean mu, a fixed m > 0 and a share f in (0, 1) let

  C_f(m) = prod_k (1 - f + f X_k / m),   C(m) = the average of C_f(m) over a fixed list of shares f.

C(m) is the wealth of a gambler who bets a share f on every value being above m. E C(mu) = 1, so by Markov's inequality
C(mu) >= 1 / risk has probability `risk` at most. C falls in m. Hence the largest m with C(m) >= 1 / risk is above mu
with probability `risk` at most: a lower bound of the mean that needs no upper limit on the values, which importance
ratios do not have. (Testing by betting: Waudby-Smith and Ramdas 2023; for importance ratios, Karampatziakis, Mineiro
and Ramdas 2021.)
"""

import numpy as np
from numpy.typing import NDArray

from decpomdp.evaluation.offpolicy_estimates import Weighted

Floats = NDArray[np.float64]

# small shares notice a mean a little above m in noisy values, large ones use that values hardly vary
SHARES = np.array([2.0**-j for j in range(16, 0, -1)] + [1 - 2.0**-j for j in range(2, 8)])
HALVINGS = 40  # of the interval between nothing and the values' mean: the bound is exact to 1e-12 of that mean
BLOCK = 4096  # values looked at together
DRAWS_AT_A_TIME = 64


def bootstrap(weighted: Weighted, resamples: int, confidence: float, seed: int) -> tuple[Floats, Floats]:
    """[3, 2] intervals and [3] the estimates themselves, in the order of NAMES."""
    count = len(weighted.rewards)
    estimates = weighted.estimates(np.ones((1, count)))[0]
    rng = np.random.default_rng(seed)
    parts = [
        weighted.estimates(_draws(rng, count, min(DRAWS_AT_A_TIME, resamples - first)))
        for first in range(0, resamples, DRAWS_AT_A_TIME)
    ]
    again, without = np.concatenate(parts), weighted.without_one()
    each = [corrected(again[:, i], float(estimates[i]), without[:, i], confidence) for i in range(len(estimates))]
    return np.array(each), estimates


def corrected(again: Floats, estimate: float, without: Floats, confidence: float) -> tuple[float, float]:
    """The bias-corrected and accelerated interval from estimates of new draws and of the jackknife."""
    from scipy.special import ndtr, ndtri

    share = np.mean(again < estimate) + 0.5 * np.mean(again == estimate)
    bias = ndtri(np.clip(share, 1 / (len(again) + 1), len(again) / (len(again) + 1)))
    gap = without.mean() - without
    gap = gap / max(float(np.abs(gap).max()), 1e-300)
    squares = float((gap**2).sum())
    skew = float((gap**3).sum()) / (6 * squares**1.5) if squares > 0 else 0.0
    ends = bias + ndtri(np.array([(1 - confidence) / 2, (1 + confidence) / 2]))
    levels = ndtr(bias + ends / np.maximum(1 - skew * ends, 1e-3))
    low, high = np.quantile(again, levels)
    return float(low), float(high)


def mean_at_least(values: Floats, risk: float) -> float:
    """What the mean of independent non-negative `values` exceeds, except with probability `risk` at most."""
    low, high = 0.0, float(values.mean())  # at the values' own mean no share wins, by concavity
    if high <= 0:
        return 0.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if log_wealth(values, middle) >= -np.log(risk):
            low = middle
        else:
            high = middle
    return low


def log_wealth(values: Floats, m: float) -> float:
    """ln C(m)."""
    gains = values / m - 1.0
    blocks = (gains[first : first + BLOCK] for first in range(0, len(gains), BLOCK))
    logs = np.sum([np.log1p(SHARES[:, None] * block).sum(axis=1) for block in blocks], axis=0)  # [share]
    top = float(logs.max())
    return top + float(np.log(np.exp(logs - top).mean()))


def _draws(rng: np.random.Generator, count: int, draws: int) -> Floats:
    """[b, k]: how often every episode was drawn."""
    return np.stack([np.bincount(rng.integers(count, size=count), minlength=count) for _ in range(draws)]).astype(float)
