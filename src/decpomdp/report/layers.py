"""Where things go in a layered drawing, so that no two of them overlap.

Nodes stand in rows by their distance from the start. Between two rows of nodes lies a row of labels: the words of a
link are a thing of their own, in the row halfway, and a link that passes a row has a bend in it. So words and curves
keep clear of nodes by construction. Their order and places within a row are found in `rows`.

Sources: K. Sugiyama, S. Tagawa, M. Toda. Methods for visual understanding of hierarchical system structures. IEEE
Transactions on Systems, Man and Cybernetics 1981; E. Gansner, E. Koutsofios, S. North, K.-P. Vo. A technique for
drawing directed graphs. IEEE Transactions on Software Engineering 1993 (labels as nodes).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from decpomdp.report.rows import Layout, Thing, order, place

GAP = 26.0  # pixels between rows, for the curves


@dataclass(frozen=True, slots=True)
class Wire:
    """A link to lay: from a node to another, with a label of this size."""

    source: int
    goal: int
    width: float
    height: float


def depths(count: int, starts: Sequence[int], links: Sequence[tuple[int, int]]) -> list[int]:
    """[i]: steps from the start along the links; what cannot be reached begins again in the first row."""
    depth = dict.fromkeys(starts, 0)
    for root in [None, *range(count)]:
        if root is not None and root in depth:
            continue
        if root is not None:
            depth[root] = 0
        queue = sorted(depth, key=lambda node: depth[node])
        for node in queue:  # grows while we walk
            for source, goal in links:
                if source == node and goal not in depth:
                    depth[goal] = depth[node] + 1
                    queue.append(goal)
    return [depth[i] for i in range(count)]


def laid_out(nodes: Sequence[tuple[float, float, float]], depth: Sequence[int], wires: Sequence[Wire]) -> Layout:
    """Places for nodes of the given (left, right, height) and for the wires between them (no loops)."""
    things = [Thing(2 * depth[i], left, right, height) for i, (left, right, height) in enumerate(nodes)]
    layout = Layout(things, [], [])
    for wire in wires:
        _string(layout, wire)
    last = max(thing.rank for thing in things)
    layout.rows = [[i for i, thing in enumerate(things) if thing.rank == rank] for rank in range(last + 1)]
    order(layout)
    place(layout)
    _stack(layout)
    return layout


def _string(layout: Layout, wire: Wire) -> None:
    """Bends for a wire in all rows between its ends, one of them with room for its words."""
    things, (one, other) = layout.things, sorted((layout.things[wire.source].rank, layout.things[wire.goal].rank))
    between = list(range(one + 1, other)) or [one + 1]
    words = between[len(between) // 2]  # an odd number of rows, so this is the middle one
    words = words if words % 2 else words - 1
    chain = []
    for rank in between:
        half, height = (wire.width / 2, wire.height) if rank == words else (1.0, 0.0)
        things.append(Thing(rank, half, half, height))
        chain.append(len(things) - 1)
        if rank == words:
            layout.labels.append(len(things) - 1)
    if things[wire.source].rank > things[wire.goal].rank:
        chain.reverse()
    layout.chains.append(chain)
    path = [wire.source, *chain, wire.goal]
    for a, b in pairwise(path):
        things[a].near.append(b)
        things[b].near.append(a)


def _stack(layout: Layout) -> None:
    y = 0.0
    for row in layout.rows:
        height = max((layout.things[thing].height for thing in row), default=0.0)
        layout.tops.append(y)
        layout.heights.append(height)
        y += height + GAP
