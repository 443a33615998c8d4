"""The default method of learning by interaction: a portfolio of starts, then iterated local search.

    islands = the best of the portfolio, large and small
    repeat: hop from an island; accept a candidate if it is better in a paired test on fresh episodes;
            replace islands with low scores; when the best one is stuck, evaluate all its neighbours

The result at any moment is the best team so far, already folded and within the size cap. A step is one round: a fixed
number of pieces of work, each with its own random numbers, and then decisions in a fixed order. The result is a
function of the seed and the number of steps, not of the threads; only a time limit interrupts a round.
"""

from typing import Any, NamedTuple

import msgspec
import numpy as np

from decpomdp.core import DecPOMDP, Simulator
from decpomdp.core.fit import Fit, Row
from decpomdp.core.run import Cut, Inputs, Now
from decpomdp.interaction.episode_player import EmptySimulator, OutOfSteps, draw_seed, own_horizon
from decpomdp.interaction.search.islands import Island, Islands, real
from decpomdp.interaction.search.machines import Plan, constant, sizes, team_of
from decpomdp.interaction.search.moves import hop
from decpomdp.interaction.search.neighbours import polish, refine
from decpomdp.interaction.search.players import Player, Pool, Work, player_of
from decpomdp.interaction.search.settings import Search
from decpomdp.interaction.search.sizes import SCORING, Sizes, affordable, reduced, sizes_for
from decpomdp.interaction.search.starts import Start, portfolio
from decpomdp.interaction.search.trial import PATIENT, ReturnSums, TrialResult, eager, trial
from decpomdp.rollouts import as_simulator
from decpomdp.rollouts.play import called

POLISHING = 0.5  # of all steps, at most, for the neighbours of the best plan
REFINING = 3  # every third time, the neighbours of a plan with more memory
BEGIN, PORTFOLIO, SEARCH = "begin", "portfolio", "search"  # phases


class SearchState(NamedTuple):
    """Between two rounds. Random numbers depend on the seed, the number of the round and that of the piece only."""

    islands: list[Island]
    phase: str = BEGIN
    shown: bool = False  # whether there is an observation before the first action
    affordable: float = 0.0  # joint steps, which determine all sizes
    tried: int = 0  # starts of the portfolio
    candidates: tuple[Island, ...] = ()  # the plans of those starts
    turn: int = 0
    searched: float = 0.0  # progress at the end of the portfolio
    polished: int = 0  # joint steps spent on neighbours
    hops: int = 0
    accepted: int = 0
    steps: int = 0
    iterations: int = 0  # rounds
    stopped: str = ""


class Attempt(NamedTuple):
    """The outcome of a hop or of a fresh start."""

    plan: Plan | None  # before the hop; None: a fresh start
    kind: str
    candidate: Plan
    verdict: TrialResult | None


