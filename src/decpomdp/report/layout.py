"""A layered layout of a directed graph in which labels are placed like nodes, so that nothing overlaps.

Nodes stand in rows by their distance from the start along the most used links. Between two rows of nodes lies a row of
labels: every link has its label in the row next to its source. A link that passes more rows has a bend in each, and
links to the same goal share these bends, so that they run together. Order in the rows: barycentre sweeps and exchanges
of neighbours, from several beginnings, with the fewest crossings kept. Places: every item is pulled to the mean of its
neighbours, in order and apart (least squares by pooling). A crowded row of labels has two or three levels.

Sources: K. Sugiyama, S. Tagawa, M. Toda. Methods for visual understanding of hierarchical system structures. IEEE
Transactions on Systems, Man and Cybernetics 1981; E. Gansner, E. Koutsofios, S. North, K.-P. Vo. A technique for
drawing directed graphs. IEEE Transactions on Software Engineering 1993 (labels as nodes, exchanges of neighbours).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

STARTS, SWEEPS = 8, 8  # beginnings, and sweeps of each, for the order
BUSY = 1200  # beginnings times wires, at most
SETTLING = 24  # sweeps for the places
APART, CLEAR = 14.0, 8.0  # pixels between items of a row; between a label and the wire of another level
WIDEST_ROW = 8  # nodes
DEEP = 1.3  # rows, as a multiple of the square root of the number of nodes, beyond which a graph grows in breadth
FEWEST_PIXELS = 520.0  # labels get levels only in wider rows
LEVELS = 3
BETWEEN = 4.0  # weight of the place of a label between two nodes of one row
NEAREST, FARTHEST, SLOPE = 20.0, 68.0, 0.13  # pixels between rows; more where wires go far sideways


XY = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Wire:
    """A link to lay, with the size of its label."""

    source: int
    goal: int
    width: float
    height: float


@dataclass(slots=True)
class GraphItem:
    """A node, a label or a bend."""

    row: int
    left: float  # extents from its centre
    right: float
    height: float
    near: list[int] = field(default_factory=list)  # items of the neighbouring rows that it is linked to
    level: int = 0  # of a label, within its row
    between: bool = False  # a label of a link between two nodes of one row: its wire stays above all labels
    x: float = 0.0
    y: float = 0.0  # centre


@dataclass(slots=True)
class GraphLayout:
    """Items with their places; the first ones are the nodes."""

    items: list[GraphItem]
    wires: Sequence[Wire]
    chains: list[list[int]] = field(default_factory=list)  # per wire: the items between its ends, the label first
    rows: list[list[int]] = field(default_factory=list)  # from left to right
    tops: list[float] = field(default_factory=list)
    heights: list[float] = field(default_factory=list)
    ports: dict[tuple[int, int], float] = field(default_factory=dict)  # (item, node) -> x: where wires meet nodes

    @property
    def width(self) -> float:
        """Pixels from 0."""
        return max(item.x + item.right for item in self.items)

    @property
    def height(self) -> float:
        """Pixels from 0."""
        return self.tops[-1] + self.heights[-1]

    def label(self, w: int) -> GraphItem:
        """The label of a wire."""
        return self.items[self.chains[w][0]]

    def route(self, w: int, tip: float) -> list[XY]:
        """The points of a wire, ending `tip` before its goal: through all rows or, within a row, by its label's top."""
        wire, chain, label = self.wires[w], self.chains[w], self.label(w)
        start, end = self._end(chain[0], wire.source, 0.0), self._end(chain[-1], wire.goal, tip)
        if label.between:
            return [start, (label.x, label.y - label.height / 2), end]
        points = [start]
        for item in (self.items[i] for i in chain):
            top = self.tops[item.row]
            ends = [(item.x, top), (item.x, top + self.heights[item.row])]
            points += ends if label.row > self.items[wire.source].row else ends[::-1]
        return [*points, end]

    def _end(self, i: int, node: int, tip: float) -> XY:
        """Where a wire meets a node: below it if its item there is below."""
        item, side = self.items[node], 1 if self.items[i].row > self.items[node].row else -1
        return self.ports[i, node], item.y + side * (item.height / 2 + tip)


def depths(count: int, starts: Sequence[int], links: Sequence[tuple[int, int]]) -> list[int]:
    """[i]: the row of every node, in a tree that grows from the start by the earliest link to a new node.

    With the most used links first, the usual way leads downwards. The tree grows in breadth when it is deep enough.
    Nodes that no link reaches begin in the first row; no row is too long.
    """
    depth, deepest = dict.fromkeys(starts, 0), math.ceil(DEEP * math.sqrt(count)) - 1
    while len(depth) < count:
        new = [(source, goal) for source, goal in links if source in depth and goal not in depth]
        if new:
            source, goal = next((link for link in new if depth[link[0]] < deepest), None) or min(
                new, key=lambda link: depth[link[0]]
            )
            depth[goal] = depth[source] + 1
        else:
            depth[next(node for node in range(count) if node not in depth)] = 0
    for row in range(count):
        members = [node for node in depth if depth[node] == row]
        for node in members[WIDEST_ROW:]:
            depth[node] += 1
    return [depth[i] for i in range(count)]


