"""One iteration of the paper's loop: posterior, behaviour, batch, counts, next counts.

The update is Algorithm 1's at alpha = 0 on the newest batch: node paths inferred with exp(E ln ...), soft counts
weighted by utilities, and the bound. In every row the choices so far are added as a number of visits, so that a batch
with few visits of a row changes it little.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from decpomdp.core import Team
from decpomdp.core.fit import Row
from decpomdp.filtering.filter import lay_out
from decpomdp.interaction.episode_player import EpisodePlayer
from decpomdp.interaction.sbpr.exploration import Exploration
from decpomdp.interaction.sbpr.settings import SbprLoop
from decpomdp.interaction.sbpr.starts import counts_of
from decpomdp.learners import Prior, TeamPosterior
from decpomdp.learners.posterior import Counts, occupied_nodes, size_facts, updated
from decpomdp.learners.rows import Floats
from decpomdp.learners.sweep import Task, count, evaluate
from decpomdp.learners.weighing import by_decision


class Start(NamedTuple):
    """The start of a round."""

    team: Team
    softness: float  # share of uniform choices mixed into it
    rate: float  # of exploration at first
    held: bool = False  # whether its moves are fixed and only the actions are learned


class Round(NamedTuple):
    """The state of a round between two iterations."""

    counts: list[Counts]
    exploration: Exploration
    held: bool = False  # see `Start`


class Learner:
    """Plays and learns, one iteration at a time."""

    def __init__(self, player: EpisodePlayer, prior: Prior, settings: SbprLoop) -> None:
        self.player, self.settings, self.tuning = player, settings, settings.tuning
        self.horizon = player.horizon(settings.horizon, self.tuning.learning_tail, self.tuning.longest)
        self.testing = player.horizon(settings.horizon, self.tuning.testing_tail, self.tuning.longest)
        self.agents = player.simulator.agents
        self.priors = [prior.priors(agent) for agent in self.agents]

    def begin(self, start: Start) -> Round:
        """The counts of a start, with initial exploration."""
        counts = self.counts_of(start.team, start.softness)
        exploration = Exploration.begin(self.settings.exploration_visits, [c.nodes for c in counts], start.rate)
        return Round(counts, exploration, start.held)

    def counts_of(self, team: Team, softness: float = 0.0) -> list[Counts]:
        """Soft counts of a team alone."""
        return counts_of(team, softness, self.tuning.strength, self.player.shown)

    def posterior(self, counts: Sequence[Counts]) -> TeamPosterior:
        """Prior and counts together."""
        agents = tuple(updated(*parts) for parts in zip(self.agents, self.priors, counts, strict=True))
        simulator = self.player.simulator
        return TeamPosterior(agents, simulator.discount, simulator.name, self.tuning.threshold)

    def iterate(self, state: Round, batch: int, drop: bool) -> tuple[Round, Row]:
        """Collect a batch, learn from it; `drop` empty nodes."""
        posterior = self.posterior(state.counts)
        behaviour = state.exploration.behaviour(self.full_mean(posterior))
        episodes = self.player.play(behaviour, batch, self.horizon)
        layout = lay_out(episodes, max(behaviour.nodes))
        task = Task(layout, by_decision(episodes), float(episodes.count), 0.0, self.player.threads)
        evaluated = evaluate(task, posterior.agents)
        soft_counts = count(task, evaluated)
        counts = [self._next(*pair) for pair in zip(state.counts, soft_counts, strict=True)]
        if state.held:
            counts = [replace(new, moves=old.moves) for new, old in zip(counts, state.counts, strict=True)]
        visits = [own.visits.sum(axis=1) for own in soft_counts]
        facts: Row = {
            "exploration": state.exploration.mean_rate(visits),
            **size_facts(posterior.sizes),
            "bound": float(evaluated.bound),
            "sample_size": evaluated.weighed.sample_size,
        }
        exploration = state.exploration.after(visits)
        if drop:
            counts, exploration = self.dropped(counts, exploration)
        return Round(counts, exploration, state.held), facts

    def full_mean(self, posterior: TeamPosterior) -> Team:
        """Posterior means on all nodes of the truncation."""
        return Team.of(self.player.simulator, [agent.mean(np.arange(agent.nodes)) for agent in posterior.agents])

    def _next(self, old: Counts, batch: Counts) -> Counts:
        def table(before: Floats, new: Floats) -> Floats:
            return renewed(before, new, self.tuning.memory, self.tuning.carry)

        return Counts(*map(table, (old.firsts, old.visits, old.moves), (batch.firsts, batch.visits, batch.moves)))

    def dropped(self, counts: list[Counts], exploration: Exploration) -> tuple[list[Counts], Exploration]:
        """Without rarely visited nodes."""
        shares = [c.visits.sum(axis=1) / max(float(c.visits.sum()), 1e-300) for c in counts]
        nodes = [occupied_nodes(share, self.tuning.threshold) for share in shares]
        return [c.chosen(own) for c, own in zip(counts, nodes, strict=True)], exploration.chosen(nodes)


def renewed(counts: Floats, batch: Floats, memory: float, carry: float) -> Floats:
    """Counts of a batch, plus `memory` visits in every row that are distributed as the choices so far.

    The sum of a row is that of its visits, or a share `carry` of its previous sum if that is larger.
    """
    # DEPARTS: the paper's next counts are those of the batch alone
    batch = np.maximum(batch, 0.0)  # gains may be negative
    before, now = counts.sum(axis=-1, keepdims=True), batch.sum(axis=-1, keepdims=True)
    shares = (batch + memory * counts / np.maximum(before, 1e-300)) / np.maximum(now + memory, 1e-300)
    return shares * np.maximum(carry * before, now)
