"""Generic memories: machines whose moves are given and whose actions are to be learned.

Nothing is known of a problem before it is played, but what is worth remembering is nearly always one of: the last few
observations (windows), the time within a period (clocks) or since the start (openings), or everything since the period
began (trees). With such a memory given, every node means something from the start. With free memory all nodes begin
alike, no move matters, and learning settles for what can be done without memory.
"""

from collections.abc import Callable, Hashable, Iterator
from typing import NamedTuple

import numpy as np

from decpomdp.interaction.search.machines import Machine, Plan
from decpomdp.kernels.machines import ROOT

Memory = Hashable
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


BEGIN = "begin"  # the memory of the root


def families(longest: int) -> Iterator[tuple[str, list[Follow], int | None]]:
    """Name, members (the wanted one first, then smaller ones in its place), period of a clock alone; cheap ones first.

    Clocks of up to `longest` steps: what is seen cannot say when something that fills slowly is full, the time can.
    """
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


class Skeleton(NamedTuple):
    """A memory for every agent, with actions to be learned."""

    name: str
    plan: Plan
    period: int | None  # of a clock that keeps nothing else


def skeletons(alphabets: list[int], largest: int, longest: int = 12) -> Iterator[Skeleton]:
    """Memories for agents with these numbers of observations, each at most max(largest, |O| + 1) nodes.

    An agent whose alphabet makes a memory too large gets the largest member of the family that fits it. What is no
    different from an earlier one for any agent is left out.
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
