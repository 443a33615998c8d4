"""What is missing from the data, seen from the ratios: a share of the team's doings that may have earned anything.

Ratios are 1 on average, at every step, if the behaviour may take all that the team may. Data whose ratios average less
lack episodes that the team would often play: by chance, because such episodes are rare under the behaviour and carry
large ratios, or because the behaviour never plays them. With w the mean ratio of a step, a share 1 - w is missing.

The three estimates treat it differently. The self-normalised one takes it that what is missing earned as much as what
is there, R_t; the other two, that it earned nothing, and are too small (or too large, where rewards are negative)
together with their own standard errors. So

  * their intervals also hold that of the self-normalised estimate, which has the deficit taken out;
  * where the deficit is more than chance or too large to be left to it, or something is surely missing, that may have
    earned anything from `low` to `high`. With m_t = 1 - w_t + 1.64 standard errors, the share that is missing at most,
    the interval goes further down by sum_t d^t m_t (R_t - low), further up by sum_t d^t m_t (high - R_t).
"""

import numpy as np
from numpy.typing import NDArray

from decpomdp.evaluation.offpolicy.estimates import Weighted, inverse

Floats = NDArray[np.float64]

FEWEST = 0.99  # a mean ratio below this is worth a word,
ERRORS = 2.5  # if it is this many standard errors below 1;
FEW = 0.95  # one below this always: standard errors are too small themselves where large ratios are missing
MARGIN = 1.64  # standard errors, of one side of 90 %: the mean ratio may be this much too high


def missing_share(ratios: Floats, surely: bool) -> Floats:
    """[t]: how much of the team's doings is missing at each step, at most; 0 where it may be chance.

    `surely`: the team does something that the data never show.
    """
    means, errors = ratios.mean(axis=0), ratios.std(axis=0) / np.sqrt(len(ratios))
    lacking = (means < FEW) | ((means < FEWEST) & (means + ERRORS * errors < 1))
    return np.where(lacking | surely, np.clip(1 - means + MARGIN * errors, 0.0, 1.0), 0.0)


def joined(ends: Floats, weighted: Weighted, share: Floats, low: Floats, high: Floats) -> Floats:
    """[3, 2] intervals in the order of NAMES with what is missing; [t] the ends of what a step may earn, discounted."""
    average = weighted.gains.sum(axis=0) * inverse(weighted.scaled.sum(axis=0))  # [t]
    down, up = (share * np.maximum(more, 0.0) for more in (average - low, high - average))
    normal = ends[-1] + np.array([-down.sum(), up.sum()])
    return np.stack([np.minimum(ends[:, 0], normal[0]), np.maximum(ends[:, 1], normal[1])], axis=1)
