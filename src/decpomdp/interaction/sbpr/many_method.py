"""The paper's loop with many agents: each learns from its own ratios and a critic's gains (see `many_agents`).

Replays of the best random episodes help a few agents to coordinate; with a hundred agents the best episodes are luck.
Many agents start with one node per action, or with the initial team, mixed with uniform choices. Batches and tests are
as large as can be afforded; if time is the only limit, every iteration sets the size of the next batch.
"""

import math
from time import perf_counter
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from decpomdp.core import DecPOMDP, Episodes, Simulator, Team
from decpomdp.core.fit import Row
from decpomdp.core.run import Cut, Inputs, Now
from decpomdp.interaction.afford import (
    MANY_BATCH,
    MANY_PATIENCE,
    Duration,
    ManySizes,
    affordable,
    many_sizes,
    next_batch,
)
from decpomdp.interaction.episode_player import LAST, OUT_OF_TIME, EpisodePlayer, Tested, warm_up_problem
from decpomdp.interaction.sbpr.exploration import Exploration
from decpomdp.interaction.sbpr.iteration import Learner, Start
from decpomdp.interaction.sbpr.many_agents import Learned, OwnRatios, added, play_own, shares
from decpomdp.interaction.sbpr.method import LoopMethod
from decpomdp.interaction.sbpr.settings import SbprLoop
from decpomdp.interaction.sbpr.starts import by_action
from decpomdp.interaction.sbpr.step import StepSize, improved
from decpomdp.learners import Prior, TeamPosterior
from decpomdp.learners.posterior import Counts, size_facts

PAPERS = 50  # episodes of the paper's batch, to which its exploration constant belongs
SURE = 0.8  # probability of a node's own action at first


class ManyRound(NamedTuple):
    """The state of a round between two iterations."""

    counts: list[Counts]
    exploration: Exploration
    batches: list[Episodes]  # oldest first
    shared: bool  # one controller for all agents
    number: int = 0  # of the next iteration
    failures: int = 0  # tests in a row without a better team


class ManyState(NamedTuple):
    """Between two steps."""

    random: np.random.Generator
    best: Tested
    belief: list[Counts]  # of the posterior of the best team; empty: of the team alone
    sizes: ManySizes | None = None  # chosen in the first step
    seconds: float = math.inf  # the time limit
    batch: int = 0  # episodes of the next iteration
    turn: int = 0  # rounds
    failures: int = 0  # of them in a row without a better team
    wins: int = 0  # number of improvements of the best team
    before: int = 0  # wins at the start of the round
    round: ManyRound | None = None
    row: dict[str, float | int | str | None] | None = None  # of the last iteration
    due: bool = False  # whether the last iteration must be tested before it is counted
    steps: int = 0
    iterations: int = 0
    stopped: str = ""


class ManyLearner(Learner):
    """Plays and learns, one iteration at a time."""

    def __init__(self, player: EpisodePlayer, prior: Prior, settings: SbprLoop) -> None:
        super().__init__(player, prior, settings)
        self.many = settings.tuning.many
        self.own_ratios = OwnRatios(self.tuning.many.cap, self.tuning.many.reach, player.threads)

    def start(self) -> Start:
        """One node per action."""
        return Start(by_action(self.player.simulator, SURE), 0.0, 1.0)

    def start_from(self, team: Team) -> Start:
        """A team to be improved."""
        return Start(team, self.tuning.many.openness, self.tuning.reopened)

    def begin_many(self, start: Start, batch: int) -> ManyRound:
        """The counts of a start. Exploration lasts for a number of batches of any size."""
        counts, shared = self.counts_of(start.team, start.softness), shares(self.player.simulator, start.team)
        lasting = self.settings.exploration_visits * batch * (len(counts) if shared else 1) / PAPERS
        exploration = Exploration.begin(lasting, [c.nodes for c in counts], start.rate)
        return ManyRound(counts, exploration, [], shared)

    def iterate_many(self, state: ManyRound, batch: int) -> tuple[ManyRound, Row, Duration]:
        """Collect a batch, learn from it; drop empty nodes after the first iterations."""
        began = perf_counter()
        posterior = self.posterior(state.counts)
        self.player.now.check()
        behaviour = state.exploration.behaviour(self.full_mean(posterior))
        ready = perf_counter()
        play, learn = EpisodePlayer.play, self.own_ratios.learn
        if state.shared:
            play, learn = play_own, self.own_ratios.learn_shared  # type: ignore[assignment]
        episodes = play(self.player, behaviour, batch, self.horizon)
        batches = added(state.batches, episodes, self.settings.window)
        learned = learn(batches, behaviour, self.player.now.check)
        on_batch = perf_counter() - ready
        counts = self._stepped(state.counts, learned)
        new_visits = [visited.visits.sum(axis=1) * episodes.count / learned.episodes for visited in learned.visits]
        facts = _facts(posterior, learned, state.exploration.mean_rate(new_visits), batch)
        exploration = state.exploration.after(new_visits)
        if state.number >= self.tuning.settling:
            counts, exploration = self.dropped(counts, exploration)
        after = state._replace(counts=counts, exploration=exploration, batches=batches, number=state.number + 1)
        return after, facts, Duration(batch, on_batch, perf_counter() - began - on_batch)

    def _stepped(self, counts: list[Counts], learned: Learned) -> list[Counts]:
        size = StepSize(self.many.step, self.many.shrink, self.many.floor, self.tuning.carry)
        each = zip(counts, learned.visits, learned.gains, strict=True)
        return [improved(old, visited, gained, learned.spread, size) for old, visited, gained in each]


