"""One row of the trace per sweep, and warnings where the user should know.

A row belongs to the posterior after its sweep. `bound` is that of the posterior. `value` is the empirical value of the
team that would be returned then (posterior means on the occupied nodes): the importance-weighted mean return of the
data, ratios capped and normalised as in the settings, rewards unshifted. `sample_sizes` are the effective numbers of
episodes per step, and `sample_size` is the one at the weakest step.
"""

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Row
from decpomdp.core.errors import LearningWarning
from decpomdp.filtering.filter import likelihoods, tables_of
from decpomdp.learners.posterior import TeamPosterior, size_facts
from decpomdp.learners.rows import Floats
from decpomdp.learners.sweep import Evaluated, Task
from decpomdp.learners.weighing import running, weigh

NOTABLE = 1e-3  # fall of ln V that is reported even where falls are expected
COUNTS = 0.05  # a step counts when its discount, times the share of episodes that have it, is above this
FEW = 10.0  # episodes; fewer carry a step only where half of all that have it do

Fall = tuple[int, float, float]  # sweep, bound before, bound after


def row_of(task: Task, now: Evaluated, sweep: int, threshold: float) -> Row:
    """The row of a sweep."""
    episodes, sizes = task.layout.episodes, now.weighed.sample_sizes
    posterior = TeamPosterior(now.posterior, episodes.discount, episodes.name, threshold)
    return {
        "sweep": sweep,
        "bound": float(now.bound),
        "value": empirical_value(task, posterior),
        **size_facts(posterior.sizes),
        "truncation": max(agent.nodes for agent in now.posterior),
        "sample_size": float(sizes[weakest_step(sizes, running(task.steps), episodes.discount)]),
        "sample_sizes": tuple(float(size) for size in sizes),
    }


def empirical_value(task: Task, posterior: TeamPosterior) -> float:
    """The importance-weighted mean return of the posterior's mean team."""
    team = posterior.mean()
    tables = [tables_of(team, n) for n in range(len(team.agents))]
    logs, _ = likelihoods(task.layout, tables, False, task.threads)
    return weigh(task.steps, logs, task.cap, task.normalise).value


def weakest_step(sizes: Floats, episodes: NDArray[np.int64], discount: float) -> int:
    """The step, of those that count, with the smallest effective sample size; collapsed ones before others."""
    share = discount ** np.arange(len(sizes)) * episodes / episodes[0]
    score = np.where(share > COUNTS, sizes, np.inf)
    collapsed = score < _needed(episodes)
    return int(np.where(collapsed, score, np.inf).argmin() if collapsed.any() else score.argmin())


def warn_of_collapse(task: Task, best: Evaluated) -> None:
    """Warn if a few episodes carry all the weight of a step that matters."""
    sizes, episodes = best.weighed.sample_sizes, running(task.steps)
    worst = weakest_step(sizes, episodes, task.layout.episodes.discount)
    if sizes[worst] < _needed(episodes)[worst]:
        warnings.warn(
            f"the learned team is supported by few episodes: at step {worst} the effective sample size is "
            f"{sizes[worst]:.1f} of {episodes[worst]}; collect data closer to it, shorten the episodes, or cap the "
            "ratios",
            LearningWarning,
            stacklevel=2,
        )


def warn_of_falls(falls: Sequence[Fall], steady: bool, evidence: float) -> None:
    """Warn of falls of the bound; with capped or normalised ratios, whose objective changes, of large ones only."""
    sweep, before, after = max(falls, key=lambda fall: fall[1] - fall[2], default=(0, 0.0, 0.0))
    if before - after <= (0.0 if steady else NOTABLE * evidence):
        return
    why = "" if steady else "; capped or normalised ratios change with the team"
    warnings.warn(
        f"the bound fell at sweep {sweep}: from {before:.9g} to {after:.9g}, {len(falls)} times in all{why}; "
        "the result is the team of the highest bound",
        LearningWarning,
        stacklevel=2,
    )


def _needed(episodes: NDArray[np.int64]) -> Floats:
    """[t]: the effective sample size below which a step has collapsed."""
    return np.minimum(FEW, 0.5 * episodes)
