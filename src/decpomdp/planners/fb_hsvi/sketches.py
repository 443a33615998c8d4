"""Sketches find good teams quickly: a greedy walk through occupancy states, polished, then closed to a loop.

    walk     take the best decision rule under the centralised bound on later rewards (a weighted constraint problem)
             at each occupancy state; compress lossily to a cap on the labels
    polish   sweep backwards over the layers (`polishing.py`); values beyond the last layer are estimated
    close    after layer t - 1, continue as in an earlier layer k; the most promising loops are polished again

The nodes of layer k for the labels of layer t are a weighted constraint problem again: one variable per label, its
choices the nodes, payoffs sum_s xi_t(s, l) V_k(s, q). The value of continuing from t at k with the values V_k of the
current graph ranks the loops; the best are closed and evaluated exactly.

Every graph is a team with an exact value. Sketches differ by the cap, by a search for the first steps (`look_ahead`),
and by noise on the payoffs. Their order is fixed: a list without noise, then the same list repeated with noise and with
the rules of the latest trial of the certified search as first steps.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import DecPOMDP
from decpomdp.core.model import horizon_of
from decpomdp.kernels import layers as layer_kernels
from decpomdp.kernels import occupancy as kernels
from decpomdp.kernels.model import OutcomeModel
from decpomdp.planners.fb_hsvi.bounds import CentralBound, central_bound
from decpomdp.planners.fb_hsvi.occupancy import Labelling, Occupancy, Rule, composed, compress, follow, reward_of
from decpomdp.planners.fb_hsvi.points import OccupancyPoint, OccupancyPoints
from decpomdp.planners.fb_hsvi.policy_graph import (
    ROUGH,
    GraphValues,
    Layer,
    LayeredGraph,
    evaluate_graph,
    last_layer,
    layer_of,
    occupancies_along,
    values_before,
)
from decpomdp.planners.fb_hsvi.polishing import GAIN, polished, sweep
from decpomdp.planners.fb_hsvi.rules import game_of, solve

TOLERANCE = 1e-6  # mass that one merging may move even below the cap
NODES = 2_000  # of the inexact search for a rule
TRIED = 8  # loops to evaluate
POLISHED = 2  # loops to polish
SWEEPS = 8
DEEPEST = 200  # layers of a walk
ENTRIES = 4  # most changes of the entry layer
MAPPING_SIZE = 4_000_000  # numbers in the payoffs of a mapping; larger mappings are skipped
MAPPING_NODES = 50  # of the inexact search for a mapping
MAPPING_SWEEPS = 6  # of its bound
AHEAD_POINTS, AHEAD_TRIALS = 300, 400  # most points and trials of a search for the first steps
AHEAD_GAP = 1e-3  # relative: that search ends at this gap

Report = Callable[[GraphValues], object]  # called with every closed graph: the result if the sketch is interrupted


@dataclass(frozen=True, slots=True)
class Sketch:
    """The parameters of a sketch."""

    cap: int  # labels per agent
    faded: float  # discount factor after the last layer of the walk
    noise: float = 0.0  # on payoffs, as a share of half the range of values
    ahead: int = 0  # first steps that are searched, not greedy
    pairs: int = 300  # candidate loops


SKETCHES = (
    Sketch(4, 0.02, pairs=60),  # quick
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
ROUND = 2  # sketches of a round


def sketches_of_round(number: int) -> range:
    """The numbers of the sketches in a round, counted from 1; the first round has one quick sketch."""
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
    horizon: int | None
    check: Callable[[], None] = lambda: None  # called often; raises when the run is ending

    def attempt(self, sketch: Sketch, rng: np.random.Generator, prefix: Sequence[Rule], report: Report) -> GraphValues:
        """One walk, polished and closed; the value of a loop is rough (`ROUGH`)."""
        depth = horizon_of(self.dynamics.discount, sketch.faded, DEEPEST) if self.horizon is None else self.horizon
        layers, last = self.walk(depth, sketch.cap, sketch.noise, rng, prefix)
        if self.horizon is not None:
            graph = self._evaluated(LayeredGraph(tuple(layers), None))
            report(graph)
            return self._polished_graph(graph)
        return self._best_loop(*self._polished_walk(layers, last), last.counts, sketch.pairs, report)

    def _evaluated(self, graph: LayeredGraph, guess: NDArray[np.float64] | None = None) -> GraphValues:
        least = self.central.least[-1]
        return evaluate_graph(self.dynamics, self.start, graph, least=least, guess=guess, precision=ROUGH)

    def _polished_graph(self, graph: GraphValues) -> GraphValues:
        return polished(self.dynamics, self.start, graph, self.central.least[-1], SWEEPS, self.check)

    def walk(
        self, depth: int, cap: int, noise: float, rng: np.random.Generator, prefix: Sequence[Rule]
    ) -> tuple[list[Layer], Occupancy]:
        """The layers, and the occupancy state after the last of them."""
        occupancy, layers = self.start, []
        for t in range(depth):
            self.check()
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
        kernels.payoffs(self.dynamics, occupancy.groups, occupancy.state, occupancy.weight, vectors, tables)
        if noise > 0:
            mass = np.add.reduceat(occupancy.weight, occupancy.groups[:-1])
            tables += noise * self.central.spread(left) * mass[:, None] * rng.normal(size=tables.shape)
        game = game_of(tables, occupancy.labels, occupancy.counts, self.dynamics.actions)
        return solve(game, nodes=NODES).rule(game)

    def _polished_walk(self, layers: list[Layer], last: Occupancy) -> tuple[list[Layer], list[NDArray[np.float64]]]:
        """The layers after two sweeps, and their values with an estimate of the value after them."""
        above = self.central.at(None).max(axis=0)  # [s]
        width = int(np.prod(last.counts))
        at_start = float(self.start.weight @ above[self.start.state])
        faded = self.dynamics.discount ** len(layers)
        tail = np.repeat(above[:, None], width, axis=1)
        layers, value = sweep(self.dynamics, self.start, layers, last.counts, tail, self.check)
        typical = (value - faded * at_start) / (1 - faded)  # the value of starting again, according to these layers
        tail = tail - (at_start - typical)
        layers, _ = sweep(self.dynamics, self.start, layers, last.counts, tail, self.check)
        values, shapes = [tail], [layer.counts for layer in layers[1:]] + [last.counts]
        for layer, counts in zip(reversed(layers), reversed(shapes), strict=True):
            values.append(values_before(self.dynamics, layer, counts, values[-1]))
        return layers, values[:0:-1]

    def _best_loop(
        self,
        layers: list[Layer],
        values: list[NDArray[np.float64]],
        counts: tuple[int, ...],
        pairs: int,
        report: Report,
    ) -> GraphValues:
        tried = []
        candidates = sorted(self._loops(layers, values, counts, pairs), key=lambda loop: -loop[0])
        for _, t, back, labels in candidates[:TRIED]:
            self.check()
            tried.append(self._evaluated(close_loop(layers, t, back, labels), values[back]))
            report(tried[-1])
        tried.sort(key=lambda one: -one.value)
        ends = (self._begun_at_best_layer(self._polished_graph(one), report) for one in tried[:POLISHED])
        return max(ends, key=lambda one: one.value)

    def _loops(
        self, layers: list[Layer], values: list[NDArray[np.float64]], counts: tuple[int, ...], pairs: int
    ) -> Iterator[tuple[float, int, int, Labelling]]:
        """(estimated value, t, back, mapping) of loops from layer t back to an earlier layer."""
        occupancies = occupancies_along(self.dynamics, self.start, layers, counts)
        fade = [self.dynamics.discount**t for t in range(len(layers) + 1)]
        rewards = [fade[t] * reward_of(self.dynamics, occupancies[t], one.actions) for t, one in enumerate(layers)]
        earned = np.concatenate([[0.0], np.cumsum(rewards)])  # [t] by the first t layers
        for t in _lengths(len(layers), pairs):
            for back in range(t):
                self.check()
                best = mapping(occupancies[t], layers[back].counts, values[back])
                if best is not None:
                    yield float(earned[t] + fade[t] * best[1]), t, back, best[0]

    def _begun_at_best_layer(self, best: GraphValues, report: Report) -> GraphValues:
        """Start at the best layer and polish again, as long as the value rises."""
        for _ in range(ENTRIES):
            report(best)
            graph = begin_at_best_layer(self.start, best)
            if graph is None:
                break
            after = self._polished_graph(self._evaluated(graph))
            if after.value <= best.value:
                break
            best = after
        return best


def _lengths(depth: int, pairs: int) -> list[int]:
    """Loop lengths to try: all if that gives at most `pairs` loops, otherwise short ones, some others, the longest."""
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
    """The nodes at which to continue, for each agent [label], and the value; None if the game is too large."""
    if len(occupancy.labels) * values.shape[1] > MAPPING_SIZE:
        return None
    out = np.empty((len(occupancy.labels), values.shape[1]))
    layer_kernels.mapping_payoffs(occupancy.groups, occupancy.state, occupancy.weight, values, out)
    game = game_of(out, occupancy.labels, occupancy.counts, counts, MAPPING_SWEEPS)
    answer = solve(game, nodes=MAPPING_NODES)
    return answer.rule(game), answer.value


def close_loop(layers: list[Layer], t: int, back: int, labels: Labelling) -> LayeredGraph:
    """The first t layers; the last one moves to layer `back`, where `labels` maps the successors to nodes."""
    last = layers[t - 1]
    moves = tuple(labels[n][last.moves[n]] for n in range(len(labels)))
    return LayeredGraph((*layers[: t - 1], replace(last, moves=moves)), back)


def begin_at_best_layer(start: Occupancy, best_graph: GraphValues) -> LayeredGraph | None:
    """The graph, entered at the layer and nodes with the best value at the start; None if that is layer 0.

    Later layers handle more situations and are often better than the first ones.
    """
    layers, back = best_graph.graph.layers, best_graph.graph.back
    mappings = [mapping(start, layer.counts, values) for layer, values in zip(layers, best_graph.values, strict=True)]
    worth = [-np.inf if one is None else one[1] for one in mappings]
    k = int(np.argmax(worth))
    best = mappings[k]
    if back is None or best is None or worth[k] <= best_graph.value + GAIN * max(1.0, abs(best_graph.value)):
        return None
    first = layers[k].entered(best[0])
    ahead = layers[k + 1 :]
    if back > k:
        return LayeredGraph((first, *ahead), back - k)
    return LayeredGraph((first, *ahead, *layers[back:]), 1 + len(ahead))


def look_ahead(model: DecPOMDP, sketcher: Sketcher, steps: int, value: float) -> list[Rule]:
    """Search decision rules for the first `steps` steps; `value`: that of the best team.

    The steps are a finite horizon with lossless compression and the bounds of `points.py`. Values after them are
    estimates: the centralised value, less its excess over the best team's value at the start.
    """
    above = sketcher.central.at(None).max(axis=0)  # [s]
    start = sketcher.start
    short = max(0.0, float(start.weight @ above[start.state]) - value)
    central = central_bound(model, sketcher.dynamics, steps, np.asarray(above - short), sketcher.check)
    points = OccupancyPoints(sketcher.dynamics, central, 0.0, sketcher.check)
    root = points.point(start, steps)

    def is_open(point: OccupancyPoint, earned: float, fade: float) -> bool:
        sketcher.check()
        gap = AHEAD_GAP * max(1.0, abs(value))
        return point.left != 0 and fade * (point.upper - point.lower) > gap and earned + fade * point.upper > root.lower

    for _ in range(AHEAD_TRIALS):
        if len(points) > AHEAD_POINTS or not is_open(root, 0.0, 1.0):
            break
        points.trial(root, is_open)
    return [edge.rule for edge in points.best_edges(root)] if root.lower > -math.inf else []
