"""Proposals of other sizes: empty nodes are dropped, nodes in use are split, merged and ordered by use.

A proposal is accepted if it raises the bound. The start node stays first.

Every fifth sweep goes through a queue of proposals, in this order:

  DROP     fewer empty nodes, and nodes ordered by use: evaluated as they are
  RESIZE   one node split, one node merged in all agents: evaluated after some sweeps of their own
  MERGE    one node of one agent merged: before the fit ends; one agent may have too many nodes and another just enough
  AFRESH   a restart with few nodes, or with one more or one less: before the fit ends. A fit that began with many nodes
           may end in a local optimum where each node does a little of everything, which no merge leaves. Actions that
           a controller never takes have no counts, so a split cannot bring them back.

All but the first kind are tried once per fit and sizes (`Proposal.key`).
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.learners.posterior import AgentPosterior, Counts, occupied_nodes
from decpomdp.learners.priors import MOST_NODES

# DEPARTS: the paper only says that the truncation is the occupancy and some nodes more; no bound decides there
SPARE = 2  # empty nodes in the truncation
TRIES = 24  # nodes that are merged one at a time before a fit ends, at most
FEW = (1, 2, 3, 4, 5, 6)  # nodes of restarts

DROP, RESIZE, MERGE, AFRESH = "drop", "resize", "merge", "afresh"

Change = Callable[[Counts], Counts]
Key = tuple[str, tuple[int, ...]]


class Proposal(NamedTuple):
    """Another posterior to try."""

    kind: str
    key: Key  # identifies proposals that are tried once
    counts: list[Counts]  # of every agent; empty for a restart, which begins with key[1][0] nodes


def proposals(
    posterior: Sequence[AgentPosterior], counts: list[Counts], threshold: float, steady: bool, afresh: list[int]
) -> list[Proposal]:
    """The queue of one sweep. `afresh`: sizes of restarts. Unless `steady`, the objective is no bound: no merges."""

    def tried(kind: str, way: str, changed: list[Counts]) -> Proposal:
        return Proposal(kind, (way, tuple(_sizes(changed))), changed)

    queue = [tried(DROP, "", changed) for changed in smaller(posterior, counts, threshold)]
    queue += [tried(RESIZE, "", changed) for changed in larger(posterior, counts, threshold)]
    if steady:
        queue += [tried(RESIZE, "", changed) for changed in merged(posterior, counts, threshold)]
        queue += [tried(MERGE, way, changed) for way, changed in merged_singly(posterior, counts, threshold)]
    return queue + [Proposal(AFRESH, ("afresh", (nodes,)), []) for nodes in afresh]


def smaller(posterior: Sequence[AgentPosterior], counts: list[Counts], threshold: float) -> list[list[Counts]]:
    """All agents with few empty nodes, with none, and ordered by use; those that differ from `counts`."""
    fitting = _changed(posterior, counts, lambda c: c.chosen(_in_use(c, threshold)))
    bare = _changed(posterior, counts, lambda c: _bare(c, threshold))
    ordered = _changed(posterior, fitting, _ordered)
    changed = [fewer for fewer in (fitting, bare) if _sizes(fewer) != _sizes(counts)]
    return [*changed, ordered] if any(a is not b for a, b in zip(ordered, fitting, strict=True)) else changed


def larger(posterior: Sequence[AgentPosterior], counts: list[Counts], threshold: float) -> list[list[Counts]]:
    """Every agent's nodes in use with one of them split; nothing at the largest size."""

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
    """Sizes of restarts: few nodes, one less and one more than now; none for a prior of fixed size.

    Unless `others`: only two nodes instead of one.
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
