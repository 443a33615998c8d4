"""The paper's loop: collect a batch with the current behaviour, learn with Dec-SBPR, repeat.

    counts = a start
    repeat: posterior = prior + counts; behaviour = its mean with exploration in every node; play a batch;
            count utility-weighted visits in it; counts = renewed(counts)

Such a round of iterations ends with the team of posterior means and the team that always takes the likeliest choice;
test episodes decide whether one of them is better than the best so far. Every start gets one round; then rounds begin
from the best team, softened, after joint moves of several agents (`proposals`), until none is better than it.
The trace begins with the search for starts, as iteration 0: the best replay of every generation.
It learns from episodes alone: a model is only played. docs/sbpr.md lists the differences from the paper.
With many agents, `many_method` takes over.
"""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from decpomdp.core import DecPOMDP, Episodes, Simulator, Team, concatenate
from decpomdp.core.fit import Row
from decpomdp.core.minimal import members_of, simplified
from decpomdp.core.run import Cut, Inputs, Method, Now
from decpomdp.engines.threads import serial_products
from decpomdp.interaction.afford import PATIENCE, ROUGHLY, TEAMS, LoopSizes, loop_sizes, proposal_steps
from decpomdp.interaction.episode_player import (
    OUT_OF_TIME,
    EpisodeMethod,
    OutOfSteps,
    Tested,
    draw_seed,
    own_horizon,
    warm_up_problem,
)
from decpomdp.interaction.sbpr.iteration import Learner, Round, Start
from decpomdp.interaction.sbpr.proposals import compared, proposed
from decpomdp.interaction.sbpr.settings import SbprLoop
from decpomdp.interaction.sbpr.starts import HELD, SURE, memories, replays
from decpomdp.interaction.search.machines import plan_of, team_of
from decpomdp.interaction.search.players import Player, player_of
from decpomdp.interaction.search.settings import Search
from decpomdp.interaction.search.sizes import Sizes as MoveSizes
from decpomdp.interaction.search.sizes import sizes_for
from decpomdp.learners import BayesFit, StickBreaking, prior_named
from decpomdp.learners.posterior import Counts, size_facts

MORE, LONGER = 4, 2  # factors of the batch and of the iterations of a round with fixed moves: its actions are untrained
SPARSE = 1e-6  # d of the stick-breaking prior


def sbpr_method(problem: DecPOMDP | Simulator, settings: SbprLoop, inputs: Inputs) -> Method:
    """The loop for few or for many agents."""
    if len(problem.agents) <= settings.tuning.many.above:
        return SbprLoopMethod(problem, settings, inputs)
    from decpomdp.interaction.sbpr.many_method import ManyAgentsMethod

    return ManyAgentsMethod(problem, settings, inputs)


class RoundState(NamedTuple):
    """The state of the current round."""

    length: int  # iterations
    round: Round
    batch: int  # episodes
    number: int = 0  # of the next iteration


class SbprState(NamedTuple):
    """Between two steps."""

    random: np.random.Generator
    best: Tested
    belief: list[Counts]  # of the posterior of the best team; empty: of the team alone
    sizes: LoopSizes | None = None  # chosen in the first step
    seconds: float = math.inf  # the time limit
    episodes: list[Episodes] | None = None  # random, for the first generation of replays
    generation: int = 0  # the next generation of replays; `generations` + 2 after the final test
    pool: list[Team] | None = None  # the best replays
    values: list[float] | None = None  # of the starts whose round has ended
    turn: int = 0  # later rounds
    failures: int = 0  # of them in a row without a better team
    wins: int = 0  # number of improvements of the best team
    before: int = 0  # wins at the end of the last round
    proposals: int = 0  # joint moves tried since the last round
    round: RoundState | None = None
    steps: int = 0
    iterations: int = 0
    stopped: str = ""


