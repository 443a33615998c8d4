"""Hops: moves of the local search that leave a local optimum of the ascent.

    graft     change all agents together over several steps
    expand    more memory without loss, then an ascent on it
    mutate    change a few entries, then an ascent
    scatter   the best of many small changes, without an ascent: for changes of two agents at a single step
    moment    change the actions of all agents at one time of a clock
    drop      remove a node: a smaller plan that is not worse is easier to read and to improve

Coarse hops are more frequent early in the search, fine ones late.

Grafts: single changes cannot improve a team if each alone makes it worse. The team explores together in a short stretch
of steps; every agent gets a side path that repeats its actions in one of the best such episodes while its observations
agree, and then returns to its machine. Elites are drawn at random, because the best one often changes nothing.

Small machines: `fold` drops nodes that are never entered and merges nodes that the visited edges do not distinguish;
the team acts as before in every recorded episode. `shrink` reduces a machine to a size cap: the least visited node is
removed, and its incoming edges are redirected to the one of the most similar nodes that loses least on common random
numbers.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.interaction.episode_player import draw_seed
from decpomdp.interaction.search.ascent import ascend
from decpomdp.interaction.search.machines import (
    NONE,
    Machine,
    Plan,
    clock,
    hours,
    opening,
    product,
    split,
    tree,
    window,
)
from decpomdp.interaction.search.players import Player
from decpomdp.interaction.search.sizes import Sizes
from decpomdp.kernels import machines as kernels
from decpomdp.kernels.machines import ROOT, PlayedBatch, RandomWindow

Hop = Callable[[Player, Plan, Sizes, np.random.Generator], Plan]

# Memories of expansions.
MEMORIES = (
    *(window(1), window(2), tree(2), tree(3)),
    *(clock(2, 0), clock(3, 0), clock(4, 0)),
    *(opening(1, 0), opening(2, 0), opening(4, 0)),
)
SPLIT_SHARES = (1.0, 0.5, 0.25)  # of the nodes; fewer when all of them would be too many
ONCE = 0.25  # of the grafts are for the beginning of an episode only
SCHEDULE_NODES = 200  # of a machine times a clock, before it is folded
GRAFTS = 6  # elites of one exploration that are tried
FEWER = 4  # factor of fewer plans and more episodes from one heat of a race to the next
ALIKE = 6  # nodes that are tried in the place of a removed one


def hop(player: Player, plan: Plan, sizes: Sizes, rng: np.random.Generator, progress: float) -> tuple[str, Plan]:
    """Name and result of one hop of a random kind, within the size cap; `progress`: how far the search is, 0 to 1."""
    names = list(KINDS)
    shares = [(1 - progress) * KINDS[kind].early + progress * KINDS[kind].late for kind in names]
    name = names[int(rng.choice(len(names), p=shares))]
    return name, settle(player, KINDS[name].hop(player, plan, sizes, rng), sizes, rng)


def settle(player: Player, plan: Plan, sizes: Sizes, rng: np.random.Generator) -> Plan:
    """The plan folded, and reduced to the size cap."""
    folded = fold(plan, player.visits(plan, sizes.fold_episodes, sizes.testing, draw_seed(rng)))
    return shrink(player, folded, sizes.max_nodes, sizes.race_episodes, sizes.learning, draw_seed(rng))


def graft(player: Player, plan: Plan, sizes: Sizes, rng: np.random.Generator) -> Plan:
    """Explore together in a short stretch; continue learning from some of the best episodes."""
    novel = side_paths(player, plan, sizes, rng)
    learnt = [ascend(player, start, sizes.short, draw_seed(rng), free=True) for start in novel[:GRAFTS]]
    return race(player, learnt or [plan], sizes, draw_seed(rng))


def side_paths(player: Player, plan: Plan, sizes: Sizes, rng: np.random.Generator) -> list[Plan]:
    """The plan with side paths along each of the best episodes of a joint exploration, in random order."""
    tuning = sizes.tuning
    stretch = exploration_window(rng, len(plan), tuning.window, player.discount, sizes.learning)
    horizon = min(stretch.end + int(rng.choice(tuning.tails)), sizes.learning)
    played = player.elites(plan, stretch, sizes.window_episodes, horizon, draw_seed(rng), tuning.elites)
    order = rng.permutation(len(played.lengths))
    grown = [with_side_paths(plan, played, int(number), stretch, once=rng.random() < ONCE) for number in order]
    return [start for start in grown if any(new is not old for new, old in zip(start, plan, strict=True))]


def expand(player: Player, plan: Plan, sizes: Sizes, rng: np.random.Generator) -> Plan:
    """More memory for some agents without loss, then learn the actions of its nodes."""
    larger = with_memory(plan, sizes, rng)
    careful = sizes.bold._replace(exploration=sizes.short.exploration, confidence=sizes.short.confidence)
    return ascend(player, larger, careful if rng.random() < 0.5 else sizes.bold, draw_seed(rng), free=False)


def with_memory(plan: Plan, sizes: Sizes, rng: np.random.Generator) -> Plan:
    """More memory for some agents; all act as before."""
    chosen = rng.random(len(plan)) < 0.5
    chosen[rng.integers(len(plan))] = True
    limit = sizes.tuning.skeleton_nodes
    pairs = zip(plan, chosen, strict=True)
    return tuple(expanded(machine, limit, rng) if more else machine for machine, more in pairs)


def expanded(machine: Machine, limit: int, rng: np.random.Generator) -> Machine:
    """The machine with some more memory, if the limit allows; it acts as before."""
    if rng.random() < 0.5:
        shares = [rng.random(machine.nodes) < share for share in SPLIT_SHARES]
        options = (split(machine, {1 + int(i) for i in np.flatnonzero(part)}, limit) for part in shares)
    else:
        order = rng.permutation(len(MEMORIES))
        options = (product(machine, MEMORIES[int(i)], limit) for i in order)
    return next((larger for larger in options if larger is not None), machine)


def mutate(player: Player, plan: Plan, sizes: Sizes, rng: np.random.Generator) -> Plan:
    """A few entries at random, then learning."""
    return ascend(player, mutant(player, plan, rng), sizes.short, draw_seed(rng), free=True)


def scatter(player: Player, plan: Plan, sizes: Sizes, rng: np.random.Generator) -> Plan:
    """The best of many mutants, without an ascent; half of the time after giving all agents the same new memory."""
    memory = MEMORIES[int(rng.integers(len(MEMORIES)))]
    larger = [product(machine, memory, sizes.tuning.skeleton_nodes) for machine in plan]
    shared = tuple(machine for machine in larger if machine is not None)
    source = shared if len(shared) == len(plan) and rng.random() < 0.5 else plan
    return race(player, [mutant(player, source, rng) for _ in range(sizes.mutants)], sizes, draw_seed(rng))


def moment(player: Player, plan: Plan, sizes: Sizes, rng: np.random.Generator) -> Plan:
    """All agents get the same clock and change their actions at one time of it."""
    period = int(rng.integers(2, sizes.max_nodes + 1))
    larger = [product(machine, clock(period, 0), SCHEDULE_NODES) for machine in plan]
    shared = tuple(machine for machine in larger if machine is not None)
    return rescheduled(player, shared, period, sizes, rng) if len(shared) == len(plan) else plan


def rescheduled(player: Player, plan: Plan, period: int, sizes: Sizes, rng: np.random.Generator) -> Plan:
    """The best of many plans that differ from `plan`, which has a clock, in the actions of all agents at one time."""
    when = [hours(machine, period) for machine in plan]
    shape = (period, *(len(agent.actions) for agent in player.agents))
    if np.prod(shape, dtype=np.float64) <= 2 * sizes.mutants:
        choices = np.indices(shape).reshape(len(shape), -1).T  # all there are
    else:
        choices = rng.integers(shape, size=(sizes.mutants, len(shape)))
    others = [
        tuple(
            machine._replace(action=np.where(when[n] == hour, chosen[n], machine.action))
            for n, machine in enumerate(plan)
        )
        for hour, *chosen in choices
    ]
    return race(player, [plan, *others], sizes, draw_seed(rng))


def drop(player: Player, plan: Plan, sizes: Sizes, rng: np.random.Generator) -> Plan:
    """Without one of the rarer nodes."""
    larger = [n for n, machine in enumerate(plan) if machine.nodes > 1]
    if not larger:
        return plan
    n = larger[int(rng.integers(len(larger)))]
    rank = min(int(rng.geometric(0.5)) - 1, plan[n].nodes - 1)
    return without_least(player, plan, n, rank, ALIKE, 4 * sizes.race_episodes, sizes.learning, draw_seed(rng))


def mutant(player: Player, plan: Plan, rng: np.random.Generator) -> Plan:
    """One to three random entries changed."""
    changed = list(plan)
    for _ in range(int(rng.integers(1, 4))):
        n = int(rng.integers(len(plan)))
        changed[n] = mutate_entry(changed[n], len(player.agents[n].actions), rng)
    return tuple(changed)


class Kind(NamedTuple):
    """A kind of hop, and its share of all hops at the beginning and at the end of the search."""

    hop: Hop
    early: float
    late: float


KINDS = {
    "graft": Kind(graft, 0.6, 0.4),
    "expand": Kind(expand, 0.25, 0.2),
    "mutate": Kind(mutate, 0.1, 0.1),
    "scatter": Kind(scatter, 0.03, 0.17),
    "moment": Kind(moment, 0.0, 0.03),
    "drop": Kind(drop, 0.02, 0.1),
}


# ---- races and mutations


def race(player: Player, plans: list[Plan], sizes: Sizes, seed: int) -> Plan:
    """The best of several plans, by successive halving on common random numbers."""
    episodes, first = sizes.race_episodes, 0
    while len(plans) > 1:
        means = np.array([player.returns(plan, episodes, sizes.learning, seed, first).mean() for plan in plans])
        best = np.argsort(-means, kind="stable")[: max(1, len(plans) // FEWER)]
        plans = [plans[int(i)] for i in best]
        first, episodes = first + episodes, episodes * FEWER
    return plans[0]


def mutate_entry(machine: Machine, actions: int, rng: np.random.Generator) -> Machine:
    """One random entry replaced: an action, where an edge leads, or an edge to a new node that acts differently."""
    (nodes, columns), node = machine.move.shape, int(rng.integers(1, len(machine.action)))
    edge, kind = (int(rng.integers(nodes)), int(rng.integers(columns))), rng.random()
    if kind < 0.4:
        return machine.edited(node, NONE, NONE, int(rng.integers(actions)))
    return machine.edited(*edge, node, NONE if kind < 0.9 else int(rng.integers(actions)))


# ---- grafts


def exploration_window(
    rng: np.random.Generator, agents: int, longest: int, discount: float, horizon: int
) -> RandomWindow:
    """A random window: early steps are likelier (by the discount); mostly for all agents, sometimes for some."""
    latest = max(1, horizon // 2)
    begin = min(int(rng.geometric(max(1 - discount, 1 / latest))) - 1, latest - 1)
    length = int(rng.integers(1, longest + 1))
    rates = np.full(agents, rng.uniform(0.3, 1.0))
    if agents > 1 and rng.random() < 0.3:
        rates *= rng.permutation(agents) < rng.integers(1, agents)
    return RandomWindow(begin, min(begin + length, horizon), rates)


def with_side_paths(plan: Plan, played: PlayedBatch, number: int, window: RandomWindow, once: bool = False) -> Plan:
    """The plan with every agent's side path along episode `number`.

    A side path begins at the node where the episode deviates from the machine, and is taken on every visit of it. With
    `once` it begins at the start instead, and is taken only there.
    """
    end = min(window.end, int(played.lengths[number]))
    return tuple(
        _side_path(
            machine,
            played.observations[number, :end, n].astype(np.int64),
            played.actions[number, :end, n].astype(np.int64),
            played.nodes[number, :end, n].astype(np.int64),
            once,
        )
        for n, machine in enumerate(plan)
    )


def _side_path(machine: Machine, seen: np.ndarray, actions: np.ndarray, nodes: np.ndarray, once: bool) -> Machine:
    """New nodes from the first (or the start) to the last step at which the agent deviated from its machine."""
    others = np.flatnonzero(actions != machine.action[nodes])
    if len(others) == 0:
        return machine
    first, last = 0 if once else int(others[0]), int(others[-1])
    added = np.arange(last - first + 1) + len(machine.action)
    move = np.vstack([machine.move, machine.move[nodes[first : last + 1]]])
    move[added[:-1], seen[first + 1 : last + 1]] = added[1:]
    move[nodes[first - 1] if first > 0 else ROOT, seen[first]] = added[0]
    return Machine(np.append(machine.action, actions[first : last + 1]), move)


# ---- smaller machines


def fold(plan: Plan, visits: list[NDArray[np.int64]]) -> Plan:
    """Every agent's machine folded by its visits[i, o]."""
    return tuple(fold_machine(machine, seen) for machine, seen in zip(plan, visits, strict=True))


