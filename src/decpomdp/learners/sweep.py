"""One sweep: posterior --expect--> controllers --filter--> likelihoods --weigh--> nu --count--> counts --update-->.

Only the posterior flows back. The bound belongs to the posterior at hand with its best node paths:
  LB = kappa ln V - sum of the divergences of all factors from their priors.
"""

from dataclasses import dataclass

import numpy as np

from decpomdp.engines import threads as engine
from decpomdp.kernels.expectation import Tables, Tally, count_chunk
from decpomdp.learners.behaviour import Filtered, cumulated, filter_piece, filtered
from decpomdp.learners.layout import Layout, group_size
from decpomdp.learners.posterior import AgentPosterior, Counts, updated
from decpomdp.learners.weighing import Steps, Weighed, weigh

KEPT_BYTES = 512_000_000  # filtered node distributions up to this size are kept for counting, else filtered again


@dataclass(frozen=True, slots=True)
class Task:
    """What a fit works on."""

    layout: Layout
    steps: Steps
    evidence: float  # kappa
    cap: float | None
    normalise: bool
    threads: int | None


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A posterior, what the data say about it, and the bound."""

    posterior: tuple[AgentPosterior, ...]
    tables: tuple[Tables, ...]
    weighed: Weighed
    bound: float
    kept: list[Filtered | None]


def evaluate(task: Task, posterior: tuple[AgentPosterior, ...]) -> Evaluated:
    """Expect, filter, weigh."""
    tables = tuple(agent.expected() for agent in posterior)
    room = sum(task.steps.gain.size * agent.nodes * 8 for agent in posterior)
    logs, kept = filtered(task.layout, tables, room <= KEPT_BYTES, task.threads)
    weighed = weigh(task.steps, cumulated(logs, task.layout.episodes), task.cap, task.normalise)
    bound = task.evidence * weighed.log_value - sum(agent.divergence() for agent in posterior)
    return Evaluated(posterior, tables, weighed, bound, kept)


def count(task: Task, evaluated: Evaluated) -> list[Counts]:
    """Soft counts of every agent: one backward pass per chunk, chunks summed in order."""
    # DEPARTS: one recursion for all end times, linear in the length; the paper's is quadratic
    pieces = task.layout.pieces

    def piece(number: int) -> Tally:
        n, c = pieces[number]
        alpha, inverse = evaluated.kept[number] or filter_piece(task.layout, evaluated.tables, n, c)
        evaluated.kept[number] = None  # its memory is used again
        slots, tables, buffers = task.layout.chunks[n][c], evaluated.tables[n], task.layout.buffers
        tally = Tally(np.zeros(tables.initial.shape), np.zeros(tables.act.shape), np.zeros(tables.move.shape))
        carried, scratch = buffers.take(*alpha.shape), np.empty((group_size(slots), alpha.shape[1]))
        count_chunk(slots, tables, alpha, inverse, evaluated.weighed.nu, tally, carried, scratch)
        buffers.give(alpha)
        buffers.give(carried)
        return tally

    tallies = engine.run(piece, len(pieces), task.threads)
    agents = range(len(evaluated.posterior))
    return [
        _counts(task, evaluated, n, [t for t, (m, _) in zip(tallies, pieces, strict=True) if m == n]) for n in agents
    ]


def update(evaluated: Evaluated, counts: list[Counts]) -> tuple[AgentPosterior, ...]:
    """The posterior that the counts make best."""
    return tuple(
        updated(before.agent, before.priors, found, before)
        for before, found in zip(evaluated.posterior, counts, strict=True)
    )


def renewed(evaluated: Evaluated, counts: list[Counts]) -> tuple[AgentPosterior, ...]:
    """The posterior of counts whose nodes are others than before, or in another order: nothing is carried over."""
    agents = zip(evaluated.posterior, counts, strict=True)
    return tuple(updated(before.agent, before.priors, found) for before, found in agents)


def _counts(task: Task, evaluated: Evaluated, n: int, tallies: list[Tally]) -> Counts:
    scale = task.evidence / task.steps.count
    tables, agent = evaluated.tables[n], evaluated.posterior[n].agent
    firsts, visits, moves = (sum(part[1:], start=part[0]) for part in zip(*tallies, strict=True))
    z, a, o = tables.act.shape[1], len(agent.actions), len(agent.observations)
    by_node = (moves * tables.move).transpose(1, 0, 2).reshape(z, a, o, z)
    return Counts(scale * firsts[1:], scale * visits.T, scale * by_node)
