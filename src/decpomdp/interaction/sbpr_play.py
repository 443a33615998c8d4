"""Playing against limits: every episode that the loop or MCEM plays is asked for here, counted and seeded.

The time, the joint steps or the iterations may run out; `Finished` then ends the learning. Steps are checked before
they are played, so what is done with them is a function of the seed alone.
"""

import json
from time import monotonic
from typing import NamedTuple

import numpy as np

from decpomdp.core import DecPOMDP, Episodes, InputError, Simulator, Team, concatenate
from decpomdp.interaction.arena import check_rewards
from decpomdp.rollouts import as_simulator, simulate

PIECE = 2000  # episodes played between two looks at the clock


class Finished(Exception):  # noqa: N818 - it is no error
    """A limit is reached; the text says which."""


class GroundState(NamedTuple):
    """What was played so far, and the random numbers to come."""

    random: str  # state of the generator
    steps: int
    seconds: float


class Ground:
    """A problem to be played, with its limits and random numbers."""

    def __init__(
        self,
        problem: DecPOMDP | Simulator,
        time_limit: float | None,
        steps: int | None,
        seed: int,
        threads: int | None,
    ) -> None:
        for name, value, least in (("time_limit", time_limit, 0), ("steps", steps, 1)):
            if value is not None and not value >= least:
                raise InputError(f"{name}: expected a number of at least {least}, got {value}")
        self.simulator = as_simulator(problem)
        self.began = monotonic()
        self.time_limit, self.limit, self.threads = time_limit, steps, threads
        self.rng = np.random.default_rng(seed)
        self.steps = 0
        self.shown = self.simulator.reset(1, seed) is not None

    @property
    def discount(self) -> float:
        """The problem's discount."""
        return self.simulator.discount

    def seconds(self) -> float:
        """Since the beginning."""
        return monotonic() - self.began

    def seed(self) -> int:
        """A fresh seed."""
        return int(self.rng.integers(1 << 62))

    def state(self) -> GroundState:
        """What it takes to go on from here later."""
        return GroundState(json.dumps(self.rng.bit_generator.state), self.steps, self.seconds())

    def go_on(self, kept: GroundState) -> None:
        """As if so much had been played just now."""
        self.rng.bit_generator.state = json.loads(kept.random)
        self.steps, self.began = kept.steps, monotonic() - kept.seconds

    def left(self) -> float:
        """Seconds until the time limit."""
        return float("inf") if self.time_limit is None else self.time_limit - self.seconds()

    def check(self, more: int = 0) -> None:
        """Raise Finished when the time is up or `more` steps are too many."""
        if self.limit is not None and self.steps + more > self.limit:
            raise Finished("steps")
        if self.time_limit is not None and self.seconds() >= self.time_limit:
            raise Finished("time limit")

    def play(self, team: Team, episodes: int, horizon: int, seed: int | None = None) -> Episodes:
        """Episodes of `team`, within the limits."""
        self.check(episodes * horizon)
        played = simulate(self.simulator, team, episodes, horizon, self.seed() if seed is None else seed, self.threads)
        self.steps += played.steps
        check_rewards(self.simulator.name, played.rewards)
        return played

    def play_some(self, team: Team, episodes: int, horizon: int, share: float) -> Episodes:
        """Up to `episodes` episodes, fewer when they would use up more than `share` of the limits; at least a piece."""
        if self.limit is not None:
            episodes = min(episodes, max(1, int(share * self.limit) // horizon))
        parts: list[Episodes] = []
        while episodes > 0:
            parts.append(self.play(team, min(PIECE, episodes), horizon))
            episodes -= parts[-1].count
            if self.time_limit is not None and self.seconds() > share * self.time_limit:
                break
        return concatenate(parts)

    def horizon(self, given: int | None, tail: float, longest: int) -> int:
        """Steps after which the rest is worth less than `tail` of the whole."""
        if given is not None:
            if given < 1:
                raise InputError(f"horizon: expected a whole number of at least 1, got {given}")
            return given
        if self.discount >= 1:
            raise InputError("horizon: expected a number of steps, because the discount is 1; got none")
        if self.discount <= 0:
            return 1
        return min(longest, int(np.ceil(np.log(tail) / np.log(self.discount))))


class Tested:
    """A team and what test episodes say of it."""

    __slots__ = ("error", "team", "value")

    def __init__(self, team: Team, value: float = float("nan"), error: float = float("nan")) -> None:
        self.team, self.value, self.error = team, value, error


def tested(ground: Ground, team: Team, episodes: int, horizon: int, seed: int) -> Tested:
    """Play `team`; the same seed gives repeatable simulators the same chance for every team."""
    returns = ground.play(team, episodes, horizon, seed).returns()
    return Tested(team, float(returns.mean()), float(returns.std() / np.sqrt(len(returns))))
