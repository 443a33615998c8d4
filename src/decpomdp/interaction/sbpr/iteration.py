"""One iteration of the paper's loop: posterior, behaviour, batch, counts, next counts.

An iteration learns from a window: the last batches with the teams that played them. Every step is weighed by p(actions
so far | team) / p(actions so far | mixture of the behaviours of the window). The newest behaviour is part of the
mixture, so a ratio to a team close to it is at most about the number of batches.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Episodes, Team, concatenate
from decpomdp.core.fit import Row
from decpomdp.filtering.filter import Filtered, cumulated, filtered, tables_of
from decpomdp.filtering.layout import Layout, lay_out
from decpomdp.interaction.afford import WINDOW
from decpomdp.interaction.episode_player import EpisodePlayer
from decpomdp.interaction.sbpr.exploration import Exploration
from decpomdp.interaction.sbpr.settings import SbprLoop
from decpomdp.interaction.sbpr.starts import counts_of
from decpomdp.interaction.sbpr.step import StepSize, improved
from decpomdp.learners import Prior, TeamPosterior
from decpomdp.learners.credit import Credit, mean_credit, optimistic_credit
from decpomdp.learners.posterior import Counts, occupied_nodes, size_facts, updated
from decpomdp.learners.rows import Floats
from decpomdp.learners.sweep import Evaluated, Task, count, evaluate
from decpomdp.learners.weighing import Weighed, by_reward


@dataclass(slots=True)
class Batch:
    """Episodes with the log probability of their actions so far, under the behaviour of the batch and the others."""

    episodes: Episodes
    own: Floats  # [r]
    relative: list[Floats]  # per behaviour of the window: exp(log probability - own)

    def log_mixture(self) -> Floats:
        """[r]."""
        return self.own + np.log(np.mean(np.array(self.relative), axis=0))


@dataclass(frozen=True, slots=True)
class Seen:
    """All episodes of the window, filtered with the newest behaviour."""

    layout: Layout
    log_mixture: Floats  # [r]
    ratio: Floats  # [r] newest behaviour to mixture
    filtered: list[Filtered | None]

    @property
    def episodes(self) -> Episodes:
        """All of them."""
        return self.layout.episodes

    def sample_sizes(self) -> Floats:
        """[t]: effective number of episodes."""
        times = self.episodes.times()
        return np.bincount(times, self.ratio) ** 2 / np.maximum(np.bincount(times, self.ratio**2), 1e-300)


@dataclass(slots=True)
class Window:
    """Batches and behaviours, oldest first; plain data, so that it is part of a checkpoint."""

    batches: list[Batch] = field(default_factory=list)
    behaviours: list[Team] = field(default_factory=list)

    def add(self, episodes: Episodes, behaviour: Team, size: int, cap: float, threads: int | None) -> Seen:
        """Add a batch, drop the oldest if there are more than `size`; ratios are at most `cap`."""
        # DEPARTS: the paper learns from the newest batch alone, with ratios as they are
        if len(self.batches) == size:
            del self.batches[0], self.behaviours[0]
            for batch in self.batches:
                del batch.relative[0]
        layout = lay_out(episodes, max(behaviour.nodes))
        own = likelihood(layout, behaviour, 1)[0]
        relative = [_relative(likelihood(layout, team, 1)[0], own) for team in self.behaviours]
        self.batches.append(Batch(episodes, own, relative))
        self.behaviours.append(behaviour)
        layout = lay_out(concatenate([batch.episodes for batch in self.batches]), max(behaviour.nodes))
        log_team, nodes = likelihood(layout, behaviour, threads)
        ends = np.cumsum([batch.episodes.steps for batch in self.batches])
        for batch, part in zip(self.batches, np.split(log_team, ends[:-1]), strict=True):
            batch.relative.append(_relative(part, batch.own))
        mixture = np.concatenate([batch.log_mixture() for batch in self.batches])
        ratio = np.exp(np.minimum(log_team - mixture, np.log(cap)))
        return Seen(layout, mixture, ratio, nodes)


def likelihood(layout: Layout, team: Team, threads: int | None) -> tuple[Floats, list[Filtered | None]]:
    """[r]: log probability that `team` takes all actions so far; and the filtered nodes."""
    logs, nodes = filtered(layout, [tables_of(team, n) for n in range(len(team.agents))], True, threads)
    return cumulated(logs, layout.episodes), nodes


def _relative(log_team: Floats, own: Floats) -> Floats:
    return np.exp(np.minimum(log_team - own, 600.0))


class Start(NamedTuple):
    """The start of a round."""

    team: Team
    softness: float  # share of uniform choices mixed into it
    rate: float  # of exploration at first
    optimistic: bool
    held: bool = False  # whether its moves stay as they are: a memory, of which only the actions are learned


class Round(NamedTuple):
    """The state of a round between two iterations."""

    counts: list[Counts]
    exploration: Exploration
    window: Window
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
        """The counts of a start, with initial exploration and an empty window."""
        counts = self.counts_of(start.team, start.softness)
        exploration = Exploration.begin(self.settings.exploration_visits, [c.nodes for c in counts], start.rate)
        return Round(counts, exploration, Window(), start.held)

    def counts_of(self, team: Team, softness: float = 0.0) -> list[Counts]:
        """Soft counts of a team alone."""
        return counts_of(team, softness, self.tuning.strength, self.player.shown)

    def posterior(self, counts: Sequence[Counts]) -> TeamPosterior:
        """Prior and counts together."""
        agents = tuple(updated(*parts) for parts in zip(self.agents, self.priors, counts, strict=True))
        simulator = self.player.simulator
        return TeamPosterior(agents, simulator.discount, simulator.name, self.tuning.threshold)

    def iterate(self, state: Round, batch: int, optimism: float, drop: bool) -> tuple[Round, Row]:
        """Collect a batch, learn from it; `optimism`: quantile of the utility, 0 for the mean; `drop` empty nodes."""
        posterior = self.posterior(state.counts)
        behaviour = state.exploration.behaviour(self.full_mean(posterior))
        episodes = self.player.play(behaviour, batch, self.horizon)
        size = self.settings.window or WINDOW
        seen = state.window.add(episodes, behaviour, size, self.tuning.cap, self.player.threads)
        if optimism > 0:
            credit = optimistic_credit(seen.episodes, seen.ratio, optimism)
        else:
            credit = mean_credit(seen.episodes, seen.ratio)
        visits, gains = self._counted(seen, posterior, behaviour, credit)
        step = StepSize(self.tuning.step, self.tuning.shrink, self.tuning.floor, self.tuning.carry)
        pairs = zip(state.counts, visits, gains, strict=True)
        counts = [improved(old, visited, gained, credit.spread, step) for old, visited, gained in pairs]
        if state.held:
            counts = [replace(new, moves=old.moves) for new, old in zip(counts, state.counts, strict=True)]
        share = episodes.count / seen.episodes.count
        new_visits = [visited.visits.sum(axis=1) * share for visited in visits]
        facts = self._facts(posterior, seen, state.exploration.mean_rate(new_visits))
        exploration = state.exploration.after(new_visits)
        if drop:
            counts, exploration = self.dropped(counts, exploration)
        return Round(counts, exploration, state.window, state.held), facts

    def full_mean(self, posterior: TeamPosterior) -> Team:
        """Posterior means on all nodes of the truncation."""
        return Team.of(self.player.simulator, [agent.mean(np.arange(agent.nodes)) for agent in posterior.agents])

    def _counted(
        self, seen: Seen, posterior: TeamPosterior, behaviour: Team, credit: Credit
    ) -> tuple[list[Counts], list[Counts]]:
        """Soft counts of visits and of gains, all episodes of the window together."""
        # DEPARTS: node paths are inferred with the behaviour (posterior means and exploration), not with exp(E ln ...),
        # under which rarely tried actions are nearly impossible and their exploration would have no effect
        tables = tuple(tables_of(behaviour, n) for n in range(len(self.agents)))
        task = self._task(seen)

        def counted(nu: NDArray[np.float64]) -> list[Counts]:
            weighed = Weighed(nu, 0.0, 0.0)
            return count(task, Evaluated(posterior.agents, tables, weighed, 0.0, seen.filtered))

        return counted(credit.visit), counted(credit.gain)

    def _task(self, seen: Seen) -> Task:
        """The task of a sweep; the floor is slightly below the smallest reward, so that some gain is positive."""
        rewards, ended = seen.episodes.rewards, seen.episodes.terminated
        lowest = min(float(rewards.min()), 0.0 if ended is not None and ended.any() else np.inf)
        steps = by_reward(seen.episodes, seen.log_mixture, lowest - 1e-9 * max(1.0, abs(lowest)))
        return Task(seen.layout, steps, float(seen.episodes.count), 1.0, self.player.threads)

    def dropped(self, counts: list[Counts], exploration: Exploration) -> tuple[list[Counts], Exploration]:
        """Without rarely visited nodes."""
        shares = [c.visits.sum(axis=1) / max(float(c.visits.sum()), 1e-300) for c in counts]
        nodes = [occupied_nodes(share, self.tuning.threshold) for share in shares]
        return [c.chosen(own) for c, own in zip(counts, nodes, strict=True)], exploration.chosen(nodes)

    def _facts(self, posterior: TeamPosterior, seen: Seen, rate: float) -> Row:
        return {
            "exploration": rate,
            **size_facts(posterior.sizes),
            "bound": float(evaluate(self._task(seen), posterior.agents).bound),
            "sample_size": float(seen.sample_sizes().min()),
        }
