"""A fit with the worlds that it was planned in."""

from dataclasses import dataclass

import numpy as np

from decpomdp.core import DecPOMDP, Fit, InputError, Team
from decpomdp.evaluation import exact_value
from decpomdp.worlds.data import Alphabet
from decpomdp.worlds.flat import world_of
from decpomdp.worlds.posterior import Posterior

RARE = 3.0  # expected visits of a state and joint action below which the episodes hardly have it


@dataclass(frozen=True, slots=True)
class WorldFit(Fit):
    """A team learned from logged episodes, with the worlds that the episodes support.

    Attributes
    ----------
    team
        What was learned.
    world
        The posterior mean of the best world: a Dec-POMDP that can be saved, planned on and simulated.
    posteriors
        All admitted worlds, the best first.
    alphabet
        The symbols of the episodes: actions, observations, reward values and discount.
    trace, stopped, seconds, settings, seed, facts
        As in `Fit`. Facts: `value` of the team in the world, `low` and `high` of its interval (None where the episodes
        do not support one), `states`, `memory`, `worlds`, `outside` (share of the team's steps where the episodes
        hardly went) and `warnings`.

    Examples
    --------
    >>> import warnings
    >>> import decpomdp as dp
    >>> episodes = dp.simulate("dectiger", "random", episodes=300, horizon=20, seed=1)
    >>> with warnings.catch_warnings(action="ignore"):  # so few iterations give no interval
    ...     fit = dp.learn(episodes, "world", iterations=40, seed=1)
    >>> fit.world.joint_actions
    9
    """

    world: DecPOMDP | None = None
    posteriors: tuple[Posterior, ...] = ()
    alphabet: Alphabet | None = None

    def draw(self, seed: int = 0) -> DecPOMDP:
        """A world drawn from the posterior of the best one."""
        if self.alphabet is None:
            raise InputError("draw: expected a fit with a world, got one that was stopped before")
        tables = self.posteriors[0].draw(np.random.default_rng(seed))
        return world_of(self.alphabet, self.posteriors[0], tables, "drawn world")


def visits_outside(team: Team, posterior: Posterior, alphabet: Alphabet) -> float:
    """Share of the team's discounted steps in pairs of state and joint action that the episodes hardly have."""
    rare = (posterior.counts.pay.sum(-1) < RARE) * (1 - alphabet.discount)  # [v, z]
    return float(np.clip(exact_value(world_of(alphabet, posterior, paid=rare), team).value, 0.0, 1.0))
