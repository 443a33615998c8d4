"""The protocol of environments without a model. Methods that learn by interaction accept a model or a simulator.

A simulator plays a batch of independent episodes side by side. `reset` starts them, `step` advances all of them by
one joint action each. Rows of finished episodes are ignored. A `repeatable` simulator gives the same batch for
the same seed and the same actions; paired comparisons need that.
"""

from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from decpomdp.core.agent import Agent


class Step(NamedTuple):
    """The results of a batch of joint actions.

    Attributes
    ----------
    observations
        [k, n]: the next observation of each agent, as numbers.
    rewards
        [k]: the team's reward.
    ended
        [k]: the episode is over.

    Examples
    --------
    >>> import decpomdp as dp
    >>> simulator = dp.DenseSimulator(dp.load("dectiger"))
    >>> simulator.reset(episodes=2, seed=0)
    >>> step = simulator.step([[0, 0], [0, 0]])  # all agents listen, in both episodes
    >>> step.rewards.tolist(), step.ended.tolist()
    ([-2.0, -2.0], [False, False])
    """

    observations: NDArray[np.integer]  # [k, n] the next observations
    rewards: NDArray[np.floating]  # [k] the team's reward
    ended: NDArray[np.bool_]  # [k] the episode is over


@runtime_checkable
class Simulator(Protocol):
    """Batch reset and batch step with discrete local actions and observations and one team reward.

    Any object with these six members is a simulator; no base class is needed.

    Attributes
    ----------
    agents
        The agents, with their actions and observations.
    discount
        Discount of the team's rewards, from 0 to 1.
    name
        Name of the problem, for reports.
    repeatable
        Whether the same seed and the same actions give the same batch; teams are then compared on the same seeds.

    Examples
    --------
    >>> import numpy as np
    >>> import decpomdp as dp
    >>> class Pennies:
    ...     name, discount, repeatable = "pennies", 0.5, True
    ...     agents = tuple(dp.Agent(name, ("heads", "tails"), ("shown",)) for name in ("ann", "bob"))
    ...
    ...     def reset(self, episodes, seed):
    ...         return None  # no observation before the first action
    ...
    ...     def step(self, actions):
    ...         same = actions[:, 0] == actions[:, 1]
    ...         return dp.Step(np.zeros_like(actions), same.astype(float), np.zeros(len(actions), bool))
    >>> isinstance(Pennies(), dp.Simulator)
    True
    >>> dp.simulate(Pennies(), episodes=3, horizon=2).steps
    6
    """

    @property
    def agents(self) -> tuple[Agent, ...]: ...
    @property
    def discount(self) -> float: ...
    @property
    def name(self) -> str: ...
    @property
    def repeatable(self) -> bool: ...

    def reset(self, episodes: int, seed: int) -> NDArray[np.integer] | None:
        """Start `episodes` new episodes; [k, n] the observations before the first action, None if there are none."""
        ...

    def step(self, actions: NDArray[np.integer]) -> Step:
        """Take actions[k, n] in every episode."""
        ...
