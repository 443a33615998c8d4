"""PettingZoo in and out: environments as a simulator, a team in an environment, a problem as an environment.

`from_pettingzoo` wraps a pool of environments as a `Simulator`. A batch of k episodes is played in k environments;
the next batch reuses them. Episode i of a batch is reset with the i-th number generated from the batch's seed. The
observations at reset are those before the first action.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import NO_OBSERVATION, Agent, Episodes, InputError, Step, Team, concatenate
from decpomdp.core.agent import checked_actions
from decpomdp.core.checks import kind_of, of_kind, truth, whole
from decpomdp.core.controller import READ
from decpomdp.core.errors import foreign_code
from decpomdp.core.model import checked_discount
from decpomdp.domains.load import Problem, opened
from decpomdp.environments.discretiser import Discretise
from decpomdp.environments.hosted import (
    ActionNames,
    Combine,
    Hosted,
    as_parallel_env,
    combiner,
    members_of,
    name_of,
    not_installed,
)
from decpomdp.rollouts.play import as_simulator
from decpomdp.rollouts.runner import TeamRunner

if TYPE_CHECKING:
    from decpomdp.environments.problem_env import ProblemEnv

LONGEST = 10_000  # default limit of the steps of an episode in `play`
TRIAL = 25  # steps of the two episodes that test whether a seed fixes an episode


class PettingZooSimulator:
    """Implements the Simulator protocol; made by `from_pettingzoo`, which explains the parameters."""

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
        first = as_parallel_env(_made(make_env))
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
        """Start a batch; [k, n] observations before the first action, None when there are none."""
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
            raise InputError(
                f"environment {self.name}: expected observations of all agents at reset or of none, got some"
            )
        return seen

    def step(self, actions: NDArray[np.integer]) -> Step:
        """Take actions[k, n]; finished episodes do not change and have reward 0."""
        chosen = checked_actions(actions, len(self._playing), self.agents)
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
            env = as_parallel_env(_made(self._make))
            if any(env is hosted.env or _inner(env) is _inner(hosted.env) for hosted in self._pool[-1:]):
                raise InputError("make_env: expected a new environment at every call, got the same one again")
            self._pool.append(Hosted(env, self._members, self._combine))

    def _seen(self) -> NDArray[np.int64]:
        return np.array([hosted.seen for hosted in self._playing], np.int64)

    def _repeats(self) -> bool:
        """Whether two environments give the same results for the same seed and the same random actions."""
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
        For observations that are not Discrete: one `Discretiser` for all agents, or a mapping from agents.
    discount
        Of the team's rewards.
    horizon
        Maximum number of steps of an episode; None: no limit.
    reward
        How the agents' rewards become the team's: "mean" over the whole team (a shared reward is
        unchanged), "sum", or a function of the dictionary of rewards.
    action_names
        Labels of the actions: one list for all agents, or a mapping from agents to lists.
    repeatable
        Whether `reset(seed=...)` fixes an episode. None: tested by playing two short episodes.

    Returns
    -------
    PettingZooSimulator
        Accepted wherever a simulator is accepted.

    Raises
    ------
    InputError
        The environment is not parallel, its spaces are not discrete, it fails or returns wrong values, or PettingZoo is
        not installed.

    Examples
    --------
    >>> import decpomdp as dp
    >>> simulator = dp.from_pettingzoo(lambda: dp.parallel_env("dectiger", horizon=10), discount=0.9)
    >>> [agent.name for agent in simulator.agents], simulator.repeatable
    (['agent1', 'agent2'], True)
    >>> simulator.close()
    """
    return PettingZooSimulator(make_env, discretise, discount, horizon, reward, action_names, repeatable)


def _made(make_env: Callable[[], Any]) -> Any:
    if not callable(make_env):
        raise InputError(
            f"make_env: expected a function that makes an environment, got {kind_of(make_env)}; "
            "pass a function such as lambda: my_env()"
        )
    with foreign_code("make_env"):
        return make_env()


def _inner(env: Any) -> Any:
    return getattr(env, "inner", env)


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
    """Play `team` in a PettingZoo or gymnasium environment and record it.

    The agents of the environment, in its order, are the agents of the team, in its order.

    Parameters
    ----------
    team
        The team to play.
    env
        The environment to play in.
    seed
        Episode k is reset with `seed + k`, which also fixes the team's own random choices.
    episodes
        Number of episodes.
    horizon
        Maximum number of steps of an episode; longer episodes are truncated.
    discretise, reward
        As in `from_pettingzoo`.

    Returns
    -------
    Episodes
        With the probabilities of the actions, as off-policy learning needs them.

    Raises
    ------
    InputError
        The team does not fit the environment, or the environment fails or returns wrong values.

    Examples
    --------
    >>> import decpomdp as dp
    >>> team = dp.Team.uniform(dp.load("dectiger"))
    >>> played = dp.play(team, dp.parallel_env("dectiger", horizon=20), seed=3)
    >>> played.steps, played == dp.simulate("dectiger", team, episodes=1, horizon=20, seed=3)
    (20, True)
    """
    of_kind("team", team, Team, READ)
    host = as_parallel_env(env)
    members = members_of(host, discretise)
    hosted = Hosted(host, members, combiner(reward, len(members)))
    agents = tuple(member.agent for member in members)
    team.check_fits(SimpleNamespace(agents=agents, discount=team.discount, name=hosted.name))
    first, count = whole("seed", seed, 0, 2**62), whole("episodes", episodes, 1, 2**53)
    length = whole("horizon", horizon, 1, 2**53)
    return concatenate([_episode(team, hosted, agents, first + k, length) for k in range(count)])


def _episode(team: Team, hosted: Hosted, agents: tuple[Agent, ...], seed: int, horizon: int) -> Episodes:
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
        agents=agents,
        offsets=np.array([0, len(rewards)]),
        observations=np.array(seen),
        actions=np.array(actions),
        behaviour=np.minimum(np.array(chances, np.float32), np.float32(1)),
        rewards=np.array(rewards),
        discount=team.discount,
        terminated=np.array([hosted.terminated]),
        name=hosted.name,
    )


def parallel_env(
    problem: Problem,
    horizon: int | None = None,
    seed: int | None = None,
    render_mode: str | None = None,
) -> "ProblemEnv":
    """Any problem as a `pettingzoo.ParallelEnv`.

    Parameters
    ----------
    problem
        A model, the name of a built-in problem, a `.dpomdp` file, or a simulator.
    horizon
        Steps after which an episode is truncated; None: never.
    seed
        Seed of the first `reset()` without a seed; None: random. `reset(seed=...)` replaces it.
    render_mode
        None, or "ansi": `render()` returns the last step as text.

    Returns
    -------
    pettingzoo.ParallelEnv
        Every agent receives the team's reward.

    Raises
    ------
    InputError
        There is no such problem, a number is out of its range, or PettingZoo is not installed.

    Examples
    --------
    >>> import decpomdp as dp
    >>> env = dp.parallel_env("dectiger", horizon=10)
    >>> observations, infos = env.reset(seed=0)
    >>> observations  # no observation before the first action: the last symbol
    {'agent1': 2, 'agent2': 2}
    >>> observations, rewards, terminated, truncated, infos = env.step({"agent1": 0, "agent2": 0})
    >>> rewards
    {'agent1': -2.0, 'agent2': -2.0}
    """
    try:
        from decpomdp.environments.problem_env import ProblemEnv
    except ImportError as error:
        raise not_installed(error) from None
    steps = None if horizon is None else whole("horizon", horizon, 1, 2**53)
    return ProblemEnv(as_simulator(opened(problem)), steps, seed, render_mode)