class LoopMethod(EpisodeMethod):
    """Base of the loop for few and for many agents."""

    learner_type: type[Learner]

    def __init__(self, problem: DecPOMDP | Simulator, settings: SbprLoop, inputs: Inputs) -> None:
        super().__init__(problem, inputs)
        self.settings = settings
        prior = self.prior = prior_named(settings.prior)
        if isinstance(prior, StickBreaking):  # the paper's; counts are plentiful here (Recycling: 31.50 with d = 1)
            prior = replace(prior, d=SPARSE)
        self.learner = self.learner_type(self.player, prior, settings)
        self.testing = self.learner.testing

    def init(self, now: Now) -> Any:
        """Begin with the initial team or, without one, with the uniform team."""
        team = self.inputs.begin or Team.uniform(self.player.simulator)
        return self.state(np.random.default_rng(self.inputs.seed), Tested(team), [])

    def step(self, state: Any, now: Now) -> tuple[Any, Row | None]:
        with serial_products():
            return super().step(state, now)

    def result(self, state: Any) -> tuple[BayesFit, None]:
        """The best team so far, with its posterior; without counts, the posterior of the team alone."""
        facts: Row = {} if state.sizes is None else state.sizes._asdict()
        team = simplified(state.best.team)
        counts = self._needed(state.belief, state.best.team) if state.belief else self.learner.counts_of(team)
        return BayesFit(team, facts=facts, posterior=self.learner.posterior(counts)), None

    def _needed(self, belief: list[Counts], team: Team) -> list[Counts]:
        """The counts of the occupied nodes, which `team` has, on the nodes that the minimal team needs."""
        kept = self.learner.posterior(belief).occupied()
        parts = zip(belief, kept, team.controllers, strict=True)
        return [counts.chosen(nodes).grouped(members_of(own)) for counts, nodes, own in parts]

    def row(self, state: Any, iteration: int, facts: Row) -> Row:
        """A row of the trace."""
        best: Row = {"value": state.best.value, "error": state.best.error}
        return {"iteration": iteration, "steps": self.player.steps, **facts, **best}


