"""The result of `world`: a team, the fitted worlds, and the value of any team in them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import DecPOMDP, Fit, InputError, Team
from decpomdp.evaluation import exact_value
from decpomdp.worlds.data import Alphabet
from decpomdp.worlds.flat import before_first_step, world_of
from decpomdp.worlds.posterior import Posterior

RARE = 3.0  # expected visits below which a pair of state and joint action is rare in the episodes


@dataclass(frozen=True, slots=True, eq=False)
class Judgement:
    """The values of one team in the worlds that the episodes support.

    Attributes
    ----------
    values
        [w] in the posterior mean of every admitted world, the best world first.
    drawn
        [w, k] in k worlds drawn from the posterior of each.
    outside
        Share of the team's discounted steps in situations that are rare in the episodes, in the best world.
    """

    values: NDArray[np.float64]
    drawn: NDArray[np.float64]
    outside: float


@dataclass(frozen=True, slots=True)
class WorldFit(Fit):
    """A team learned from logged episodes, with the worlds that the episodes support.

    Attributes
    ----------
    team
        The learned team.
    world
        The posterior mean of the best world: a Dec-POMDP that can be saved, planned on and simulated.
    posteriors
        All admitted worlds, the best first.
    alphabet
        The symbols of the episodes: actions, observations, reward values and discount.
    trace, stopped, seconds, settings, seed, facts
        As in `Fit`. Facts: `value` of the team in the world, `low` and `high` of its interval (None if there is none),
        `states`, `memory`, `worlds`, `outside` (share of the team's steps in situations that are rare in the episodes)
        and `warnings`.

    Examples
    --------
    >>> import warnings
    >>> import decpomdp as dp
    >>> episodes = dp.simulate("dectiger", "random", episodes=60, horizon=10, seed=1)
    >>> with warnings.catch_warnings(action="ignore"):  # so few iterations give no interval
    ...     fit = dp.learn(episodes, "world", iterations=20, seed=1)
    >>> fit.world.joint_actions
    9
    >>> listening = dp.Team.of(episodes, [dp.Controller.deterministic([0], [[0, 0]], 3)] * 2)
    >>> print(f"{fit.judge(listening).values[0]:.1f}")
    -20.0
    """

    world: DecPOMDP | None = None
    posteriors: tuple[Posterior, ...] = ()
    alphabet: Alphabet | None = None

    def draw(self, seed: int = 0) -> DecPOMDP:
        """A world drawn from the posterior of the best one."""
        tables = self.posteriors[0].draw(np.random.default_rng(seed)) if self.posteriors else None
        return world_of(self._alphabet("draw"), self.posteriors[0], tables, "drawn world")

    def judge(self, team: Team, draws: int = 10, seed: int = 0) -> Judgement:
        """The values of any team in the fitted worlds, with the treatment of rare steps that the fit used."""
        alphabet = self._alphabet("judge")
        values, drawn = [], []
        for w, posterior in enumerate(self.posteriors):
            mean = world_of(alphabet, posterior, cautious=not posterior.trusted)
            values.append(value_in(alphabet, mean, team))
            rngs = [np.random.default_rng([seed, w, k]) for k in range(draws)]
            worlds = (
                world_of(alphabet, posterior, posterior.draw(rng), cautious=not posterior.trusted) for rng in rngs
            )
            drawn.append([value_in(alphabet, world, team) for world in worlds])
        outside = visits_outside(team, self.posteriors[0], alphabet)
        return Judgement(np.array(values), np.array(drawn), outside)

    def _alphabet(self, caller: str) -> Alphabet:
        if self.alphabet is None:
            raise InputError(f"{caller}: expected a fit with a world, got one that was stopped earlier")
        return self.alphabet


def value_in(alphabet: Alphabet, world: DecPOMDP, team: Team, check: Callable[[], None] | None = None) -> float:
    """The exact value, unless `check` raises an error; an extra first step is not counted."""
    if not alphabet.first:
        return exact_value(world, team, check=check).value
    value = exact_value(world, before_first_step(team), check=check).value
    return value / world.discount if world.discount > 0 else value


def visits_outside(team: Team, posterior: Posterior, alphabet: Alphabet) -> float:
    """Share of the team's discounted steps in pairs of state and joint action that are rare in the episodes."""
    rare = (posterior.counts.pay.sum(-1) < RARE) * (1 - alphabet.discount)  # [v, z]
    return float(np.clip(value_in(alphabet, world_of(alphabet, posterior, paid=rare), team), 0.0, 1.0))
