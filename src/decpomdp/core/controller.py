"""Policies: one small finite-state controller per agent, and the team of them.

A controller is a Moore machine. It starts in node i with probability initial[i]; in node i it takes action a with
probability action[i, a]; after action a and observation o it moves to node j with probability transition[i, a, o, j].
For environments with an observation before the first action there may be a start distribution for each observation,
initial_given[o, i]; a controller without that table ignores the first observation.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from decpomdp.core import checks
from decpomdp.core.agent import Agent, numbered, team_of_agents
from decpomdp.core.errors import InputError
from decpomdp.core.model import Value, checked_discount

READ = "read it first: dp.Team.load(path)"  # hint for a path instead of a team


@dataclass(frozen=True, slots=True, eq=False)
class Controller(Value):
    """One agent's policy. The last axis of every table sums to one.

    Attributes
    ----------
    initial
        [i]: probability to start in node i.
    action
        [i, a]: probability to take action a in node i.
    transition
        [i, a, o, j]: probability to move to node j after action a in node i and then observation o.
    initial_given
        [o, i]: start distribution after a first observation o; None: a first observation is ignored.

    Examples
    --------
    >>> import decpomdp as dp
    >>> turns = dp.Controller.deterministic(actions=[0, 1], moves=[[1, 1], [0, 0]], action_count=3)
    >>> turns.nodes, turns.exploring(0.3).action[0].round(2).tolist()
    (2, [0.8, 0.1, 0.1])
    """

    initial: NDArray[np.float64]  # [i]
    action: NDArray[np.float64]  # [i, a]
    transition: NDArray[np.float64]  # [i, a, o, j]
    initial_given: NDArray[np.float64] | None = None  # [o, i] start after a first observation

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "initial", checks.probabilities("initial", self.initial, "i", (None,)))
        put(self, "action", checks.probabilities("action", self.action, "i, a", (self.nodes, None)))
        shape = (self.nodes, self.actions, None, self.nodes)
        put(self, "transition", checks.probabilities("transition", self.transition, "i, a, o, j", shape))
        if self.initial_given is not None:
            shape_given = (self.observations, self.nodes)
            first = checks.probabilities("initial_given", self.initial_given, "o, i", shape_given)
            put(self, "initial_given", first)

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.initial)

    @property
    def actions(self) -> int:
        """Size of the action alphabet."""
        return int(self.action.shape[1])

    @property
    def observations(self) -> int:
        """Size of the observation alphabet."""
        return int(self.transition.shape[2])

    def exploring(self, rate: ArrayLike) -> "Controller":
        """The same controller with a uniform action taken with probability `rate` (one number, or one per node)."""
        shape = () if _is_number(rate) else (self.nodes,)
        share = np.broadcast_to(checks.array("exploration rate", rate, "i", shape, np.float64), (self.nodes,))
        if np.any((share < 0) | (share > 1)):
            raise InputError(f"exploration rate: expected numbers from 0 to 1, got {share.min()} to {share.max()}")
        mixed = (1 - share)[:, None] * self.action + share[:, None] / self.actions
        return Controller(self.initial, mixed, self.transition, self.initial_given)

    def decided(self) -> "Controller":
        """The deterministic controller that always makes the most likely choice."""
        first = None if self.initial_given is None else _likeliest(self.initial_given)
        return Controller(_likeliest(self.initial), _likeliest(self.action), _likeliest(self.transition), first)

    @classmethod
    def uniform(cls, actions: int, observations: int) -> "Controller":
        """One node, every action equally likely."""
        a, o = checks.whole("actions", actions, 1, 2**15), checks.whole("observations", observations, 1, 2**15)
        return cls(np.ones(1), np.full((1, a), 1 / a), np.ones((1, a, o, 1)))

    @classmethod
    def deterministic(
        cls, actions: Sequence[int], moves: Sequence[Sequence[int]], action_count: int, start: int = 0
    ) -> "Controller":
        """From a table: node i takes `actions[i]` and moves to `moves[i][o]` on observation o.

        Parameters
        ----------
        actions
            [i]: the action of every node.
        moves
            `[i][o]`: the next node.
        action_count
            How many actions the agent has.
        start
            The node to start in.
        """
        chosen = checks.array("actions", actions, "i", (None,), np.int64)
        following = checks.array("moves", moves, "i, o", (len(chosen), None), np.int64)
        nodes, observations = following.shape
        count = checks.whole("action_count", action_count, 1, 2**15)
        if checks.whole("start", start, 0, 2**31) >= nodes or following.min() < 0 or following.max() >= nodes:
            raise InputError(f"start and moves: expected nodes from 0 to {nodes - 1}, got others")
        if chosen.min() < 0 or chosen.max() >= count:
            raise InputError(f"actions: expected numbers from 0 to {count - 1}, got others")
        initial = np.eye(nodes)[int(start)]
        transition = np.repeat(np.eye(nodes)[following][:, None], count, axis=1)
        return cls(initial, np.eye(count)[chosen], transition.reshape(nodes, count, observations, nodes))


def _likeliest(table: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.eye(table.shape[-1])[table.argmax(axis=-1)]


class HasAgents(Protocol):
    """Anything with agents: a model, a simulator, a set of episodes."""

    @property
    def agents(self) -> tuple[Agent, ...]: ...
    @property
    def discount(self) -> float: ...
    @property
    def name(self) -> str: ...


@dataclass(frozen=True, slots=True, eq=False)
class Team(Value):
    """One controller per agent, with the agents' names and labels and the name of their problem.

    Attributes
    ----------
    agents
        Names and labels, in order.
    controllers
        One for each of them.
    discount
        Discount of the problem.
    problem
        Name of the problem; the default of commands that take the team.

    Examples
    --------
    >>> import decpomdp as dp
    >>> model = dp.load("dectiger")
    >>> listeners = dp.Team.of(model, [dp.Controller.deterministic([0], [[0, 0]], 3)] * 2)
    >>> listeners.nodes, round(dp.evaluate(listeners, model).value, 6)
    ((1, 1), -20.0)
    """

    agents: tuple[Agent, ...]
    controllers: tuple[Controller, ...]
    discount: float
    problem: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "agents", team_of_agents(self.agents))
        object.__setattr__(self, "controllers", _listed("controllers", self.controllers))
        object.__setattr__(self, "discount", checked_discount(self.discount))
        checks.line("problem", self.problem)
        if len(self.controllers) != len(self.agents):
            raise InputError(f"team: expected {len(self.agents)} controllers, got {len(self.controllers)}")
        for agent, controller in zip(self.agents, self.controllers, strict=True):
            if not isinstance(controller, Controller):
                raise InputError(f"team: expected Controller objects, got {type(controller).__name__}")
            want = (len(agent.actions), len(agent.observations))
            got = (controller.actions, controller.observations)
            if want != got:
                raise InputError(
                    f"controller of {agent.name}: expected {want[0]} actions and {want[1]} observations, "
                    f"got {got[0]} and {got[1]}"
                )

    @classmethod
    def of(cls, problem: HasAgents, controllers: Sequence[Controller]) -> "Team":
        """A team for the agents of `problem`."""
        known = _known(problem)
        return cls(known.agents, _listed("controllers", controllers), known.discount, known.name)

    @classmethod
    def uniform(cls, problem: HasAgents) -> "Team":
        """Every agent acts uniformly at random."""
        agents = team_of_agents(_known(problem).agents)
        sizes = ((len(agent.actions), len(agent.observations)) for agent in agents)
        return cls.of(problem, [Controller.uniform(a, o) for a, o in sizes])

    @property
    def nodes(self) -> tuple[int, ...]:
        """Number of nodes of each agent's controller."""
        return tuple(controller.nodes for controller in self.controllers)

    def exploring(self, rates: float | Sequence[ArrayLike]) -> "Team":
        """The team with every agent exploring: one rate for all, or for each agent one rate or one per node."""
        each: Sequence[ArrayLike] = (
            [rates] * len(self.agents) if _is_number(rates) else _listed("exploration rates", rates)  # type: ignore[list-item]
        )
        if len(each) != len(self.agents):
            raise InputError(f"exploration rates: expected one for each of {len(self.agents)} agents, got {len(each)}")
        mixed = tuple(c.exploring(rate) for c, rate in zip(self.controllers, each, strict=True))
        return Team(self.agents, mixed, self.discount, self.problem)

    def decided(self) -> "Team":
        """The team of deterministic controllers that always make the most likely choice."""
        return Team(self.agents, tuple(c.decided() for c in self.controllers), self.discount, self.problem)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Team":
        """The team in a team.json, or the one agent in a file that `save(path, agent=...)` wrote.

        Parameters
        ----------
        path
            The file.

        Returns
        -------
        Team
            Equal to the team that was saved.

        Raises
        ------
        FormatError
            The file cannot be read or has wrong content.

        Examples
        --------
        >>> import tempfile
        >>> import decpomdp as dp
        >>> team = dp.Team.uniform(dp.load("dectiger"))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     team.save(f"{folder}/team.json")
        ...     dp.Team.load(f"{folder}/team.json") == team
        True
        """
        from decpomdp.io.team import read_team

        return read_team(path)

    def save(self, path: str | os.PathLike[str], agent: str | None = None) -> None:
        """Write the team, or the controller of one agent, as readable JSON; an existing file is replaced."""
        from decpomdp.io.team import write_team

        write_team(self, path, agent)

    def minimised(self) -> "Team":
        """The same behaviour with as few nodes as possible.

        Unreachable nodes are removed, and equivalent nodes (to twelve digits) are merged.
        """
        from decpomdp.core.minimal import minimised

        return minimised(self)

    def exported(self, agent: str | None = None, form: str = "python") -> str:
        """An agent's controller as a program, graph or table without dependencies: the text of the file.

        Parameters
        ----------
        agent
            Its name; None if the team has one agent.
        form
            "python", "c", "dot", "svg", "json" or "csv".

        Returns
        -------
        str
            The content of the file.

        Raises
        ------
        InputError
            The team has no such agent, or the form is unknown.
        """
        from decpomdp.report.export import exported

        return exported(self, agent, form)

    def in_words(self) -> str:
        """A description of each agent's controller, one line per node."""
        from decpomdp.report.text import team_in_words

        return "\n".join(team_in_words(self))

    def check_fits(self, problem: HasAgents) -> None:
        """Raise InputError unless the team can play `problem`: same agents, same alphabets in the same order.

        Labels are compared if both sides have them; otherwise only the sizes must agree.
        """
        want = [(len(agent.actions), len(agent.observations)) for agent in team_of_agents(_known(problem).agents)]
        got = [(controller.actions, controller.observations) for controller in self.controllers]
        if want != got:
            raise InputError(
                f"team does not fit problem {problem.name or '(unnamed)'}: expected (actions, observations) "
                f"per agent {want}, got {got}"
            )
        for own, other in zip(self.agents, problem.agents, strict=True):
            for what, got_labels, expected in (
                ("actions", own.actions, other.actions),
                ("observations", own.observations, other.observations),
            ):
                named = numbered(len(expected)) not in (got_labels, expected)
                if named and got_labels != expected:
                    raise InputError(
                        f"team does not fit problem {problem.name or '(unnamed)'}: expected {what} of {other.name} "
                        f"{', '.join(expected)}, got {', '.join(got_labels)}"
                    )


def _known(problem: HasAgents) -> HasAgents:
    """`problem` itself if it has agents."""
    if isinstance(problem, type) or not all(hasattr(problem, member) for member in ("agents", "discount", "name")):
        hint = f"; load it first: dp.load({problem!r})" if isinstance(problem, str) else ""
        raise InputError(f"problem: expected a model, a simulator or episodes, got {checks.kind_of(problem)}{hint}")
    return problem


def _listed(name: str, value: object) -> tuple[Any, ...]:
    if isinstance(value, str | bytes) or not isinstance(value, Iterable) or getattr(value, "ndim", 1) == 0:
        raise InputError(f"{name}: expected a list, one for each agent, got {checks.kind_of(value)}")
    return tuple(value)


def _is_number(value: object) -> bool:
    """Whether `value` is one number; unlike np.ndim, this accepts nested lists of different lengths."""
    return np.isscalar(value) or (isinstance(value, np.ndarray) and value.ndim == 0)