def fold_machine(machine: Machine, visits: NDArray[np.int64]) -> Machine:
    """Merge nodes that visited edges do not distinguish and drop nodes that are never entered, busiest nodes first."""
    entered = np.zeros(len(machine.action), np.int64)
    np.add.at(entered, machine.move, visits)
    order = np.argsort(-entered, kind="stable")
    order = order[(entered[order] > 0) & (order != ROOT)]
    known = np.where(visits > 0, machine.move, -1)
    parent = np.empty(len(machine.action), np.int64)
    kernels.fold(machine.action, known, order, parent)
    remaining = [ROOT, *(int(i) for i in order if parent[i] == i)]
    place = np.full(len(machine.action), -1)
    place[remaining] = np.arange(len(remaining))
    place[order] = place[parent[order]]
    usual = place[_usual(machine, visits)]
    where = place[np.where(known[remaining] >= 0, known[remaining], machine.move[remaining])]
    return Machine(machine.action[remaining], np.where(where > ROOT, where, usual))


def _usual(machine: Machine, visits: NDArray[np.int64]) -> NDArray[np.int64]:
    """[o]: the most frequent target of o, for unvisited edges to dropped nodes; of an unseen o, the busiest node."""
    entered = np.zeros((len(machine.action), machine.move.shape[1]), np.int64)
    np.add.at(entered, (machine.move, np.arange(machine.move.shape[1])), visits)
    entered[:, entered.sum(axis=0) == 0] = entered.sum(axis=1, keepdims=True)
    return np.argmax(entered, axis=0)


