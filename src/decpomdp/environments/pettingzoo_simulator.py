"""Environments of other people as a simulator to learn from: the core `Simulator` protocol around a pool of them.

A batch of k episodes is played in k environments of one maker, kept and used again for the next batch. Episode i of a
batch is reset with the i-th number that the batch's seed generates. What an environment shows at reset is kept: it is
what the agents see before their first action.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import NO_OBSERVATION, Agent, InputError, Step
from decpomdp.core.agent import check_symbols
from decpomdp.core.checks import array, kind_of, truth, whole
from decpomdp.core.model import checked_discount
from decpomdp.environments.discretiser import Discretise
from decpomdp.environments.hosting import (
    ActionNames,
    Combine,
    Hosted,
    combiner,
    members_of,
    name_of,
    opened,
    theirs,
)

TRIAL = 25  # steps of the two episodes that tell whether an environment repeats itself


class PettingZooSimulator:
    """Implements the Simulator protocol; made by `from_pettingzoo`.

    Parameters
    ----------
    make_env, discretise, discount, horizon, reward, action_names, repeatable
        As in `from_pettingzoo`.

    Examples
    --------
    >>> import decpomdp as dp
    >>> simulator = dp.from_pettingzoo(lambda: dp.parallel_env("dectiger", horizon=10))
    >>> isinstance(simulator, dp.PettingZooSimulator), simulator.repeatable
    (True, True)
    >>> simulator.close()
    """

    def __init__(
        self,
        make_env: Callable[[], Any],
        discretise: Discretise,
        discount: float,
        horizon: int | None,
        reward: str | Combine,
        action_names: ActionNames,
        repeatable: bool | None,
    ) -> None:
        self._make = make_env
        first = opened(_made(make_env))
        self._members = members_of(first, discretise, action_names)
        self._combine = combiner(reward, len(self._members))
        self.horizon = None if horizon is None else whole("horizon", horizon, 1, 2**53)
        self._pool = [Hosted(first, self._members, self._combine)]
        self._playing: list[Hosted] = []
        self._time = 0
        self.agents: tuple[Agent, ...] = tuple(member.agent for member in self._members)
        self.discount = checked_discount(discount)
        self.name = name_of(first)
        self.repeatable = self._repeats() if repeatable is None else truth("repeatable", repeatable)

    def reset(self, episodes: int, seed: int) -> NDArray[np.int64] | None:
        """[k, n] what is seen before the first action; None when nobody sees anything."""
        count, key = whole("episodes", episodes, 1, 2**31), whole("seed", seed, 0, 2**64 - 1)
        self._grow(count)
        self._playing, self._time = self._pool[:count], 0
        seeds = np.random.SeedSequence(key).generate_state(count) >> 1
        for hosted, own in zip(self._playing, seeds.tolist(), strict=True):
            hosted.reset(own)
        seen = self._seen()
        if np.all(seen == NO_OBSERVATION):
            return None
        if np.any(seen == NO_OBSERVATION):
            raise InputError(f"environment {self.name}: expected every agent or none to see something at reset")
        return seen

    def step(self, actions: NDArray[np.integer]) -> Step:
        """Take actions[k, n]; episodes that have ended stay as they are and pay nothing."""
        chosen = array("actions", actions, "k, n", (len(self._playing), len(self.agents)), np.int64)
        check_symbols("actions", "action", chosen, self.agents)
        rewards = np.zeros(len(chosen))
        for k, (hosted, row) in enumerate(zip(self._playing, chosen.tolist(), strict=True)):
            if not hosted.ended:
                rewards[k] = hosted.step(row)
        self._time += 1
        ended = np.array([hosted.ended for hosted in self._playing]) | (self._time >= (self.horizon or np.inf))
        return Step(np.maximum(self._seen(), 0), rewards, ended)

    def close(self) -> None:
        """Close every environment; the next reset makes new ones."""
        for hosted in self._pool:
            hosted.env.close()
        self._pool, self._playing = [], []

    def _grow(self, episodes: int) -> None:
        for _ in range(episodes - len(self._pool)):
            env = opened(_made(self._make))
            if any(env is hosted.env or _inner(env) is _inner(hosted.env) for hosted in self._pool[-1:]):
                raise InputError("make_env: expected a new environment at every call, got the same one again")
            self._pool.append(Hosted(env, self._members, self._combine))

    def _seen(self) -> NDArray[np.int64]:
        return np.array([hosted.seen for hosted in self._playing], np.int64)

    def _repeats(self) -> bool:
        """Whether two environments do the same for the same seed and the same (random) actions."""
        self._grow(2)
        one, other = self._pool[:2]
        rng = np.random.default_rng(0)
        sizes = [len(agent.actions) for agent in self.agents]
        one.reset(1)
        other.reset(1)
        for _ in range(TRIAL):
            if one.seen != other.seen or one.ended != other.ended:
                return False
            if one.ended:
                one.reset(2)
                other.reset(2)
                continue
            actions = rng.integers(sizes).tolist()
            if one.step(actions) != other.step(actions):
                return False
        return True


def from_pettingzoo(
    make_env: Callable[[], Any],
    *,
    discretise: Discretise = None,
    discount: float = 0.99,
    horizon: int | None = None,
    reward: str | Combine = "mean",
    action_names: ActionNames = None,
    repeatable: bool | None = None,
) -> PettingZooSimulator:
    """Environments as a simulator to learn from.

    Parameters
    ----------
    make_env
        A function that makes a new environment: a PettingZoo `ParallelEnv` with Discrete actions, or a gymnasium
        environment (a team of one). It is called as often as there are episodes in a batch, up to a thousand times.
    discretise
        For observations that are not Discrete: a `Discretiser` for all agents, or one by name.
    discount
        Of the team's rewards.
    horizon
        Steps after which an episode ends at the latest.
    reward
        How the agents' rewards become the team's: "mean" over the whole team (a reward that all agents share stays
        what it is), "sum", or a function of the dictionary of rewards.
    action_names
        What the actions are called, for people: one list for all agents, or one by name.
    repeatable
        Whether `reset(seed=...)` fixes an episode. None: found out by playing two short ones.

    Returns
    -------
    PettingZooSimulator
        Serves wherever a problem does.

    Raises
    ------
    InputError
        The environment takes turns, its spaces are not discrete, it does not do what it should, or PettingZoo is not
        installed.

    Examples
    --------
    >>> import decpomdp as dp
    >>> simulator = dp.from_pettingzoo(lambda: dp.parallel_env("dectiger", horizon=10), discount=0.9)
    >>> [agent.name for agent in simulator.agents]
    ['agent1', 'agent2']
    >>> simulator.close()
    """
    return PettingZooSimulator(make_env, discretise, discount, horizon, reward, action_names, repeatable)


def _made(make_env: Callable[[], Any]) -> Any:
    if not callable(make_env):
        raise InputError(
            f"make_env: expected a function that makes an environment, got {kind_of(make_env)}; "
            "write lambda: ... around what makes yours"
        )
    with theirs("make_env"):
        return make_env()


def _inner(env: Any) -> Any:
    return getattr(env, "inner", env)
