"""Minimisation of controllers: unreachable nodes are removed, equivalent nodes merged.

Two nodes are equivalent when they choose actions with the same probabilities and, after every action they may take
and every observation, reach each class of equivalent nodes with the same probability. The coarsest such partition is
computed by refinement. Merging preserves the probability of every action after every history, hence the value, up to
rounding: probabilities that agree to twelve digits count as equal, however small they are.

Learned probabilities such as 1e-50 instead of 0 would separate equivalent nodes; `simplified` ignores them.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import checks
from decpomdp.core.controller import READ, Controller, Team

Floats = NDArray[np.float64]

DECIMALS = 12  # of probabilities when learned nodes are compared
BITS = 40  # probabilities that agree to this many leading bits, twelve digits, count as equal


def minimised(team: Team) -> Team:
    """The team with as few nodes as possible: the same probabilities after every history, to twelve digits."""
    checks.of_kind("team", team, Team, READ)
    smaller = tuple(minimal_controller(controller) for controller in team.controllers)
    return Team(team.agents, smaller, team.discount, team.problem)


def simplified(team: Team) -> Team:
    """Like `minimised`, but probabilities that differ by less than 1e-12 count as equal; for learned teams."""
    smaller = tuple(minimal_controller(controller, _to_decimals) for controller in team.controllers)
    return Team(team.agents, smaller, team.discount, team.problem)


def _to_decimals(table: Floats) -> Floats:
    return np.round(table, DECIMALS)


def _to_bits(table: Floats) -> Floats:
    """Rounded to BITS leading bits; positive numbers stay positive."""
    part, power = np.frexp(table)
    return np.ldexp(np.round(np.ldexp(part, BITS)), power - BITS)


def minimal_controller(controller: Controller, rounded: Callable[[Floats], Floats] = _to_bits) -> Controller:
    """The smallest controller with the same `rounded` behaviour; a certain start node stays first."""
    nodes = _reachable(controller)
    classes = _classes(controller, nodes, rounded)
    _, firsts = np.unique(classes, return_index=True)
    members = np.eye(len(firsts))[classes]  # [node, class]
    chosen = nodes[firsts]
    transition = controller.transition[chosen][..., nodes] @ members
    transition[controller.action[chosen] == 0] = np.eye(len(firsts))[0]  # never taken: any row is correct
    first = None if controller.initial_given is None else controller.initial_given[:, nodes] @ members
    return Controller(controller.initial[nodes] @ members, controller.action[chosen], transition, first)


def members_of(controller: Controller) -> Floats:
    """[node, class]: 1 where a node is merged into a node of the simplified controller; unreachable nodes have none."""
    nodes = _reachable(controller)
    classes = _classes(controller, nodes, _to_decimals)
    members = np.zeros((controller.nodes, classes.max() + 1))
    members[nodes, classes] = 1.0
    return members


def _reachable(controller: Controller) -> NDArray[np.int64]:
    """Reachable nodes, most likely start first, then in the order of discovery."""
    starts = controller.initial.copy()
    if controller.initial_given is not None:
        starts = starts + controller.initial_given.sum(axis=0)
    links = np.einsum("ia,iaoj->ij", (controller.action > 0).astype(float), (controller.transition > 0).astype(float))
    nodes = [int(i) for i in np.argsort(-starts, kind="stable") if starts[i] > 0]
    for node in nodes:  # the list grows during the loop
        nodes += [int(j) for j in np.flatnonzero(links[node] > 0) if int(j) not in nodes]
    return np.array(nodes)


def _classes(
    controller: Controller, nodes: NDArray[np.int64], rounded: Callable[[Floats], Floats]
) -> NDArray[np.int64]:
    """[node of `nodes`]: its class in the coarsest stable partition, numbered by first appearance."""
    action = rounded(controller.action[nodes])
    moves = controller.transition[nodes][..., nodes] * (action > 0)[:, :, None, None]
    classes = _numbered(action)
    while True:
        reach = rounded(moves @ np.eye(classes.max() + 1)[classes]).reshape(len(nodes), -1)
        finer = _numbered(np.concatenate([classes[:, None], reach], axis=1))
        if finer.max() == classes.max():
            return classes
        classes = finer


def _numbered(table: NDArray[np.float64]) -> NDArray[np.int64]:
    """Equal rows get equal numbers, in order of first appearance."""
    _, first, inverse = np.unique(table + 0.0, axis=0, return_index=True, return_inverse=True)
    order = np.empty(len(first), np.int64)
    order[np.argsort(first)] = np.arange(len(first))
    return order[inverse.ravel()]
