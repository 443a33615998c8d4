"""An agent: its name and the labels of its actions and observations. Joint indices over all agents.

A joint index numbers the combinations of the agents' own indices (of actions, observations or nodes); the last agent
changes fastest. Not numpy's `ravel_multi_index` and `unravel_index`, which allow at most 63 agents.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from decpomdp.core import checks
from decpomdp.core.errors import InputError

LARGEST = 2**63 - 1  # joint indices have 64 bits
EDGE = r"(-?\d+\.?\d*(?:e[-+]?\d+)?)"
RANGE = re.compile(rf"(?:{EDGE} <= )?(.+) (?:<|>=) {EDGE}|any(?: (.+)|thing)")  # of one number of an observation


@dataclass(frozen=True, slots=True)
class Agent:
    """Name and alphabets of one agent. Actions and observations are numbered by their position.

    Attributes
    ----------
    name
        Distinct within a team.
    actions, observations
        Labels, at least one each, all distinct.

    Examples
    --------
    >>> robot = Agent("robot", ("stay", "go"), ("dark", "light"))
    >>> robot.actions.index("go")
    1
    """

    name: str
    actions: tuple[str, ...]
    observations: tuple[str, ...]

    def __post_init__(self) -> None:
        if not checks.text("agent name", self.name):
            raise InputError("agent name: expected a non-empty text, got an empty one")
        object.__setattr__(self, "actions", labels(f"actions of {self.name}", self.actions))
        object.__setattr__(self, "observations", labels(f"observations of {self.name}", self.observations))


def labels(name: str, values: Iterable[str]) -> tuple[str, ...]:
    """`values` as a tuple of distinct non-empty labels, at least one."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(f"{name}: expected a list of labels, got {checks.kind_of(values)}")
    result = tuple(values)
    if not result:
        raise InputError(f"{name}: expected at least one label, got none")
    seen: set[str] = set()
    for place, label in enumerate(result):
        if not checks.text(f"{name}[{place}]", label):
            raise InputError(f"{name}: expected non-empty texts, got an empty one at {place}")
        if label in seen:
            raise InputError(f"{name}: expected distinct labels, got {label!r} twice (again at {place})")
        seen.add(label)
    return result


def team_of_agents(members: Iterable[Agent]) -> tuple[Agent, ...]:
    """`members` as a tuple of agents with distinct names, at least one."""
    if isinstance(members, str) or not isinstance(members, Iterable):
        raise InputError(f"agents: expected a list of Agent objects, got {checks.kind_of(members)}")
    agents = tuple(members)
    for place, agent in enumerate(agents):
        if not isinstance(agent, Agent):
            raise InputError(f"agents: expected Agent objects, got {type(agent).__name__} at {place}")
    labels("agents", (agent.name for agent in agents))
    return agents


def check_symbols(
    place: Callable[[int], str],
    what: str,
    symbols: NDArray[np.integer],
    agents: Sequence[Agent],
    allowed: NDArray[np.bool_] | None = None,
) -> None:
    """Raise InputError unless every symbols[k, n] is an action or observation (`what`) of agent n, or `allowed`.

    `place` describes row k in the error.
    """
    last = np.array([len(agent.actions if what == "action" else agent.observations) - 1 for agent in agents])
    wrong = (symbols < 0) | (symbols > np.minimum(last, np.iinfo(symbols.dtype).max).astype(symbols.dtype))
    if allowed is not None:
        wrong &= ~allowed
    if np.any(wrong):
        k, n = (int(i) for i in np.argwhere(wrong)[0])
        expected = f"an {what} from 0 to {last[n]}"
        raise InputError(f"{place(k)}, agent {agents[n].name}: expected {expected}, got {symbols[k, n]}")


def checked_actions(actions: ArrayLike, episodes: int, agents: Sequence[Agent], dtype: DTypeLike = np.int64) -> NDArray:
    """actions[k, n] of a batch, for the `step` of a simulator."""
    chosen = checks.array("actions", actions, "k, n", (episodes, len(agents)), dtype)
    check_symbols(lambda k: f"actions: episode {k}", "action", chosen, agents)
    return chosen


def numbered(count: int) -> tuple[str, ...]:
    """The labels "0", "1", ..."""
    return tuple(str(i) for i in range(count))


def ranges(name: str, edges: ArrayLike) -> list[str]:
    """Labels of the bins of one number of an observation.

    >>> ranges("speed", [0.5, 2]), ranges("speed", [])
    (['speed < 0.5', '0.5 <= speed < 2', 'speed >= 2'], ['any speed'])
    """
    ends = [f"{edge:.6g}" for edge in np.asarray(edges)]
    middle = [f"{low} <= {name} < {high}" for low, high in pairwise(ends)]
    return [f"{name} < {ends[0]}", *middle, f"{name} >= {ends[-1]}"] if ends else [f"any {name}"]


def edges_of(agent: Agent) -> dict[str, list[float]]:
    """The edges of the bins of every number of an observation, by name; InputError if a label is not a range.

    >>> edges_of(Agent("robot", ("go",), ("speed < 0.5", "0.5 <= speed < 2", "speed >= 2")))
    {'speed': [0.5, 2.0]}
    """
    edges: dict[str, set[float]] = {}
    for part in (part for label in agent.observations for part in label.split(", ")):
        match = RANGE.fullmatch(part)
        if match is None:
            expected = "expected ranges such as 'speed < 0.5' as observations"
            raise InputError(f"agent {agent.name}: {expected}, got {part!r}")
        low, name, high, constant = match.groups()
        edges.setdefault(name or constant or "", set()).update(float(edge) for edge in (low, high) if edge)
    return {name: sorted(ends) for name, ends in edges.items()}


def joint_table(sizes: Iterable[int]) -> NDArray[np.int64]:
    """[joint, n]: the agents' own indices of every joint index, the last agent fastest."""
    shape = tuple(sizes)
    return np.stack(joint_parts(np.arange(math.prod(shape)), shape), axis=-1)


def joint_numbers(parts: Sequence[ArrayLike] | NDArray[np.int64], sizes: Sequence[int]) -> NDArray[np.int64]:
    """The joint index of the agents' own indices; `sizes`: how many each agent has."""
    if math.prod(sizes) > LARGEST:
        raise InputError(f"joint indices: expected at most {LARGEST:.3g} of them, got {float(math.prod(sizes)):.3g}")
    joint: NDArray[np.int64] = np.zeros(np.shape(parts[0]), np.int64)
    for part, size in zip(parts, sizes, strict=True):
        joint = joint * size + np.asarray(part, np.int64)
    return joint


def joint_parts(joint: ArrayLike, sizes: Sequence[int]) -> list[NDArray[np.int64]]:
    """[n]: every agent's own index in joint indices."""
    rest, parts = np.asarray(joint, np.int64), []
    for size in reversed(sizes):
        rest, part = np.divmod(rest, size)
        parts.append(part)
    return parts[::-1]


def strides_of(sizes: Sequence[int]) -> NDArray[np.int64]:
    """[n]: the stride of agent n's own index in the joint index."""
    return np.array([math.prod(sizes[n + 1 :]) for n in range(len(sizes))], np.int64)
