"""The order and the places of things in the rows of a layered drawing.

Rows are sorted by the barycentres of what they are linked to, to cross few links, and placed by least squares: every
thing wants to be above the mean of its neighbours, in order and apart. Wires are straightened where there is room.
"""

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

SWEEPS = 12  # up and down, for the order
SETTLING = 40  # up and down, for the places
APART = 14.0  # pixels between things of a row


@dataclass(slots=True)
class Thing:
    """A node, the words of a link, or a bend."""

    rank: int
    left: float  # extents from its centre
    right: float
    height: float
    near: list[int] = field(default_factory=list)  # things of the rows beside that it is linked to
    x: float = 0.0


@dataclass(slots=True)
class Layout:
    """Things with their places; the first ones are the nodes."""

    things: list[Thing]
    chains: list[list[int]]  # per wire: the things between its ends
    labels: list[int]  # per wire: the thing that carries its words
    rows: list[list[int]] = field(default_factory=list)  # by rank, from left to right
    tops: list[float] = field(default_factory=list)  # by rank
    heights: list[float] = field(default_factory=list)

    @property
    def width(self) -> float:
        """From 0 to here."""
        return max(thing.x + thing.right for thing in self.things)

    @property
    def height(self) -> float:
        """From 0 to here."""
        return self.tops[-1] + self.heights[-1]


def order(layout: Layout) -> None:
    """Rows sorted by the mean place of their neighbours, row after row, down and up; the least crossed is kept."""
    best, fewest = [list(row) for row in layout.rows], _crossings(layout)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        ranks = range(1, len(layout.rows)) if down else range(len(layout.rows) - 2, -1, -1)
        for rank in ranks:
            _sort(layout, rank, rank - 1 if down else rank + 1)
        crossed = _crossings(layout)
        if crossed < fewest:
            best, fewest = [list(row) for row in layout.rows], crossed
    layout.rows = best


def _sort(layout: Layout, rank: int, beside: int) -> None:
    place = {thing: p for p, thing in enumerate(layout.rows[beside])}
    own = {thing: p for p, thing in enumerate(layout.rows[rank])}
    scale = len(place) / max(len(own), 1)

    def wish(thing: int) -> float:
        places = [place[other] for other in layout.things[thing].near if other in place]
        return sum(places) / len(places) if places else own[thing] * scale

    layout.rows[rank].sort(key=lambda thing: (wish(thing), own[thing]))


def _crossings(layout: Layout) -> int:
    total = 0
    for upper, lower in pairwise(layout.rows):
        place = {thing: p for p, thing in enumerate(lower)}
        ends = [
            (p, place[other]) for p, thing in enumerate(upper) for other in layout.things[thing].near if other in place
        ]
        if ends:
            a, b = np.array(ends).T
            total += int(((a[:, None] < a) & (b[:, None] > b)).sum())
    return total


def place(layout: Layout) -> None:
    """Things above the mean of their neighbours, settled by going up and down."""
    for row in layout.rows:
        _settle(layout, row, [0.0] * len(row))
    for sweep in range(SETTLING):
        rows = layout.rows if sweep % 2 else layout.rows[::-1]
        for row in rows:
            wishes = [_mean_x(layout, thing) for thing in row]
            _settle(layout, row, wishes)
    for chain in layout.chains:
        _straighten(layout, chain)
    edge = min(thing.x - thing.left for thing in layout.things)
    for thing in layout.things:
        thing.x -= edge


def _straighten(layout: Layout, chain: list[int]) -> None:
    """All bends of a wire above each other, where there is a place free in all rows; as near as possible."""
    xs = [layout.things[thing].x for thing in chain]
    for x in sorted(set(xs), key=lambda x: sum(abs(x - other) for other in xs)):
        if all(_fits(layout, thing, x) for thing in chain):
            for thing in chain:
                layout.things[thing].x = x
            return


def _fits(layout: Layout, thing: int, x: float) -> bool:
    """Whether a thing may stand at x, between its neighbours in the row."""
    row, own = layout.rows[layout.things[thing].rank], layout.things[thing]
    place = row.index(thing)
    before = layout.things[row[place - 1]] if place else None
    after = layout.things[row[place + 1]] if place + 1 < len(row) else None
    near_enough = 1e-6
    return (before is None or x - own.left - APART >= before.x + before.right - near_enough) and (
        after is None or x + own.right + APART <= after.x - after.left + near_enough
    )


def _mean_x(layout: Layout, thing: int) -> float:
    near = layout.things[thing].near
    return float(np.mean([layout.things[other].x for other in near])) if near else layout.things[thing].x


def _settle(layout: Layout, row: list[int], wishes: list[float]) -> None:
    """Least squares under order and distance: pool neighbours that would overlap and give them their mean wish."""
    shifts, shift = [], 0.0  # of each thing from the first one when they touch
    for place, thing in enumerate(row):
        if place:
            shift += layout.things[row[place - 1]].right + APART + layout.things[thing].left
        shifts.append(shift)
    pools: list[list[float]] = []  # mean wish of the first thing, size
    for wish, shift in zip(wishes, shifts, strict=True):
        pools.append([wish - shift, 1.0])
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            mean, size = pools.pop()
            pools[-1] = [(pools[-1][0] * pools[-1][1] + mean * size) / (pools[-1][1] + size), pools[-1][1] + size]
    firsts = [mean for mean, size in pools for _ in range(int(size))]
    for thing, first, shift in zip(row, firsts, shifts, strict=True):
        layout.things[thing].x = first + shift
