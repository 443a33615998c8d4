"""Phase 1: where to begin. Several memories and several chains are tried, each by one full core step.

No start is good everywhere: Dec-Tiger needs a memory that is given (with free memory nobody ever opens a door), box
pushing needs the chain of a good episode (skeletons end in the local optimum that everyone meets first). All are cheap
beside what follows, so all are tried, small ones first, and the common random numbers of the last line decide.
"""

from collections.abc import Callable

import numpy as np

from decpomdp.interaction.players import Arena
from decpomdp.interaction.search import grafts
from decpomdp.interaction.search.ascent import ascend
from decpomdp.interaction.search.machines import Plan
from decpomdp.interaction.search.memories import Skeleton, skeletons
from decpomdp.interaction.search.moves import rescheduled, seed_of, settle
from decpomdp.interaction.search.sizes import Sizes

Entry = Callable[[Arena, np.random.Generator], Plan]


def entries(arena: Arena, sizes: Sizes) -> list[tuple[str, Entry]]:
    """Name and work of every entry: memories and chains by turns, small ones first."""
    alphabets = [len(agent.observations) for agent in arena.agents]
    memories = skeletons(alphabets, sizes.settings.skeleton_nodes, sizes.max_nodes)
    fixed = [(memory.name, _fixed(memory, sizes)) for memory in memories]
    chains = [(f"chain {length}", _chain(length, sizes)) for length in sizes.settings.chain_lengths]
    turns = max(len(fixed), len(chains))
    return [part[turn] for turn in range(turns) for part in (fixed, chains) if turn < len(part)]


def _fixed(memory: Skeleton, sizes: Sizes) -> Entry:
    """A memory that is given. With nothing but a clock, gradients do not find what pays only when all agents change at
    the same hour: a race does.
    """

    def work(arena: Arena, rng: np.random.Generator) -> Plan:
        plan = ascend(arena, memory.plan, sizes.full._replace(confidence=0.0), seed_of(rng), free=False)
        if memory.period is not None:
            plan = rescheduled(arena, plan, memory.period, sizes, rng)
        return settle(arena, plan, sizes, rng)

    return work


def _chain(length: int, sizes: Sizes) -> Entry:
    def work(arena: Arena, rng: np.random.Generator) -> Plan:
        start = grafts.chain(arena, min(length, sizes.learning), sizes.chain_episodes, seed_of(rng))
        return settle(arena, ascend(arena, start, sizes.full, seed_of(rng), free=True), sizes, rng)

    return work
