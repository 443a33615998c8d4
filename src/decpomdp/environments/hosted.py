"""Adapter for external environments: numbered actions, numbered observations, one team reward.

Every PettingZoo ParallelEnv is supported, and every gymnasium environment as a team of one. The unwrapped environment
may define `discretiser(agent)`, used when the user passes none, and `action_names(agent)`.

An agent that has terminated keeps its last observation, and its actions are ignored. The episode ends when no active
agent is left, or when the environment truncates it.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from decpomdp.core import NO_OBSERVATION, Agent, InputError
from decpomdp.core.agent import labels as checked_labels
from decpomdp.core.agent import numbered
from decpomdp.core.checks import kind_of
from decpomdp.core.errors import foreign_code
from decpomdp.environments.discretiser import Discretise, Discretiser, discretiser_for

Combine = Callable[[Mapping[Any, float]], float]
AGENT = "agent"  # the only one of a gymnasium environment
ActionNames = Sequence[str] | Mapping[str, Sequence[str]] | None


class Member(NamedTuple):
    """One agent of an environment."""

    key: Any  # the environment's name of the agent
    agent: Agent
    reader: Discretiser
    first_action: int  # the environment's number of action 0


class Hosted:
    """An environment with its members; reset and step use symbol numbers. Errors include the environment's name."""

    def __init__(self, env: Any, members: Sequence[Member], combine: Combine) -> None:
        self.env, self.members, self.combine = env, members, combine
        self.name = name_of(env)
        self.seen = [NO_OBSERVATION] * len(members)  # [n] last observations
        self.ended = True
        self.terminated = False  # the episode has terminated (not truncated)

    def reset(self, seed: int) -> None:
        """A new episode."""
        with foreign_code(f"environment {self.name}: reset(seed={seed})"):
            observations, _ = self.env.reset(seed=seed)
            shown = dict(observations)
        self.ended = self.terminated = False
        for n, member in enumerate(self.members):
            if member.key not in shown:
                raise InputError(f"agent {member.agent.name}: expected an observation at reset, got none")
            self.seen[n] = member.reader.symbol(member.agent.name, shown[member.key])

    def step(self, actions: Sequence[int]) -> float:
        """Take one action each; the team's reward."""
        active = set(self.env.agents)
        chosen = {
            member.key: member.first_action + int(action)
            for member, action in zip(self.members, actions, strict=True)
            if member.key in active
        }
        with foreign_code(f"environment {self.name}: step({chosen})"):
            observations, rewards, terminations, _, _ = self.env.step(chosen)
            shown, paid, ended = dict(observations), dict(rewards), dict(terminations)
        self.ended = not self.env.agents
        self.terminated = self.ended and any(ended.values())
        living = active.intersection(self.env.agents)
        for n, member in enumerate(self.members):
            for what, given in (("an observation", shown), ("a reward", paid)):
                if member.key in living and member.key not in given:
                    raise InputError(f"agent {member.agent.name}: expected {what} after an action, got none")
            if member.key in active and member.key in shown:
                self.seen[n] = member.reader.symbol(member.agent.name, shown[member.key])
                if self.seen[n] == NO_OBSERVATION:
                    raise InputError(f"agent {member.agent.name}: expected an observation after an action, got none")
        with foreign_code("reward: the team's reward"):
            reward = float(self.combine(paid))
        if not math.isfinite(reward):
            raise InputError(f"environment {self.name}: expected finite rewards, got {paid}")
        return reward


