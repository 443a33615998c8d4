"""The utility of an episode: how much its actions count.

  U_k = exp(b (G_k - max G) / std G),   b the largest number up to 1 for which ESS(U) = (sum U)^2 / sum U^2 >= K / 5

with G the discounted return. It selects good episodes; the limit of the effective sample size keeps a few lucky ones
from carrying the result.
"""

import numpy as np

from decpomdp.learners.rows import Floats

# DEPARTS: the paper's utility is the sum of the discounted rewards above R_min, each with the ratio of its step
SHARE = 0.2  # of the episodes that must carry the result
ROUNDS = 40  # halvings of the bracket of b


def utilities(returns: Floats) -> Floats:
    """[k]: utility of every episode, at most 1."""
    unit = max(float(np.abs(returns).max()), 1e-300)  # squares of large returns would overflow
    spread = float((returns / unit).std())
    if not spread > 0:
        return np.ones(len(returns))
    score = (returns / unit - returns.max() / unit) / spread
    low, high = 0.0, 1.0
    if sample_size(np.exp(score)) >= SHARE * len(score):
        low = high
    for _ in range(ROUNDS if high > low else 0):
        middle = 0.5 * (low + high)
        enough = sample_size(np.exp(middle * score)) >= SHARE * len(score)
        low, high = (middle, high) if enough else (low, middle)
    return np.exp(low * score)


def sample_size(weights: Floats) -> float:
    """Effective number of episodes: (sum w)^2 / sum w^2; 0 if all weights are 0."""
    squares = float(weights @ weights)
    return float(weights.sum()) ** 2 / squares if squares > 0 else 0.0
