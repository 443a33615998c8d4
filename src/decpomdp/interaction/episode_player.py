"""Playing against limits: every episode that the loop or MCEM plays is asked for here, counted and seeded.

The time, the joint steps or the iterations may run out; `Finished` then ends the learning. Steps are checked before
they are played, so what is done with them is a function of the seed alone. Time is looked at between the pieces of a
batch and of a test too: a piece of thousands of agents is a few episodes. A test that runs out of time is decided by
the pieces that were played; a batch that does is dropped.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from time import monotonic
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import DecPOMDP, Episodes, InputError, Simulator, Team, concatenate
from decpomdp.core.horizon import horizon_of
from decpomdp.engines.cluster import Cluster
from decpomdp.interaction.players import check_rewards
from decpomdp.rollouts import as_simulator, stream

Floats = NDArray[np.float64]

PIECE = 2000  # episodes played between two looks at the clock
TIME = "time limit"  # why it ended
TESTING = 1 / 8  # of the time limit, that one test may take ...
GRACE = 0.05  # ... and at the end of it even if it is over
PAUSE = 3.0  # seconds without news after which the heartbeat is called


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
        engine: Cluster | None = None,
    ) -> None:
        for name, value, least in (("time_limit", time_limit, 0), ("steps", steps, 1)):
            if value is not None and not value >= least:
                raise InputError(f"{name}: expected a number of at least {least}, got {value}")
        self.simulator = as_simulator(problem)
        self.began = monotonic()
        self.time_limit, self.limit = time_limit, steps
        self.threads, self.engine = threads, engine  # who plays: threads of this machine, or the workers of a cluster
        self.rng = np.random.default_rng(seed)
        self.steps = 0
        self.shown = self.simulator.reset(1, seed) is not None
        self.heartbeat: Callable[[], None] = lambda: None  # for whoever looks on
        self._beaten = monotonic()

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

    def share(self) -> float:
        """Part of the time that is used up; 0 when it is not limited."""
        return 0.0 if not self.time_limit else self.seconds() / self.time_limit

    def check(self, more: int = 0) -> None:
        """Raise Finished when the time is up or `more` steps are too many; let the heart beat."""
        self.check_steps(more)
        if self.time_limit is not None and self.seconds() >= self.time_limit:
            raise Finished(TIME)
        self.beat()

    def check_steps(self, more: int) -> None:
        """Raise Finished when `more` steps are too many."""
        if self.limit is not None and self.steps + more > self.limit:
            raise Finished("steps")

    def beat(self) -> None:
        """Tell whoever looks on that the work goes on, if it was a while ago."""
        if monotonic() - self._beaten > PAUSE:
            self.told()
            self.heartbeat()

    def told(self) -> None:
        """There was news just now."""
        self._beaten = monotonic()

    def play(self, team: Team, episodes: int, horizon: int, seed: int | None = None) -> Episodes:
        """Episodes of `team`, within the limits."""
        self.check(episodes * horizon)
        key = self.seed() if seed is None else seed
        parts, count = list[Episodes](), 0
        for part in self.stream(team, episodes, horizon, key):
            parts.append(part)
            self.counted(part)
            count += part.count
            if count < episodes:
                self.check()
        return concatenate(parts)

    def stream(self, team: Team, episodes: int, horizon: int, seed: int) -> Iterator[Episodes]:
        """Episodes of `team`, piece by piece, whatever the limits; the same wherever they are played."""
        return stream(self.simulator, team, episodes, horizon, seed, self.threads, engine=self.engine)

    def counted(self, part: Episodes) -> None:
        """Count the steps of episodes that were played, and look at their rewards."""
        self.steps += part.steps
        check_rewards(self.simulator.name, part.rewards)

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
        return horizon_of(self.discount, tail, longest)


class Tested:
    """A team and what test episodes say of it."""

    __slots__ = ("error", "team", "value")

    def __init__(self, team: Team, value: float = float("nan"), error: float = float("nan")) -> None:
        self.team, self.value, self.error = team, value, error


def tested(ground: Ground, team: Team, episodes: int, horizon: int, seed: int) -> Tested:
    """Play `team`; the same seed gives repeatable simulators the same chance for every team."""
    return _told(team, [ground.play(team, episodes, horizon, seed).returns()])


def contested(ground: Ground, teams: Sequence[Team], episodes: int, horizon: int, seed: int) -> list[Tested]:
    """Test `teams` on the same episodes, a piece of each by turns.

    When time is limited, a test takes no more than a share of it: the pieces that all have played then decide. At least
    one piece is played, and some time may be used beyond the limit: without a test all would be for nothing.
    """
    ground.check_steps(len(teams) * episodes * horizon)
    limit = np.inf if ground.time_limit is None else ground.time_limit
    until = ground.seconds() + max(GRACE * limit, min(ground.left(), TESTING * limit))
    returns: list[list[Floats]] = [[] for _ in teams]
    playing = [ground.stream(team, episodes, horizon, seed) for team in teams]
    for parts in zip(*playing, strict=True):
        for own, part in zip(returns, parts, strict=True):
            ground.counted(part)
            own.append(part.returns())
        if ground.seconds() >= until:
            break
        ground.beat()
    return [_told(team, own) for team, own in zip(teams, returns, strict=True)]


def _told(team: Team, parts: list[Floats]) -> Tested:
    returns = np.concatenate(parts)
    return Tested(team, float(returns.mean()), float(returns.std() / np.sqrt(len(returns))))
