"""Learning with many agents: each agent uses its own importance ratios.

The joint ratio, prod_n p(a_n | new controllers) / p(a_n | behaviour), is a product over all agents: with a hundred of
them it is 0 for nearly all episodes and huge for one, as soon as every agent has changed a little. Here agent n's soft
counts weigh a step by n's *own* ratio only, as if the policies of the others had not changed:

  nu_{n,t} = gain_t  prod_{tau <= t} p(a_{n,tau} | h, new controller n) / p_b(a_{n,tau} | h)

This is exact for the newest batch (all ratios are 1). For older batches it ignores the changes of the other agents,
which are small, because the window is short and every step small.

Gains are those of a critic (learners.critic). A gain d steps after a decision is weighted by reach^d, because later
gains are mostly due to the others (as in generalised advantage estimation).

*Interchangeable agents* share one controller, and learn it from the episodes of all. A simulator declares them by
offering `play_own`: every agent's part of every episode as an episode of one agent, rewarded with its own reward. N
agents then give N times the data, and no agent's share is hidden in the team's reward. The result is a team with equal
controllers, tested by the team's reward.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np

from decpomdp.core import Episodes, Simulator, Team, concatenate
from decpomdp.engines import threads as engine
from decpomdp.filtering.filter import group_size, slots_of, tables_of
from decpomdp.interaction.episode_player import EpisodePlayer
from decpomdp.kernels.expectation import FilterTables, Slots, Tally, count_chunk, filter_chunk, log_chunk, own_ratios
from decpomdp.kernels.rollout import Players
from decpomdp.learners.critic import features, judge, visit_weights
from decpomdp.learners.posterior import Counts
from decpomdp.learners.rows import Floats
from decpomdp.rollouts.play import players_of

LARGEST_WINDOW = 40_000_000  # agent-steps of a window, at most: with more agents it holds fewer batches
BLOCK = 64  # agents between two checks of the stop flag


@dataclass(frozen=True, slots=True)
class Learned:
    """Soft counts of every agent from a window of episodes."""

    visits: list[Counts]
    gains: list[Counts]
    spread: float  # of the returns around the critic's predictions
    predicted: float  # share of the variance that the critic predicts
    sample_size: float  # smallest over agents and steps
    episodes: int


def added(batches: Sequence[Episodes], new: Episodes, size: int) -> list[Episodes]:
    """The batches and a new one, oldest first; the oldest are dropped beyond `size` or LARGEST_WINDOW."""
    most = max(1, LARGEST_WINDOW // (new.steps * len(new.agents)))
    return [*batches, new][-min(size, most) :]


class OwnRatios:
    """Learns from batches; `check` is called between blocks of agents and may raise."""

    def __init__(self, cap: float, reach: float, threads: int | None) -> None:
        self.cap, self.reach, self.threads = cap, reach, threads
        self._features: list[tuple[Episodes, Floats]] = []  # of the batches of the last call

    def learn(self, batches: Sequence[Episodes], behaviour: Team, check: Callable[[], None] = lambda: None) -> Learned:
        """Soft counts of every agent's visits and gains, node paths inferred with `behaviour`."""
        cache = {id(batch): table for batch, table in self._features}
        self._features = [(b, cache[id(b)] if id(b) in cache else features(b)) for b in batches]
        judged = judge(list(batches), [table for _, table in self._features])
        weights = [visit_weights(batch) for batch in batches]

        def agent(n: int) -> tuple[Counts, Counts, Floats]:
            return counted(batches, weights, judged.gains, tables_of(behaviour, n), n, self.cap, self.reach)

        parts: list[tuple[Counts, Counts, Floats]] = []
        for first in range(0, len(behaviour.agents), BLOCK):
            check()
            count = min(BLOCK, len(behaviour.agents) - first)
            parts += engine.run(lambda k, first=first: agent(first + k), count, self.threads)  # type: ignore[misc]
        visits, gains, sizes = (list(part) for part in zip(*parts, strict=True))
        smallest = float(np.min(np.array(sizes)))
        count = sum(batch.count for batch in batches)
        return Learned(visits, gains, judged.spread, judged.explained, smallest, count)

    def learn_shared(
        self, batches: Sequence[Episodes], behaviour: Team, check: Callable[[], None] = lambda: None
    ) -> Learned:
        """`learn` for interchangeable agents with one shared controller."""
        one = Team(behaviour.agents[:1], behaviour.controllers[:1], batches[-1].discount)
        learned, many = self.learn(batches, one, check), len(behaviour.agents)
        return replace(learned, visits=learned.visits * many, gains=learned.gains * many)


