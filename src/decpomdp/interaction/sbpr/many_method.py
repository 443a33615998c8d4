"""The paper's loop with many agents: each learns from its own ratios and a critic's gains (see `sbpr_crowd`).

Starts differ too. The best of many random episodes, played again, is what helps a few agents to do the right thing
together; for a hundred agents it is luck. A crowd begins with one node per action, or with the given behaviour, much
of which is left open. Agents that must change together do so by many small steps on the same batches. Agents that are
alike share one controller (`sbpr_crowd_alike`). Batches and tests are as large as can be afforded (`sbpr_crowd_scale`).
"""

from functools import partial

import numpy as np

from decpomdp.core import Team
from decpomdp.core.fit import Row
from decpomdp.interaction.explore import Exploration
from decpomdp.interaction.sbpr import Loop
from decpomdp.interaction.sbpr_crowd import CrowdRound, CrowdWindow, Learnt
from decpomdp.interaction.sbpr_crowd_alike import learn_own, play_own, shares
from decpomdp.interaction.sbpr_crowd_scale import Spent, affordable, afforded_batch, scaled
from decpomdp.interaction.sbpr_play import TIME, Finished, Ground, contested
from decpomdp.interaction.sbpr_round import Learner, Start
from decpomdp.interaction.sbpr_settings import SbprSettings
from decpomdp.interaction.sbpr_starts import by_action, counts_of
from decpomdp.interaction.sbpr_state import begun, state_of
from decpomdp.interaction.sbpr_step import StepSettings, improved
from decpomdp.learners import TeamPosterior
from decpomdp.learners.posterior import Counts

LAST = 2.0  # times the last iteration: with less time than that the team is tested, and it ends
SURE = 0.8  # probability of a node's own action at first


class CrowdLearner:
    """Plays and learns, one iteration at a time."""

    def __init__(self, learner: Learner) -> None:
        self.learner, self.ground, self.settings = learner, learner.ground, learner.settings
        self.alike = False
        self.batch = self.settings.crowd_batch
        self.spent = Spent(self.batch, 0.0, 0.0)  # of the last iteration

    def begin(self, start: Start) -> CrowdRound:
        """The counts of a start. Larger batches show a node more often: exploration is to last as many of them."""
        chosen = self.settings
        self.alike = shares(self.ground, start.team)
        counts = counts_of(start.team, start.softness, chosen.strength, self.ground.shown)
        lasting = chosen.exploration * self.batch * (len(counts) if self.alike else 1) / chosen.batch
        exploration = Exploration.begin(lasting, [c.nodes for c in counts], start.rate)
        look = self.ground.check
        window = CrowdWindow(chosen.crowd_window, chosen.cap, chosen.crowd_reach, self.ground.threads, look)
        return CrowdRound(counts, exploration, window)

    def iterate(self, state: CrowdRound, drop: bool) -> tuple[CrowdRound, Row]:
        """Collect a batch, learn from it; `drop` empty nodes."""
        begin = self.ground.seconds()
        posterior = self.learner.posterior(state.counts)
        self.ground.beat()
        behaviour = state.exploration.behaviour(self.learner.whole(posterior))
        ready = self.ground.seconds()
        play = play_own if self.alike else Ground.play
        episodes = play(self.ground, behaviour, self.batch, self.learner.horizon)
        state.window.add(episodes)
        learnt = learn_own(state.window, behaviour) if self.alike else state.window.learn(behaviour)
        on_batch = self.ground.seconds() - ready
        counts = self._stepped(state.counts, learnt)
        new_visits = [visited.visits.sum(axis=1) * episodes.count / learnt.episodes for visited in learnt.visits]
        facts = _facts(posterior, learnt, state.exploration.mean_rate(new_visits), self.batch)
        exploration = state.exploration.after(new_visits)
        if drop:
            counts, exploration = self.learner.dropped(counts, exploration)
        self.spent = Spent(self.batch, on_batch, self.ground.seconds() - begin - on_batch)
        return CrowdRound(counts, exploration, state.window), facts

    def _stepped(self, counts: list[Counts], learnt: Learnt) -> list[Counts]:
        chosen = self.settings
        pace = StepSettings(chosen.crowd_step, chosen.shrink, chosen.floor, chosen.carry)
        each = zip(counts, learnt.visits, learnt.gains, strict=True)
        return [improved(old, visited, gained, learnt.spread, pace) for old, visited, gained in each]