def laid_out(
    nodes: Sequence[tuple[float, float, float]], depth: Sequence[int], wires: Sequence[Wire], dense: float = 1.0
) -> GraphLayout:
    """Places for nodes of the given (left, right, height) and for the wires between them (no loops).

    The space between rows is divided by `dense`.
    """
    layout = GraphLayout([GraphItem(2 * depth[i], *size) for i, size in enumerate(nodes)], wires)
    bends: dict[tuple[int, int], int] = {}  # goal, row -> item
    for wire in wires:
        _string(layout, wire, bends)
    last = max(item.row for item in layout.items)
    layout.rows = [[] for _ in range(last + 1)]
    for i, item in enumerate(layout.items):
        layout.rows[item.row].append(i)
    _order(layout)
    _give_levels(layout)
    _place(layout)
    _stack(layout, dense)
    _meet(layout)
    return layout


def _string(layout: GraphLayout, wire: Wire, bends: dict[tuple[int, int], int]) -> None:
    """A label next to the source, and a bend in every other row on the way."""
    items, rows = layout.items, (layout.items[wire.source].row, layout.items[wire.goal].row)
    step = 1 if rows[0] <= rows[1] else -1
    between = rows[0] == rows[1]
    items.append(GraphItem(rows[0] + step, wire.width / 2, wire.width / 2, wire.height, between=between))
    chain = [len(items) - 1]
    for row in () if between else range(rows[0] + 2 * step, rows[1], step):
        if (wire.goal, row) not in bends:
            items.append(GraphItem(row, 1.0, 1.0, 0.0))
            bends[wire.goal, row] = len(items) - 1
        chain.append(bends[wire.goal, row])
    layout.chains.append(chain)
    for a, b in pairwise([wire.source, *chain, wire.goal]):
        if b not in items[a].near:
            items[a].near.append(b)
            items[b].near.append(a)


