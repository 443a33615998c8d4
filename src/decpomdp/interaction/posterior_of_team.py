"""The posterior of a learned or planned team, from fresh episodes.

The team plays fresh episodes with a little exploration, and a few sweeps of Dec-SBPR start from it. Nodes that these
episodes do not need lose their weight, so the sizes of the posterior are inferred sizes.

It is a run of the driver: the time limit and Ctrl-C end it with the posterior so far. A model, or a simulator with
compiled code, plays all episodes at once; other simulators play a few at a time until half of the time is used.
"""

import warnings
from typing import NamedTuple

from decpomdp.core import DecPOMDP, Episodes, Fit, InputError, Row, Simulator, checks, concatenate
from decpomdp.core.errors import LearningWarning
from decpomdp.core.model import horizon_of
from decpomdp.core.run import Budget, Inputs, Now, run
from decpomdp.domains.load import opened
from decpomdp.learners.method import FitState, SbprMethod, toy_method
from decpomdp.learners.posterior import BayesFit
from decpomdp.learners.settings import Sbpr
from decpomdp.rollouts import as_simulator, simulate
from decpomdp.rollouts.play import TeamPlayer

EPISODES = 2000
SECONDS = 20.0
PIECE = 10  # episodes that a slow simulator plays at a time
EXPLORATION = 0.02  # enough to see alternatives, but not enough to disturb coordination
TAIL = 0.05  # discount^T: later steps have little weight, and ratios grow with every step
LONGEST = 100  # steps of an episode, at most
SWEEPS = 10  # two proposals of smaller sizes
SPARE = 2  # nodes in addition to the team's own


def read_out(
    problem: DecPOMDP | Simulator,
    fit: Fit,
    *,
    episodes: int = EPISODES,
    time_limit: float = SECONDS,
    seed: int = 0,
    threads: int | None = None,
) -> BayesFit:
    """`fit` with a posterior; see `Fit.with_posterior`."""
    if not isinstance(fit, Fit):
        raise InputError(f"fit: expected the result of learning or planning, got {type(fit).__name__}")
    most = checks.whole("episodes", episodes, 1, 2**53)
    budget = Budget(seconds=checks.number("time_limit", time_limit, 0.0, 1e9))
    inputs = Inputs(checks.whole("seed", seed, 0, 2**63 - 1), checks.threads(threads), begin=fit.team)
    method = PosteriorMethod(as_simulator(opened(problem)), most, inputs)
    with warnings.catch_warnings():  # few effective episodes are expected here
        warnings.simplefilter("ignore", LearningWarning)
        fitted = run(method, budget).fit
    posterior = fitted.posterior if isinstance(fitted, BayesFit) else None
    return BayesFit(fit.team, fit.trace, fit.stopped, fit.seconds, fit.settings, fit.seed, fit.facts, posterior)


class PosteriorState(NamedTuple):
    """Episodes so far, then the fit."""

    played: tuple[Episodes, ...] = ()
    fit: FitState | None = None
    steps: int = 0
    iterations: int = 0
    stopped: str = ""


class PosteriorMethod:
    """Plays a team (`inputs.begin`), then fits a posterior that begins with it."""

    state: type = PosteriorState

    def __init__(self, simulator: Simulator, episodes: int, inputs: Inputs) -> None:
        if inputs.begin is None:
            raise InputError("begin: expected a team, got None")
        self.simulator, self.inputs, self.team, self.episodes = simulator, inputs, inputs.begin, episodes
        self.horizon = horizon_of(self.team.discount, TAIL, LONGEST)
        slow = not isinstance(simulator, TeamPlayer)
        self.piece = min(PIECE, getattr(simulator, "piece", PIECE)) if slow else episodes
        self.settings = Sbpr(truncation=max(self.team.nodes) + SPARE, sweeps=SWEEPS)
        self._fitting: SbprMethod | None = None

    def toy(self) -> SbprMethod:
        """The sweeps on a toy problem; the simulator is already compiled."""
        return toy_method(self.settings, self.inputs.threads)

    def init(self, now: Now) -> PosteriorState:
        return PosteriorState()

    def step(self, state: PosteriorState, now: Now) -> tuple[PosteriorState, Row | None]:
        """Play some episodes, or sweep over them."""
        played = sum(batch.count for batch in state.played)
        if state.fit is None and played < self.episodes and (now.progress < 0.5 or not played):
            return self._play(state, min(self.piece, self.episodes - played)), None
        fitting = self._fitted(state)
        fit, _ = fitting.step(fitting.init(now) if state.fit is None else state.fit, now)
        return state._replace(fit=fit, iterations=fit.iterations, stopped=fit.stopped), None

    def result(self, state: PosteriorState) -> tuple[Fit, None]:
        """The posterior; None if the time was too short."""
        return (Fit(self.team) if state.fit is None else self._fitted(state).result(state.fit)[0]), None

    def _play(self, state: PosteriorState, count: int) -> PosteriorState:
        team, seed = self.team.exploring(EXPLORATION), self.inputs.seed + len(state.played)
        batch = simulate(self.simulator, team, count, self.horizon, seed, self.inputs.threads)
        return state._replace(played=(*state.played, batch), steps=state.steps + batch.steps)

    def _fitted(self, state: PosteriorState) -> SbprMethod:
        if self._fitting is None:
            data = concatenate(list(state.played))
            if not data.rewards.any() or data.rewards.min() == data.rewards.max():
                raise InputError(
                    "posterior: all rewards of the team's episodes are equal; there is nothing to learn from"
                )
            self._fitting = SbprMethod(data, self.settings, self.inputs)
        return self._fitting