class CrowdLoop(Loop):
    """Rounds from the start and then from the best team, until several were no better."""

    def _afforded(self, settings: SbprSettings, learning: int) -> SbprSettings:
        if self.ground.time_limit is not None:
            self.watch({"phase": "preparing", "iteration": 0, "seconds": 0.0, "steps": 0})  # thousands take seconds
        steps = affordable(self.ground, self.iterations, settings.crowd_batch, learning)
        return scaled(settings, steps, learning, self.testing)

    def _starts(self) -> list[Start]:
        self.ground.heartbeat = self._show
        self.crowd = CrowdLearner(self.learner)
        return self.starts()

    def starts(self) -> list[Start]:
        """The given behaviour or, without one, a node per action."""
        chosen = self.settings
        if self.given is not None:
            return [Start(self.given, chosen.crowd_openness, chosen.reopened, False)]
        return [Start(by_action(self.ground.simulator, SURE), 0.0, 1.0, False)]

    def _improve(self, starts: list[Start]) -> str:
        start = starts[0] if self.turn == 0 else self._again()
        while self.failures < self.settings.crowd_rounds:
            self._crowd_round(start)
            self.turn += 1
            self.failures = 0 if self.wins > self.before else self.failures + 1
            start = self._again()
        return "converged"

    def _again(self) -> Start:
        return Start(self.best.team, self.settings.crowd_openness, self.settings.reopened, False)

    def _crowd_round(self, start: Start) -> None:
        """Iterations with a test now and then, until several tests in a row have found nothing better."""
        chosen, learner = self.settings, self.crowd
        state, number, failures = begun(self, learner.begin, start)
        while failures < chosen.crowd_patience:
            self.keeper.offer(partial(state_of, self, number, failures, state))
            if self.iterations is not None and self.done >= self.iterations:
                if number % chosen.crowd_pause:  # what came after the last test is to count too
                    self._better(state.counts)
                raise Finished("iterations")
            begin = self.ground.seconds()
            try:
                state, facts = learner.iterate(state, number >= chosen.settling)
            except Finished as reason:
                if str(reason) == TIME and number % chosen.crowd_pause:  # late or not: else it was for nothing
                    self._better(state.counts)
                raise
            number += 1
            self._record(facts)
            self.ground.told()
            if self.ground.left() < LAST * (self.ground.seconds() - begin):  # no time for an iteration and a test
                self._better(state.counts)
                raise Finished(TIME)
            self._resize(learner)
            if number % chosen.crowd_pause == 0:
                failures = 0 if self._better(state.counts) else failures + 1

    def _resize(self, learner: CrowdLearner) -> None:
        """The next batch, where time is the only limit: then alone results may depend on the clock."""
        limit, counted = self.ground.time_limit, (self.ground.limit, self.iterations)
        if limit is not None and counted == (None, None):
            learner.batch = afforded_batch(self.settings, learner.spent, limit)

    def _better(self, counts: list[Counts]) -> bool:
        """Test what these counts say beside the best so far; the last row of the trace tells the result."""
        posterior = self.learner.posterior(counts)
        self.ground.beat()
        mean: Team = posterior.mean()
        teams = [self.best.team, mean.decided(), mean]
        self.ground.beat()
        best, *others = contested(self.ground, teams, self.settings.tests, self.testing, self.ground.seed())
        winner = max(others, key=lambda one: one.value)
        better = winner.value > best.value
        self.best = winner if better else best
        if better:
            self.posterior, self.wins = posterior, self.wins + 1
        self.trace[-1] = {**self.trace[-1], "value": self.best.value, "error": self.best.error}
        return better

    def _show(self) -> None:
        """For whoever looks on, while an iteration takes long."""
        now: Row = {"phase": "working", "seconds": round(self.ground.seconds(), 3), "steps": self.ground.steps}
        self.watch({"iteration": self.done, **now, "value": self.best.value, "error": self.best.error})


def _facts(posterior: TeamPosterior, learnt: Learnt, rate: float, episodes: int) -> Row:
    sizes = posterior.sizes
    return {
        "episodes": episodes,
        "exploration": rate,
        "nodes": "+".join(str(size) for size in sizes),
        "mean_nodes": float(np.mean(sizes)),
        "bound": None,  # it has the ratio of the whole team in it, which says nothing about so many agents
        "sample_size": learnt.sample_size,
        "foretold": learnt.foretold,
    }
