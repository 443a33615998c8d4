"""The paper's loop: collect a batch with the current behaviour, learn with Dec-SBPR, repeat.

    counts = a start
    repeat: posterior = prior + counts; behaviour = its mean with exploration in every node; play a batch;
            count visits and gains on the last batches; counts = improved(counts)

Such a round of iterations ends in the team of posterior means and in the team that always takes the likeliest choice;
test episodes say whether one of them is better than the best so far. Every start gets one round with each of two
utilities (learners.credit); then rounds begin from the best team, softened, until none is better any more.
The trace begins with what was done before the first round, as iteration 0: the best replay of every generation.
It learns from episodes alone: a model is only played. docs/sbpr.md says what is the paper's and what is not.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import cast

import numpy as np

from decpomdp.core import DecPOMDP, Episodes, InputError, Simulator, Team
from decpomdp.core.fit import Row, Watch, unwatched
from decpomdp.core.keeping import UNKEPT, Keeper
from decpomdp.core.minimal import simplified
from decpomdp.engines.cluster import Cluster
from decpomdp.engines.threads import serial_products
from decpomdp.interaction.sbpr_crowd_scale import affordable
from decpomdp.interaction.sbpr_play import Finished, Ground, Tested, tested
from decpomdp.interaction.sbpr_round import Learner, Start
from decpomdp.interaction.sbpr_scale import TEAMS, scaled
from decpomdp.interaction.sbpr_settings import SbprSettings
from decpomdp.interaction.sbpr_starts import memories, replays
from decpomdp.interaction.sbpr_state import KeptRound, SbprState, begun, go_on, state_of
from decpomdp.io.runs import team_digest
from decpomdp.learners import BayesFit, Prior, StickBreaking, TeamPosterior
from decpomdp.rollouts import DenseSimulator


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
    keeper: Keeper = UNKEPT,
    engine: Cluster | None = None,
) -> BayesFit:
    """Learn a team by the paper's loop, until it has converged or one of the limits is reached.

    `iterations`: batches learned from, at most. `behaviour`: a team that plays the first episodes, instead of chance.
    `horizon`: length of the episodes, chosen from the discount when not given. An interrupt (Ctrl-C) returns the best
    team so far: the one with the highest mean return in test episodes. `keeper` is offered the state before every
    iteration, and gives back the one to go on from. `engine`: a cluster whose workers play; the result is the same.
    """
    if iterations is not None and iterations < 1:
        raise InputError(f"iterations: expected a whole number of at least 1, got {iterations}")
    ground = Ground(problem, time_limit, steps, seed, threads, engine)
    if behaviour is not None:
        behaviour.check_fits(ground.simulator)
    believed, chosen = prior or StickBreaking(), settings or SbprSettings()
    loop = _loop(len(ground.simulator.agents) > chosen.crowd)(
        ground, iterations, behaviour, horizon, believed, chosen, watch, keeper
    )
    with serial_products():
        stopped = loop.run()
    limits: Row = {"time_limit": time_limit, "steps": steps, "iterations": iterations, "horizon": horizon}
    begun_with = None if behaviour is None else team_digest(behaviour)
    told: Row = {"method": "sbpr", "seed": seed, **limits, "behaviour": begun_with}
    team = simplified(loop.best.team)
    return BayesFit(
        team=team,
        trace=tuple(loop.trace),
        stopped=stopped,
        seconds=ground.seconds(),
        settings={**told, "prior": believed.text, **loop.settings.row()},
        posterior=loop.posterior,
        decided=simplified(team.decided()),
    )


class Loop:
    """One run: starts, then rounds from the best team, with test episodes as the judge."""

    def __init__(
        self,
        ground: Ground,
        iterations: int | None,
        behaviour: Team | None,
        horizon: int | None,
        prior: Prior,
        settings: SbprSettings,
        watch: Watch,
        keeper: Keeper = UNKEPT,
    ) -> None:
        self.ground, self.iterations, self.given = ground, iterations, behaviour
        self.watch, self.keeper = watch, keeper
        self.testing = ground.horizon(horizon, settings.testing_tail, settings.longest)
        learning = ground.horizon(horizon, settings.learning_tail, settings.longest)
        self.settings = self._afforded(settings, learning)
        self.learner = Learner(ground, prior, self.settings, learning)
        self.best = Tested(behaviour or Team.uniform(ground.simulator))
        self.posterior = self._belief(self.best.team)
        self.trace: list[Row] = []
        self.wins = self.before = 0  # how often a team was better than the best: so far, and when the round began
        self.pool: list[Team] = []  # replays
        self.values: list[float] = []  # of the starts that had their round
        self.turn = self.failures = 0  # rounds since, and how many of them in a row led to nothing better
        self.under_way: KeptRound | None = None  # a round to go on with

    def _afforded(self, settings: SbprSettings, learning: int) -> SbprSettings:
        """The settings to go by; `learning`: steps of an episode. Those given, unless they ask for too much."""
        if isinstance(self.ground.simulator, DenseSimulator) and self.ground.limit is None:
            return settings
        steps = affordable(self.ground, self.iterations, settings.batch, learning)
        return scaled(settings, steps, learning, self.testing)

    def run(self) -> str:
        """Learn; says why it ended."""
        kept = self.keeper.restore(SbprState)
        if kept is not None:
            go_on(self, kept)
        try:
            return self._improve(self._starts())
        except Finished as reason:
            return str(reason)
        except KeyboardInterrupt:
            return "interrupted"

    def _starts(self) -> list[Start]:
        """Every start gets a round with each utility; what is worth another: the best by turns with further replays."""
        self.pool = self.pool or self._replayed()
        remembering = list(memories(self.ground.simulator, self.settings.largest))
        chains = [Start(team, self.settings.openness, self.settings.replaying, True) for team in self.pool]
        tried = chains[: self.settings.replays]
        # the more promising half first: chains exist because something paid, memory needs no luck
        starts = tried + [Start(team, 0.0, 1.0, False) for team in remembering[::-1]]
        starts += [Start(team, 0.0, 1.0, True) for team in remembering]
        starts += [replace(start, optimistic=False) for start in tried]
        for start in starts[len(self.values) :]:
            self.values.append(self._round(start, self.settings.race))
        ordered = [starts[place] for place in np.argsort(-np.array(self.values), kind="stable")]
        return _by_turns(ordered[: self.settings.fresh], chains[self.settings.replays :])

    def _improve(self, starts: list[Start]) -> str:
        """Rounds from the best team with either utility and, by turns with them, afresh from the better starts."""
        while self.failures < self.settings.patience:
            turn = self.turn
            if turn % 2 == 1:
                self._round(starts[turn // 2 % len(starts)], self.settings.race)
            else:
                again = Start(self.best.team, self.settings.softness, self.settings.reopened, optimistic=turn % 4 == 0)
                self._round(again, self.settings.round)
            self.turn += 1
            self.failures = 0 if self.wins > self.before else self.failures + 1
        return "converged"

    def _replayed(self) -> list[Team]:
        """The best replays: of random (or the given team's) episodes first, then of variations of the best replays."""
        chosen, before = self.settings, self.best.team
        first = Team.uniform(self.ground.simulator) if self.given is None else self.given.exploring(chosen.softness)
        episodes = self.ground.play_some(first, chosen.random_episodes, max(chosen.lengths), chosen.random_share)
        pool = self._best_replays([episodes], [])
        for _ in range(chosen.generations):
            varied = [team.exploring(chosen.openness) for team in pool[: chosen.replays]]
            count = chosen.tests
            pool = self._best_replays([self.ground.play(team, count, max(chosen.lengths)) for team in varied], pool)
        self._consider(pool[:1], self._belief(pool[0]), before)
        return pool

    def _best_replays(self, batches: Sequence[Episodes], others: list[Team]) -> list[Team]:
        """Replays of the episodes, and `others`, by mean return; many tested roughly, then the better quarter well."""
        chosen = self.settings
        new = [team for batch in batches for length in chosen.lengths for team in replays(batch, length, chosen.elites)]
        teams, seed = others + new, self.ground.seed()
        for tests in (chosen.batch, max(1, chosen.tests // 4)):
            played = [tested(self.ground, team, tests, self.testing, seed + tests) for team in teams]
            played.sort(key=lambda one: -one.value)
            teams = [one.team for one in played[: max(chosen.pool, len(played) // 4)]]
        self.best, self.posterior = played[0], self._belief(played[0].team)  # should the limits be reached now
        nodes = played[0].team.nodes
        unknown: Row = {"exploration": None, "nodes": "+".join(map(str, nodes)), "mean_nodes": float(np.mean(nodes))}
        self._record({**unknown, "bound": None, "sample_size": None}, 0)
        return teams[: chosen.pool]

    def _round(self, start: Start, iterations: int) -> float:
        """Iterations, then a test of what they led to: its value. Optimism falls to nothing on the way."""
        chosen = self.settings
        state, first, _ = begun(self, self.learner.begin, start)
        for number in range(first, iterations):
            self.keeper.offer(partial(state_of, self, number, 0, state))
            if self.iterations is not None and self.done >= self.iterations:
                raise Finished("iterations")
            if number > first and not self._affords_iteration():
                break
            left = max(0.0, 1 - number / (chosen.sobering * iterations))
            optimism = chosen.quantile * left if start.optimistic else 0.0
            state, facts = self.learner.iterate(state, optimism, number >= chosen.settling)
            self._record(facts)
        posterior = self.learner.posterior(state.counts)
        mean = posterior.mean()
        # DEPARTS: the paper's result is the posterior mean; here whichever of the two tests better
        return self._consider([mean.decided(), mean], posterior)

    def _affords_iteration(self) -> bool:
        """Whether the steps are enough for one more and for the test without which all would be for nothing."""
        more = self.settings.batch * self.learner.horizon + TEAMS * self.settings.tests * self.testing
        return self.ground.limit is None or self.ground.steps + more <= self.ground.limit

    def _belief(self, team: Team) -> TeamPosterior:
        """The posterior that a team alone would make."""
        return self.learner.posterior(self.learner.begin(Start(team, 0.0, 1.0, False)).counts)

    def _consider(self, teams: Sequence[Team], posterior: TeamPosterior, beside: Team | None = None) -> float:
        """Test `teams` beside the best so far, on the same fresh episodes where the simulator can repeat them."""
        seed, tests, known = self.ground.seed(), self.settings.tests, beside or self.best.team
        best, *others = (tested(self.ground, team, tests, self.testing, seed) for team in (known, *teams))
        winner = max(others, key=lambda one: one.value)
        if winner.value > best.value:
            self.best, self.posterior, self.wins = winner, posterior, self.wins + 1
        else:
            self.best = best
            self.posterior = self.posterior if beside is None else self._belief(beside)
        return winner.value

    @property
    def done(self) -> int:
        """Iterations so far."""
        return int(cast(int, self.trace[-1]["iteration"])) if self.trace else 0

    def _record(self, facts: Row, iteration: int | None = None) -> None:
        row: Row = {
            "iteration": self.done + 1 if iteration is None else iteration,
            "seconds": round(self.ground.seconds(), 3),
            "steps": self.ground.steps,
            **facts,
            "value": self.best.value,
            "error": self.best.error,
        }
        self.trace.append(row)
        self.watch(row)


def _loop(crowd: bool) -> type[Loop]:
    """A crowd is learned from one by one; everything else stays the same."""
    if not crowd:
        return Loop
    from decpomdp.interaction.sbpr_crowd_loop import CrowdLoop

    return CrowdLoop


def _by_turns(one: list[Start], other: list[Start]) -> list[Start]:
    """First of one, first of other, second of one ..."""
    longest = max(len(one), len(other))
    return [part[place] for place in range(longest) for part in (one, other) if place < len(part)]
