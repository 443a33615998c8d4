"""Rows of the trace, one per sweep over all data, and warnings.

A row describes the posterior after its sweep: its bound, the inferred sizes, and the effective sample size.
"""

import warnings
from collections.abc import Sequence

from decpomdp.core import Row
from decpomdp.core.errors import LearningWarning
from decpomdp.learners.posterior import TeamPosterior, size_facts
from decpomdp.learners.sweep import Evaluated, Task

FEW = 10.0  # effective sample size that is enough; half of the episodes is enough too

Fall = tuple[int, float, float]  # sweep, bound before, bound after


def row_of(task: Task, now: Evaluated, sweep: int, threshold: float) -> Row:
    """The row of a sweep."""
    episodes = task.layout.episodes
    posterior = TeamPosterior(now.posterior, episodes.discount, episodes.name, threshold)
    return {
        "sweep": sweep,
        "bound": float(now.bound),
        **size_facts(posterior.sizes),
        "truncation": max(agent.nodes for agent in now.posterior),
        "sample_size": now.weighed.sample_size,
    }


def warn_of_collapse(size: float, episodes: int) -> None:
    """Warn if a few episodes carry all the weight."""
    if size < min(FEW, 0.5 * episodes):
        warnings.warn(
            f"the learned team is supported by few episodes: the effective sample size is {size:.1f} of {episodes}; "
            "use a smaller alpha, or collect data closer to it",
            LearningWarning,
            stacklevel=2,
        )


def warn_of_falls(falls: Sequence[Fall]) -> None:
    """Warn of falls of the bound."""
    if falls:
        sweep, before, after = max(falls, key=lambda fall: fall[1] - fall[2])
        warnings.warn(
            f"the bound fell at sweep {sweep}: from {before:.9g} to {after:.9g}, {len(falls)} times in all",
            LearningWarning,
            stacklevel=2,
        )
