"""What the search changes: a deterministic Moore machine per agent, and the plan of all agents.

A machine has a root besides its acting nodes: node 0 is where an episode begins, before anything was seen. The root
makes the start an ordinary edge, with or without a first observation, so that whatever splits, mutates, learns or
folds edges does so with the start as well. The root never acts and does not count as a node of the controller.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Controller, Team
from decpomdp.core.controller import HasAgents
from decpomdp.kernels.machines import ROOT, Machines


class Machine(NamedTuple):
    """One agent's deterministic policy."""

    action: NDArray[np.int64]  # [i]; action[ROOT] means nothing
    move: NDArray[np.int64]  # [i, o]; the last column: nothing was seen (used from the root alone)

    @property
    def nodes(self) -> int:
        """Acting nodes."""
        return len(self.action) - 1

    @property
    def observations(self) -> int:
        """Size of the observation alphabet."""
        return self.move.shape[1] - 1


Plan = tuple[Machine, ...]


def sizes(plan: Plan) -> tuple[int, ...]:
    """Acting nodes of every agent."""
    return tuple(machine.nodes for machine in plan)


def constant(problem: HasAgents, choices: Sequence[int] | None = None) -> Plan:
    """Every agent always does the same: one node."""
    chosen = [0] * len(problem.agents) if choices is None else choices
    return tuple(
        Machine(np.array([0, choice]), np.ones((2, len(agent.observations) + 1), np.int64))
        for agent, choice in zip(problem.agents, chosen, strict=True)
    )


def pack(plan: Plan, problem: HasAgents) -> Machines:
    """The plan as padded arrays, for the kernels."""
    nodes = max(len(machine.action) for machine in plan)
    symbols = max(machine.observations for machine in plan)
    action = np.zeros((len(plan), nodes), np.int32)
    move = np.zeros((len(plan), nodes, symbols + 1), np.int32)
    for n, machine in enumerate(plan):
        action[n, : len(machine.action)] = machine.action
        move[n, : len(machine.action), : machine.observations] = machine.move[:, :-1]
        move[n, : len(machine.action), -1] = machine.move[:, -1]
    return Machines(action, move, np.array([len(agent.actions) for agent in problem.agents], np.int64))


def same(one: Plan, other: Plan) -> bool:
    """Whether two plans are equal node by node."""
    return all(
        np.array_equal(a.action, b.action) and np.array_equal(a.move, b.move) for a, b in zip(one, other, strict=True)
    )


def team_of(plan: Plan, problem: HasAgents, shown: bool) -> Team:
    """The plan as controllers; `shown`: the problem shows something before the first action."""
    controllers = [
        _controller(machine, len(agent.actions), shown) for machine, agent in zip(plan, problem.agents, strict=True)
    ]
    return Team.of(problem, controllers)


def _controller(machine: Machine, actions: int, shown: bool) -> Controller:
    start, moves = machine.move[ROOT] - 1, machine.move[1:, :-1] - 1
    first = int(np.bincount(start[:-1]).argmax()) if shown else int(start[-1])  # an unused default when shown
    plain = Controller.deterministic(machine.action[1:], moves, actions, first)  # type: ignore[arg-type]
    if not shown:
        return plain
    return Controller(plain.initial, plain.action, plain.transition, np.eye(machine.nodes)[start[:-1]])
