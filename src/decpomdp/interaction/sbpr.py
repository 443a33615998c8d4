"""The paper's loop: collect a batch with the current behaviour, learn with Dec-SBPR, repeat.

    counts = a start
    repeat: posterior = prior + counts; behaviour = its mean with exploration in every node; play a batch;
            count visits and gains on the last batches; counts = improved(counts)

Such a round of iterations ends in the team of posterior means and in the team that always takes the likeliest choice;
test episodes say whether one of them is better than the best so far. Every start gets one round with each of two
utilities (learners.credit); then rounds begin from the best team, softened, until none is better any more.
It learns from episodes alone: a model is only played.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from decpomdp.core import DecPOMDP, Episodes, InputError, Simulator, Team
from decpomdp.core.fit import Row, Watch, unwatched
from decpomdp.core.minimal import minimised
from decpomdp.engines.threads import serial_products
from decpomdp.interaction.explore import Exploration
from decpomdp.interaction.sbpr_play import Finished, Ground, Tested, tested
from decpomdp.interaction.sbpr_settings import SbprSettings
from decpomdp.interaction.sbpr_starts import counts_of, memories, replays
from decpomdp.interaction.sbpr_step import StepSettings, improved
from decpomdp.interaction.sbpr_window import Seen, Window
from decpomdp.learners import BayesFit, Prior, StickBreaking, TeamPosterior
from decpomdp.learners.behaviour import tables_of
from decpomdp.learners.credit import Credit, mean_credit, optimistic_credit
from decpomdp.learners.posterior import AgentPosterior, Counts, occupied_nodes, updated
from decpomdp.learners.sweep import Evaluated, Task, count, evaluate
from decpomdp.learners.weighing import Weighed, steps_of


def sbpr(
    problem: DecPOMDP | Simulator,
    *,
    time_limit: float | None = None,
    iterations: int | None = None,
    steps: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    watch: Watch = unwatched,
    behaviour: Team | None = None,
    horizon: int | None = None,
    prior: Prior | None = None,
    settings: SbprSettings | None = None,
) -> BayesFit:
    """Learn a team by the paper's loop, until it has converged or one of the limits is reached.

    `iterations`: batches learned from, at most. `behaviour`: a team that plays the first episodes, instead of chance.
    `horizon`: length of the episodes, chosen from the discount when not given. An interrupt (Ctrl-C) returns the best
    team so far: the one with the highest mean return in test episodes.
    """
    ground = Ground(problem, time_limit, steps, seed, threads)
    if behaviour is not None:
        behaviour.check_fits(ground.simulator)
    if iterations is not None and iterations < 1:
        raise InputError(f"iterations: expected a whole number of at least 1, got {iterations}")
    loop = Loop(ground, iterations, behaviour, horizon, prior or StickBreaking(), settings or SbprSettings(), watch)
    with serial_products():
        stopped = loop.run()
    return loop.fit(stopped, {"method": "sbpr", "seed": seed, "time_limit": time_limit, "steps": steps})


import os
DEBUG = os.environ.get('DEBUG')


class Round(NamedTuple):
    """What a round of iterations works on."""

    counts: list[Counts]
    exploration: Exploration
    window: Window
    optimism: float  # quantile of the optimistic utility; 0: the mean


@dataclass(slots=True)
class Entry:
    """A start with a utility, and what a round from it led to."""

    team: Team
    softness: float
    optimistic: bool
    value: float = -np.inf


class Loop:
    """One run."""

    def __init__(
        self,
        ground: Ground,
        iterations: int | None,
        behaviour: Team | None,
        horizon: int | None,
        prior: Prior,
        settings: SbprSettings,
        watch: Watch,
    ) -> None:
        self.ground, self.iterations, self.given = ground, iterations, behaviour
        self.prior, self.settings, self.watch = prior, settings, watch
        self.agents = ground.simulator.agents
        self.priors = [prior.priors(agent) for agent in self.agents]
        self.learning = ground.horizon(horizon, settings.learning_tail, settings.longest)
        self.testing = ground.horizon(horizon, settings.testing_tail, settings.longest)
        self.pace = StepSettings(settings.step, settings.shrink, settings.floor, settings.carry)
        self.best = Tested(behaviour or Team.uniform(ground.simulator))
        self.posterior = self._posterior(self._counts(self.best.team))
        self.trace: list[Row] = []
        self.iteration = 0

    def run(self) -> str:
        """Learn; say why it ended."""
        try:
            self._consider([self.best.team], self._posterior(self._counts(self.best.team)))
            return self._improve(self._starts())
        except Finished as reason:
            return str(reason)
        except KeyboardInterrupt:
            return "interrupted"

    def fit(self, stopped: str, facts: Row) -> BayesFit:
        """The best team with its history."""
        team = minimised(self.best.team)
        told = {**facts, "prior": self.prior.text, **self.settings.row()}
        return BayesFit(
            team=team,
            trace=tuple(self.trace),
            stopped=stopped,
            seconds=self.ground.seconds(),
            settings=told,
            posterior=self.posterior,
            decided=minimised(team.decided()),
        )

    def _starts(self) -> list[Entry]:
        """Every start gets a round with each utility; the starts, best first."""
        chains = [(team, self.settings.openness) for team in self._replayed()]
        kept = [(team, 0.0) for team in memories(self.ground.simulator, self.settings.largest)]
        entries = [Entry(*one, True) for one in chains] + [Entry(*one, False) for one in kept[::-1]]
        entries += [Entry(*one, True) for one in kept] + [Entry(*one, False) for one in chains]
        for entry in entries:
            entry.value = self._round(self._fresh(entry), self.settings.race)
        return sorted(entries, key=lambda entry: -entry.value)

    def _improve(self, entries: list[Entry]) -> str:
        """Rounds from the best team with either utility and, by turns with them, afresh from the better starts."""
        failures = turn = 0
        while failures < self.settings.patience:
            before = self.best.team
            if turn % 3 < 2:
                self._round(self._reopened(turn % 3 == 0), self.settings.round)
            else:
                entry = entries[turn // 3 % min(2, len(entries))]
                self._round(self._fresh(entry), self.settings.race)
            turn += 1
            failures = 0 if self.best.team is not before else failures + 1
        return "converged"

    def _replayed(self) -> list[Team]:
        """The best replays of episodes played at random, or by the given behaviour."""
        settings = self.settings
        first = self.given.exploring(0.1) if self.given is not None else Team.uniform(self.ground.simulator)
        episodes = self.ground.play_some(first, settings.random_episodes, max(settings.lengths), settings.random_share)
        teams = [team for length in settings.lengths for team in replays(episodes, length, settings.elites)]
        for tests in (settings.batch, settings.tests // 4):  # many roughly, then the better quarter well
            seed = self.ground.seed()
            played = [tested(self.ground, team, tests, self.testing, seed) for team in teams]
            played.sort(key=lambda one: -one.value)
            teams = [one.team for one in played[: max(settings.replays, len(played) // 4)]]
        self._consider(teams[:1], self._posterior(self._counts(teams[0])))
        return teams[: settings.replays]

    def _round(self, state: Round, iterations: int) -> float:
        """Iterations, then a test of what they led to: its value."""
        optimism = state.optimism
        for number in range(iterations):
            left = max(0.0, 1 - number / (self.settings.sobering * iterations))
            state = self._iterate(state._replace(optimism=left * optimism), number >= self.settings.settling)
        posterior = self._posterior(state.counts)
        mean = posterior.mean()
        return self._consider([mean.decided(), mean], posterior)

    def _iterate(self, state: Round, drop: bool) -> Round:
        """Collect, learn."""
        if self.iterations is not None and self.iteration >= self.iterations:
            raise Finished("iterations")
        posterior = self._posterior(state.counts)
        behaviour = state.exploration.behaviour(self._whole(posterior))
        episodes = self.ground.play(behaviour, self.settings.batch, self.learning)
        seen = state.window.add(episodes, behaviour)
        credit = self._credit(seen, state.optimism)
        visits, gains = self._counted(seen, posterior, behaviour, credit)
        counts = [
            improved(old, v, g, credit.spread, self.pace) for old, v, g in zip(state.counts, visits, gains, strict=True)
        ]
        share = episodes.count / seen.episodes.count
        by_node = [v.visits.sum(axis=1) * share for v in visits]
        rate = state.exploration.mean_rate(by_node)
        exploration = state.exploration.after(by_node)
        if drop:
            kept = [occupied_nodes(c.visits.sum(axis=1) / c.visits.sum(), self.settings.threshold) for c in counts]
            counts = [c.chosen(nodes) for c, nodes in zip(counts, kept, strict=True)]
            exploration = exploration.chosen(kept)
        self.iteration += 1
        self._record(rate, posterior, seen)
        return Round(counts, exploration, state.window, state.optimism)

    def _credit(self, seen: Seen, optimism: float) -> Credit:
        if optimism > 0:
            return optimistic_credit(seen.episodes, seen.ratio, optimism)
        return mean_credit(seen.episodes, seen.ratio)

    def _counted(
        self, seen: Seen, posterior: TeamPosterior, behaviour: Team, credit: Credit
    ) -> tuple[list[Counts], list[Counts]]:
        """Soft counts of visits and of gains, all episodes of the window together."""
        tables = tuple(tables_of(behaviour, n) for n in range(len(self.agents)))
        task = self._task(seen)

        def counted(nu: np.ndarray) -> list[Counts]:
            weighed = Weighed(nu, 0.0, 0.0, nu[:0])
            return count(task, Evaluated(posterior.agents, tables, weighed, 0.0, seen.kept))

        return counted(credit.visit), counted(credit.gain)

    def _task(self, seen: Seen) -> Task:
        steps = steps_of(seen.episodes, seen.log_mixture, floor=float(min(seen.episodes.rewards.min(), 0.0)) - 1e-9)
        return Task(seen.layout, steps, float(seen.episodes.count), None, False, self.ground.threads)

    def _fresh(self, entry: Entry) -> Round:
        """From a start: its nodes have never been visited."""
        return self._beginning(self._counts(entry.team, entry.softness), 1.0, entry.optimistic)

    def _reopened(self, optimistic: bool) -> Round:
        """From the best team so far: some of every choice is open again."""
        counts = self._counts(self.best.team, self.settings.softness)
        return self._beginning(counts, self.settings.reopened, optimistic)

    def _beginning(self, counts: list[Counts], rate: float, optimistic: bool) -> Round:
        exploration = Exploration.begin(self.settings.exploration, [c.nodes for c in counts], rate)
        window = Window(self.settings.window, self.settings.cap, self.ground.threads)
        return Round(counts, exploration, window, self.settings.quantile if optimistic else 0.0)

    def _counts(self, team: Team, softness: float = 0.0) -> list[Counts]:
        return counts_of(team, softness, self.settings.strength, self.ground.shown)

    def _posterior(self, counts: Sequence[Counts]) -> TeamPosterior:
        agents = tuple(updated(*parts) for parts in zip(self.agents, self.priors, counts, strict=True))
        simulator = self.ground.simulator
        return TeamPosterior(agents, simulator.discount, simulator.name, self.settings.threshold)

    def _whole(self, posterior: TeamPosterior) -> Team:
        """Posterior means on all nodes of the truncation."""
        controllers = [agent.mean(np.arange(agent.nodes)) for agent in posterior.agents]
        return Team.of(self.ground.simulator, controllers)

    def _consider(self, teams: Sequence[Team], posterior: TeamPosterior) -> float:
        """Test `teams` beside the best so far, on the same fresh episodes where the simulator can repeat them."""
        seed = self.ground.seed()
        best, *others = (
            tested(self.ground, team, self.settings.tests, self.testing, seed) for team in (self.best.team, *teams)
        )
        winner = max(others, key=lambda one: one.value)
        better = winner.value > best.value
        print("   ", self.iteration, round(self.ground.seconds(), 1), [t.team.nodes for t in others], [round(t.value, 3) for t in others], "best", round(best.value, 3)) if DEBUG else None
        self.best = winner if better else best
        if better:
            self.posterior = posterior
        return winner.value

    def _record(self, rate: float, posterior: TeamPosterior, seen: Seen) -> None:
        sizes = posterior.sizes
        row: Row = {
            "iteration": self.iteration,
            "seconds": round(self.ground.seconds(), 3),
            "steps": self.ground.steps,
            "exploration": rate,
            "nodes": "+".join(str(size) for size in sizes),
            "mean_nodes": float(np.mean(sizes)),
            "bound": evaluate(self._task(seen), posterior.agents).bound,
            "value": self.best.value,
            "error": self.best.error,
            "sample_size": float(seen.sample_sizes().min()),
        }
        self.trace.append(row)
        self.watch(row)
