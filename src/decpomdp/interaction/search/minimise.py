"""Smaller machines that do the same, or nearly.

`fold` drops nodes that are never entered and merges nodes that the visited edges cannot tell apart: the team does the
same in every episode that was seen. `shrink` goes on to a given size at the least loss it can find: the least visited
node is removed, the edges into it led to that one of the most similar nodes which loses least on common random numbers.

Why: a skeleton of 40 nodes is a good teacher and a bad result. Small machines are read by people, are quicker to
improve (fewer choices), and generalise: an edge that is hardly ever visited is not worth a node of its own.
"""

import numpy as np
from numpy.typing import NDArray

from decpomdp.interaction.players import Arena
from decpomdp.interaction.search.machines import Machine, Plan
from decpomdp.kernels import fold as kernels
from decpomdp.kernels.machines import ROOT

ALIKE = 6  # nodes that are tried in the place of a removed one


def fold(plan: Plan, visits: list[NDArray[np.int64]]) -> Plan:
    """Every agent's machine without what its visits[i, o] do not need."""
    return tuple(fold_machine(machine, seen) for machine, seen in zip(plan, visits, strict=True))


def fold_machine(machine: Machine, visits: NDArray[np.int64]) -> Machine:
    """Merge nodes that cannot be told apart, drop those that are never entered, busiest nodes first."""
    entered = np.zeros(len(machine.action), np.int64)
    np.add.at(entered, machine.move, visits)
    order = np.argsort(-entered, kind="stable")
    order = order[(entered[order] > 0) & (order != ROOT)]
    known = np.where(visits > 0, machine.move, -1)
    parent = np.empty(len(machine.action), np.int64)
    kernels.fold(machine.action, known, order, parent)
    kept = [ROOT, *(int(i) for i in order if parent[i] == i)]
    place = np.full(len(machine.action), -1)
    place[kept] = np.arange(len(kept))
    place[order] = place[parent[order]]
    usual = place[_usual(machine, visits)]
    where = place[np.where(known[kept] >= 0, known[kept], machine.move[kept])]
    return Machine(machine.action[kept], np.where(where > ROOT, where, usual))


def _usual(machine: Machine, visits: NDArray[np.int64]) -> NDArray[np.int64]:
    """[o]: where o leads most often, for edges that were never visited and whose node is gone.

    Observations mostly mean the same wherever they are made; one that was never made leads to the busiest node.
    """
    entered = np.zeros((len(machine.action), machine.move.shape[1]), np.int64)
    np.add.at(entered, (machine.move, np.arange(machine.move.shape[1])), visits)
    entered[:, entered.sum(axis=0) == 0] = entered.sum(axis=1, keepdims=True)
    return np.argmax(entered, axis=0)


def without(machine: Machine, node: int, instead: int) -> Machine:
    """The machine without `node`, whose incoming edges lead to `instead`."""
    kept = np.delete(np.arange(len(machine.action)), node)
    place = np.zeros(len(machine.action), np.int64)
    place[kept] = np.arange(len(kept))
    place[node] = place[instead]
    return Machine(machine.action[kept], place[machine.move[kept]])


def shrink(arena: Arena, plan: Plan, largest: int, episodes: int, horizon: int, seed: int) -> Plan:
    """At most `largest` nodes per agent, one node after the other at the least loss found."""
    for n in range(len(plan)):
        while plan[n].nodes > largest:
            options = ALIKE if plan[n].nodes <= 2 * largest else 1  # far above the cap: what is most alike will do
            plan = without_least(arena, plan, n, 0, options, episodes, horizon, seed)
    return plan


def without_least(
    arena: Arena, plan: Plan, n: int, rank: int, options: int, episodes: int, horizon: int, seed: int
) -> Plan:
    """Agent n without its least visited node (rank 0; 1: the next one).

    Of the `options` nodes that are most alike, the one that loses least takes its place.
    """
    machine = plan[n]
    visits = arena.visits(plan, episodes, horizon, seed)[n]
    entered = np.bincount(machine.move.ravel(), weights=visits.ravel(), minlength=len(machine.action))
    node = int(np.argsort(entered[1:], kind="stable")[rank]) + 1
    smaller = [(*plan[:n], without(machine, node, int(j)), *plan[n + 1 :]) for j in alike(machine, node)[:options]]
    if len(smaller) == 1:
        return smaller[0]
    means = [arena.returns(option, episodes, horizon, seed).mean() for option in smaller]
    return smaller[int(np.argmax(means))]


def alike(machine: Machine, node: int) -> NDArray[np.int64]:
    """The other nodes, those first that act the same and lead to the same nodes."""
    score = (machine.move == machine.move[node]).mean(axis=1) + 2.0 * (machine.action == machine.action[node])
    score[[ROOT, node]] = -np.inf
    return np.argsort(-score, kind="stable")[: machine.nodes - 1]
