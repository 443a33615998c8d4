"""The smallest controller that acts the same: unreachable nodes dropped, equivalent nodes merged.

Two nodes are equivalent when they choose actions with the same probabilities and, after every action they may take
and every observation, reach each class of equivalent nodes with the same probability. The coarsest such partition is
found by refinement. Merging keeps the probability of every action after every history, hence the value, unchanged: but
for rounding, as probabilities count as the same that agree to twelve digits, however small they are.

What learners leave over, 1e-50 beside 0, would keep nodes apart that nobody can tell apart; `simplified` does not.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import checks
from decpomdp.core.controller import READ, Controller, Team

Floats = NDArray[np.float64]

DECIMALS = 12  # of probabilities, by which learned nodes are compared
BITS = 40  # probabilities that agree to this many leading bits, twelve digits, count as equal


def minimised(team: Team) -> Team:
    """The team with every controller made minimal: as few nodes as possible, the same behaviour.

    Parameters
    ----------
    team
        Any team.

    Returns
    -------
    Team
        Acts with the same probabilities after every history, each to twelve digits in every step.

    Raises
    ------
    InputError
        It is no team.

    Examples
    --------
    >>> import decpomdp as dp
    >>> twice = dp.Controller.deterministic(actions=[0, 0], moves=[[1, 1], [0, 0]], action_count=3)
    >>> dp.minimised(dp.Team.of(dp.load("dectiger"), [twice, twice])).nodes
    (1, 1)
    """
    checks.of_kind("team", team, Team, READ)
    smaller = tuple(minimal_controller(controller) for controller in team.controllers)
    return Team(team.agents, smaller, team.discount, team.problem)


def simplified(team: Team) -> Team:
    """Like `minimised`, but differences below 1e-12 do not count: what was learned, about as it behaves."""
    smaller = tuple(minimal_controller(controller, _to_decimals) for controller in team.controllers)
    return Team(team.agents, smaller, team.discount, team.problem)


def _to_decimals(table: Floats) -> Floats:
    return np.round(table, DECIMALS)


def _to_bits(table: Floats) -> Floats:
    """Rounded to so many bits, whatever the size: what is positive stays so."""
    part, power = np.frexp(table)
    return np.ldexp(np.round(np.ldexp(part, BITS)), power - BITS)


def minimal_controller(controller: Controller, rounded: Callable[[Floats], Floats] = _to_bits) -> Controller:
    """The smallest controller with the same behaviour as far as `rounded` leaves it; a sure start stays first."""
    kept = _reachable(controller)
    classes = _classes(controller, kept, rounded)
    _, firsts = np.unique(classes, return_index=True)
    members = np.zeros((len(kept), len(firsts)))  # [node, class]
    members[np.arange(len(kept)), classes] = 1.0
    chosen = kept[firsts]
    transition = controller.transition[chosen][..., kept] @ members
    transition[controller.action[chosen] == 0] = np.eye(len(firsts))[0]  # never taken: any row serves
    given = None if controller.initial_given is None else controller.initial_given[:, kept] @ members
    return Controller(controller.initial[kept] @ members, controller.action[chosen], transition, given)


def _reachable(controller: Controller) -> NDArray[np.int64]:
    """Nodes that may be visited, likeliest start first, then in the order of discovery."""
    starts = controller.initial.copy()
    if controller.initial_given is not None:
        starts = starts + controller.initial_given.sum(axis=0)
    links = np.einsum("ia,iaoj->ij", (controller.action > 0).astype(float), (controller.transition > 0).astype(float))
    found = [int(i) for i in np.argsort(-starts, kind="stable") if starts[i] > 0]
    for node in found:  # grows while we walk
        found += [int(j) for j in np.flatnonzero(links[node] > 0) if int(j) not in found]
    return np.array(found)


def _classes(controller: Controller, kept: NDArray[np.int64], rounded: Callable[[Floats], Floats]) -> NDArray[np.int64]:
    """[kept node]: its class in the coarsest stable partition, numbered by first appearance."""
    action = rounded(controller.action[kept])
    moves = controller.transition[kept][..., kept] * (action > 0)[:, :, None, None]
    classes = _numbered(action)
    while True:
        reach = rounded(moves @ np.eye(classes.max() + 1)[classes]).reshape(len(kept), -1)
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