class SearchMethod:
    """Runs `search` on a problem."""

    state: type = SearchState

    def __init__(self, problem: DecPOMDP | Simulator, settings: Search, inputs: Inputs) -> None:
        self.simulator = as_simulator(problem)
        if settings.horizon is None and self.simulator.discount >= 1:
            settings = msgspec.structs.replace(settings, horizon=own_horizon(self.simulator))
        self.settings, self.inputs = settings, inputs
        self.player = player_of(self.simulator)
        self._starts: tuple[Sizes, list[tuple[str, Start]]] | None = None

    def sizes(self, steps: float) -> Sizes:
        """Sizes for `steps` affordable joint steps."""
        return sizes_for(self.settings, self.player.discount, steps)

    def starts(self, sizes: Sizes) -> list[tuple[str, Start]]:
        """The portfolio, made once for these sizes."""
        if self._starts is None or self._starts[0] != sizes:
            self._starts = sizes, portfolio(self.player, sizes)
        return self._starts[1]

    def toy(self) -> "SearchMethod":
        """This method with the smallest sizes; simulators other than models may be slow and are replaced."""
        toy = self.simulator if self.player.concurrent else EmptySimulator(self.simulator)
        return _ToySearch(toy, msgspec.structs.replace(self.settings, horizon=2), self.inputs)

    def init(self, now: Now) -> SearchState:
        """A team of constant actions."""
        return SearchState([Island(constant(self.simulator), -np.inf, ReturnSums())])

    def step(self, state: SearchState, now: Now) -> tuple[SearchState, list[Row]]:
        """One round, after a measurement of the speed if time is limited."""
        if state.phase == BEGIN:
            state = self._begin(state, now)
            if state.stopped or state.steps:
                return state, []
        state = state._replace(affordable=reduced(state.affordable, state.steps, now))
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
        shown = not self.player.concurrent and called(self.simulator, "reset", 1, self.inputs.seed) is not None
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
    """The work of one step. A round that ends early keeps the decisions made until then."""

    def __init__(self, method: SearchMethod, state: SearchState, now: Now) -> None:
        self.method, self.state, self.now, self.rows = method, state, now, list[Row]()
        self.seed = method.inputs.seed
        self.pool = Pool(method.player, now, method.inputs.threads)
        self.sizes = method.sizes(state.affordable)
        tuning = method.settings.tuning
        self.islands = Islands(state.islands, state.turn, tuning.islands, tuning.island_share)
        self.pieces = tuning.round if method.player.concurrent and not self.sizes.poor else 1
        self.number = state.iterations + 1
        self.progress = 0.0  # of the search after the portfolio, when the round began
        self.turns: list[int | None] = []  # of the round: which island every hop starts from

    def packed(self, stopped: str = "") -> SearchState:
        """The state now."""
        steps, islands = self.state.steps + self.pool.steps, self.islands
        return self.state._replace(
            islands=islands.all, turn=islands.turn, steps=steps, iterations=self.number, stopped=stopped
        )

    def update(self, **fields: Any) -> None:
        """Change fields of the state other than those of `packed`."""
        self.state = self.state._replace(**fields)

    def play(self) -> None:
        """A round of the portfolio, or of the search that follows."""
        if self.state.phase == PORTFOLIO:
            share, starts = self.method.settings.tuning.portfolio_share, self.method.starts(self.sizes)
            tried = self.state.tried
            if tried < len(starts) and (tried == 0 or self.now.progress <= share):
                self._portfolio(starts[tried : tried + self.pieces])
                return
            self.update(phase=SEARCH, searched=self.now.progress, candidates=())
        searched = self.state.searched
        self.progress = min(1.0, (self.now.progress - searched) / max(1e-9, 1 - searched))
        if self._stuck():
            self._look_around()
        else:
            self.turns = self.islands.turns(self.pieces, self.progress)
            self._all(self._attempt)

    def _portfolio(self, starts: list[tuple[str, Start]]) -> None:
        """Phase 1: some starts of the portfolio."""
        plans = self.pool.round(len(starts), lambda k, player, rng: starts[k][1](player, rng), self.seed, self.number)
        candidates = (*self.state.candidates, *(self._scored(plan) for plan in plans if plan is not None))
        self.update(candidates=candidates)
        self.islands.choose(candidates)
        self._record(f"{starts[0][0]} .. {starts[-1][0]}")
        if None in plans:
            self.pool.end()
        self.update(tried=self.state.tried + len(starts))

    def _all(self, work: Work[Attempt]) -> None:
        """Phase 2: hops from the islands, and fresh starts; then the decisions."""
        results = self.pool.round(self.pieces, work, self.seed, self.number)
        for number, result in zip(self.turns, results, strict=True):
            if result is not None:
                self._consider(number, result)
        if None in results:
            self.pool.end()
        self._crown()

    def _crown(self) -> None:
        """A trial of an island with a higher score against the best one: scores are noisy."""
        rival = self.islands.rival
        if rival is not None:
            stages = eager(self.sizes.stages, self.progress)
            seed = draw_seed(np.random.default_rng([self.seed, self.number, self.pieces]))
            best = self.islands.best
            verdict = self.pool.alone(lambda player: trial(player, best.plan, rival.plan, stages, seed))
            self.islands.resolve(verdict)

    def _look_around(self) -> None:
        """A round for the neighbours of the best plan."""
        self.turns, before, steps = [0] * self.pieces, self.islands.best, self.pool.steps
        self._all(self._polish)
        self.update(polished=self.state.polished + self.pool.steps - steps)
        if self.islands.best.plan is before.plan:
            self.islands.all[0] = self.islands.best._replace(looked=before.looked + 1)

    def _stuck(self) -> bool:
        """Whether to evaluate the neighbours of the best plan; their small gains need repeatable episodes."""
        enough = self.sizes.contest >= self.sizes.stages.first * self.sizes.testing
        spared = self.state.polished <= POLISHING * self.state.steps
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
        self.update(hops=self.state.hops + 1)
        if number is None or attempt.verdict is None:
            self.islands.add(self._scored(attempt.candidate))
            return
        island, verdict = self.islands.all[number], attempt.verdict
        if island.plan is not attempt.plan:  # another hop of this round has already replaced it
            return
        self.islands.all[number] = island.tried(verdict)
        if verdict.accepted:
            self.update(accepted=self.state.accepted + 1)
            idle = 0 if real(verdict) else island.idle + 1
            self.islands.all[number] = Island(attempt.candidate, island.score + verdict.gain, verdict.new, idle)
            # the score on the common episodes; the estimate above remains if the round ends here
            self.islands.all[number] = self._scored(attempt.candidate)._replace(idle=idle)
            self._record(attempt.kind)

    def _scored(self, plan: Plan) -> Island:
        """Score a plan, always on the same episodes."""
        episodes, horizon = SCORING * self.sizes.stages.first, self.sizes.testing
        returns = self.pool.alone(lambda player: player.returns(plan, episodes, horizon, self.seed))
        return Island(plan, float(returns.mean()), ReturnSums.of(returns))

    def _record(self, event: str) -> None:
        self.rows.append(row_of(self.packed(), event))


class _ToySearch(SearchMethod):
    """A search with the smallest sizes: its first two rounds compile everything."""

    def sizes(self, steps: float) -> Sizes:
        return sizes_for(self.settings, self.player.discount, 0.0)
