"""One environment of somebody else's, seen as a team sees it: numbered actions, numbered symbols, one reward.

Every environment that follows PettingZoo's ParallelEnv serves, and every gymnasium environment as a team of one. An
environment may bring its own reading: a method `discretiser(agent)` (used when the user gives none) and a method
`action_names(agent)`, on its unwrapped object.

An agent that has ended keeps its last symbol and its actions are not passed on. The episode ends when nobody is left;
an episode that the environment cuts off (truncates) has ended too.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from decpomdp.core import NO_OBSERVATION, Agent, InputError
from decpomdp.core.agent import numbered
from decpomdp.environments.discretiser import Discretise, Discretiser, given_for

Combine = Callable[[Mapping[Any, float]], float]
ActionNames = Sequence[str] | Mapping[str, Sequence[str]] | None


class Member(NamedTuple):
    """One agent of an environment."""

    key: Any  # what the environment calls it
    agent: Agent
    reader: Discretiser
    first_action: int  # the environment's number of our action 0


class Hosted:
    """An environment with its members; reset and step in numbers."""

    def __init__(self, env: Any, members: Sequence[Member], combine: Combine) -> None:
        self.env, self.members, self.combine = env, members, combine
        self.seen = [NO_OBSERVATION] * len(members)  # what each agent saw last
        self.ended = True
        self.terminated = False  # it ended by itself: it was not cut off

    def reset(self, seed: int) -> None:
        """A new episode."""
        observations, _ = self.env.reset(seed=seed)
        self.ended = self.terminated = False
        for n, member in enumerate(self.members):
            if member.key not in observations:
                raise InputError(f"agent {member.agent.name}: expected an observation at reset, got none")
            self.seen[n] = member.reader.symbol(member.agent.name, observations[member.key])

    def step(self, actions: Sequence[int]) -> float:
        """Take one action each; the team's reward."""
        living = set(self.env.agents)
        chosen = {
            member.key: member.first_action + int(action)
            for member, action in zip(self.members, actions, strict=True)
            if member.key in living
        }
        observations, rewards, terminations, *_ = self.env.step(chosen)
        self.ended = not self.env.agents
        self.terminated = self.ended and any(terminations.values())
        for n, member in enumerate(self.members):
            if member.key in living and member.key in observations:
                self.seen[n] = self._later(member, observations[member.key])
        return float(self.combine(rewards))

    def _later(self, member: Member, observation: Any) -> int:
        symbol = member.reader.symbol(member.agent.name, observation)
        if symbol == NO_OBSERVATION:
            raise InputError(f"agent {member.agent.name}: expected an observation after an action, got none")
        return symbol


def opened(env: Any) -> Any:
    """`env` as a ParallelEnv; a gymnasium environment becomes a team of one."""
    try:
        import gymnasium
        from pettingzoo import AECEnv, ParallelEnv

        from decpomdp.environments.one_agent_env import OneAgentEnv
    except ImportError as error:
        raise missing(error) from None
    if isinstance(env, gymnasium.Env):
        return OneAgentEnv(env)
    if isinstance(env, AECEnv):
        raise InputError(
            f"environment {env}: expected a ParallelEnv, got one that takes turns; "
            "pettingzoo.utils.aec_to_parallel turns many of them into a ParallelEnv"
        )
    if not isinstance(env, ParallelEnv):
        raise InputError(f"environment: expected a PettingZoo ParallelEnv, got {type(env).__name__}")
    return env


def missing(error: ImportError) -> InputError:
    """What to install, in words."""
    return InputError(f"expected PettingZoo to be installed: pip install decpomdp[pettingzoo] ({error})")


def members_of(env: Any, discretise: Discretise, action_names: ActionNames = None) -> tuple[Member, ...]:
    """The agents of an environment, in the order of its `possible_agents`."""
    keys = list(env.possible_agents)
    names = [str(key) for key in keys]
    for given in (discretise, action_names):
        for name in given if isinstance(given, Mapping) else ():
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
    reader = given_for(name, discretise) or _reader(env, key)
    labels = _action_names(env, key, action_names) or numbered(int(space.n))
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
            "say how to number its observations with discretise=Discretiser(symbols, function)"
        )
    start = int(space.start)
    return Discretiser(int(space.n), lambda observation: int(observation) - start)


def _action_names(env: Any, key: Any, given: ActionNames) -> Sequence[str] | None:
    if isinstance(given, Mapping):
        return given.get(str(key))
    own = getattr(env.unwrapped, "action_names", None)
    return own(key) if given is None and own is not None else given


def combiner(reward: str | Combine, agents: int) -> Combine:
    """How the agents' rewards become the team's: their sum, their mean over the whole team, or a user's function."""
    if callable(reward):
        return reward
    if reward == "sum":
        return lambda rewards: sum(map(float, rewards.values()))
    if reward == "mean":
        return lambda rewards: sum(map(float, rewards.values())) / agents
    raise InputError(f'reward: expected "mean", "sum" or a function of the agents\' rewards, got {reward!r}')


def name_of(env: Any) -> str:
    """What the environment calls itself."""
    metadata = getattr(env, "metadata", None) or {}
    return str(metadata.get("name") or type(env.unwrapped).__name__)