def _order(layout: GraphLayout) -> None:
    """The order of all rows with the fewest crossings met."""
    rng, best, fewest = np.random.default_rng(0), [list(row) for row in layout.rows], math.inf
    for start in range(min(STARTS, 1 + BUSY // max(len(layout.wires), 1))):
        if start:
            layout.rows = [[row[p] for p in rng.permutation(len(row))] for row in layout.rows]
        for sweep in range(SWEEPS):
            down = sweep % 2 == 0
            ranks = range(1, len(layout.rows)) if down else range(len(layout.rows) - 2, -1, -1)
            place = {i: p for row in layout.rows for p, i in enumerate(row)}
            for rank in ranks:
                _sort(layout, rank, rank - 1 if down else rank + 1, place)
            _exchange(layout, place)
            crossed = crossings(layout)
            if crossed < fewest:
                best, fewest = [list(row) for row in layout.rows], crossed
        if not fewest:
            break
    layout.rows = best


def _sort(layout: GraphLayout, rank: int, beside: int, place: dict[int, int]) -> None:
    """One row by the barycentres of its neighbours in another one."""
    scale = len(layout.rows[beside]) / max(len(layout.rows[rank]), 1)

    def centre(i: int) -> float:
        near = [place[other] for other in layout.items[i].near if layout.items[other].row == beside]
        return sum(near) / len(near) if near else place[i] * scale

    layout.rows[rank].sort(key=lambda i: (centre(i), place[i]))
    place.update((i, p) for p, i in enumerate(layout.rows[rank]))


def _exchange(layout: GraphLayout, place: dict[int, int]) -> None:
    """Swap neighbours as long as that saves crossings."""
    for row in layout.rows * 2:
        ends = {i: [(layout.items[other].row, place[other]) for other in layout.items[i].near] for i in row}
        for p in range(len(row) - 1):
            a, b = row[p], row[p + 1]
            if sum((x > y) - (x < y) for up, x in ends[a] for other, y in ends[b] if up == other) > 0:
                row[p], row[p + 1], place[a], place[b] = b, a, p + 1, p


def crossings(layout: GraphLayout) -> int:
    """How many pairs of wires cross between neighbouring rows."""
    total = 0
    for upper, lower in pairwise(layout.rows):
        place = {i: p for p, i in enumerate(lower)}
        ends = [(p, place[other]) for p, i in enumerate(upper) for other in layout.items[i].near if other in place]
        if ends:
            a, b = np.array(ends).T
            total += int(((a[:, None] < a) & (b[:, None] > b)).sum())
    return total


def _give_levels(layout: GraphLayout) -> None:
    """If a row of labels is wider than all rows of nodes, spread its labels over two or three levels."""
    widths = [sum(layout.items[i].left + layout.items[i].right + APART for i in row) for row in layout.rows]
    room = max(FEWEST_PIXELS, *widths[::2])
    for row, width in zip(layout.rows[1::2], widths[1::2], strict=False):
        levels = min(LEVELS, math.ceil(width / room))
        labels = [layout.items[i] for i in row if layout.items[i].height and not layout.items[i].between]
        for place, item in enumerate(labels):
            item.level = place % levels


def _place(layout: GraphLayout) -> None:
    """Items near the mean of their neighbours, settled by going up and down; then wires made straight."""
    items = layout.items
    shifts = [_tight(layout, row) for row in layout.rows]
    for row, shift in zip(layout.rows, shifts, strict=True):
        _settle(layout, row, shift, [0.0] * len(row), [1.0] * len(row))
    for sweep in range(SETTLING):
        for rank in range(len(layout.rows)) if sweep % 2 else range(len(layout.rows) - 1, -1, -1):
            row = layout.rows[rank]
            wishes = [sum(items[o].x for o in items[i].near) / max(len(items[i].near), 1) for i in row]
            weights = [BETWEEN if items[i].between else 1.0 for i in row]
            _settle(layout, row, shifts[rank], wishes, weights)
    place = {i: p for row in layout.rows for p, i in enumerate(row)}
    for chain in sorted(layout.chains, key=len, reverse=True):
        _straighten(layout, chain[1:], shifts, place)
        _straighten(layout, chain, shifts, place)
    edge = min(item.x - item.left for item in items)
    for item in items:
        item.x -= edge


def _tight(layout: GraphLayout, row: Sequence[int]) -> list[float]:
    """How far each item of a row is from the first when they touch; items of other levels may come nearer."""
    shifts = [0.0] * len(row)
    for p in range(1, len(row)):
        own = layout.items[row[p]]
        for q in range(max(0, p - LEVELS - 1), p):
            other = layout.items[row[q]]
            same = own.level == other.level or not own.height or not other.height
            apart = other.right + own.left + APART if same else max(other.right, own.left) + CLEAR
            shifts[p] = max(shifts[p], shifts[q] + apart)
    return shifts


def _settle(
    layout: GraphLayout, row: Sequence[int], shifts: Sequence[float], wishes: Sequence[float], weights: Sequence[float]
) -> None:
    """Least squares under order and distance: pool neighbours that would overlap and give them their mean wish."""
    pools: list[tuple[float, float, int]] = []  # mean wish for the first item, weight, size
    for wish, shift, weight in zip(wishes, shifts, weights, strict=True):
        mean, heavy, size = wish - shift, weight, 1
        while pools and pools[-1][0] > mean:
            before, other, count = pools.pop()
            mean, heavy, size = (before * other + mean * heavy) / (other + heavy), other + heavy, count + size
        pools.append((mean, heavy, size))
    firsts = [mean for mean, _, size in pools for _ in range(size)]
    for i, first, shift in zip(row, firsts, shifts, strict=True):
        layout.items[i].x = first + shift


def _straighten(
    layout: GraphLayout, chain: Sequence[int], shifts: Sequence[Sequence[float]], place: dict[int, int]
) -> None:
    """All bends of a wire above each other, where that place is free in all rows."""
    items, xs = layout.items, [layout.items[i].x for i in chain]

    def fits(i: int, x: float) -> bool:
        row, shift, p = layout.rows[items[i].row], shifts[items[i].row], place[i]
        return (p == 0 or x - items[row[p - 1]].x >= shift[p] - shift[p - 1] - 1e-6) and (
            p + 1 == len(row) or items[row[p + 1]].x - x >= shift[p + 1] - shift[p] - 1e-6
        )

    for x in sorted(set(xs), key=lambda x: sum(abs(x - other) for other in xs)):
        if all(fits(i, x) for i in chain):
            for i in chain:
                items[i].x = x
            return


def _stack(layout: GraphLayout, dense: float) -> None:
    """Heights: labels on their levels, and more room between rows where wires go far sideways."""
    y, items = 0.0, layout.items
    for rank, row in enumerate(layout.rows):
        if rank:
            far = max(
                (abs(items[i].x - items[o].x) for i in row for o in items[i].near if items[o].row < rank), default=0
            )
            y += min(NEAREST + SLOPE * far, FARTHEST) / dense
        levels = [
            max((items[i].height for i in row if items[i].level == level), default=0.0) for level in range(LEVELS)
        ]
        above = [sum(height + 4 for height in levels[:level]) for level in range(LEVELS)]
        for i in row:
            height = items[i].height if items[i].between else levels[items[i].level]
            items[i].y = y + above[items[i].level] + height / 2
        layout.tops.append(y)
        layout.heights.append(
            max((above[level] + height for level, height in enumerate(levels) if height), default=0.0)
        )
        y += layout.heights[-1]


def _meet(layout: GraphLayout) -> None:
    """Spread the wires along the sides of their nodes, in order."""
    items, sides = layout.items, dict[tuple[int, bool], set[int]]()
    for wire, chain in zip(layout.wires, layout.chains, strict=True):
        for node, i in ((wire.source, chain[0]), (wire.goal, chain[-1])):
            sides.setdefault((node, items[i].row > items[node].row), set()).add(i)
    for (node, _), met in sides.items():
        for place, i in enumerate(sorted(met, key=lambda i: (items[i].x, i))):
            spread = 1.5 * items[node].left * ((place + 1) / (len(met) + 1) - 0.5)
            layout.ports[i, node] = items[node].x + spread
