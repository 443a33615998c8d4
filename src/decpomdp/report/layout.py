"""A layered layout of a directed graph in which labels are placed like nodes, so that nothing overlaps.

Nodes are in rows by their distance from the start along the most used links. Between two rows of nodes is a row of
labels: every link has its label in the row next to its source. A link that crosses more rows has a bend in each, and
links to the same goal share these bends. Order in the rows: barycentre sweeps and exchanges of neighbours, from several
initial orders; the order with the fewest crossings is used. Positions: every item is moved towards the mean of its
neighbours, subject to order and distance (isotonic regression). A crowded row of labels has two or three levels.

Sources: K. Sugiyama, S. Tagawa, M. Toda. Methods for visual understanding of hierarchical system structures. IEEE
Transactions on Systems, Man and Cybernetics 1981; E. Gansner, E. Koutsofios, S. North, K.-P. Vo. A technique for
drawing directed graphs. IEEE Transactions on Software Engineering 1993 (labels as nodes, exchanges of neighbours).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate, pairwise

import numpy as np

STARTS, SWEEPS = 8, 8  # initial orders, and sweeps of each
BUSY = 1200  # initial orders times wires, at most
SETTLING = 24  # sweeps that compute the positions
APART, CLEAR = 14.0, 8.0  # pixels between items of a row; between a label and the wire of another level
WIDEST_ROW = 8  # nodes
DEEP = 1.3  # rows, as a multiple of the square root of the number of nodes, beyond which rows become wider
FEWEST_PIXELS = 520.0  # labels get levels only in wider rows
LEVELS, LEVEL_GAP = 3, 4.0  # of labels; pixels between them
BETWEEN = 4.0  # weight of the position of a label between two nodes of one row
NEAREST, FARTHEST, SLOPE = 20.0, 68.0, 0.13  # pixels between rows; more where wires go far sideways
REMEMBERED = 256  # cached orders: a page draws every graph twice, and agents often have equal graphs

XY = tuple[float, float]
Rows = Sequence[Sequence[int]]  # items from left to right
Near = Sequence[Sequence[int]]  # [item]: linked items in the neighbouring rows


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
    near: list[int] = field(default_factory=list)
    level: int = 0  # of a label, within its row
    between: bool = False  # a label of a link between two nodes of one row: its wire stays above all labels
    x: float = 0.0
    y: float = 0.0  # centre


def depths(count: int, starts: Sequence[int], links: Sequence[tuple[int, int]]) -> list[int]:
    """[i]: the row of every node, in a tree that grows from the start by the earliest link to a new node.

    If the most used links come first, usual moves lead downwards. Beyond a depth (`DEEP`) rows become wider instead.
    Unreachable nodes are in the first row; rows have at most `WIDEST_ROW` nodes.
    """
    depth, deepest = dict.fromkeys(starts, 0), math.ceil(DEEP * math.sqrt(count)) - 1
    while len(depth) < count:
        new = [(source, goal) for source, goal in links if source in depth and goal not in depth]
        if new:
            source, goal = min(new, key=lambda link: max(0, depth[link[0]] - deepest + 1))
            depth[goal] = depth[source] + 1
        else:
            depth[next(node for node in range(count) if node not in depth)] = 0
    for row in range(count):
        for node in [node for node in depth if depth[node] == row][WIDEST_ROW:]:
            depth[node] += 1
    return [depth[i] for i in range(count)]


class GraphLayout:
    """Positions of nodes with these (left, right, height) and depths, and of the wires between them (no loops).

    The first items are the nodes. The space between rows is divided by `dense`.
    """

    def __init__(
        self,
        nodes: Sequence[tuple[float, float, float]],
        depth: Sequence[int],
        wires: Sequence[Wire],
        dense: float = 1.0,
    ) -> None:
        self.wires, self.dense = wires, dense
        self.items = [GraphItem(2 * depth[i], *size) for i, size in enumerate(nodes)]
        bends: dict[tuple[int, int], int] = {}  # goal, row -> item
        self.chains = [self._string(wire, bends) for wire in wires]  # the items between its ends, the label first
        last = max(item.row for item in self.items)
        rows = tuple(tuple(i for i, item in enumerate(self.items) if item.row == row) for row in range(last + 1))
        starts = min(STARTS, 1 + BUSY // max(len(wires), 1))
        self.rows = ordered(rows, tuple(tuple(item.near) for item in self.items), starts)
        self._give_levels()
        self._place()
        self.tops, self.heights = [0.0] * len(self.rows), [0.0] * len(self.rows)
        self._stack()
        self.ports: dict[tuple[int, int], float] = {}  # (item, node) -> x: where wires meet nodes
        self._meet()

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
        """The points of a wire, ending `tip` before its goal: through all rows or, within a row, over the label."""
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
        """The end of a wire at a node: below the node if the next item is below."""
        item, side = self.items[node], 1 if self.items[i].row > self.items[node].row else -1
        return self.ports[i, node], item.y + side * (item.height / 2 + tip)

    def _string(self, wire: Wire, bends: dict[tuple[int, int], int]) -> list[int]:
        """A label next to the source, and a bend in every other row on the way."""
        items, first, last = self.items, self.items[wire.source].row, self.items[wire.goal].row
        step, between = 1 if first <= last else -1, first == last
        items.append(GraphItem(first + step, wire.width / 2, wire.width / 2, wire.height, between=between))
        chain = [len(items) - 1]
        for row in () if between else range(first + 2 * step, last, step):
            if (wire.goal, row) not in bends:
                bends[wire.goal, row] = len(items)
                items.append(GraphItem(row, 1.0, 1.0, 0.0))
            chain.append(bends[wire.goal, row])
        for a, b in pairwise([wire.source, *chain, wire.goal]):
            if b not in items[a].near:
                items[a].near.append(b)
                items[b].near.append(a)
        return chain

    def _give_levels(self) -> None:
        """If a row of labels is wider than all rows of nodes, spread its labels over two or three levels."""
        widths = [sum(self.items[i].left + self.items[i].right + APART for i in row) for row in self.rows]
        room = max(FEWEST_PIXELS, *widths[::2])
        for row, width in zip(self.rows[1::2], widths[1::2], strict=False):
            levels = min(LEVELS, math.ceil(width / room))
            labels = [self.items[i] for i in row if self.items[i].height and not self.items[i].between]
            for place, item in enumerate(labels):
                item.level = place % levels

    def _place(self) -> None:
        """Move items towards the mean of their neighbours, in sweeps up and down; then straighten wires."""
        items, shifts = self.items, [self._tight(row) for row in self.rows]
        for rank, row in enumerate(self.rows):
            self._settle(row, shifts[rank], [0.0] * len(row), [1.0] * len(row))
        for sweep in range(SETTLING):
            for rank in range(len(self.rows)) if sweep % 2 else range(len(self.rows) - 1, -1, -1):
                row = self.rows[rank]
                targets = [sum(items[o].x for o in items[i].near) / max(len(items[i].near), 1) for i in row]
                self._settle(row, shifts[rank], targets, [BETWEEN if items[i].between else 1.0 for i in row])
        for chain in sorted(self.chains, key=len, reverse=True):
            self._straighten(chain[1:], shifts)
            self._straighten(chain, shifts)
        edge = min(item.x - item.left for item in items)
        for item in items:
            item.x -= edge

    def _tight(self, row: Sequence[int]) -> list[float]:
        """Smallest distance of each item of a row from the first; items on different levels may be closer."""
        shifts = [0.0] * len(row)
        for p in range(1, len(row)):
            own = self.items[row[p]]
            for q in range(max(0, p - LEVELS - 1), p):
                other = self.items[row[q]]
                same = own.level == other.level or not own.height or not other.height
                apart = other.right + own.left + APART if same else max(other.right, own.left) + CLEAR
                shifts[p] = max(shifts[p], shifts[q] + apart)
        return shifts

    def _settle(
        self, row: Sequence[int], shifts: Sequence[float], targets: Sequence[float], weights: Sequence[float]
    ) -> None:
        """Least squares subject to order and distance, by pooling adjacent violators: pools get their mean target."""
        pools: list[tuple[float, float, int]] = []  # mean target for the first item, weight, size
        for target, shift, weight in zip(targets, shifts, weights, strict=True):
            mean, heavy, size = target - shift, weight, 1
            while pools and pools[-1][0] > mean:
                before, other, count = pools.pop()
                mean, heavy, size = (before * other + mean * heavy) / (other + heavy), other + heavy, count + size
            pools.append((mean, heavy, size))
        firsts = [mean for mean, _, size in pools for _ in range(size)]
        for i, first, shift in zip(row, firsts, shifts, strict=True):
            self.items[i].x = first + shift

    def _straighten(self, chain: Sequence[int], shifts: Sequence[Sequence[float]]) -> None:
        """Put all bends of a wire at the same x, if it is free in all rows."""
        xs = [self.items[i].x for i in chain]

        def fits(i: int, x: float) -> bool:
            """Whether item i fits between its neighbours at x."""
            row, shift = self.rows[self.items[i].row], shifts[self.items[i].row]
            p = row.index(i)
            sides = [(q, side) for q, side in ((p - 1, 1), (p + 1, -1)) if 0 <= q < len(row)]
            return all(side * (x - self.items[row[q]].x) >= side * (shift[p] - shift[q]) - 1e-6 for q, side in sides)

        for x in sorted(set(xs), key=lambda x: sum(abs(x - other) for other in xs)):
            if all(fits(i, x) for i in chain):
                for i in chain:
                    self.items[i].x = x
                return

    def _stack(self) -> None:
        """Set heights: labels on their levels, and more space between rows where wires go far sideways."""
        y, items = 0.0, self.items
        for rank, row in enumerate(self.rows):
            if rank:
                far = [abs(items[i].x - items[o].x) for i in row for o in items[i].near if items[o].row < rank]
                y += min(NEAREST + SLOPE * max(far, default=0), FARTHEST) / self.dense
            levels = [max((items[i].height for i in row if items[i].level == n), default=0.0) for n in range(LEVELS)]
            above = list(accumulate((height + LEVEL_GAP for height in levels[:-1]), initial=0.0))
            for i in row:
                height = items[i].height if items[i].between else levels[items[i].level]
                items[i].y = y + above[items[i].level] + height / 2
            ends = (top + height for top, height in zip(above, levels, strict=True) if height)
            self.tops[rank], self.heights[rank] = y, max(ends, default=0.0)
            y += self.heights[rank]

    def _meet(self) -> None:
        """Spread the wires along the sides of their nodes, in order."""
        items, sides = self.items, dict[tuple[int, bool], set[int]]()
        for wire, chain in zip(self.wires, self.chains, strict=True):
            for node, i in ((wire.source, chain[0]), (wire.goal, chain[-1])):
                sides.setdefault((node, items[i].row > items[node].row), set()).add(i)
        for (node, _), met in sides.items():
            for place, i in enumerate(sorted(met, key=lambda i: (items[i].x, i))):
                spread = 1.5 * items[node].left * ((place + 1) / (len(met) + 1) - 0.5)
                self.ports[i, node] = items[node].x + spread


@lru_cache(REMEMBERED)
def ordered(rows: tuple[tuple[int, ...], ...], near: tuple[tuple[int, ...], ...], starts: int) -> Rows:
    """The order of all rows with the fewest crossings, from `starts` initial orders."""
    rank = {i: r for r, row in enumerate(rows) for i in row}
    order, best, fewest = [list(row) for row in rows], rows, math.inf
    rng = np.random.default_rng(0)
    for start in range(starts):
        if start:
            order = [[row[p] for p in rng.permutation(len(row))] for row in order]
        for sweep in range(SWEEPS):
            place = {i: p for row in order for p, i in enumerate(row)}
            for adjacent, row in pairwise(order if sweep % 2 == 0 else order[::-1]):
                _sort(row, adjacent, near, place)
            _exchange(order, near, rank, place)
            crossed = crossings(order, near)
            if crossed < fewest:
                best, fewest = tuple(map(tuple, order)), crossed
        if not fewest:
            break
    return best


def _sort(row: list[int], adjacent: list[int], near: Near, place: dict[int, int]) -> None:
    """One row by the barycentres of its neighbours in another one."""
    scale, others, centres = len(adjacent) / max(len(row), 1), set(adjacent), dict[int, float]()
    for i in row:
        met = [place[other] for other in near[i] if other in others]
        centres[i] = sum(met) / len(met) if met else place[i] * scale
    row.sort(key=lambda i: (centres[i], place[i]))
    place.update((i, p) for p, i in enumerate(row))


def _exchange(order: list[list[int]], near: Near, rank: dict[int, int], place: dict[int, int]) -> None:
    """Swap neighbours if that removes crossings."""
    for row in order * 2:
        ends = {i: [(rank[other], place[other]) for other in near[i]] for i in row}
        for p in range(len(row) - 1):
            a, b = row[p], row[p + 1]
            if sum((x > y) - (x < y) for up, x in ends[a] for other, y in ends[b] if up == other) > 0:
                row[p], row[p + 1], place[a], place[b] = b, a, p + 1, p


def crossings(rows: Rows, near: Near) -> int:
    """Number of pairs of wires that cross between neighbouring rows."""
    total = 0
    for upper, lower in pairwise(rows):
        place = {i: p for p, i in enumerate(lower)}
        ends = [(p, place[other]) for p, i in enumerate(upper) for other in near[i] if other in place]
        if ends:
            a, b = np.array(ends).T
            total += int(((a[:, None] < a) & (b[:, None] > b)).sum())
    return total
