"""Generic memories: what a machine may remember, whatever the problem.

Nothing is known of a problem before it is played, but what is worth remembering is nearly always one of: the last few
observations (windows), the time within a period (clocks) or since the start (openings), or all observations since the
period began (trees).

A machine gets more memory at no loss: its product with a memory tracks both, and splitting nodes by incoming edge
remembers how a node was reached. The larger machine acts as before until something is learned on it; afterwards
`moves.fold` removes the nodes that were of no use.
"""

from collections.abc import Callable, Hashable

import numpy as np

from decpomdp.interaction.search.machines import Machine
from decpomdp.kernels.machines import ROOT

Memory = Hashable
BEGIN = "begin"  # the memory of the root
Follow = Callable[[Memory, int | None], Memory]  # (what is remembered, what is seen) -> what is remembered then


def unfold(begin: Memory, follow: Follow, observations: int, limit: int) -> tuple[list[Memory], Machine] | None:
    """The machine over all memories that can be reached from `begin`, or None beyond `limit` acting nodes.

    The first memory is follow(begin, o) after a first observation and follow(begin, None) after none.
    """
    places: dict[Memory, int] = {}
    rows: list[list[int]] = []

    def place(memory: Memory) -> int:
        return places.setdefault(memory, ROOT + 1 + len(places))

    symbols: list[int | None] = [*range(observations), None]
    rows.append([place(follow(begin, symbol)) for symbol in symbols])
    while len(rows) <= len(places) <= limit:
        memory = list(places)[len(rows) - 1]
        following = [place(follow(memory, symbol)) for symbol in range(observations)]
        rows.append([*following, following[0]])  # a node always sees something: the last column is not used
    if len(places) > limit:
        return None
    return list(places), Machine(np.zeros(len(rows), np.int64), np.array(rows, np.int64))


def tree(depth: int) -> Follow:
    """All observations since the period began; the period has `depth` actions."""

    def follow(memory: Memory, symbol: int | None) -> Memory:
        if symbol is None or not isinstance(memory, tuple):
            return () if symbol is None or depth == 1 else (symbol,)
        return (*memory, symbol) if len(memory) + 1 < depth else ()

    return follow


def window(width: int) -> Follow:
    """The last `width` observations."""

    def follow(memory: Memory, symbol: int | None) -> Memory:
        before = memory if isinstance(memory, tuple) else ()
        return (*before, symbol)[-width:] if symbol is not None else before

    return follow


def clock(period: int, width: int) -> Follow:
    """The time modulo `period` and the last `width` observations."""
    recent = window(width) if width else None

    def follow(memory: Memory, symbol: int | None) -> Memory:
        hour, seen = memory if isinstance(memory, tuple) else (period - 1, ())
        return (hour + 1) % period, recent(seen, symbol) if recent else ()

    return follow


def opening(steps: int, width: int) -> Follow:
    """The time since the start, up to `steps`, and the last `width` observations: how an episode begins is special."""
    recent = window(width) if width else None

    def follow(memory: Memory, symbol: int | None) -> Memory:
        hour, seen = memory if isinstance(memory, tuple) else (-1, ())
        return min(hour + 1, steps), recent(seen, symbol) if recent else ()

    return follow


def product(machine: Machine, memory: Follow, largest: int) -> Machine | None:
    """The machine that also keeps `memory`; None if that takes more than `largest` nodes."""

    def follow(pair: Memory, symbol: int | None) -> Memory:
        node, memorised = pair if isinstance(pair, tuple) else (ROOT, BEGIN)
        return int(machine.move[node, -1 if symbol is None else symbol]), memory(memorised, symbol)

    return _acting(machine, unfold(BEGIN, follow, machine.observations, largest))


def split(machine: Machine, chosen: set[int], largest: int) -> Machine | None:
    """The machine with a copy of every `chosen` node for each edge that leads to it."""

    def follow(pair: Memory, symbol: int | None) -> Memory:
        node = pair[0] if isinstance(pair, tuple) else ROOT
        column = -1 if symbol is None else symbol
        target = int(machine.move[node, column])
        return (target, (node, column)) if target in chosen else (target, None)

    return _acting(machine, unfold(BEGIN, follow, machine.observations, largest))


def _acting(machine: Machine, built: tuple[list[Memory], Machine] | None) -> Machine | None:
    """Actions of the nodes that the memories (node, ...) come from."""
    if built is None:
        return None
    memories, larger = built
    nodes = [memory[0] for memory in memories if isinstance(memory, tuple)]
    return Machine(machine.action[[ROOT, *nodes]], larger.move)


def hours(machine: Machine, period: int) -> np.ndarray:
    """[i]: steps since the start, modulo `period`, at which a machine that keeps such a clock is in node i."""
    hour_of = np.full(len(machine.action), -1)
    reached, hour = {int(node) for node in machine.move[ROOT]}, 0
    while any(hour_of[node] < 0 for node in reached):
        hour_of[list(reached)] = hour
        reached = {int(node) for node in machine.move[list(reached)].ravel()}
        hour = (hour + 1) % period
    return hour_of
