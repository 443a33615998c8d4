"""One sweep: posterior --expect--> controllers --filter--> likelihoods --weigh--> nu --count--> counts --update-->.

Only the posterior flows back. The bound belongs to the posterior at hand with its best node paths:
  LB = kappa ln M - sum of the divergences of all factors from their priors, ln M the objective (`weighing`).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import InputError
from decpomdp.filtering.count import counted
from decpomdp.filtering.filter import FilteredChunks, filtered, likelihoods
from decpomdp.filtering.layout import Layout, Precision
from decpomdp.kernels.expectation import Tables, Tally
from decpomdp.learners.posterior import AgentPosterior, Counts, updated
from decpomdp.learners.weighing import Steps, Weighed, weigh

DOUBLE: Precision = np.dtype(np.float64)
SINGLE: Precision = np.dtype(np.float32)
LOST = 1e-5  # share of the soft counts that single precision may lose
KEPT_BYTES = 512_000_000  # filtered node distributions up to this size are kept for counting, else filtered again


class Imprecise(Exception):  # noqa: N818 - the caller continues in double
    """Single precision is not enough: node paths with weight underflowed."""


@dataclass(frozen=True, slots=True)
class Task:
    """Data and settings of a fit."""

    layout: Layout
    steps: Steps
    evidence: float  # kappa
    power: float  # alpha of the power mean
    threads: int | None
    precision: Precision = DOUBLE  # of filter and count


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A posterior with its likelihoods, weights and bound."""

    posterior: tuple[AgentPosterior, ...]
    tables: tuple[Tables, ...]
    weighed: Weighed
    bound: float
    kept: FilteredChunks  # filtered node distributions; counting consumes them


def evaluate(task: Task, posterior: tuple[AgentPosterior, ...]) -> Evaluated:
    """Expect, filter, weigh."""
    tables = _tables(posterior, task.precision)
    size = sum(task.steps.gain.size * agent.nodes * task.precision.itemsize for agent in posterior)
    most = KEPT_BYTES if task.layout.shards is None else task.layout.shards.filtered_bytes
    logs, kept = likelihoods(task.layout, tables, size <= most, task.threads)
    weighed = weigh(task.steps, logs, task.power)
    if weighed.log_mean == -np.inf:
        raise InputError("no episode in the data is possible under the team to be learned: start from another one")
    bound = task.evidence * weighed.log_mean - sum(agent.divergence() for agent in posterior)
    return Evaluated(posterior, tables, weighed, bound, kept)


def agent_bounds(task: Task, posterior: tuple[AgentPosterior, ...]) -> list[float]:
    """The bound of every agent at alpha = 0, where it is a sum over agents; without a cluster."""
    logs, _ = filtered(task.layout, _tables(posterior, task.precision), False, task.threads)
    weights = weigh(task.steps, np.zeros(len(logs)), 0.0).nu
    later = np.add.reduceat(weights, task.steps.offsets[:-1])
    later = np.repeat(later, np.diff(task.steps.offsets)) - _before(weights, task.steps.offsets)
    means = later @ logs / task.steps.count
    return [task.evidence * float(mean) - agent.divergence() for mean, agent in zip(means, posterior, strict=True)]


def _before(values: NDArray[np.float64], offsets: NDArray[np.int64]) -> NDArray[np.float64]:
    """[r]: sum of the values of earlier steps of the episode."""
    sums = np.concatenate([[0.0], np.cumsum(values)])[:-1]
    return np.asarray(sums - np.repeat(sums[offsets[:-1]], np.diff(offsets)))


def count(task: Task, evaluated: Evaluated) -> list[Counts]:
    """Soft counts of every agent; raises Imprecise when single precision lost some of them."""
    counts = _counted(task, evaluated)
    if task.precision == SINGLE and not all(_complete(task, evaluated, each) for each in counts):
        raise Imprecise
    return counts


def _complete(task: Task, evaluated: Evaluated, counts: Counts) -> bool:
    """Whether no weight was lost: node paths of a step weigh as much together as the rewards from there on."""
    expected = task.evidence / task.steps.count * float(evaluated.weighed.nu @ task.steps.steps_so_far)
    rounding = 4 * float(np.finfo(SINGLE).eps) * float(task.steps.steps_so_far.max())
    return bool(abs(counts.visits.sum() - expected) <= (LOST + rounding) * expected)


def _tables(posterior: tuple[AgentPosterior, ...], precision: Precision) -> tuple[Tables, ...]:
    def laid(tables: Tables) -> Tables:
        return tables if precision == DOUBLE else Tables(*(table.astype(np.float32) for table in tables))

    return tuple(laid(agent.expected()) for agent in posterior)


def _counted(task: Task, evaluated: Evaluated) -> list[Counts]:
    # DEPARTS: one recursion for all end times, linear in the length; the paper's is quadratic
    tallies = counted(task.layout, evaluated.tables, evaluated.weighed.nu, evaluated.kept, task.threads)
    return [_counts(task, evaluated, n, tally) for n, tally in enumerate(tallies)]


def update(evaluated: Evaluated, counts: list[Counts]) -> tuple[AgentPosterior, ...]:
    """The posterior after `counts`."""
    agents = zip(evaluated.posterior, counts, strict=True)
    return tuple(updated(before.agent, before.priors, new, before) for before, new in agents)


def _counts(task: Task, evaluated: Evaluated, n: int, tally: Tally) -> Counts:
    scale = task.evidence / task.steps.count
    tables, agent = evaluated.tables[n], evaluated.posterior[n].agent
    firsts, visits, moves = tally
    z, a, o = tables.act.shape[1], len(agent.actions), len(agent.observations)
    by_node = (moves * tables.move).transpose(1, 0, 2).reshape(z, a, o, z)
    return Counts(scale * firsts[1:], scale * visits.T, scale * by_node)
