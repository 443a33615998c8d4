"""Decision rules, best first: a weighted constraint problem and its solutions in descending order.

At an occupancy state every pair (agent, label) is a variable, its choices are the agent's actions, and every joint
label is a table over joint actions. The compiled search of `kernels.constraints` is exact unless it reaches its limit
of nodes. Every solution has a bound on all rules.

`Ranking` yields rules one by one. The remaining rules are divided into disjoint boxes of allowed choices (Lawler 1972).
Each box has a bound, so that a bound on all remaining rules is known at any time.
"""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from decpomdp.kernels import constraints as kernels
from decpomdp.planners.fb_hsvi.occupancy import Rule

SWEEPS = 60  # of the bound's tightening, at most
NODES = 10_000  # of the search, at most
CLOSE = 1e-12  # of the largest payoff: totals this close are equal

Box = NDArray[np.bool_]  # [v, c] allowed choices


@dataclass(frozen=True, slots=True, eq=False)
class Game:
    """A weighted constraint problem with derived tables."""

    tables: NDArray[np.float64]  # [j, u] payoffs
    scope: NDArray[np.int64]  # [j, n] variables
    parts: NDArray[np.int64]  # [u, n]
    strides: NDArray[np.int64]  # [n]
    firsts: NDArray[np.int64]  # [n + 1] where each agent's variables begin
    owner: NDArray[np.int64]  # [v]
    starts: NDArray[np.int64]  # [v + 1]
    listed: NDArray[np.int64]
    order: NDArray[np.int64]  # [v] widest range first
    everything: Box
    shared: NDArray[np.float64]  # [j, u] payoffs in the tables after tightening the bound
    single: NDArray[np.float64]  # [v, c] payoffs moved to the variables
    close: float


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """The best known choices, their total, and a bound on every total."""

    choice: NDArray[np.int64]  # [v]
    value: float
    bound: float

    def rule(self, game: Game) -> Rule:
        return tuple(np.split(self.choice, game.firsts[1:-1]))


def game_of(
    tables: NDArray[np.float64],
    labels: NDArray[np.int64],
    counts: tuple[int, ...],
    choices: Sequence[int] | NDArray[np.int64],
    sweeps: int = SWEEPS,
) -> Game:
    """Choose one of choices[n] for each of counts[n] labels of agent n; tables[j]: payoffs of joint label j."""
    sizes = [int(size) for size in choices]
    firsts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    scope = labels + firsts[:-1]
    owner = np.repeat(np.arange(len(counts)), counts)
    everything = np.arange(max(sizes))[None, :] < np.array(sizes)[owner][:, None]
    flat = scope.ravel()
    listed = np.argsort(flat, kind="stable") // len(counts)
    starts = np.searchsorted(np.sort(flat), np.arange(firsts[-1] + 1)).astype(np.int64)
    scale = float(np.abs(tables).max())
    shared, single = tables.copy(), np.where(everything, 0.0, -np.inf)
    parts = np.ascontiguousarray(np.indices(sizes).reshape(len(sizes), -1).T)
    kernels.share_out(shared, single, scope, parts, np.array(sizes), sweeps, 1e-9 * scale)
    spans = np.bincount(flat, weights=np.repeat(np.ptp(tables, axis=1), len(counts)), minlength=int(firsts[-1]))
    order = np.argsort(-spans, kind="stable").astype(np.int64)
    strides = np.cumprod([1, *sizes[:0:-1]])[::-1].copy()
    lists = (strides, firsts, owner, starts, listed, order)
    return Game(tables, scope, parts, *lists, everything, shared, single, CLOSE * scale)


def bound_within(game: Game, box: Box) -> float:
    """A quick bound on every total with the choices of `box`."""
    return float(kernels.bound_of(game.shared, game.single, game.scope, game.parts, box)) + game.close


def solve(game: Game, box: Box | None = None, nodes: int = NODES) -> Solution:
    """The best choices within `box` found by a search of at most `nodes` nodes."""
    allowed = game.everything if box is None else box
    choice = np.where(allowed, game.single, -np.inf).argmax(axis=1)
    kernels.climb(game.tables, game.scope, game.strides, game.starts, game.listed, game.owner, allowed, choice)
    value = float(kernels.total(game.tables, game.scope, game.strides, choice))
    if bound_within(game, allowed) <= value + 2 * game.close:
        return Solution(choice, value, value)
    better = choice.copy()
    improved, bound, visited = kernels.search(
        game.shared, game.single, game.scope, game.parts, game.starts, game.listed, game.order,
        allowed, value + game.close, nodes, better,
    )  # fmt: skip
    if improved > value:
        choice, value = better, float(kernels.total(game.tables, game.scope, game.strides, better))
    return Solution(choice, value, value if visited <= nodes else max(value, bound))


@dataclass(order=True, slots=True)
class OpenBox:
    """A box of remaining rules; sorted by descending bound, then by age."""

    rank: float  # minus the bound
    age: int
    box: Box = field(compare=False)
    best: Solution | None = field(compare=False)


@dataclass(slots=True, eq=False)
class Ranking:
    """The rules of a game, (nearly) best first: the boxes of remaining rules. The game is not stored."""

    parts: list[OpenBox]  # a heap
    born: int = 1  # boxes created so far

    @classmethod
    def of(cls, game: Game) -> "Ranking":
        return cls([OpenBox(-np.inf, 0, game.everything, None)])

    def bound(self, game: Game, check: Callable[[], None] = lambda: None) -> float:
        """A bound on all remaining rules; -inf if none is left."""
        while self.parts and self.parts[0].best is None:
            check()
            part = heapq.heappop(self.parts)
            best = solve(game, part.box)
            heapq.heappush(self.parts, OpenBox(-best.bound, part.age, part.box, best))
        return -self.parts[0].rank if self.parts else -np.inf

    def take(self, game: Game) -> Solution:
        """Remove and return the next rule; `bound` must not be -inf."""
        self.bound(game)
        part = heapq.heappop(self.parts)
        best = part.best
        assert best is not None  # noqa: S101 - `bound` solves the first box
        self._divide(game, part.box, best)
        return best

    def _divide(self, game: Game, box: Box, taken: Solution) -> None:
        """Split the other rules of `box` into boxes: equal to `taken` up to a variable, different there, then free."""
        prefix = box.copy()
        for v in game.order:
            rest = prefix.copy()
            rest[v, taken.choice[v]] = False
            if rest[v].any():
                bound = min(taken.bound, bound_within(game, rest))
                heapq.heappush(self.parts, OpenBox(-bound, self.born, rest, None))
                self.born += 1
            prefix[v] = False
            prefix[v, taken.choice[v]] = True
