"""A team in somebody else's environment, in one line."""

from typing import Any

import numpy as np

from decpomdp.core import Episodes, Team, concatenate
from decpomdp.core.checks import of_kind, whole
from decpomdp.core.controller import READ
from decpomdp.environments.discretiser import Discretise
from decpomdp.environments.hosting import Combine, Hosted, combiner, members_of, name_of, opened
from decpomdp.rollouts.runner import TeamRunner

LONGEST = 10_000  # steps of an episode when the environment does not end it


class _Players:
    """Who acts in an environment, for `Team.check_fits`."""

    def __init__(self, hosted: Hosted, team: Team) -> None:
        self.agents = tuple(member.agent for member in hosted.members)
        self.discount, self.name = team.discount, name_of(hosted.env)


def play(
    team: Team,
    env: Any,
    seed: int = 0,
    *,
    episodes: int = 1,
    horizon: int = LONGEST,
    discretise: Discretise = None,
    reward: str | Combine = "mean",
) -> Episodes:
    """Let `team` act in a PettingZoo or gymnasium environment; what was seen, done and earned.

    The agents of the environment, in its order, are the agents of the team, in its order.

    Parameters
    ----------
    team
        Who acts.
    env
        Where.
    seed
        Episode k is reset with `seed + k`, which also fixes the team's own random choices.
    episodes
        How many.
    horizon
        Steps after which an episode that the environment does not end is cut off.
    discretise, reward
        As in `from_pettingzoo`.

    Returns
    -------
    Episodes
        With the probability of every action, so that others can learn from them.

    Raises
    ------
    InputError
        The team does not fit the environment, or the environment does not do what it should.

    Examples
    --------
    >>> import decpomdp as dp
    >>> team = dp.Team.uniform(dp.load("dectiger"))
    >>> played = dp.play(team, dp.parallel_env("dectiger", horizon=20), seed=3)
    >>> played.steps, played == dp.simulate("dectiger", team, episodes=1, horizon=20, seed=3)
    (20, True)
    """
    of_kind("team", team, Team, READ)
    hosted = _hosted(env, discretise, reward)
    facts = _Players(hosted, team)
    team.check_fits(facts)
    first, count = whole("seed", seed, 0, 2**62), whole("episodes", episodes, 1, 2**53)
    length = whole("horizon", horizon, 1, 2**53)
    return concatenate([_episode(team, hosted, facts, first + k, length) for k in range(count)])


def _hosted(env: Any, discretise: Discretise, reward: str | Combine) -> Hosted:
    host = opened(env)
    members = members_of(host, discretise)
    return Hosted(host, members, combiner(reward, len(members)))


def _episode(team: Team, hosted: Hosted, facts: _Players, seed: int, horizon: int) -> Episodes:
    runner = TeamRunner(team, seed)
    seen, actions, chances = [], [], []
    rewards: list[float] = []
    hosted.reset(seed)
    while not hosted.ended and len(rewards) < horizon:
        seen.append(list(hosted.seen))
        actions.append(runner.act([None if symbol < 0 else symbol for symbol in hosted.seen]))
        chances.append(runner.probabilities)
        rewards.append(hosted.step(actions[-1]))
    return Episodes(
        agents=facts.agents,
        offsets=np.array([0, len(rewards)]),
        observations=np.array(seen),
        actions=np.array(actions),
        behaviour=np.minimum(np.array(chances, np.float32), np.float32(1)),
        rewards=np.array(rewards),
        discount=team.discount,
        terminated=np.array([hosted.terminated]),
        name=facts.name,
    )
