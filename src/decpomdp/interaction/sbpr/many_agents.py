"""Learning from many agents' episodes: every agent by its own importance ratios.

The ratio of the whole team, prod_n p(a_n | new controllers) / p(a_n | who acted), is a product over all agents: with a
hundred of them it is 0 for nearly all episodes and huge for one, as soon as every agent has changed a little. Here
agent n's soft counts weigh a step by n's *own* ratio only, as if the others had always acted as they act now:

  nu_{n,t} = gain_t  prod_{tau <= t} p(a_{n,tau} | h, new controller n) / p_b(a_{n,tau} | h)

That is exact for the newest batch (all ratios are 1) and off by what the others have changed since for older ones. The
window is short and every step small, so the others hardly have. What an agent learns cannot kill another's data.

Gains are those of a critic (learners.critic). `reach` is how far they reach back: a gain d steps after a decision
counts reach^d, because what happens much later is mostly the others' doing (generalised advantage estimation).
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Episodes, Team
from decpomdp.engines import threads as engine
from decpomdp.filtering.filter import tables_of
from decpomdp.filtering.layout import group_size, slots_of
from decpomdp.interaction.explore import Exploration
from decpomdp.kernels.expectation import Slots, Tables, Tally, count_chunk, filter_chunk, log_chunk
from decpomdp.kernels.weighing import own_ratios
from decpomdp.learners.critic import features, judge
from decpomdp.learners.posterior import Counts
from decpomdp.learners.rows import Floats

ROOM = 40_000_000  # agent-steps of a window, at most: larger crowds keep fewer batches
BLOCK = 64  # agents that are learned from between two looks at the clock


@dataclass(frozen=True, slots=True)
class Learnt:
    """What a window of episodes says to every agent."""

    visits: list[Counts]
    gains: list[Counts]
    spread: float  # of what the critic could not foretell of an episode
    foretold: float  # share of the variance that it could
    sample_size: float  # smallest over agents and steps
    episodes: int


class CrowdWindow:
    """The last batches, oldest first; `look` is called now and then while it learns, and may raise."""

    def __init__(
        self, size: int, cap: float, reach: float, threads: int | None, look: Callable[[], None] = lambda: None
    ) -> None:
        self.size, self.cap, self.reach, self.threads, self.look = size, cap, reach, threads, look
        self.batches: deque[Episodes] = deque()
        self.known: deque[Floats] = deque()

    def add(self, episodes: Episodes) -> None:
        """A new batch comes in; the oldest go when there are too many."""
        self.batches.append(episodes)
        self.known.append(features(episodes))
        room = max(1, ROOM // (episodes.steps * len(episodes.agents)))
        while len(self.batches) > min(self.size, room):
            self.batches.popleft()
            self.known.popleft()

    def learn(self, behaviour: Team) -> Learnt:
        """Soft counts of every agent's visits and gains, node paths inferred with `behaviour`."""
        batches = list(self.batches)
        judged = judge(batches, list(self.known))
        seen = [_visits(batch) for batch in batches]

        def agent(n: int) -> tuple[Counts, Counts, Floats]:
            return counted(batches, seen, judged.gains, tables_of(behaviour, n), n, self.cap, self.reach)

        found: list[tuple[Counts, Counts, Floats]] = []
        for first in range(0, len(behaviour.agents), BLOCK):
            self.look()
            count = min(BLOCK, len(behaviour.agents) - first)
            found += engine.run(lambda k, first=first: agent(first + k), count, self.threads)  # type: ignore[misc]
        visits, gains, sizes = (list(part) for part in zip(*found, strict=True))
        smallest = float(np.min(np.array(sizes)))
        count = sum(batch.count for batch in batches)
        return Learnt(visits, gains, judged.spread, judged.foretold, smallest, count)


class CrowdRound(NamedTuple):
    """What one iteration leaves to the next."""

    counts: list[Counts]
    exploration: Exploration
    window: CrowdWindow


def counted(
    batches: list[Episodes], visits: list[Floats], gains: list[Floats], tables: Tables, n: int, cap: float, reach: float
) -> tuple[Counts, Counts, Floats]:
    """Agent n's soft counts of visits and of gains, and its effective number of episodes at every step."""
    visited, gained = _empty(tables), _empty(tables)
    longest = max(int(batch.lengths.max()) for batch in batches)
    sums, squares = np.zeros(longest), np.zeros(longest)
    for batch, visit, gain in zip(batches, visits, gains, strict=True):
        slots = slots_of(batch, n, np.arange(batch.count))
        alpha, inverse, scratch = _filtered(slots, tables)
        logs, ratio = np.empty((batch.steps, 1)), np.empty(batch.steps)
        log_chunk(slots, inverse, 0, logs)
        own_ratios(logs, np.ascontiguousarray(batch.behaviour[:, n]), batch.offsets, np.log(cap), ratio)
        times = batch.times()
        sums += np.bincount(times, ratio, longest)
        squares += np.bincount(times, ratio**2, longest)
        carried = np.empty_like(alpha)
        count_chunk(slots, tables, alpha, inverse, ratio * visit, visited, carried, scratch)
        # the pass multiplies what it carries back by `inverse` once a step: there, `reach` comes in
        count_chunk(slots, tables, alpha, reach * inverse, ratio * gain, gained, carried, scratch)
    gained.moves[:] /= reach  # a move is decided in the step to which it leads
    symbols = len(batches[0].agents[n].observations)
    sizes = sums**2 / np.maximum(squares, 1e-300)
    return _counts(visited, tables, symbols), _counts(gained, tables, symbols), sizes


def _empty(tables: Tables) -> Tally:
    return Tally(np.zeros(tables.initial.shape), np.zeros(tables.act.shape), np.zeros(tables.move.shape))


def _filtered(slots: Slots, tables: Tables) -> tuple[Floats, Floats, Floats]:
    z = tables.act.shape[1]
    alpha, inverse, scratch = (
        np.empty((len(slots.rows), z)),
        np.empty(len(slots.rows)),
        np.empty((group_size(slots), z)),
    )
    filter_chunk(slots, tables, alpha, inverse, scratch)
    return alpha, inverse, scratch


def _counts(tally: Tally, tables: Tables, symbols: int) -> Counts:
    z = tables.act.shape[1]
    moves = (tally.moves * tables.move).transpose(1, 0, 2).reshape(z, -1, symbols, z)
    return Counts(tally.firsts[1:], np.ascontiguousarray(tally.visits.T), moves)


def _visits(episodes: Episodes) -> Floats:
    """[r]: weights whose sum from any step on is the discount of that step."""
    discounts: NDArray[np.float64] = episodes.discount ** episodes.times().astype(np.float64)
    visit = discounts * (1 - episodes.discount)
    last = episodes.offsets[1:] - 1
    visit[last] = discounts[last]
    return visit
