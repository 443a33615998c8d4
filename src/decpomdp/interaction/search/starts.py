"""The portfolio of starts: memories and chains, each with one full ascent.

A skeleton is a fixed memory (see `machines.py`) of which only the actions are learned. With free memory all nodes begin
alike, moves have no gradient, and learning ends in a policy without memory.

A chain is the machine of one good episode: node t takes the action of step t and moves to node t + 1, the last one to
the first. It finds long coordinated sequences of actions, which occur once in thousands of random episodes and
gradients never.

No start is good for all problems: Dec-Tiger needs a skeleton (with free memory no agent ever opens a door), box pushing
a chain (skeletons end in the nearest local optimum). All are cheap compared with the search that follows, so all are
tried, small ones first, and scored on common random numbers.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from decpomdp.interaction.episode_player import draw_seed
from decpomdp.interaction.search.ascent import ascend
from decpomdp.interaction.search.machines import (
    BEGIN,
    Follow,
    Machine,
    Plan,
    clock,
    constant,
    opening,
    tree,
    unfold,
    window,
)
from decpomdp.interaction.search.moves import rescheduled, settle
from decpomdp.interaction.search.players import Player
from decpomdp.interaction.search.sizes import Sizes
from decpomdp.kernels.machines import ROOT, RandomWindow

Start = Callable[[Player, np.random.Generator], Plan]


class Skeleton(NamedTuple):
    """A memory for every agent, with actions to be learned."""

    name: str
    plan: Plan
    period: int | None  # of a clock without other memory


def portfolio(player: Player, sizes: Sizes) -> list[tuple[str, Start]]:
    """Name and work of every start: memories and chains alternate, small ones first."""
    alphabets = [len(agent.observations) for agent in player.agents]
    memories = skeletons(alphabets, sizes.tuning.skeleton_nodes, sizes.max_nodes)
    fixed = [(memory.name, _fixed(memory, sizes)) for memory in memories]
    chains = [(f"chain {length}", _chain(length, sizes)) for length in sizes.tuning.chain_lengths]
    turns = max(len(fixed), len(chains))
    return [part[turn] for turn in range(turns) for part in (fixed, chains) if turn < len(part)]


def _fixed(memory: Skeleton, sizes: Sizes) -> Start:
    """Learn the actions of a fixed memory.

    With a clock alone, gradients do not find actions that only pay if all agents change together, so a race follows.
    """

    def work(player: Player, rng: np.random.Generator) -> Plan:
        plan = ascend(player, memory.plan, sizes.full._replace(confidence=0.0), draw_seed(rng), free=False)
        if memory.period is not None:
            plan = rescheduled(player, plan, memory.period, sizes, rng)
        return settle(player, plan, sizes, rng)

    return work


def _chain(length: int, sizes: Sizes) -> Start:
    def work(player: Player, rng: np.random.Generator) -> Plan:
        start = chain(player, min(length, sizes.learning), sizes.chain_episodes, draw_seed(rng))
        return settle(player, ascend(player, start, sizes.full, draw_seed(rng), free=True), sizes, rng)

    return work


def chain(player: Player, length: int, episodes: int, seed: int) -> Plan:
    """The best of many random episodes of `length` steps, as a cycle."""
    everything = RandomWindow(0, length, np.ones(len(player.agents)))
    played = player.elites(constant(player), everything, episodes, length, seed, 1)
    steps = int(played.lengths[0])
    return tuple(
        _cycle(played.actions[0, :steps, n].astype(np.int64), len(agent.observations))
        for n, agent in enumerate(player.agents)
    )


def _cycle(actions: np.ndarray, observations: int) -> Machine:
    following = np.roll(np.arange(len(actions)), -1) + 1
    move = np.repeat(np.append(ROOT + 1, following)[:, None], observations + 1, axis=1)
    return Machine(np.append(0, actions), move)


def families(longest: int) -> Iterator[tuple[str, list[Follow], int | None]]:
    """Name, members (the named one first, then smaller substitutes), period of a clock alone; cheap ones first."""
    for size in range(1, 13):
        if size <= 5:
            yield f"window {size}", [window(width) for width in range(size, 0, -1)], None
        if size <= 8:
            yield f"tree {size}", [tree(depth) for depth in range(size, 0, -1)], None
        if size >= 2:
            yield f"clock {size}", [clock(size, 0)], size
            yield f"clock {size} x 1", [clock(period, 1) for period in range(size, 0, -1)], None
        if size in (2, 4, 8):
            yield f"opening {size}", [opening(size, 0)], None
            yield f"opening {size} x 1", [opening(steps, 1) for steps in range(size, 0, -1)], None
        if 2 <= size <= 4:
            yield f"clock {size} x 2", [clock(period, 2) for period in range(size, 0, -1)], None
    for size in range(13, longest + 1):
        yield f"clock {size}", [clock(size, 0)], size


def skeletons(alphabets: list[int], largest: int, longest: int = 12) -> Iterator[Skeleton]:
    """Memories for agents with these numbers of observations, each at most max(largest, |O| + 1) nodes.

    An agent whose alphabet makes a memory too large gets the largest member of the family that fits it. A
    memory that equals an earlier one for every agent is left out.
    """
    known: set[tuple[bytes, ...]] = set()
    for name, members, period in families(longest):
        fitting = {size: _fitting(members, size, max(largest, size + 1)) for size in set(alphabets)}
        plan = tuple(machine for machine in (fitting[size] for size in alphabets) if machine is not None)
        key = tuple(machine.move.tobytes() for machine in plan)
        if len(plan) == len(alphabets) and key not in known:
            known.add(key)
            yield Skeleton(name, plan, period)


def _fitting(members: list[Follow], observations: int, limit: int) -> Machine | None:
    """The first member, from large to small, that takes at most `limit` nodes."""
    built = (unfold(BEGIN, member, observations, limit) for member in members)
    return next((pair[1] for pair in built if pair is not None), None)
