"""The truncation follows the data: empty nodes are dropped, new ones offered when all are in use, order by use.

Each change is only a proposal. It is taken when the bound of the changed posterior is higher than without it, so the
bound never falls because of it. The start node stays first.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from decpomdp.learners.posterior import AgentPosterior, Counts, occupied_nodes

SPARE = 2  # empty nodes kept in the truncation for what the data may still ask for


def proposals(
    posterior: Sequence[AgentPosterior], counts: list[Counts], threshold: float, largest: int
) -> list[list[Counts]]:
    """Other sizes and orders worth trying: all agents resized; all resized and ordered by occupancy."""
    sized = [agent.priors.move.sized for agent in posterior]
    fitting = [_fitting(c, threshold, largest) if s else _all(c) for c, s in zip(counts, sized, strict=True)]
    ordered = [_ordered(c, nodes) if s else nodes for c, nodes, s in zip(counts, fitting, sized, strict=True)]
    tried: list[list[NDArray[np.int64]]] = []
    for choice in (fitting, ordered):
        changed = any(not np.array_equal(nodes, _all(c)) for nodes, c in zip(choice, counts, strict=True))
        if changed and not any(_same(choice, other) for other in tried):
            tried.append(choice)
    return [[c.chosen(nodes) for c, nodes in zip(counts, choice, strict=True)] for choice in tried]


def _all(counts: Counts) -> NDArray[np.int64]:
    return np.arange(counts.nodes)


def _same(one: list[NDArray[np.int64]], other: list[NDArray[np.int64]]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def _occupancy(counts: Counts) -> NDArray[np.float64]:
    visits = counts.visits.sum(axis=1)
    return visits / max(visits.sum(), 1e-300)


def _fitting(counts: Counts, threshold: float, largest: int) -> NDArray[np.int64]:
    """Occupied nodes and a few spare ones; new ones (-1) when none is left."""
    occupancy = _occupancy(counts)
    occupied = occupied_nodes(occupancy, threshold)
    empty = np.setdiff1d(np.arange(counts.nodes), occupied)
    if len(empty) == 0:
        return np.append(occupied, np.full(min(SPARE, max(0, largest - counts.nodes)), -1))
    spare = empty[np.argsort(-occupancy[empty], kind="stable")][:SPARE]
    return np.sort(np.append(occupied, spare))


def _ordered(counts: Counts, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The same nodes by falling occupancy, the start node first, new ones last."""
    occupancy = np.where(nodes >= 0, _occupancy(counts)[np.maximum(nodes, 0)], -1.0)
    occupancy[0] = np.inf
    return nodes[np.argsort(-occupancy, kind="stable")]
