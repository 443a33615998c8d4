"""A good team quickly: a greedy walk through occupancy states, polished, then closed to a loop.

    walk     at each occupancy state the best decision rule under the centralised bound on what follows (an exact
             weighted constraint problem), lossy compression to a cap on the labels
    polish   backward sweeps over the layers (see `polishing`), values beyond the last layer estimated
    close    the loops that promise most (see `closing`), each polished again with its own values

Any graph is a team, whatever was approximated on the way to it: its value is that of an exact evaluation. Attempts
differ by the cap, by how far the walk follows the certified search, and by noise on the payoffs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from decpomdp.core.horizon import horizon_of
from decpomdp.kernels import occupancy as kernels
from decpomdp.kernels.model import OutcomeModel
from decpomdp.planners.fb_hsvi.bounds import CentralBound
from decpomdp.planners.fb_hsvi.closing import closed, entered, loops, settled
from decpomdp.planners.fb_hsvi.compression import composed, compress
from decpomdp.planners.fb_hsvi.graph_values import ROUGH, Valued, valued
from decpomdp.planners.fb_hsvi.occupancy import Occupancy, Rule, follow
from decpomdp.planners.fb_hsvi.policy_graph import Graph, Layer, last_layer, layer_of, values_before
from decpomdp.planners.fb_hsvi.polishing import sweep
from decpomdp.planners.fb_hsvi.rules import game_of, solve

TOLERANCE = 1e-6  # mass that one merging may move even below the cap
NODES = 2_000  # of the search for a rule, which need not be exact here
TRIED = 8  # loops to evaluate
KEPT = 2  # loops to polish
SWEEPS = 8
DEEPEST = 200  # layers of a walk
ENTRIES = 4  # times that a graph is begun elsewhere

Check = Callable[[], None]
Found = Callable[[Valued], object]  # called with every closed graph: a team, whatever happens next


@dataclass(frozen=True, slots=True)
class Sketch:
    """What one attempt does differently."""

    cap: int  # labels per agent
    faded: float  # how small the discount is after the last layer of the walk
    noise: float = 0.0  # on payoffs, as a share of half the range of values
    ahead: int = 0  # steps that are searched for before the walk goes on greedily
    pairs: int = 300  # loops to look at


@dataclass(frozen=True, slots=True, eq=False)
class Sketcher:
    """What every attempt needs."""

    dynamics: OutcomeModel
    central: CentralBound
    start: Occupancy
    sizes: list[int]  # actions per agent
    discount: float
    horizon: int | None

    def attempt(
        self, sketch: Sketch, rng: np.random.Generator, prefix: Sequence[Rule], check: Check, found: Found
    ) -> Valued:
        """One walk, polished and closed; the value of a loop is rough (`ROUGH`)."""
        depth = horizon_of(self.discount, sketch.faded, DEEPEST) if self.horizon is None else self.horizon
        layers, last = self.walk(depth, sketch.cap, sketch.noise, rng, prefix, check)
        if self.horizon is not None:
            whole = self._valued(Graph(tuple(layers), None))
            found(whole)
            return self._settled(whole, check)
        return self._closed(*self._polished(layers, last, check), last.counts, sketch.pairs, check, found)

    def _valued(self, graph: Graph, guess: NDArray[np.float64] | None = None) -> Valued:
        least = self.central.least[-1]
        return valued(
            self.dynamics, self.start, graph, self.discount, least=least, guess=guess, precision=ROUGH
        )  # fmt: skip

    def _settled(self, given: Valued, check: Check) -> Valued:
        least = self.central.least[-1]
        return settled(self.dynamics, self.start, given, self.discount, least, SWEEPS, check)

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

    def _polished(
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

    def _closed(
        self,
        layers: list[Layer],
        values: list[NDArray[np.float64]],
        counts: tuple[int, ...],
        pairs: int,
        check: Check,
        found: Found,
    ) -> Valued:
        """The best of the most promising loops."""
        lengths = _lengths(len(layers), pairs)
        looked_at = loops(self.dynamics, self.start, layers, counts, values, self.discount, lengths, check)
        tried = []
        for _, t, back, labels in sorted(looked_at, key=lambda loop: -loop[0])[:TRIED]:
            check()
            tried.append(self._valued(closed(layers, t, back, labels), values[back]))
            found(tried[-1])
        tried.sort(key=lambda one: -one.value)
        ends = (self._entered(self._settled(one, check), check, found) for one in tried[:KEPT])
        return max(ends, key=lambda one: one.value)

    def _entered(self, given: Valued, check: Check, found: Found) -> Valued:
        """Begun where it is best, polished again, as long as that helps."""
        for _ in range(ENTRIES):
            found(given)
            graph = entered(self.start, given)
            if graph is None:
                break
            after = self._settled(self._valued(graph), check)
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
