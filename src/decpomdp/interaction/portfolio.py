"""Phase 1: where to begin. Several memories and several chains are tried, each by one full core step.

No start is good everywhere: Dec-Tiger needs a memory that is given (with free memory nobody ever opens a door), box
pushing needs the chain of a good episode (skeletons end in the local optimum that everyone meets first). All are cheap
beside what follows, so all are tried, small ones first, and the common random numbers of the last line decide.
"""

from collections.abc import Callable

import numpy as np

from decpomdp.interaction import grafts
from decpomdp.interaction.arena import Arena
from decpomdp.interaction.ascent import ascend
from decpomdp.interaction.hops import seed_of, settle
from decpomdp.interaction.machine import Plan
from decpomdp.interaction.scale import Sizes
from decpomdp.interaction.skeletons import skeletons

Entry = Callable[[Arena, np.random.Generator], Plan]


def entries(arena: Arena, sizes: Sizes) -> list[tuple[str, Entry]]:
    """Name and work of every entry: memories and chains by turns, small ones first."""
    alphabets = [len(agent.observations) for agent in arena.agents]
    fixed = [(name, _fixed(plan, sizes)) for name, plan in skeletons(alphabets, sizes.settings.skeleton_nodes)]
    chains = [(f"chain {length}", _chain(length, sizes)) for length in sizes.settings.chain_lengths]
    turns = max(len(fixed), len(chains))
    return [part[turn] for turn in range(turns) for part in (fixed, chains) if turn < len(part)]


def _fixed(plan: Plan, sizes: Sizes) -> Entry:
    def work(arena: Arena, rng: np.random.Generator) -> Plan:
        return _learnt(arena, plan, sizes, rng, free=False)

    return work


def _chain(length: int, sizes: Sizes) -> Entry:
    def work(arena: Arena, rng: np.random.Generator) -> Plan:
        start = grafts.chain(arena, min(length, sizes.learning), sizes.chain_episodes, seed_of(rng))
        return _learnt(arena, start, sizes, rng, free=True)

    return work


def _learnt(arena: Arena, start: Plan, sizes: Sizes, rng: np.random.Generator, *, free: bool) -> Plan:
    effort = sizes.full if free else sizes.full._replace(confidence=0.0)
    plan = ascend(arena, start, effort, seed_of(rng), free=free)
    return settle(arena, plan, sizes, rng)
