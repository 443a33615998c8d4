"""A hop: one attempt to make a better team out of a given one. Learning climbs; hops get it out of where it is stuck.

Each kind proposes what the others cannot. A graft changes all agents together over several steps. An expansion gives
more memory, at no loss, and learns what to do with it. A mutation changes a few entries and lets learning repair the
rest. Scattering tries many small changes without any learning: the finest tool near an optimum, and the one for what
two agents must do differently at a single moment. A moment changes what all agents do at one hour of a clock. Dropping
takes a node away: what is then not worse is easier to read and to improve. Coarse tools are for the beginning, fine
ones for the end.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from decpomdp.interaction.players import Arena
from decpomdp.interaction.search import changes, grafts
from decpomdp.interaction.search.ascent import ascend
from decpomdp.interaction.search.machines import Machine, Plan
from decpomdp.interaction.search.memories import clock, opening, tree, window
from decpomdp.interaction.search.minimise import ALIKE, fold, shrink, without_least
from decpomdp.interaction.search.race import race
from decpomdp.interaction.search.sizes import Sizes

Hop = Callable[[Arena, Plan, Sizes, np.random.Generator], Plan]

# What an expansion may remember besides.
MEMORIES = (
    *(window(1), window(2), tree(2), tree(3)),
    *(clock(2, 0), clock(3, 0), clock(4, 0)),
    *(opening(1, 0), opening(2, 0), opening(4, 0)),
)
SPLIT_SHARES = (1.0, 0.5, 0.25)  # of the nodes; fewer when all of them would be too many
ONCE = 0.25  # of the grafts are for the beginning of an episode only
SCHEDULE_NODES = 200  # of a machine times a clock, before it is folded
GRAFTS = 6  # elites of one exploration that are tried


def hop(arena: Arena, plan: Plan, sizes: Sizes, rng: np.random.Generator, progress: float) -> tuple[str, Plan]:
    """Name and result of one hop of a random kind, within the size cap; `progress`: how far the search is, 0 to 1."""
    names = list(KINDS)
    shares = [(1 - progress) * KINDS[kind].early + progress * KINDS[kind].late for kind in names]
    name = names[int(rng.choice(len(names), p=shares))]
    return name, settle(arena, KINDS[name].hop(arena, plan, sizes, rng), sizes, rng)


def settle(arena: Arena, plan: Plan, sizes: Sizes, rng: np.random.Generator) -> Plan:
    """The plan folded, and cut down to the size cap if need be."""
    folded = fold(plan, arena.visits(plan, sizes.fold_episodes, sizes.testing, seed_of(rng)))
    return shrink(arena, folded, sizes.max_nodes, sizes.race_episodes, sizes.learning, seed_of(rng))


def graft(arena: Arena, plan: Plan, sizes: Sizes, rng: np.random.Generator) -> Plan:
    """Explore together in a short stretch; learn on from some of the best episodes met there."""
    settings = sizes.settings
    stretch = grafts.stretch(rng, len(plan), settings.window, arena.discount, sizes.learning)
    horizon = min(stretch.end + int(rng.choice(settings.tails)), sizes.learning)
    played = arena.elites(plan, stretch, sizes.window_episodes, horizon, seed_of(rng), settings.elites)
    order = rng.permutation(len(played.lengths))
    grown = [grafts.graft(plan, played, int(number), stretch, once=rng.random() < ONCE) for number in order]
    novel = [start for start in grown if any(new is not old for new, old in zip(start, plan, strict=True))]
    learnt = [ascend(arena, start, sizes.short, seed_of(rng), free=True) for start in novel[:GRAFTS]]
    return race(arena, learnt or [plan], sizes, seed_of(rng))


def expand(arena: Arena, plan: Plan, sizes: Sizes, rng: np.random.Generator) -> Plan:
    """More memory for some agents at no loss, then learn what to do in it."""
    chosen = rng.random(len(plan)) < 0.5
    chosen[rng.integers(len(plan))] = True
    limit = sizes.settings.skeleton_nodes
    pairs = zip(plan, chosen, strict=True)
    larger = tuple(expanded(machine, limit, rng) if more else machine for machine, more in pairs)
    careful = sizes.bold._replace(exploration=sizes.short.exploration, confidence=sizes.short.confidence)
    return ascend(arena, larger, careful if rng.random() < 0.5 else sizes.bold, seed_of(rng), free=False)


def expanded(machine: Machine, limit: int, rng: np.random.Generator) -> Machine:
    """The machine with some more memory, if the limit allows; it acts as before."""
    if rng.random() < 0.5:
        shares = [rng.random(machine.nodes) < share for share in SPLIT_SHARES]
        options = (changes.split(machine, {1 + int(i) for i in np.flatnonzero(part)}, limit) for part in shares)
    else:
        order = rng.permutation(len(MEMORIES))
        options = (changes.product(machine, MEMORIES[int(i)], limit) for i in order)
    return next((found for found in options if found is not None), machine)


def mutate(arena: Arena, plan: Plan, sizes: Sizes, rng: np.random.Generator) -> Plan:
    """A few entries at random, then learning."""
    return ascend(arena, _mutant(arena, plan, rng), sizes.short, seed_of(rng), free=True)


def scatter(arena: Arena, plan: Plan, sizes: Sizes, rng: np.random.Generator) -> Plan:
    """The best of many mutants, without learning; half of the time after giving everybody the same new memory."""
    memory = MEMORIES[int(rng.integers(len(MEMORIES)))]
    larger = [changes.product(machine, memory, sizes.settings.skeleton_nodes) for machine in plan]
    shared = tuple(machine for machine in larger if machine is not None)
    source = shared if len(shared) == len(plan) and rng.random() < 0.5 else plan
    return race(arena, [_mutant(arena, source, rng) for _ in range(sizes.mutants)], sizes, seed_of(rng))


def moment(arena: Arena, plan: Plan, sizes: Sizes, rng: np.random.Generator) -> Plan:
    """Everybody keeps the same clock, and does something else at one hour of it."""
    period = int(rng.integers(2, sizes.max_nodes + 1))
    larger = [changes.product(machine, clock(period, 0), SCHEDULE_NODES) for machine in plan]
    shared = tuple(machine for machine in larger if machine is not None)
    return rescheduled(arena, shared, period, sizes, rng) if len(shared) == len(plan) else plan


def rescheduled(arena: Arena, plan: Plan, period: int, sizes: Sizes, rng: np.random.Generator) -> Plan:
    """The best of many plans that differ from `plan`, which keeps a clock, in what all agents do at one hour."""
    when = [changes.hours(machine, period) for machine in plan]
    shape = (period, *(len(agent.actions) for agent in arena.agents))
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
    return race(arena, [plan, *others], sizes, seed_of(rng))


def drop(arena: Arena, plan: Plan, sizes: Sizes, rng: np.random.Generator) -> Plan:
    """One of the rarer nodes less."""
    larger = [n for n, machine in enumerate(plan) if machine.nodes > 1]
    if not larger:
        return plan
    n = larger[int(rng.integers(len(larger)))]
    rank = min(int(rng.geometric(0.5)) - 1, plan[n].nodes - 1)
    return without_least(arena, plan, n, rank, ALIKE, 4 * sizes.race_episodes, sizes.learning, seed_of(rng))


def _mutant(arena: Arena, plan: Plan, rng: np.random.Generator) -> Plan:
    mutated = list(plan)
    for _ in range(int(rng.integers(1, 4))):
        n = int(rng.integers(len(plan)))
        mutated[n] = changes.mutate(mutated[n], len(arena.agents[n].actions), rng)
    return tuple(mutated)


def seed_of(rng: np.random.Generator) -> int:
    """The seed of something that is played."""
    return int(rng.integers(1 << 62))


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
