"""One sweep: posterior --expect--> controllers --filter--> likelihoods --weigh--> nu --count--> counts --update-->.

Only the posterior is passed to the next sweep. The bound is that of the posterior with its optimal node paths:
  LB = kappa ln M - sum of the divergences of all factors from their priors, ln M the objective (`weighing`).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import InputError
from decpomdp.filtering.filter import FilteredChunks, Layout, Precision, counted, filtered, likelihoods
from decpomdp.kernels.expectation import FilterTables, Tally, count_chunk, filter_chunk, log_chunk, running_sums
from decpomdp.learners.posterior import AgentPosterior, Counts, updated
from decpomdp.learners.rows import Floats
from decpomdp.learners.weighing import Steps, Weighed, weigh

DOUBLE: Precision = np.dtype(np.float64)
SINGLE: Precision = np.dtype(np.float32)
LOST = 1e-5  # share of the soft counts that single precision may lose
KEPT_BYTES = 512_000_000  # filtered node distributions up to this size are kept for counting, larger ones recomputed
SMALL = 10_000  # steps of an agent up to which threads are not faster


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

    @property
    def small(self) -> bool:
        """Whether the kernels are called in this thread: every agent has one short chunk."""
        return self.layout.shards is None and self.steps.gain.size <= SMALL and len(self.layout.chunks[0]) == 1


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A posterior with its likelihoods, weights and bound."""

    posterior: tuple[AgentPosterior, ...]
    tables: tuple[FilterTables, ...]
    weighed: Weighed
    bound: float
    kept: FilteredChunks  # filtered node distributions; counting consumes them


def evaluate(task: Task, posterior: tuple[AgentPosterior, ...]) -> Evaluated:
    """Expect, filter, weigh."""
    tables = _tables(posterior, task.precision)
    logs, kept = _filter_small(task, tables) if task.small else _filter(task, tables)
    weighed = weigh(task.steps, logs, task.power)
    if weighed.log_mean == -np.inf:
        raise InputError("the initial team gives every episode in the data probability 0: use another one")
    bound = task.evidence * weighed.log_mean - sum(agent.divergence() for agent in posterior)
    return Evaluated(posterior, tables, weighed, bound, kept)


def _filter(task: Task, tables: tuple[FilterTables, ...]) -> tuple[Floats, FilteredChunks]:
    """[r] log p(all actions so far), and the filtered chunks if they are not too large."""
    size = sum(task.steps.gain.size * own.act.shape[1] * task.precision.itemsize for own in tables)
    most = KEPT_BYTES if task.layout.shards is None else task.layout.shards.filtered_bytes
    return likelihoods(task.layout, tables, size <= most, task.threads)


def _filter_small(task: Task, tables: tuple[FilterTables, ...]) -> tuple[Floats, FilteredChunks]:
    """`_filter` of one chunk per agent, in this thread."""
    steps, kept = task.steps.gain.size, []
    logs, so_far = np.empty((steps, len(tables))), np.empty(steps)
    for n, own in enumerate(tables):
        alpha, inverse = np.empty((steps, own.act.shape[1]), task.precision), np.empty(steps, task.precision)
        filter_chunk(task.layout.chunks[n][0], own, alpha, inverse, np.empty_like(alpha))
        log_chunk(task.layout.chunks[n][0], inverse, n, logs)
        kept.append((alpha, inverse))
    running_sums(logs, task.steps.offsets, so_far)
    return so_far, kept


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
    """Whether no weight was lost: the node paths of a step together have the weight of the later steps."""
    expected = task.evidence / task.steps.count * float(evaluated.weighed.nu @ task.steps.steps_so_far)
    rounding = 4 * float(np.finfo(SINGLE).eps) * float(task.steps.steps_so_far.max())
    return bool(abs(counts.visits.sum() - expected) <= (LOST + rounding) * expected)


def _tables(posterior: tuple[AgentPosterior, ...], precision: Precision) -> tuple[FilterTables, ...]:
    def laid(tables: FilterTables) -> FilterTables:
        return tables if precision == DOUBLE else FilterTables(*(table.astype(np.float32) for table in tables))

    return tuple(laid(agent.expected()) for agent in posterior)


def _counted(task: Task, evaluated: Evaluated) -> list[Counts]:
    # DEPARTS: one recursion for all end times, linear in the length; the paper's is quadratic
    if task.small:
        tallies = _count_small(task, evaluated)
    else:
        tallies = counted(task.layout, evaluated.tables, evaluated.weighed.nu, evaluated.kept, task.threads)
    return [_counts(task, evaluated, n, tally) for n, tally in enumerate(tallies)]


def _count_small(task: Task, evaluated: Evaluated) -> list[Tally]:
    """The tally of one chunk per agent, in this thread."""
    tallies = []
    for n, (own, (alpha, inverse)) in enumerate(zip(evaluated.tables, evaluated.kept, strict=True)):
        tally = Tally(np.zeros(own.initial.shape), np.zeros(own.act.shape), np.zeros(own.move.shape))
        buffers = np.empty_like(alpha), np.empty_like(alpha)
        count_chunk(task.layout.chunks[n][0], own, alpha, inverse, evaluated.weighed.nu, tally, *buffers)
        tallies.append(tally)
    return tallies


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