@runtime_checkable
class Interchangeable(Protocol):
    """A simulator whose agents are interchangeable."""

    def play_own(
        self, players: Players, episodes: int, horizon: int, seed: int, first: int = 0, threads: int | None = None
    ) -> Episodes:
        """Every agent's part of episodes first, first + 1, ... as an episode of the first, rewarded with its own."""
        ...


def shares(simulator: Simulator, team: Team) -> bool:
    """Whether the agents are interchangeable and have one controller."""
    first = team.controllers[0]
    return isinstance(simulator, Interchangeable) and all(controller == first for controller in team.controllers)


def play_own(player: EpisodePlayer, team: Team, episodes: int, horizon: int) -> Episodes:
    """Every agent's part of episodes of `team`, within the limits."""
    simulator = player.simulator
    assert isinstance(simulator, Interchangeable)  # noqa: S101 - checked by `shares`
    player.check(episodes * horizon)
    seed, cluster = player.seed(), player.engine
    if cluster is None:
        played = simulator.play_own(players_of(team), episodes, horizon, seed, threads=player.threads)
    else:
        shared = cluster.share(f"simulator {simulator.name}", simulator), cluster.share("team", team)
        size = getattr(simulator, "piece", 1)
        pieces = ((first, min(size, episodes - first)) for first in range(0, episodes, size))
        played = concatenate(list(cluster.in_order(_on_worker, ((*shared, *piece, horizon, seed) for piece in pieces))))
    player.steps += played.steps // len(team.agents)
    return played


def _on_worker(simulator: Interchangeable, team: Team, first: int, episodes: int, horizon: int, seed: int) -> Episodes:
    return simulator.play_own(players_of(team), episodes, horizon, seed, first, threads=1)


def counted(
    batches: Sequence[Episodes],
    visits: Sequence[Floats],
    gains: Sequence[Floats],
    tables: FilterTables,
    n: int,
    cap: float,
    reach: float,
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
        # the backward recursion multiplies by `inverse` once a step, so `reach` is included there
        count_chunk(slots, tables, alpha, reach * inverse, ratio * gain, gained, carried, scratch)
    gained.moves[:] /= reach  # a move is decided in the step to which it leads
    symbols = len(batches[0].agents[n].observations)
    sizes = sums**2 / np.maximum(squares, 1e-300)
    return _counts(visited, tables, symbols), _counts(gained, tables, symbols), sizes


def _empty(tables: FilterTables) -> Tally:
    return Tally(np.zeros(tables.initial.shape), np.zeros(tables.act.shape), np.zeros(tables.move.shape))


def _filtered(slots: Slots, tables: FilterTables) -> tuple[Floats, Floats, Floats]:
    rows, z = len(slots.rows), tables.act.shape[1]
    alpha, inverse, scratch = np.empty((rows, z)), np.empty(rows), np.empty((group_size(slots), z))
    filter_chunk(slots, tables, alpha, inverse, scratch)
    return alpha, inverse, scratch


def _counts(tally: Tally, tables: FilterTables, symbols: int) -> Counts:
    z = tables.act.shape[1]
    moves = (tally.moves * tables.move).transpose(1, 0, 2).reshape(z, -1, symbols, z)
    return Counts(tally.firsts[1:], np.ascontiguousarray(tally.visits.T), moves)