class OneAgentEnv:
    """A gymnasium environment with the methods of a ParallelEnv that are used here; its agent is called "agent"."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.unwrapped, self.close = inner, self, inner.close
        self.metadata = {"name": inner.spec.id if inner.spec is not None else type(inner.unwrapped).__name__}
        self.possible_agents, self.agents = [AGENT], list[str]()

    def observation_space(self, agent: str) -> Any:
        return self.inner.observation_space

    def action_space(self, agent: str) -> Any:
        return self.inner.action_space

    def reset(self, seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
        observation, info = self.inner.reset(seed=seed)
        self.agents = [AGENT]
        return {AGENT: observation}, {AGENT: info}

    def step(self, actions: Mapping[str, int]) -> tuple[dict[str, Any], ...]:
        result = self.inner.step(actions[AGENT])  # observation, reward, terminated, truncated, info
        self.agents = [] if result[2] or result[3] else [AGENT]
        return tuple({AGENT: part} for part in result)


def as_parallel_env(env: Any) -> Any:
    """`env` as a ParallelEnv; a gymnasium environment becomes a team of one."""
    try:
        import gymnasium
        from pettingzoo import AECEnv, ParallelEnv
    except ImportError as error:
        raise not_installed(error) from None
    if isinstance(env, gymnasium.Env):
        return OneAgentEnv(env)
    if isinstance(env, AECEnv):
        raise InputError(
            f"environment {env}: expected a ParallelEnv, got an AECEnv; "
            "pettingzoo.utils.aec_to_parallel converts many of them"
        )
    if not isinstance(env, ParallelEnv):
        raise InputError(f"environment: expected a PettingZoo ParallelEnv or a gymnasium Env, got {kind_of(env)}")
    return env


def not_installed(error: ImportError) -> InputError:
    """The error that names the extra to install."""
    return InputError(f"expected PettingZoo to be installed: pip install decpomdp[pettingzoo] ({error})")


def members_of(env: Any, discretise: Discretise, action_names: ActionNames = None) -> tuple[Member, ...]:
    """The agents of an environment, in the order of its `possible_agents`."""
    keys = list(getattr(env, "possible_agents", None) or ())
    if not keys:
        raise InputError(f"environment {name_of(env)}: expected possible_agents to name all its agents, got none")
    names = [str(key) for key in keys]
    for by_agent in (discretise, action_names):
        for name in by_agent if isinstance(by_agent, Mapping) else ():
            if name not in names:
                raise InputError(f"expected agents among {', '.join(names)}, got {name!r}")
    return tuple(_member(env, key, discretise, action_names) for key in keys)


def _member(env: Any, key: Any, discretise: Discretise, action_names: ActionNames) -> Member:
    from gymnasium.spaces import Discrete

    name, space = str(key), env.action_space(key)
    if not isinstance(space, Discrete):
        raise InputError(
            f"agent {name}: expected a Discrete action space, got {space}; "
            "wrap the environment so that its actions are numbered"
        )
    reader = discretiser_for(name, discretise) or _reader(env, key)
    words = _action_names(env, key, action_names)
    labels = numbered(int(space.n)) if words is None else checked_labels(f"action names of {name}", words)
    if len(labels) != int(space.n):
        raise InputError(f"agent {name}: expected {space.n} action names, got {len(labels)}")
    return Member(key, Agent(name, tuple(labels), reader.labels), reader, int(space.start))


def _reader(env: Any, key: Any) -> Discretiser:
    from gymnasium.spaces import Discrete

    own = getattr(env.unwrapped, "discretiser", None)
    if own is not None:
        return own(key)
    space = env.observation_space(key)
    if not isinstance(space, Discrete):
        raise InputError(
            f"agent {key}: expected a Discrete observation space, got {space}; "
            "number its observations with discretise=Discretiser(symbols, function)"
        )

    def number(observation: Any) -> int:
        if not space.contains(observation):
            raise InputError(f"expected an observation in {space}, got {kind_of(observation)}")
        return int(observation) - int(space.start)

    return Discretiser(int(space.n), number)


def _action_names(env: Any, key: Any, action_names: ActionNames) -> Sequence[str] | None:
    if isinstance(action_names, Mapping):
        return action_names.get(str(key))
    own = getattr(env.unwrapped, "action_names", None)
    return own(key) if action_names is None and own is not None else action_names


def combiner(reward: str | Combine, agents: int) -> Combine:
    """How the agents' rewards become the team's: their sum, their mean over the whole team, or a user's function."""
    if callable(reward):
        return reward
    if isinstance(reward, str) and reward == "sum":
        return _sum
    if isinstance(reward, str) and reward == "mean":
        return lambda rewards: _sum(rewards) / agents
    raise InputError(f'reward: expected "mean", "sum" or a function of the agents\' rewards, got {kind_of(reward)}')


def _sum(rewards: Mapping[Any, float]) -> float:
    return sum(_number(agent, reward) for agent, reward in rewards.items())


def _number(agent: Any, reward: Any) -> float:
    try:
        return float(reward)
    except (TypeError, ValueError) as error:
        raise InputError(f"agent {agent}: expected a number as reward, got {kind_of(reward)}") from error


def name_of(env: Any) -> str:
    """The environment's name, on one line."""
    metadata = getattr(env, "metadata", None) or {}
    return " ".join(str(metadata.get("name") or type(env.unwrapped).__name__).split())
