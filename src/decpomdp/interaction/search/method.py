"""The default method of learning by interaction: a portfolio of starts, then iterated local search.

    islands = the best of the portfolio, large and small
    repeat: hop from an island; accept a candidate that a paired test on fresh episodes finds better;
            replace islands that fall behind; when the best one is stuck, look at all its neighbours

It only ever plays episodes. The result at any moment is the best team so far, already folded and within the size cap.
A step is one round: a fixed number of pieces of work, each with its own random numbers, and then decisions in a fixed
order. The result is a function of the seed and the number of steps, not of the threads. A time limit may cut a round
anywhere; only then can two runs differ.
"""

from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from decpomdp.core import DecPOMDP, InputError, Simulator
from decpomdp.core.fit import Fit, Row
from decpomdp.core.run import Cut, Inputs, Now
from decpomdp.core.simulator import Step
from decpomdp.interaction.players import OutOfSteps, Player, Pool, Work, draw_seed, player_of
from decpomdp.interaction.search.islands import Island, Islands, real
from decpomdp.interaction.search.machines import Plan, constant, sizes, team_of
from decpomdp.interaction.search.moves import hop
from decpomdp.interaction.search.neighbours import polish, refine
from decpomdp.interaction.search.settings import Search
from decpomdp.interaction.search.sizes import SCORING, Sizes, affordable, sizes_for, tiny
from decpomdp.interaction.search.starts import Start, portfolio
from decpomdp.interaction.search.trial import PATIENT, Tally, Verdict, eager, trial
from decpomdp.rollouts import as_simulator

POLISHING = 0.5  # of all steps, at most, for looking at the neighbours of the best plan
REFINING = 3  # every so many times it is those of a plan with more memory
BEGIN, PORTFOLIO, SEARCH = "begin", "portfolio", "search"  # phases


class SearchState(NamedTuple):
    """Between two rounds. Random numbers follow from the seed, the number of the round and that of the piece."""

    islands: list[Island]
    phase: str = BEGIN
    shown: bool = False  # whether the problem shows something before the first action
    affordable: float = 0.0  # joint steps, by which everything is sized
    tried: int = 0  # starts of the portfolio
    candidates: tuple[Island, ...] = ()  # the plans of those starts
    turn: int = 0
    searched: float = 0.0  # progress at the end of the portfolio
    polished: int = 0  # joint steps that looking at neighbours took
    hops: int = 0
    accepted: int = 0
    steps: int = 0
    iterations: int = 0  # rounds
    stopped: str = ""


class Attempt(NamedTuple):
    """The outcome of a hop, or of a fresh start, which has no plan that it began from."""

    plan: Plan | None
    kind: str
    candidate: Plan
    verdict: Verdict | None


class SearchMethod:
    """Runs `search` on a problem."""

    state: type = SearchState

    def __init__(self, problem: DecPOMDP | Simulator, settings: Search, inputs: Inputs) -> None:
        self.simulator = as_simulator(problem)
        if settings.horizon is None and self.simulator.discount >= 1:
            own = getattr(self.simulator, "horizon", None)
            if own is None:
                raise InputError("horizon: expected a number of steps, because the discount is 1; got none")
            settings = msgspec.structs.replace(settings, horizon=own)
        self.settings, self.inputs = settings, inputs
        self.player = player_of(self.simulator)
        self._starts: list[tuple[str, Start]] = []

    def sizes(self, steps: float) -> Sizes:
        """How large everything is if so many joint steps are affordable."""
        return sizes_for(self.settings, self.player.discount, steps)

    def starts(self, sizes: Sizes) -> list[tuple[str, Start]]:
        """The portfolio, made once."""
        self._starts = self._starts or portfolio(self.player, sizes)
        return self._starts

    def toy(self) -> "SearchMethod":
        """A model is played itself, with tiny sizes; any other simulator may be slow, and a toy takes its place."""
        toy = self.simulator if self.player.concurrent else ToySimulator(self.simulator)
        return _ToySearch(toy, self.settings, self.inputs)

    def init(self, now: Now) -> SearchState:
        """Every agent always does the same."""
        return SearchState([Island(constant(self.simulator), -np.inf, Tally())])

    def step(self, state: SearchState, now: Now) -> tuple[SearchState, list[Row]]:
        """One round, after a measurement of the speed if time is limited."""
        if state.phase == BEGIN:
            state = self._begin(state, now)
            if state.stopped or state.steps:
                return state, []
        work = _Round(self, state, now)
        stopped = ""
        try:
            work.play()
        except OutOfSteps:
            stopped = "steps"
        except Cut:  # the pieces that were finished count
            pass
        return work.packed(stopped), work.rows

    def _begin(self, state: SearchState, now: Now) -> SearchState:
        # a model, which is played by several workers, shows nothing before the first action
        shown = not self.player.concurrent and self.simulator.reset(1, self.inputs.seed) is not None
        try:
            steps, used = affordable(self.player, self.settings, now, self.inputs.threads)
        except OutOfSteps:
            return state._replace(shown=shown, stopped="steps")
        return state._replace(phase=PORTFOLIO, shown=shown, affordable=steps, steps=used)

    def result(self, state: SearchState) -> tuple[Fit, Row]:
        """The best team so far."""
        chosen = self.sizes(state.affordable)
        facts = {
            "affordable_steps": state.affordable,
            "max_nodes": chosen.max_nodes,
            "learning_horizon": chosen.learning,
            "testing_horizon": chosen.testing,
        }
        return Fit(team_of(state.islands[0].plan, self.simulator, state.shown), facts=facts), row_of(state, "finished")


