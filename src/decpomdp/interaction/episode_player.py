"""Playing episodes of teams within the limits of a run, and the base class of methods that learn from them.

A problem is played with `rollouts`, on threads or on the workers of a cluster. Every batch has its own seed, so with a
repeatable simulator the result is a function of the seed alone. Episodes come in pieces (a few episodes each for
thousands of agents or a slow simulator), and the stop flag is read between them. An interrupted batch is dropped; an
interrupted test uses the pieces played so far, at least one.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import DecPOMDP, Episodes, InputError, Simulator, Team, concatenate
from decpomdp.core.fit import Row
from decpomdp.core.model import horizon_of
from decpomdp.core.run import PROCESSOR_TIME, TIME_LIMIT, Inputs, Now, unlimited
from decpomdp.core.simulator import Step
from decpomdp.rollouts import DenseSimulator, as_simulator, stream
from decpomdp.rollouts.play import called, is_compiled

OUT_OF_TIME = (TIME_LIMIT, PROCESSOR_TIME)  # values of the stop flag that allow a last short test
LAST = 2.0  # times the duration of the last step: with less time left, the learned team is tested
PIECE = 2000  # random episodes of one step


class OutOfSteps(Exception):  # noqa: N818 - not an error
    """The step limit is reached; unfinished work is dropped."""


def draw_seed(rng: np.random.Generator) -> int:
    """A seed for episodes."""
    return int(rng.integers(1 << 62))


def own_horizon(simulator: Simulator) -> int:
    """The simulator's own horizon, for problems without a discount."""
    steps = getattr(simulator, "horizon", None)
    if steps is None:
        raise InputError("horizon: expected a number of steps, because the discount is 1; got none")
    return int(steps)


class Tested(NamedTuple):
    """A team and its mean return in test episodes."""

    team: Team
    value: float = float("nan")
    error: float = float("nan")  # standard error