class ManyAgentsMethod(LoopMethod):
    """Rounds from a start, then from the best team, until several brought no gain; a step is an iteration or a test."""

    state: type = ManyState
    learner_type = ManyLearner
    learner: ManyLearner

    def __init__(self, problem: DecPOMDP | Simulator, settings: SbprLoop, inputs: Inputs) -> None:
        super().__init__(problem, settings, inputs)
        self.many = settings.tuning.many

    def toy(self) -> "ManyAgentsMethod":
        """This method with the smallest sizes, to compile everything."""
        tuning = replace(self.settings.tuning, settling=0, many=replace(self.many, pause=1))
        tiny = SbprLoop(horizon=2, prior=self.settings.prior, batch=2, tests=2, tuning=tuning)
        return ManyAgentsMethod(warm_up_problem(self.player.simulator), tiny, Inputs(threads=self.inputs.threads))

    def advance(self, state: ManyState, now: Now) -> tuple[ManyState, Row | None]:
        """The next iteration or test."""
        sizes = state.sizes or self._sizes()
        if state.sizes is None:
            state = state._replace(sizes=sizes, batch=sizes.batch, seconds=now.seconds)
        going = state.round or self.learner.begin_many(self._start(state), state.batch)
        if state.round is None:
            state = state._replace(round=going, before=state.wins)
        untested = going.number % self.many.pause > 0
        if state.due:
            return self._test(state, sizes, going)
        if untested and now.seconds < LAST * now.pace:  # no time for an iteration and a test
            state, row = self._test(state, sizes, going)
            return state._replace(stopped="time limit"), row
        try:
            return self._iterate(state, sizes, going, now)
        except Cut:
            if not untested or now.stop[0] not in OUT_OF_TIME:
                raise
            return self._test(state, sizes, going)  # late: otherwise the last iterations are lost

    def _sizes(self) -> ManySizes:
        steps = affordable(self.player, self.settings.batch or MANY_BATCH, self.learner.horizon)
        return many_sizes(self.settings, steps, self.learner.horizon, self.testing)

    def _start(self, state: ManyState) -> Start:
        if state.turn > 0:
            return self.learner.start_from(state.best.team)
        return self.learner.start() if self.inputs.begin is None else self.learner.start_from(self.inputs.begin)

    def _iterate(self, state: ManyState, sizes: ManySizes, going: ManyRound, now: Now) -> tuple[ManyState, Row | None]:
        """One iteration. The last one before a test is counted after the test."""
        going, facts, duration = self.learner.iterate_many(going, state.batch)
        due = going.number % self.many.pause == 0 or now.iterations <= 1
        row = self.row(state, state.iterations + 1, facts)
        state = state._replace(round=going, row=dict(row), due=due, iterations=state.iterations + (not due))  # type: ignore[arg-type]
        if math.isfinite(now.seconds) and math.isinf(now.steps) and math.isinf(now.iterations):
            state = state._replace(batch=next_batch(sizes.batch, self.many.pause, duration, state.seconds))
        return state, None if due else row

    def _test(self, state: ManyState, sizes: ManySizes, going: ManyRound) -> tuple[ManyState, Row]:
        """Test the present posterior against the best so far; the row of the last iteration gets the result."""
        mean = self.learner.posterior(going.counts).mean()
        best, winner = self.player.compared(state.best.team, [mean.decided(), mean], sizes.tests, self.testing)
        better = winner.value > best.value
        if better:
            state = state._replace(best=winner, belief=going.counts, wins=state.wins + 1)
        else:
            state = state._replace(best=best)
        if state.due and going.number % self.many.pause == 0:
            state = self._after_test(state, going._replace(failures=0 if better else going.failures + 1))
        row: Row = {**(state.row or {}), "value": state.best.value, "error": state.best.error}
        return state._replace(due=False, iterations=state.iterations + state.due), row

    def _after_test(self, state: ManyState, going: ManyRound) -> ManyState:
        """Continue the round, or end it after several tests without a better team."""
        if going.failures < self.many.patience:
            return state._replace(round=going)
        failures = 0 if state.wins > state.before else state.failures + 1
        stopped = "converged" if failures >= (self.settings.patience or MANY_PATIENCE) else ""
        return state._replace(round=None, turn=state.turn + 1, failures=failures, stopped=stopped)


def _facts(posterior: TeamPosterior, learned: Learned, rate: float, episodes: int) -> Row:
    return {
        "episodes": episodes,
        "exploration": rate,
        **size_facts(posterior.sizes),
        "bound": None,  # it contains the joint ratio of all agents, which is useless with so many
        "sample_size": learned.sample_size,
        "predicted": learned.predicted,
    }
