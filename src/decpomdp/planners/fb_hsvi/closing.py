"""From a long path to a loop: after layer t - 1, go on as in an earlier layer k.

Where the labels of layer t go is a weighted constraint problem again: one variable per label, its choices the nodes of
layer k, payoffs sum_s xi_t(s, l) V_k(s, q). The value of going on from t at k with the values V_k of the graph as it
is tells which loops are worth closing; a closed loop is then evaluated exactly.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from decpomdp.kernels import layers as kernels
from decpomdp.kernels.model import OutcomeModel
from decpomdp.planners.fb_hsvi.graph_values import ROUGH, Valued, valued
from decpomdp.planners.fb_hsvi.occupancy import Labelling, Occupancy, chosen
from decpomdp.planners.fb_hsvi.policy_graph import Graph, Layer, occupancy_after
from decpomdp.planners.fb_hsvi.polishing import sweep
from decpomdp.planners.fb_hsvi.rules import game_of, solve

LARGEST = 4_000_000  # numbers in the payoffs of a mapping; larger ones are not tried
NODES = 50  # of the search for a mapping, which need not be exact
SWEEPS = 6  # of its bound
GAIN = 1e-6  # relative: what a sweep must gain for another one


def mapping(
    occupancy: Occupancy, counts: tuple[int, ...], values: NDArray[np.float64]
) -> tuple[Labelling, float] | None:
    """Where to go on: for each agent [label] the node, and the value; None when there are too many combinations."""
    if len(occupancy.labels) * values.shape[1] > LARGEST:
        return None
    out = np.empty((len(occupancy.labels), values.shape[1]))
    kernels.mapping_payoffs(occupancy.groups, occupancy.state, occupancy.weight, values, out)
    game = game_of(out, occupancy.labels, occupancy.counts, list(counts), SWEEPS)
    answer = solve(game, nodes=NODES, exact=False)
    return answer.rule(game), answer.value


def closed(layers: list[Layer], t: int, back: int, labels: Labelling) -> Graph:
    """The first t layers; the last of them moves to layer `back`, by the labels that its nodes' successors had."""
    last = layers[t - 1]
    moves = tuple(labels[n][last.moves[n]] for n in range(len(labels)))
    return Graph((*layers[: t - 1], replace(last, moves=moves)), back)


def entered(start: Occupancy, given: Valued) -> Graph | None:
    """The same graph begun at the layer and nodes where it is worth most at the start; None when that is at layer 0.

    Later layers serve more situations and often end up better than the first ones.
    """
    layers, back = given.graph.layers, given.graph.back
    found = [mapping(start, layer.counts, values) for layer, values in zip(layers, given.values, strict=True)]
    worth = [-np.inf if one is None else one[1] for one in found]
    k = int(np.argmax(worth))
    best = found[k]
    if back is None or best is None or worth[k] <= given.value + GAIN * max(1.0, abs(given.value)):
        return None
    first = Layer(
        tuple(own[labels] for own, labels in zip(layers[k].actions, best[0], strict=True)),
        tuple(own[labels] for own, labels in zip(layers[k].moves, best[0], strict=True)),
    )
    ahead = layers[k + 1 :]
    if back > k:
        return Graph((first, *ahead), back - k)
    return Graph((first, *ahead, *layers[back:]), 1 + len(ahead))


def places(dynamics: OutcomeModel, start: Occupancy, layers: list[Layer], counts: tuple[int, ...]) -> list[Occupancy]:
    """[t]: the occupancy state before layer t, and after the last one."""
    result = [start]
    shapes = [layer.counts for layer in layers[1:]] + [counts]
    for layer, following in zip(layers, shapes, strict=True):
        result.append(occupancy_after(dynamics, result[-1], layer, following))
    return result


def earnings(dynamics: OutcomeModel, met: list[Occupancy], layers: list[Layer], discount: float) -> NDArray[np.float64]:
    """[t]: the discounted rewards of the first t layers."""
    rewards = []
    for t, (occupancy, layer) in enumerate(zip(met, layers, strict=False)):
        joint = np.repeat(chosen(dynamics, occupancy.labels, layer.actions), np.diff(occupancy.groups))
        rewards.append(discount**t * float(occupancy.weight @ dynamics.reward[joint, occupancy.state]))
    return np.concatenate([[0.0], np.cumsum(rewards)])


def loops(
    dynamics: OutcomeModel,
    start: Occupancy,
    layers: list[Layer],
    counts: tuple[int, ...],
    values: list[NDArray[np.float64]],
    discount: float,
    lengths: list[int],
    check: Callable[[], None],
) -> Iterator[tuple[float, int, int, Labelling]]:
    """(estimated value, t, back, mapping) for every loop of the given lengths t from every earlier layer."""
    met = places(dynamics, start, layers, counts)
    earned = earnings(dynamics, met, layers, discount)
    for t in lengths:
        for back in range(t):
            check()
            found = mapping(met[t], layers[back].counts, values[back])
            if found is not None:
                yield float(earned[t] + discount**t * found[1]), t, back, found[0]


def settled(
    dynamics: OutcomeModel,
    start: Occupancy,
    given: Valued,
    discount: float,
    least: float,
    sweeps: int,
    check: Callable[[], None],
) -> Valued:
    """Sweeps over a graph, each with the last one's values beyond its end, as long as the value rises.

    `given` has values for improvement, and nothing is worth less than `least`.
    """
    best = given
    for _ in range(sweeps):
        layers, back = best.graph.layers, best.graph.back
        tail = np.zeros((dynamics.reward.shape[1], 1)) if back is None else best.values[back]
        counts = best.graph.counts_after(len(layers) - 1)
        better, _ = sweep(dynamics, start, list(layers), counts, tail, discount, check)
        graph = Graph(tuple(better), back)
        after = valued(dynamics, start, graph, discount, least=least, guess=tail, precision=ROUGH)
        gain = after.value - best.value
        best = after if gain > 0 else best
        if gain <= GAIN * max(1.0, abs(best.value)):
            break
    return best