class EpisodePlayer:
    """A problem with its random numbers and its count of joint steps.

    `begin` sets the state from which a step continues. Without it there are no limits.
    """

    def __init__(self, problem: DecPOMDP | Simulator, inputs: Inputs) -> None:
        self.simulator = as_simulator(problem)
        self.threads, self.engine, self._seed = inputs.threads, inputs.engine, inputs.seed
        self.random, self.steps, self.now = np.random.default_rng(inputs.seed), 0, unlimited()
        self.limit = np.inf  # joint steps of the run

    def begin(self, random: np.random.Generator, steps: int, now: Now) -> None:
        """Continue with the generator `random` after `steps` joint steps, within the limits of `now`."""
        _ = self.shown  # resets the simulator before anything is played
        self.random, self.steps, self.now, self.limit = random, steps, now, steps + now.steps

    @cached_property
    def shown(self) -> bool:
        """Whether agents have an observation before their first action."""
        return called(self.simulator, "reset", 1, self._seed) is not None

    @property
    def discount(self) -> float:
        """The problem's discount."""
        return self.simulator.discount

    def seed(self) -> int:
        """A fresh seed."""
        return draw_seed(self.random)

    def check(self, more: int) -> None:
        """Raise `OutOfSteps` if `more` steps exceed the limit, and `Cut` if the run is ending."""
        self.check_steps(more)
        self.now.check()

    def check_steps(self, more: int) -> None:
        """Raise `OutOfSteps` if `more` steps exceed the limit."""
        if self.steps + more > self.limit:
            raise OutOfSteps

    def affords(self, more: int) -> bool:
        """Whether `more` steps remain, and time for an iteration and a test."""
        return self.steps + more <= self.limit and self.now.seconds >= LAST * self.now.pace

    def play(self, team: Team, episodes: int, horizon: int) -> Episodes:
        """Episodes of `team`, within the limits."""
        self.check(episodes * horizon)
        parts, count = list[Episodes](), 0
        for part in self.stream(team, episodes, horizon, self.seed()):
            parts.append(part)
            self.steps += part.steps
            count += part.count
            if count < episodes:
                self.now.check()
        return concatenate(parts)

    def stream(self, team: Team, episodes: int, horizon: int, seed: int) -> Iterator[Episodes]:
        """Episodes of `team` piece by piece, without counting their steps; equal on threads and clusters."""
        return stream(self.simulator, team, episodes, horizon, seed, self.threads, engine=self.engine)

    def random_piece(
        self, team: Team, so_far: Sequence[Episodes], most: int, horizon: int, share: float, used: float
    ) -> Episodes | None:
        """The next piece of up to `most` episodes; None if there are enough or `share` of a limit is used up.

        `used`: the share of the time limit used so far.
        """
        if np.isfinite(self.limit):
            most = min(most, max(1, int(share * self.limit) // horizon))
        missing = most - sum(part.count for part in so_far)
        if missing <= 0 or (so_far and used > share):
            return None
        return self.play(team, min(PIECE, missing), horizon)

    def horizon(self, chosen: int | None, tail: float, longest: int) -> int:
        """The horizon of the settings or, without one, the steps after which discount^T is below `tail`."""
        if chosen is not None:
            return chosen
        return own_horizon(self.simulator) if self.discount >= 1 else horizon_of(self.discount, tail, longest)

    def tested(self, team: Team, episodes: int, horizon: int, seed: int) -> Tested:
        """Test a team; with the same seed, a repeatable simulator gives every team the same random events."""
        return self.all_tested([team], episodes, horizon, seed)[0]

    def all_tested(self, teams: Sequence[Team], episodes: int, horizon: int, seed: int) -> list[Tested]:
        """Test `teams` on the same episodes, piece by piece in turn."""
        self.check_steps(len(teams) * episodes * horizon)
        returns: list[list[NDArray[np.float64]]] = [[] for _ in teams]
        for parts in zip(*(self.stream(team, episodes, horizon, seed) for team in teams), strict=True):
            for own, part in zip(returns, parts, strict=True):
                self.steps += part.steps
                own.append(part.returns())
            if self.now.stopping:
                break
        return [_summary(team, np.concatenate(own)) for team, own in zip(teams, returns, strict=True)]

    def compared(self, best: Team, teams: Sequence[Team], episodes: int, horizon: int) -> tuple[Tested, Tested]:
        """The best team so far and the best of `teams`, tested on the same episodes."""
        first, *others = self.all_tested([best, *teams], episodes, horizon, self.seed())
        return first, max(others, key=lambda one: one.value)


def _summary(team: Team, returns: NDArray[np.float64]) -> Tested:
    return Tested(team, float(returns.mean()), float(returns.std() / np.sqrt(len(returns))))


class EpisodeMethod(ABC):
    """Base of the methods that play teams. Their states have a Generator `random` and a count of joint `steps`."""

    state: type
    at_once = 1  # small steps in one step of the driver; more in a warm-up

    def __init__(self, problem: DecPOMDP | Simulator, inputs: Inputs) -> None:
        self.inputs, self.player = inputs, EpisodePlayer(problem, inputs)
        if inputs.begin is not None:
            inputs.begin.check_fits(self.player.simulator)

    def step(self, state: Any, now: Now) -> tuple[Any, Row | None]:
        """The next step; the run ends if too few steps remain for it."""
        row = None
        for _ in range(self.at_once):
            self.player.begin(state.random, state.steps, now)
            try:
                state, row = self.advance(state, now)
            except OutOfSteps:
                state = state._replace(stopped="steps")
            state = state._replace(random=self.player.random, steps=self.player.steps)
            if state.stopped:
                break
        return state, row

    @abstractmethod
    def advance(self, state: Any, now: Now) -> tuple[Any, Row | None]:
        """One step; may raise `OutOfSteps` or `Cut`."""


def warm_up_problem(simulator: Simulator) -> Simulator:
    """The problem of a warm-up: a model itself, or an empty simulator; compiled simulators play an episode here."""
    if isinstance(simulator, DenseSimulator):
        return simulator
    if is_compiled(simulator):
        simulator.reset(1, 0)
        next(stream(simulator, Team.uniform(simulator), 1, 1))
    return EmptySimulator(simulator)


class EmptySimulator:
    """A simulator with (up to two of) the same agents, in which actions have no effect; rewards count the steps."""

    def __init__(self, simulator: Simulator) -> None:
        self.agents, self.discount, self.name = simulator.agents[:2], simulator.discount, "warm-up"
        self.repeatable, self.time = True, 0

    def reset(self, episodes: int, seed: int) -> NDArray[np.int64]:
        """Start a batch of episodes."""
        self.time = 0
        return np.zeros((episodes, len(self.agents)), np.int64)

    def step(self, actions: NDArray[np.integer]) -> Step:
        """The same observation for every agent."""
        self.time += 1
        return Step(np.zeros_like(actions), np.arange(len(actions)) + float(self.time), np.zeros(len(actions), bool))
