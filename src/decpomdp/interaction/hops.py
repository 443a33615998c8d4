"""A hop: one attempt to make a better team out of a given one. Local search climbs, hops get it out of where it is stuck.

Each kind proposes what the others cannot: a graft changes all agents together over several steps; an expansion gives
one memory more, at no loss, and learns what to do with it; a mutation moves a few entries and lets learning repair the
rest; a race tries many small changes without any learning, which is the finest tool near an optimum.
"""

from collections.abc import Callable

import numpy as np

from decpomdp.interaction import changes, grafts, skeletons
from decpomdp.interaction.arena import Arena
from decpomdp.interaction.ascent import ascend
from decpomdp.interaction.machine import Plan
from decpomdp.interaction.minimise import fold, shrink
from decpomdp.interaction.race import race
from decpomdp.interaction.scale import Sizes

Hop = Callable[[Arena, Plan, Sizes, np.random.Generator], Plan]


def hop(arena: Arena, plan: Plan, sizes: Sizes, rng: np.random.Generator) -> tuple[str, Plan]:
    """Name and result of one hop of a random kind, within the size cap."""
    kinds = list(KINDS)
    kind = kinds[int(rng.choice(len(kinds), p=[KINDS[name][1] for name in kinds]))]
    return kind, settle(arena, KINDS[kind][0](arena, plan, sizes, rng), sizes, rng)


def settle(arena: Arena, plan: Plan, sizes: Sizes, rng: np.random.Generator) -> Plan:
    """The plan folded, and cut down to the size cap if need be."""
    visits = arena.visits(plan, sizes.fold_episodes, sizes.testing, _seed(rng))
    return shrink(arena, fold(plan, visits), sizes.settings.max_nodes, sizes.race_episodes, sizes.learning, _seed(rng))


def graft(arena: Arena, plan: Plan, sizes: Sizes, rng: np.random.Generator) -> Plan:
    """Explore together in a short stretch; learn on from some of the best episodes met there."""
    settings = sizes.settings
    window = grafts.stretch(rng, len(plan), settings.window, arena.discount, sizes.learning)
    horizon = min(window.end + int(rng.choice(settings.tails)), sizes.learning)
    played = arena.elites(plan, window, sizes.window_episodes, horizon, _seed(rng), settings.elites)
    numbers = rng.permutation(len(played.lengths))[:4]
    grown = [grafts.graft(plan, played, int(number), window) for number in numbers]
    return race(arena, [_relearn(arena, start, sizes, rng, free=True) for start in grown], sizes, _seed(rng))


def expand(arena: Arena, plan: Plan, sizes: Sizes, rng: np.random.Generator) -> Plan:
    """More memory for some agents at no loss, then learn what to do in it."""
    chosen = rng.random(len(plan)) < 0.5
    chosen[rng.integers(len(plan))] = True
    larger = tuple(_expanded(machine, sizes, rng) if more else machine for machine, more in zip(plan, chosen, strict=True))
    return _relearn(arena, larger, sizes, rng, free=False)


def _expanded(machine, sizes, rng):
    limit = sizes.settings.skeleton_nodes
    if rng.random() < 0.5:
        for share in (1.0, 0.5, 0.25):
            nodes = {i for i in range(1, machine.nodes + 1) if rng.random() < share}
            found = changes.split(machine, nodes, limit)
            if found is not None:
                return found
        return machine
    options = [skeletons.window(1), skeletons.window(2), skeletons.clock(2, 0), skeletons.clock(3, 0), skeletons.clock(4, 0), skeletons.tree(2), skeletons.tree(3)]
    found = changes.product(machine, options[int(rng.integers(len(options)))], limit)
    return machine if found is None else found


def mutate(arena: Arena, plan: Plan, sizes: Sizes, rng: np.random.Generator) -> Plan:
    """Some entries at random, then learning."""
    return _relearn(arena, _mutant(arena, plan, rng), sizes, rng, free=True)


def scatter(arena: Arena, plan: Plan, sizes: Sizes, rng: np.random.Generator) -> Plan:
    """Many mutants without learning, the best of them."""
    return race(arena, [_mutant(arena, plan, rng) for _ in range(sizes.mutants)], sizes, _seed(rng))


def _mutant(arena: Arena, plan: Plan, rng: np.random.Generator) -> Plan:
    mutated = list(plan)
    for _ in range(int(rng.integers(1, 4))):
        n = int(rng.integers(len(plan)))
        mutated[n] = changes.mutate(mutated[n], 1, len(arena.agents[n].actions), rng)
    return tuple(mutated)


def _relearn(arena: Arena, plan: Plan, sizes: Sizes, rng: np.random.Generator, *, free: bool) -> Plan:
    return ascend(arena, plan, sizes.short, _seed(rng), free=free)


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(1 << 62))


KINDS: dict[str, tuple[Hop, float]] = {
    "graft": (graft, 0.5),
    "expand": (expand, 0.2),
    "mutate": (mutate, 0.15),
    "scatter": (scatter, 0.15),
}