class SbprLoopMethod(LoopMethod):
    """One run: a step is an iteration, a test, a piece of random episodes or a generation of replays."""

    state: type = SbprState
    learner_type = Learner

    @cached_property
    def moving(self) -> Player:
        """Plays the joint moves."""
        return player_of(self.player.simulator)

    @property
    def horizon(self) -> int | None:
        """Steps of every episode; None: by the discount."""
        undiscounted = self.settings.horizon is None and self.player.discount >= 1
        return own_horizon(self.player.simulator) if undiscounted else self.settings.horizon

    def toy(self) -> "SbprLoopMethod":
        """This method with the smallest sizes, to compile everything."""
        few = {"random_episodes": 2, "lengths": (2,), "elites": 1, "generations": 0, "replays": 1, "race": 2}
        tuning = replace(self.settings.tuning, **few, settling=0)
        tiny = SbprLoop(horizon=2, prior=self.settings.prior, batch=2, tests=4, tuning=tuning)
        toy = _ToyLoop(warm_up_problem(self.player.simulator), tiny, Inputs(threads=self.inputs.threads))
        toy.at_once = 5
        return toy

    def advance(self, state: SbprState, now: Now) -> tuple[SbprState, Row | None]:
        """The next iteration, test or search for starts."""
        sizes = state.sizes or loop_sizes(self.settings, self.player, self.learner.horizon, self.testing)
        if state.sizes is None:
            state = state._replace(sizes=sizes, seconds=now.seconds)
        if state.generation <= sizes.generations + 1:
            return self._find_starts(state, sizes, now)
        if state.round is None and state.proposals < self._joint_moves(state, sizes):
            return self._propose(state, sizes), None
        going = state.round or self._next_round(state, sizes)
        state = state._replace(round=going)
        more = going.batch * self.learner.horizon + TEAMS * sizes.tests * self.testing  # an iteration and its test
        if going.number == going.length or (going.number > 0 and not self.player.affords(more)):
            return self._end_round(state, sizes, going), None
        try:
            return self._iterate(state, going)
        except Cut:
            if going.number == 0 or now.stop[0] not in OUT_OF_TIME:
                raise
            return self._end_round(state, sizes, going), None  # late: otherwise the round is lost

    def _find_starts(self, state: SbprState, sizes: LoopSizes, now: Now) -> tuple[SbprState, Row | None]:
        """The best replays: of episodes of random actions (or of the initial team), then of variations of replays."""
        tuning, begin, pool = self.settings.tuning, self.inputs.begin, state.pool or []
        longest = max(tuning.lengths)
        if state.generation == 0:
            team = Team.uniform(self.player.simulator) if begin is None else begin.exploring(tuning.softness)
            used = 1 - now.seconds / state.seconds  # of the time; NaN without a limit
            so_far = state.episodes or []
            share = tuning.random_share
            part = self.player.random_piece(team, so_far, tuning.random_episodes, longest, share, used)
            if part is not None:
                return state._replace(episodes=[*so_far, part]), None
            return self._best_replays(state, sizes, [concatenate(so_far)], [])
        if state.generation <= sizes.generations:
            varied = [team.exploring(tuning.openness) for team in pool[: sizes.replays]]
            batches = [self.player.play(team, sizes.tests, longest) for team in varied]
            return self._best_replays(state, sizes, batches, pool)
        first = begin or Team.uniform(self.player.simulator)
        state, _ = self._compared(state, sizes, pool[:1], self.learner.counts_of(pool[0]), first)
        return state._replace(generation=state.generation + 1), None

    def _best_replays(
        self, state: SbprState, sizes: LoopSizes, batches: Sequence[Episodes], others: list[Team]
    ) -> tuple[SbprState, Row]:
        """Replays of the episodes, and `others`, by mean return; many tested roughly, then the better quarter well."""
        lengths = self.settings.tuning.lengths
        new = [team for batch in batches for length in lengths for team in replays(batch, length, sizes.elites)]
        teams, seed = others + new, self.player.seed()
        for tests in (max(1, sizes.tests // ROUGHLY), max(1, sizes.tests // 4)):
            tested = []
            for team in teams:
                self.player.now.check()
                tested.append(self.player.tested(team, tests, self.testing, seed + tests))
            tested.sort(key=lambda one: -one.value)
            teams = [one.team for one in tested[: max(sizes.pool, len(tested) // 4)]]
        best = tested[0]
        state = state._replace(
            best=best,
            belief=self.learner.counts_of(best.team),
            pool=teams[: sizes.pool],
            episodes=None,
            generation=state.generation + 1,
        )
        facts: Row = {"exploration": None, **size_facts(best.team.nodes), "bound": None, "sample_size": None}
        return state, self.row(state, 0, facts)

    def _starts(self, state: SbprState, sizes: LoopSizes) -> tuple[list[Start], list[Start]]:
        """The starts that get a round each, and the replays beyond them."""
        tuning, pool = self.settings.tuning, state.pool or []
        held, remembering = (list(memories(self.player.simulator, tuning.largest, sure)) for sure in (HELD, SURE))
        chains = [Start(team, tuning.openness, tuning.replaying) for team in pool]
        starts = chains[: sizes.replays] + [Start(team, 0.0, 1.0, held=True) for team in held[::-1]]
        starts += [Start(team, 0.0, 1.0) for team in remembering]
        return starts, chains[sizes.replays :]

    def _next_round(self, state: SbprState, sizes: LoopSizes) -> RoundState:
        """Every start once; then, in turn, the best team and the better starts again."""
        tuning, values = self.settings.tuning, state.values or []
        starts, further = self._starts(state, sizes)
        if len(values) < len(starts):
            start, length = starts[len(values)], sizes.race
        elif state.turn % 2 == 1:
            ordered = [starts[place] for place in np.argsort(-np.array(values), kind="stable")]
            again = _in_turn(ordered[: tuning.fresh], further)
            start, length = again[state.turn // 2 % len(again)], sizes.race
        else:
            start = Start(state.best.team, tuning.softness, tuning.reopened)
            length = sizes.round
        if start.held and sizes.tests == self.settings.tests:
            return RoundState(LONGER * length, self.learner.begin(start), MORE * sizes.batch)
        return RoundState(length, self.learner.begin(start), sizes.batch)

    def _joint_moves(self, state: SbprState, sizes: LoopSizes) -> int:
        """Joint moves to try before the next round: none until every start had its round."""
        return self.settings.joint_moves if len(state.values or []) == len(self._starts(state, sizes)[0]) else 0

    def _move_sizes(self, sizes: LoopSizes) -> MoveSizes:
        steps = proposal_steps(sizes, self.settings, self.learner.horizon, self.testing)
        return sizes_for(Search(horizon=self.horizon), self.player.discount, steps)

    def _propose(self, state: SbprState, sizes: LoopSizes) -> SbprState:
        """A joint move from the best team, and its comparison."""
        # DEPARTS: the paper has no moves of several agents
        rng, best = np.random.default_rng(self.player.seed()), plan_of(simplified(state.best.team.decided()))
        player = self.moving.fork(self.player.now, self.player.limit - self.player.steps)
        search = self._move_sizes(sizes)
        evidence = self.player.steps / self.testing  # episodes so far
        try:
            other = proposed(player, best, search, rng)
            outcome = compared(player, best, other, self.prior, search, evidence, draw_seed(rng))
        except OutOfSteps:  # a round may need fewer
            return state._replace(proposals=self.settings.joint_moves)
        finally:
            self.player.steps += player.steps
        state = state._replace(proposals=state.proposals + 1)
        if not outcome.accepted:
            return state
        team = simplified(team_of(outcome.plan, self.player.simulator, self.player.shown))
        if state.best.team != state.best.team.decided():  # the comparison was with its likeliest choices
            return self._compared(state, sizes, [team], self.learner.counts_of(team))[0]
        tested = Tested(team, outcome.returns.mean, outcome.returns.error)
        return state._replace(best=tested, belief=self.learner.counts_of(team), wins=state.wins + 1)

    def _iterate(self, state: SbprState, going: RoundState) -> tuple[SbprState, Row]:
        """One iteration. The last one of a round is counted after its test."""
        settled = going.number >= self.settings.tuning.settling
        after, facts = self.learner.iterate(going.round, going.batch, settled)
        going = going._replace(round=after, number=going.number + 1)
        row = self.row(state, state.iterations + 1, facts)
        return state._replace(round=going, iterations=state.iterations + (going.number < going.length)), row

    def _end_round(self, state: SbprState, sizes: LoopSizes, going: RoundState) -> SbprState:
        """Test the teams of a round's posterior."""
        posterior = self.learner.posterior(going.round.counts)
        mean = posterior.mean()
        # DEPARTS: the paper's result is the posterior mean; here the better of the two in the test
        state, value = self._compared(state, sizes, [mean.decided(), mean], going.round.counts)
        state = state._replace(round=None, iterations=state.iterations + (going.number == going.length))
        values = state.values or []
        if len(values) < len(self._starts(state, sizes)[0]):
            return state._replace(values=[*values, value])
        failures = 0 if state.wins > state.before else state.failures + 1
        stopped = "converged" if failures >= (self.settings.patience or PATIENCE) else ""
        state = state._replace(turn=state.turn + 1, before=state.wins, proposals=0)
        return state._replace(failures=failures, stopped=stopped)

    def _compared(
        self, state: SbprState, sizes: LoopSizes, teams: Sequence[Team], belief: list[Counts], other: Team | None = None
    ) -> tuple[SbprState, float]:
        """Test `teams` and `other` (or the best so far) on the same episodes: the better one, and the teams' value."""
        best, winner = self.player.compared(other or state.best.team, teams, sizes.tests, self.testing)
        if winner.value > best.value:
            return state._replace(best=winner, belief=belief, wins=state.wins + 1), winner.value
        belief = state.belief if other is None else []
        return state._replace(best=best, belief=belief), winner.value


class _ToyLoop(SbprLoopMethod):
    """A loop that makes a joint move of the smallest size before its first round."""

    def _joint_moves(self, state: SbprState, sizes: LoopSizes) -> int:
        return 1

    def _move_sizes(self, sizes: LoopSizes) -> MoveSizes:
        return sizes_for(Search(horizon=2), self.player.discount, 0.0)


def _in_turn(one: list[Start], other: list[Start]) -> list[Start]:
    """First of one, first of other, second of one ..."""
    longest = max(len(one), len(other))
    return [part[place] for place in range(longest) for part in (one, other) if place < len(part)]
