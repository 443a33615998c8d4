"""One iteration's learning with many agents: soft counts of visits and of gains become the next posterior's counts.

  paper   counts'[i, a] = gains[i, a] + (mean reward above R_min) visits[i, a]
  here    counts'[i, a] = strength_i share[i, a] exp(step * advantage[i, a] / scale), rows renormalised to strength_i,
          advantage = gains / (visits + shrink), less its mean over the row

which agrees to first order in the step with the paper's update when the reward shift is scale / step. The scale is
the root mean square of the action advantages, so that the change does not depend on the units of the reward. `floor`
times the standard deviation of the utilities is added, so that noise has no effect when little is left to learn.
`shrink` visits without gain are added to every choice, as a prior that all choices are equally good.
"""

from typing import NamedTuple

import numpy as np

from decpomdp.learners.posterior import Counts
from decpomdp.learners.rows import Floats

LARGEST = 1.0  # change of a log probability in one step


class StepSize(NamedTuple):
    """Settings of a step; see `ManyAgents`."""

    step: float
    shrink: float
    floor: float
    carry: float


def improved(counts: Counts, visits: Counts, gains: Counts, spread: float, size: StepSize) -> Counts:
    """The counts after a step."""
    # DEPARTS: the paper's next counts are its soft counts, shifted by R_min; here the shift is the length of the step
    action = advantage(counts.visits, visits.visits, gains.visits, size.shrink)
    total = max(float(visits.visits.sum()), 1e-300)
    square = float((visits.visits * action**2).sum()) / total
    scale = float(np.sqrt(square + (size.floor * spread) ** 2)) or 1.0

    def table(old: Floats, seen: Floats, gained: Floats) -> Floats:
        moved = advantage(old, seen, gained, size.shrink)
        return stepped(old, seen, moved * size.step / scale, size.carry)

    return Counts(
        table(counts.firsts, visits.firsts, gains.firsts),
        stepped(counts.visits, visits.visits, action * size.step / scale, size.carry),
        table(counts.moves, visits.moves, gains.moves),
    )


def advantage(counts: Floats, visits: Floats, gains: Floats, shrink: float) -> Floats:
    """Gain per visit of every choice, above the mean of its row."""
    gain = gains / (visits + shrink)
    return gain - (_shares(counts) * gain).sum(axis=-1, keepdims=True)


def stepped(counts: Floats, visits: Floats, change: Floats, carry: float) -> Floats:
    """Counts with every log share changed; as strong as the visits are, or a little less than they were."""
    shares = _shares(_shares(counts) * np.exp(np.clip(change, -LARGEST, LARGEST)))
    strength = np.maximum(carry * counts.sum(axis=-1), visits.sum(axis=-1))
    return shares * strength[..., None]


def _shares(counts: Floats) -> Floats:
    """Rows that sum to one; a row without counts to zero."""
    return counts / np.maximum(counts.sum(axis=-1, keepdims=True), 1e-300)
