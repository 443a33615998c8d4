"""The truncation follows the data: empty nodes are dropped, nodes in use split or merged, ordered by use.

Each change is only a proposal. It is taken when the bound of the changed posterior is higher than without it, so the
bound never falls because of it. The start node stays first.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from decpomdp.learners.posterior import AgentPosterior, Counts, occupied_nodes
from decpomdp.learners.priors import MOST_NODES

# DEPARTS: the paper only says that the truncation is the occupancy and some nodes more; no bound decides there
SPARE = 2  # empty nodes kept in the truncation for what the data may still ask for
TRIES = 24  # nodes that may be merged one at a time before a fit ends
FEW = (1, 2, 3, 4, 5, 6)  # nodes that a fit may begin with afresh before it ends

Change = Callable[[Counts], Counts]


def smaller(posterior: Sequence[AgentPosterior], counts: list[Counts], threshold: float) -> list[list[Counts]]:
    """All agents with few empty nodes, with none, and ordered by use. Only what differs from `counts`."""
    fitting = _changed(posterior, counts, lambda c: c.chosen(_in_use(c, threshold)))
    bare = _changed(posterior, counts, lambda c: _bare(c, threshold))
    ordered = _changed(posterior, fitting, _ordered)
    found = [fewer for fewer in (fitting, bare) if _sizes(fewer) != _sizes(counts)]
    return [*found, ordered] if any(a is not b for a, b in zip(ordered, fitting, strict=True)) else found


def larger(posterior: Sequence[AgentPosterior], counts: list[Counts], threshold: float) -> list[list[Counts]]:
    """Every agent's nodes in use with one of them split; nothing when there is no room for that."""

    def grown(c: Counts) -> Counts:
        used = _bare(c, threshold)
        return used.split() if used.nodes < MOST_NODES else c

    result = _changed(posterior, counts, grown)
    return [] if _sizes(result) == _sizes(counts) else [result]


def merged(posterior: Sequence[AgentPosterior], counts: list[Counts], threshold: float) -> list[list[Counts]]:
    """Every agent's nodes in use, the rarest merged into the one that acts most alike; nothing if all have one."""

    def fewer(c: Counts) -> Counts:
        used = _bare(c, threshold)
        return used.merged(1 + int(_occupancy(used)[1:].argmin())) if used.nodes > 1 else used

    result = _changed(posterior, counts, fewer)
    return [] if _sizes(result) == _sizes(counts) else [result]


def merged_singly(
    posterior: Sequence[AgentPosterior], counts: list[Counts], threshold: float
) -> Iterator[tuple[str, list[Counts]]]:
    """The nodes in use, one node of one agent merged into the one that acts most alike; with the name of that node.

    The rarest come first; at most TRIES of them, whatever the number of agents.
    """
    used = _changed(posterior, counts, lambda c: _bare(c, threshold))
    shares = [
        (float(_occupancy(c)[node]), n, node)
        for n, (agent, c) in enumerate(zip(posterior, used, strict=True))
        for node in range(1, c.nodes)
        if agent.priors.move.sized
    ]
    for _, n, node in sorted(shares)[:TRIES]:
        yield f"merge {n}:{node}", [c.merged(node) if m == n else c for m, c in enumerate(used)]


def other_sizes(posterior: Sequence[AgentPosterior], counts: list[Counts], threshold: float, others: bool) -> list[int]:
    """Sizes to begin with afresh: few nodes, one less and one more than there are; none where sizes are given.

    `others`: whether they may take the place of several nodes. Otherwise two of them, in the place of one.
    """
    if not all(agent.priors.move.sized for agent in posterior):
        return []
    used = max(len(occupied_nodes(_occupancy(c), threshold)) for c in counts)
    if not others:
        return [2] if used == 1 else []
    return sorted({*FEW, max(used - 1, 1), min(used + 1, MOST_NODES)})


def _changed(posterior: Sequence[AgentPosterior], counts: list[Counts], change: Change) -> list[Counts]:
    """The agents whose size is to be inferred, changed."""
    return [change(c) if agent.priors.move.sized else c for agent, c in zip(posterior, counts, strict=True)]


def _sizes(counts: list[Counts]) -> list[int]:
    return [c.nodes for c in counts]


def _bare(counts: Counts, threshold: float) -> Counts:
    """The nodes in use."""
    return counts.chosen(occupied_nodes(_occupancy(counts), threshold))


def _occupancy(counts: Counts) -> NDArray[np.float64]:
    visits = counts.visits.sum(axis=1)
    return visits / max(visits.sum(), 1e-300)


def _in_use(counts: Counts, threshold: float) -> NDArray[np.int64]:
    """Occupied nodes and a few spare ones."""
    occupancy = _occupancy(counts)
    occupied = occupied_nodes(occupancy, threshold)
    empty = np.setdiff1d(np.arange(counts.nodes), occupied)
    spare = empty[np.argsort(-occupancy[empty], kind="stable")][:SPARE]
    return np.sort(np.append(occupied, spare))


def _ordered(counts: Counts) -> Counts:
    """All nodes by falling occupancy, the start node first; itself when they are."""
    occupancy = _occupancy(counts)
    occupancy[0] = np.inf
    order = np.argsort(-occupancy, kind="stable")
    return counts if np.array_equal(order, np.arange(counts.nodes)) else counts.chosen(order)
