"""A good team quickly: a greedy walk through occupancy states, polished, then closed to a loop.

    walk     at each occupancy state the best decision rule under the centralised bound on what follows (an exact
             weighted constraint problem), lossy compression to a cap on the labels
    polish   backward sweeps over the layers (`polishing.py`), values beyond the last layer estimated
    close    after layer t - 1, continue as in an earlier layer k; the most promising loops are polished again

Where the labels of layer t go is a weighted constraint problem again: one variable per label, its choices the nodes of
layer k, payoffs sum_s xi_t(s, l) V_k(s, q). The value of continuing from t at k with the values V_k of the present
graph tells which loops are worth closing; a closed loop is then evaluated exactly.

Any graph is a team, whatever was approximated on the way to it: its value is that of an exact evaluation. Sketches
differ by the cap, by how far the walk follows the certified search, by a search for the first steps (`look_ahead`), and
by noise on the payoffs. They are made in a fixed order: a list without noise, then the same list again with noise.
Later ones follow the latest trial of the certified search, so they differ even where noise does nothing.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import DecPOMDP
from decpomdp.core.horizon import horizon_of
from decpomdp.kernels import layers as layer_kernels
from decpomdp.kernels import occupancy as kernels
from decpomdp.kernels.model import OutcomeModel
from decpomdp.planners.fb_hsvi.bounds import CentralBound, central_bound
from decpomdp.planners.fb_hsvi.compression import composed, compress
from decpomdp.planners.fb_hsvi.occupancy import Labelling, Occupancy, Rule, follow, reward_of
from decpomdp.planners.fb_hsvi.points import Point, Points
from decpomdp.planners.fb_hsvi.policy_graph import (
    ROUGH,
    Graph,
    GraphValues,
    Layer,
    evaluate_graph,
    last_layer,
    layer_of,
    occupancies_along,
    values_before,
)
from decpomdp.planners.fb_hsvi.polishing import GAIN, polished, sweep
from decpomdp.planners.fb_hsvi.rules import game_of, solve

TOLERANCE = 1e-6  # mass that one merging may move even below the cap
NODES = 2_000  # of the search for a rule, which need not be exact here
TRIED = 8  # loops to evaluate
POLISHED = 2  # loops to polish
SWEEPS = 8
DEEPEST = 200  # layers of a walk
ENTRIES = 4  # times that a graph is begun at another layer
MAPPING_SIZE = 4_000_000  # numbers in the payoffs of a mapping; larger ones are not tried
MAPPING_NODES = 50  # of the search for a mapping, which need not be exact
MAPPING_SWEEPS = 6  # of its bound
AHEAD_POINTS, AHEAD_TRIALS = 300, 400  # most of them in a search for the first steps
AHEAD_GAP = 1e-3  # relative: it ends with a gap this small

Check = Callable[[], None]
Report = Callable[[GraphValues], object]  # called with every closed graph: a team if the sketch is cut


@dataclass(frozen=True, slots=True)
class Sketch:
    """How one sketch differs from the others."""

    cap: int  # labels per agent
    faded: float  # how small the discount is after the last layer of the walk
    noise: float = 0.0  # on payoffs, as a share of half the range of values
    ahead: int = 0  # steps that are searched for before the walk goes on greedily
    pairs: int = 300  # loops to look at


SKETCHES = (
    Sketch(4, 0.02, pairs=60),  # a quick look
    Sketch(8, 0.02),
    Sketch(16, 0.08),
    Sketch(16, 0.02),
    Sketch(16, 0.04, ahead=5),
    Sketch(32, 0.08),
    Sketch(8, 0.05, ahead=7),
    Sketch(64, 0.1),
    Sketch(12, 0.02),
)
NOISES = (1e-4, 1e-3, 1e-2)  # of later sketches
ROUND = 2  # sketches at a time


def sketches_of_round(number: int) -> range:
    """The numbers of the sketches in a round, counted from 1; the first round is one quick look."""
    if number == 1:
        return range(1)
    first = 1 + (number - 2) * ROUND
    return range(first, first + ROUND)


def sketch_numbered(number: int) -> tuple[Sketch, bool]:
    """A sketch, and whether it is a repetition with noise.

    >>> sketch_numbered(0)[0].cap, sketch_numbered(len(SKETCHES) + 2)[0].noise
    (4, 0.0001)
    """
    repetition, place = divmod(number, len(SKETCHES))
    sketch = SKETCHES[place]
    return (replace(sketch, noise=NOISES[(repetition - 1) % len(NOISES)]), True) if repetition else (sketch, False)


@dataclass(frozen=True, slots=True, eq=False)
class Sketcher:
    """Makes sketches of a model."""

    dynamics: OutcomeModel
    central: CentralBound
    start: Occupancy
    sizes: list[int]  # actions per agent
    discount: float
    horizon: int | None

    def attempt(
        self, sketch: Sketch, rng: np.random.Generator, prefix: Sequence[Rule], check: Check, report: Report
    ) -> GraphValues:
        """One walk, polished and closed; the value of a loop is rough (`ROUGH`)."""
        depth = horizon_of(self.discount, sketch.faded, DEEPEST) if self.horizon is None else self.horizon
        layers, last = self.walk(depth, sketch.cap, sketch.noise, rng, prefix, check)
        if self.horizon is not None:
            whole = self._evaluated(Graph(tuple(layers), None))
            report(whole)
            return self._polished_graph(whole, check)
        return self._best_loop(*self._polished_walk(layers, last, check), last.counts, sketch.pairs, check, report)

    def _evaluated(self, graph: Graph, guess: NDArray[np.float64] | None = None) -> GraphValues:
        least = self.central.least[-1]
        return evaluate_graph(
            self.dynamics, self.start, graph, self.discount, least=least, guess=guess, precision=ROUGH
        )  # fmt: skip

    def _polished_graph(self, given: GraphValues, check: Check) -> GraphValues:
        least = self.central.least[-1]
        return polished(self.dynamics, self.start, given, self.discount, least, SWEEPS, check)

    def walk(
        self, depth: int, cap: int, noise: float, rng: np.random.Generator, prefix: Sequence[Rule], check: Check
    ) -> tuple[list[Layer], Occupancy]:
        """The layers, and the occupancy state after the last of them."""
        occupancy, layers = self.start, []
        for t in range(depth):
            check()
            fits = t < len(prefix) and tuple(len(own) for own in prefix[t]) == occupancy.counts
            rule = prefix[t] if fits else self._greedy(occupancy, t, noise, rng)
            following, seen = follow(self.dynamics, occupancy, rule)
            occupancy, merging, _ = compress(following, TOLERANCE, cap)
            layers.append(layer_of(rule, composed(seen, merging)))
        if self.horizon is not None:
            layers[-1] = last_layer(layers[-1])
        return layers, occupancy

    def _greedy(self, occupancy: Occupancy, t: int, noise: float, rng: np.random.Generator) -> Rule:
        left = None if self.horizon is None else self.horizon - t - 1
        vectors = self.central.at(left)
        tables = np.empty((len(occupancy.labels), len(self.dynamics.reward)))
        kernels.payoffs(
            self.dynamics, occupancy.groups, occupancy.state, occupancy.weight, vectors, self.discount, tables
        )
        if noise > 0:
            mass = np.add.reduceat(occupancy.weight, occupancy.groups[:-1])
            tables += noise * self.central.spread(left) * mass[:, None] * rng.normal(size=tables.shape)
        game = game_of(tables, occupancy.labels, occupancy.counts, self.sizes)
        return solve(game, nodes=NODES, exact=False).rule(game)

    def _polished_walk(
        self, layers: list[Layer], last: Occupancy, check: Check
    ) -> tuple[list[Layer], list[NDArray[np.float64]]]:
        """The layers after two sweeps, and their values with an estimate of what comes after them."""
        above = self.central.at(None).max(axis=0)  # [s]
        width = int(np.prod(last.counts))
        at_start = float(self.start.weight @ above[self.start.state])
        faded = self.discount ** len(layers)
        tail = np.repeat(above[:, None], width, axis=1)
        layers, value = sweep(self.dynamics, self.start, layers, last.counts, tail, self.discount, check)
        typical = (value - faded * at_start) / (1 - faded)  # what the layers say a fresh start is worth
        tail = tail - (at_start - typical)
        layers, _ = sweep(self.dynamics, self.start, layers, last.counts, tail, self.discount, check)
        values, shapes = [tail], [layer.counts for layer in layers[1:]] + [last.counts]
        for layer, counts in zip(reversed(layers), reversed(shapes), strict=True):
            values.append(values_before(self.dynamics, layer, counts, values[-1], self.discount))
        return layers, values[:0:-1]

    def _best_loop(
        self,
        layers: list[Layer],
        values: list[NDArray[np.float64]],
        counts: tuple[int, ...],
        pairs: int,
        check: Check,
        report: Report,
    ) -> GraphValues:
        """The best of the most promising loops."""
        lengths = _lengths(len(layers), pairs)
        looked_at = loops(self.dynamics, self.start, layers, counts, values, self.discount, lengths, check)
        tried = []
        for _, t, back, labels in sorted(looked_at, key=lambda loop: -loop[0])[:TRIED]:
            check()
            tried.append(self._evaluated(close_loop(layers, t, back, labels), values[back]))
            report(tried[-1])
        tried.sort(key=lambda one: -one.value)
        ends = (self._begun_at_best_layer(self._polished_graph(one, check), check, report) for one in tried[:POLISHED])
        return max(ends, key=lambda one: one.value)

    def _begun_at_best_layer(self, given: GraphValues, check: Check, report: Report) -> GraphValues:
        """Begun where it is best, polished again, as long as that helps."""
        for _ in range(ENTRIES):
            report(given)
            graph = begin_at_best_layer(self.start, given)
            if graph is None:
                break
            after = self._polished_graph(self._evaluated(graph), check)
            if after.value <= given.value:
                break
            given = after
        return given


def _lengths(depth: int, pairs: int) -> list[int]:
    """Where loops may end: everywhere if that is not too many pairs, else the short ones, some, and the whole."""
    short = 12
    while True:
        for step in range(1, depth + 1):
            lengths = sorted({*range(1, min(depth, short) + 1), *range(short, depth + 1, step), depth})
            if sum(lengths) <= pairs or short == 1:
                return lengths
        short -= 1


def mapping(
    occupancy: Occupancy, counts: tuple[int, ...], values: NDArray[np.float64]
) -> tuple[Labelling, float] | None:
    """Where to continue: for each agent [label] the node, and the value; None when there are too many combinations."""
    if len(occupancy.labels) * values.shape[1] > MAPPING_SIZE:
        return None
    out = np.empty((len(occupancy.labels), values.shape[1]))
    layer_kernels.mapping_payoffs(occupancy.groups, occupancy.state, occupancy.weight, values, out)
    game = game_of(out, occupancy.labels, occupancy.counts, list(counts), MAPPING_SWEEPS)
    answer = solve(game, nodes=MAPPING_NODES, exact=False)
    return answer.rule(game), answer.value


def close_loop(layers: list[Layer], t: int, back: int, labels: Labelling) -> Graph:
    """The first t layers; the last of them moves to layer `back`, by the labels that its nodes' successors had."""
    last = layers[t - 1]
    moves = tuple(labels[n][last.moves[n]] for n in range(len(labels)))
    return Graph((*layers[: t - 1], replace(last, moves=moves)), back)