def row_of(state: SearchState, event: str) -> Row:
    """A row of the trace."""
    best = state.islands[0]
    return {
        "steps": state.steps,
        "phase": state.phase,
        "event": event,
        "value": best.tally.mean,
        "error": best.tally.error,
        "nodes": "+".join(str(size) for size in sizes(best.plan)),
        "hops": state.hops,
        "accepted": state.accepted,
    }


class _Round:
    """The work of one step. A round that ends early leaves everything that was decided until then."""

    def __init__(self, method: SearchMethod, state: SearchState, now: Now) -> None:
        self.method, self.before, self.now, self.rows = method, state, now, list[Row]()
        self.seed = method.inputs.seed
        self.pool = Pool(method.player, now, method.inputs.threads)
        self.sizes = method.sizes(state.affordable)
        tuning = method.settings.tuning
        self.islands = Islands(state.islands, state.turn, tuning.islands, tuning.island_share)
        self.pieces = tuning.round if method.player.concurrent and not self.sizes.poor else 1
        self.number = state.iterations + 1
        self.phase, self.tried, self.candidates = state.phase, state.tried, list(state.candidates)
        self.searched, self.polished = state.searched, state.polished
        self.hops, self.accepted = state.hops, state.accepted
        self.progress = 0.0  # of the search after the portfolio, when the round began
        self.turns: list[int | None] = []  # of the round: which island every hop starts from

    def packed(self, stopped: str = "") -> SearchState:
        """The state now."""
        return SearchState(
            islands=self.islands.all,
            phase=self.phase,
            shown=self.before.shown,
            affordable=self.before.affordable,
            tried=self.tried,
            candidates=tuple(self.candidates),
            turn=self.islands.turn,
            searched=self.searched,
            polished=self.polished,
            hops=self.hops,
            accepted=self.accepted,
            steps=self.before.steps + self.pool.steps,
            iterations=self.number,
            stopped=stopped,
        )

    def play(self) -> None:
        """A round of the portfolio, or of the search that follows."""
        if self.phase == PORTFOLIO:
            share, starts = self.method.settings.tuning.portfolio_share, self.method.starts(self.sizes)
            if self.tried < len(starts) and (self.tried == 0 or self.now.progress <= share):
                self._portfolio(starts[self.tried : self.tried + self.pieces])
                return
            self.phase, self.searched, self.candidates = SEARCH, self.now.progress, []
        self.progress = min(1.0, (self.now.progress - self.searched) / max(1e-9, 1 - self.searched))
        if self._stuck():
            self._look_around()
        else:
            self.turns = self.islands.turns(self.pieces, self.progress)
            self._all(self._attempt)

    def _portfolio(self, starts: list[tuple[str, Start]]) -> None:
        """Phase 1: the best few of the portfolio."""
        plans = self.pool.round(len(starts), lambda k, player, rng: starts[k][1](player, rng), self.seed, self.number)
        self.candidates += [self._scored(plan) for plan in plans if plan is not None]
        self.islands.choose(self.candidates)
        self._record(f"{starts[0][0]} .. {starts[-1][0]}")
        if None in plans:
            self.pool.end()
        self.tried += len(starts)

    def _all(self, work: Work[Attempt]) -> None:
        """Phase 2: hops from the islands, and fresh starts; then their consequences."""
        results = self.pool.round(self.pieces, work, self.seed, self.number)
        for number, result in zip(self.turns, results, strict=True):
            if result is not None:
                self._consider(number, result)
        if None in results:
            self.pool.end()
        self._crown()

    def _crown(self) -> None:
        """A plan that seems better than the best one must beat it: scores are of few episodes, and partly luck."""
        rival = self.islands.rival
        if rival is not None:
            stages = eager(self.sizes.stages, self.progress)
            seed = draw_seed(np.random.default_rng([self.seed, self.number, self.pieces]))
            best = self.islands.best
            verdict = self.pool.alone(lambda player: trial(player, best.plan, rival.plan, stages, seed))
            self.islands.met(verdict)

    def _look_around(self) -> None:
        """A round for the neighbours of the best plan."""
        self.turns, before, steps = [0] * self.pieces, self.islands.best, self.pool.steps
        self._all(self._polish)
        self.polished += self.pool.steps - steps
        if self.islands.best.plan is before.plan:
            self.islands.all[0] = self.islands.best._replace(looked=before.looked + 1)

    def _stuck(self) -> bool:
        """Whether it is time for the neighbours of the best plan; chance that cannot be repeated hides their gains."""
        enough = self.sizes.contest >= self.sizes.stages.first * self.sizes.testing
        spared = self.polished <= POLISHING * self.before.steps
        return enough and spared and self.method.player.repeatable and self.islands.best.stuck

    def _polish(self, k: int, player: Player, rng: np.random.Generator) -> Attempt:
        plan, share = self.islands.best.plan, (k, self.pieces)
        if self.islands.best.looked % REFINING < REFINING - 1:
            kind, candidate = "polish", polish(player, plan, self.sizes, rng, share)
        else:
            kind, candidate = "refine", refine(player, plan, self.sizes, rng)
        stages = self.sizes.stages._replace(hope=PATIENT)
        return Attempt(plan, kind, candidate, trial(player, plan, candidate, stages, draw_seed(rng)))

    def _attempt(self, k: int, player: Player, rng: np.random.Generator) -> Attempt:
        number = self.turns[k]
        if number is None:
            starts = self.method.starts(self.sizes)
            name, start = starts[int(rng.integers(len(starts)))]
            return Attempt(None, f"fresh {name}", start(player, rng), None)
        plan = self.islands.all[number].plan
        kind, candidate = hop(player, plan, self.sizes.at(self.progress), rng, self.progress)
        stages = eager(self.sizes.stages, self.progress)
        return Attempt(plan, kind, candidate, trial(player, plan, candidate, stages, draw_seed(rng)))

    def _consider(self, number: int | None, attempt: Attempt) -> None:
        self.hops += 1
        if number is None or attempt.verdict is None:
            self.islands.add(self._scored(attempt.candidate))
            return
        island, verdict = self.islands.all[number], attempt.verdict
        if island.plan is not attempt.plan:  # the second gain of a round was measured without the first
            return
        self.islands.all[number] = island.tried(verdict)
        if verdict.accepted:
            self.accepted += 1
            idle = 0 if real(verdict) else island.idle + 1
            self.islands.all[number] = Island(attempt.candidate, island.score + verdict.gain, verdict.new, idle)
            # scored as all islands are; the line before stands if the round ends here
            self.islands.all[number] = self._scored(attempt.candidate)._replace(idle=idle)
            self._record(attempt.kind)

    def _scored(self, plan: Plan) -> Island:
        """Always on the same episodes, so that islands compare."""
        episodes, horizon = SCORING * self.sizes.stages.first, self.sizes.testing
        returns = self.pool.alone(lambda player: player.returns(plan, episodes, horizon, self.seed))
        return Island(plan, float(returns.mean()), Tally.of(returns))

    def _record(self, event: str) -> None:
        self.rows.append(row_of(self.packed(), event))


class ToySimulator:
    """A simulator of the same agents: everyone always sees their first observation, and rewards count the steps."""

    def __init__(self, simulator: Simulator) -> None:
        self.agents, self.discount, self.name = simulator.agents, simulator.discount, "toy"
        self.repeatable, self.hour = simulator.repeatable, 0

    def reset(self, episodes: int, seed: int) -> NDArray[np.int64] | None:
        """Start at the first step again."""
        self.hour = 0
        return np.zeros((episodes, len(self.agents)), np.int64)

    def step(self, actions: NDArray[np.integer]) -> Step:
        """Actions do not matter."""
        self.hour += 1
        return Step(np.zeros_like(actions), np.arange(len(actions)) + float(self.hour), np.zeros(len(actions), bool))


class _ToySearch(SearchMethod):
    """A search in which hardly anything is played: its first two rounds compile everything."""

    def sizes(self, steps: float) -> Sizes:
        return tiny(sizes_for(self.settings, self.player.discount, 0.0))
