"""The model of a problem: a decentralised partially observable Markov decision process with dense tables.

Order of events in a step: the state is s, the team takes the joint action u and receives reward[u, s], the state
becomes s1 with probability transition[u, s, s1], and the joint observation is y with probability
observation[u, s1, y]. There is no observation before the first action. Joint indices are row-major over agents
(the last agent changes fastest).
"""

import hashlib
import math
import os
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import checks
from decpomdp.core.agent import Agent, joint_table, labels, team_of_agents
from decpomdp.core.scene import GridScene


class Value:
    """Base of frozen dataclasses with arrays: equal if all compared fields are (NaN equals NaN), and not hashable.

    Copies and unpickled objects are made by the constructor, so their fields are checked.
    """

    __slots__ = ()

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        values = (getattr(self, each.name) for each in fields(self))  # type: ignore[arg-type]
        return type(self), tuple(dict(value) if isinstance(value, MappingProxyType) else value for value in values)

    def __eq__(self, other: object) -> bool:
        names = [each.name for each in fields(self) if each.compare]  # type: ignore[arg-type]
        return type(other) is type(self) and all(_same(getattr(self, name), getattr(other, name)) for name in names)

    __hash__ = None  # type: ignore[assignment]


def _same(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    return type(one) is type(other) and bool(one == other)  # an array and None differ


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class DecPOMDP(Value):
    """A frozen, validated model. `dataclasses.replace` makes changed copies.

    Joint actions u and joint observations y are numbered with the last agent changing fastest.

    Attributes
    ----------
    agents
        Names, actions and observations.
    states
        Labels.
    start
        [s]: probability of the first state.
    transition
        [u, s, s1]: probability of the next state.
    observation
        [u, s1, y]: probability of the joint observation in the next state.
    reward
        [u, s]: expected reward of taking u in s, for the whole team.
    discount
        From 0 to 1; below 1 for an infinite horizon.
    name
        Name of the problem, for reports.
    scene
        Positions of objects in every state, for drawings; None: the states are not drawn.

    Examples
    --------
    Two agents are paid when they press the button that lights up; only one of them sees it.

    >>> import numpy as np
    >>> import decpomdp as dp
    >>> agents = (dp.Agent("ann", ("left", "right"), ("L", "R")), dp.Agent("bob", ("left", "right"), ("dark",)))
    >>> light = np.full((4, 2, 2), 0.5)  # [u, s, s1]: it jumps at random
    >>> seen = np.tile(np.eye(2), (4, 1, 1))  # [u, s1, y]: ann sees it
    >>> pay = np.array([[1, 0], [0, 0], [0, 0], [0, 1]])  # [u, s]: both left, both right
    >>> model = dp.DecPOMDP(agents, ("left", "right"), np.full(2, 0.5), light, seen, pay, discount=0.9, name="light")
    >>> model.joint_actions, model.joint_observations
    (4, 2)
    """

    agents: tuple[Agent, ...]
    states: tuple[str, ...]
    start: NDArray[np.float64]  # [s]
    transition: NDArray[np.float64]  # [u, s, s1]
    observation: NDArray[np.float64]  # [u, s1, y]
    reward: NDArray[np.float64]  # [u, s] expected reward of taking u in s
    discount: float
    name: str = ""
    scene: GridScene | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "agents", team_of_agents(self.agents))
        put(self, "states", labels("states", self.states))
        u, s, y = self.joint_actions, len(self.states), self.joint_observations
        put(self, "start", checks.probabilities("start", self.start, "s", (s,)))
        put(self, "transition", checks.probabilities("transition", self.transition, "u, s, s1", (u, s, s)))
        put(self, "observation", checks.probabilities("observation", self.observation, "u, s1, y", (u, s, y)))
        put(self, "reward", checks.rewards("reward", self.reward, "u, s", (u, s)))
        put(self, "discount", checked_discount(self.discount))
        checks.line("name", self.name)

    @property
    def joint_actions(self) -> int:
        """Number of joint actions."""
        return math.prod(len(agent.actions) for agent in self.agents)

    @property
    def joint_observations(self) -> int:
        """Number of joint observations."""
        return math.prod(len(agent.observations) for agent in self.agents)

    def action_table(self) -> NDArray[np.int64]:
        """[u, n]: each agent's own action in every joint action."""
        return joint_table(len(agent.actions) for agent in self.agents)

    def observation_table(self) -> NDArray[np.int64]:
        """[y, n]: each agent's own observation in every joint observation."""
        return joint_table(len(agent.observations) for agent in self.agents)

    def with_discount(self, discount: float) -> "DecPOMDP":
        """The same problem with another discount."""
        return replace(self, discount=discount)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as a `.dpomdp` file, gzipped if the name ends in `.gz`; `load` reads it back.

        Examples
        --------
        >>> import tempfile
        >>> import decpomdp as dp
        >>> model = dp.load("dectiger")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(f"{folder}/tiger.dpomdp")
        ...     dp.load(f"{folder}/tiger.dpomdp").digest() == model.digest()
        True
        """
        from decpomdp.io.dpomdp.writer import write_dpomdp

        write_dpomdp(self, path)

    def digest(self) -> str:
        """SHA-256 of shapes and numbers, without labels, name and discount."""
        sha = hashlib.sha256()
        sizes = [(len(agent.actions), len(agent.observations)) for agent in self.agents]
        sha.update(repr((sizes, len(self.states))).encode())
        for table in (self.start, self.transition, self.observation, self.reward):
            sha.update((table + 0.0).astype("<f8").tobytes())  # + 0.0 turns -0.0 into 0.0
        return sha.hexdigest()


def checked_discount(value: float) -> float:
    """A discount in [0, 1]; functions with an infinite horizon check that it is below 1."""
    return checks.number("discount", value, 0.0, 1.0)


def horizon_of(discount: float, tail: float, longest: int) -> int:
    """The smallest T with discount^T <= tail, at least 1 and at most `longest`.

    The first T steps of a constant reward have all but a share `tail` of its discounted sum. Discount 1: `longest`.
    """
    if discount <= 0:
        return 1
    return longest if discount >= 1 else min(longest, math.ceil(math.log(tail) / math.log(discount)))