def begin_at_best_layer(start: Occupancy, given: GraphValues) -> Graph | None:
    """The same graph begun at the layer and nodes where it is worth most at the start; None when that is layer 0.

    Later layers serve more situations and often end up better than the first ones.
    """
    layers, back = given.graph.layers, given.graph.back
    mappings = [mapping(start, layer.counts, values) for layer, values in zip(layers, given.values, strict=True)]
    worth = [-np.inf if one is None else one[1] for one in mappings]
    k = int(np.argmax(worth))
    best = mappings[k]
    if back is None or best is None or worth[k] <= given.value + GAIN * max(1.0, abs(given.value)):
        return None
    first = layers[k].entered(best[0])
    ahead = layers[k + 1 :]
    if back > k:
        return Graph((first, *ahead), back - k)
    return Graph((first, *ahead, *layers[back:]), 1 + len(ahead))


def loops(
    dynamics: OutcomeModel,
    start: Occupancy,
    layers: list[Layer],
    counts: tuple[int, ...],
    values: list[NDArray[np.float64]],
    discount: float,
    lengths: list[int],
    check: Check,
) -> Iterator[tuple[float, int, int, Labelling]]:
    """(estimated value, t, back, mapping) for every loop of the given lengths t from every earlier layer."""
    met = occupancies_along(dynamics, start, layers, counts)
    rewards = [discount**t * reward_of(dynamics, met[t], layer.actions) for t, layer in enumerate(layers)]
    earned = np.concatenate([[0.0], np.cumsum(rewards)])  # [t] by the first t layers
    for t in lengths:
        for back in range(t):
            check()
            best = mapping(met[t], layers[back].counts, values[back])
            if best is not None:
                yield float(earned[t] + discount**t * best[1]), t, back, best[0]


