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
from decpomdp.interaction.sbpr_crowd_scale import affordable, scaled
from decpomdp.interaction.sbpr_play import Finished, Ground
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

    def begin(self, start: Start) -> CrowdRound:
        """The counts of a start. Larger batches show a node more often: exploration is to last as many of them."""
        chosen = self.settings
        self.alike = shares(self.ground, start.team)
        counts = counts_of(start.team, start.softness, chosen.strength, self.ground.shown)
        lasting = chosen.exploration * chosen.crowd_batch * (len(counts) if self.alike else 1) / chosen.batch
        exploration = Exploration.begin(lasting, [c.nodes for c in counts], start.rate)
        window = CrowdWindow(chosen.crowd_window, chosen.cap, chosen.crowd_reach, self.ground.threads)
        return CrowdRound(counts, exploration, window)

    def iterate(self, state: CrowdRound, drop: bool) -> tuple[CrowdRound, Row]:
        """Collect a batch, learn from it; `drop` empty nodes."""
        posterior = self.learner.posterior(state.counts)
        behaviour = state.exploration.behaviour(self.learner.whole(posterior))
        play = play_own if self.alike else Ground.play
        episodes = play(self.ground, behaviour, self.settings.crowd_batch, self.learner.horizon)
        state.window.add(episodes)
        learnt = learn_own(state.window, behaviour) if self.alike else state.window.learn(behaviour)
        counts = self._stepped(state.counts, learnt)
        new_visits = [visited.visits.sum(axis=1) * episodes.count / learnt.episodes for visited in learnt.visits]
        facts = _facts(posterior, learnt, state.exploration.mean_rate(new_visits), self.settings.crowd_batch)
        exploration = state.exploration.after(new_visits)
        if drop:
            counts, exploration = self.learner.dropped(counts, exploration)
        return CrowdRound(counts, exploration, state.window), facts

    def _stepped(self, counts: list[Counts], learnt: Learnt) -> list[Counts]:
        chosen = self.settings
        pace = StepSettings(chosen.crowd_step, chosen.shrink, chosen.floor, chosen.carry)
        each = zip(counts, learnt.visits, learnt.gains, strict=True)
        return [improved(old, visited, gained, learnt.spread, pace) for old, visited, gained in each]


class CrowdLoop(Loop):
    """Rounds from the start and then from the best team, until several were no better."""

    def _afforded(self, settings: SbprSettings, learning: int) -> SbprSettings:
        steps = affordable(self.ground, self.iterations, settings.crowd_batch, learning)
        return scaled(settings, steps, learning, self.testing)

    def _starts(self) -> list[Start]:
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
        chosen, learner = self.settings, CrowdLearner(self.learner)
        state, number, failures = begun(self, learner.begin, start)
        while failures < chosen.crowd_patience:
            self.keeper.offer(partial(state_of, self, number, failures, state))
            if self.iterations is not None and self.done >= self.iterations:
                if number % chosen.crowd_pause:  # what came after the last test is to count too
                    self._better(state.counts)
                raise Finished("iterations")
            left = self.ground.left()
            state, facts = learner.iterate(state, number >= chosen.settling)
            number += 1
            self._record(facts)
            over = self.ground.left() < LAST * (left - self.ground.left())  # no time for an iteration and a test
            if over:
                self.ground.time_limit = None  # late or not: without a test all was for nothing
                self._better(state.counts)
                raise Finished("time limit")
            if number % chosen.crowd_pause == 0:
                failures = 0 if self._better(state.counts) else failures + 1

    def _better(self, counts: list[Counts]) -> bool:
        """Test what these counts say; the last row of the trace tells the result."""
        before, posterior = self.wins, self.learner.posterior(counts)
        mean: Team = posterior.mean()
        self._consider([mean.decided(), mean], posterior)
        self.trace[-1] = {**self.trace[-1], "value": self.best.value, "error": self.best.error}
        return self.wins > before


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
