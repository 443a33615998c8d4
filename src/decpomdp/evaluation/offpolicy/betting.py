"""The interval that is proved.

For independent values X_k >= 0 with mean mu, a fixed m > 0 and a share f in (0, 1) let

  C_f(m) = prod_k (1 - f + f X_k / m),   C(m) = the average of C_f(m) over a fixed list of shares f.

C(m) is the wealth of a gambler who bets a share f on every value being above m. E C(mu) = 1, so by Markov's inequality
C(mu) >= 1 / risk has probability `risk` at most. C falls in m. Hence the largest m with C(m) >= 1 / risk is above mu
with probability `risk` at most: a lower bound of the mean that needs no upper limit on the values, which importance
ratios do not have. (Testing by betting: Waudby-Smith and Ramdas 2023; for importance ratios, Karampatziakis, Mineiro
and Ramdas 2021.)
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# small shares notice a mean a little above m in noisy values, large ones use that values hardly vary
SHARES = np.array([2.0**-j for j in range(16, 0, -1)] + [1 - 2.0**-j for j in range(2, 8)])
HALVINGS = 40  # of the interval between nothing and the values' mean: the bound is exact to 1e-12 of that mean
BLOCK = 4096  # values looked at together


def mean_at_least(values: Floats, risk: float) -> float:
    """What the mean of independent non-negative `values` exceeds, except with probability `risk` at most."""
    exponent = int(np.frexp(values.max())[1])
    values = np.ldexp(values, -exponent)  # near 1, so that halving stays exact; a power of two rounds nothing
    low, high = 0.0, float(values.mean())  # at the values' own mean no share wins, by concavity
    if high <= 0:
        return 0.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if log_wealth(values, middle) >= -np.log(risk):
            low = middle
        else:
            high = middle
    return float(np.ldexp(low, exponent))


def log_wealth(values: Floats, m: float) -> float:
    """ln C(m)."""
    gains = values / m - 1.0
    blocks = (gains[first : first + BLOCK] for first in range(0, len(gains), BLOCK))
    logs = np.sum([np.log1p(SHARES[:, None] * block).sum(axis=1) for block in blocks], axis=0)  # [share]
    top = float(logs.max())
    return top + float(np.log(np.exp(logs - top).mean()))