def look_ahead(model: DecPOMDP, sketcher: Sketcher, steps: int, value: float, check: Check) -> list[Rule]:
    """Decision rules for the first `steps` steps, searched for rather than taken greedily; `value`: of the best team.

    The next few steps are a finite horizon with lossless compression and the exact bounds of `points.py`. Beyond them
    the states are worth an estimate: the centralised value, less the shortfall of the best team from it at the start.
    The rules are a way to begin a walk, and no bound on anything.
    """
    above = sketcher.central.at(None).max(axis=0)  # [s]
    start = sketcher.start
    short = max(0.0, float(start.weight @ above[start.state]) - value)
    central = central_bound(model, sketcher.dynamics, steps, np.asarray(above - short), check)
    points = Points(sketcher.dynamics, central, sketcher.sizes, model.discount, 0.0, check)
    root = points.point(start, steps)

    def is_open(point: Point, earned: float, fade: float) -> bool:
        check()
        gap = AHEAD_GAP * max(1.0, abs(value))
        return point.left != 0 and fade * (point.upper - point.lower) > gap and earned + fade * point.upper > root.lower

    for _ in range(AHEAD_TRIALS):
        if len(points) > AHEAD_POINTS or not is_open(root, 0.0, 1.0):
            break
        points.trial(root, is_open)
    return [edge.rule for edge in points.best_edges(root)] if root.lower > -math.inf else []