def without(machine: Machine, node: int, instead: int) -> Machine:
    """The machine without `node`, whose incoming edges lead to `instead`."""
    remaining = np.delete(np.arange(len(machine.action)), node)
    place = np.zeros(len(machine.action), np.int64)
    place[remaining] = np.arange(len(remaining))
    place[node] = place[instead]
    return Machine(machine.action[remaining], place[machine.move[remaining]])


def shrink(player: Player, plan: Plan, largest: int, episodes: int, horizon: int, seed: int) -> Plan:
    """At most `largest` nodes per agent, removing one node after the other."""
    for n in range(len(plan)):
        while plan[n].nodes > largest:
            options = ALIKE if plan[n].nodes <= 2 * largest else 1  # far above the cap, the most similar one suffices
            plan = without_least(player, plan, n, 0, options, episodes, horizon, seed)
    return plan


def without_least(
    player: Player, plan: Plan, n: int, rank: int, options: int, episodes: int, horizon: int, seed: int
) -> Plan:
    """Agent n without its least visited node (rank 0; 1: the next one).

    Of the `options` nodes that are most alike, the one that loses least takes its place.
    """
    machine = plan[n]
    visits = player.visits(plan, episodes, horizon, seed)[n]
    entered = np.bincount(machine.move.ravel(), weights=visits.ravel(), minlength=len(machine.action))
    node = int(np.argsort(entered[1:], kind="stable")[rank]) + 1
    smaller = [(*plan[:n], without(machine, node, int(j)), *plan[n + 1 :]) for j in alike(machine, node)[:options]]
    if len(smaller) == 1:
        return smaller[0]
    means = [player.returns(option, episodes, horizon, seed).mean() for option in smaller]
    return smaller[int(np.argmax(means))]


def alike(machine: Machine, node: int) -> NDArray[np.int64]:
    """The other nodes, those first that act the same and lead to the same nodes."""
    score = (machine.move == machine.move[node]).mean(axis=1) + 2.0 * (machine.action == machine.action[node])
    score[[ROOT, node]] = -np.inf
    return np.argsort(-score, kind="stable")[: machine.nodes - 1]
