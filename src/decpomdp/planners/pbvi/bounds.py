"""The belief set (reachable beliefs as flat arrays with offsets, each with its depth), both bounds over it, and their
backups.

Lower: vectors, each at most the value of some policy from every state; the first ones repeat one action.
Upper: values at the beliefs of the set with the sawtooth between them; it starts from the fast informed bound
(Hauskrecht, 2000), which starts from the values of the Markov decision process. All of them are bounds after every
iteration.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.core.run import Now
from decpomdp.engines import threads as engine
from decpomdp.kernels import beliefs as kernels
from decpomdp.kernels.beliefs import BeliefPoints
from decpomdp.kernels.model import FactoredModel
from decpomdp.kernels.point_backup import Backups, back_up, informed_step, plain_step

DIGITS = 10  # decimals to which beliefs are compared

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
PIECE = 8  # beliefs that one thread backs up at a time
EXACT = 1e-11  # of the largest possible value: changes below this are rounding
LONGEST = 20_000  # iterations of the bounds without beliefs, at most
PIECES = 8  # of an iteration of the informed bound


class Beliefs(NamedTuple):
    """The data of a belief set."""

    offsets: Ints  # [p + 1]
    states: Ints  # [entry]
    weights: Floats  # [entry]
    depth: Ints  # [p] steps from the start when it was added


class BeliefSet:
    """A growing set of beliefs; the first is the start."""

    def __init__(self, data: Beliefs) -> None:
        self.offsets, self.states, self.weights, self.depth = data
        self._place = {key_of(*self.belief(place)): place for place in range(self.count)}

    @classmethod
    def of(cls, start: Floats) -> "BeliefSet":
        """The set of the start alone."""
        states = np.flatnonzero(start)
        return cls(Beliefs(np.array([0, len(states)]), states, start[states], np.zeros(1, np.int64)))

    @property
    def data(self) -> Beliefs:
        return Beliefs(self.offsets, self.states, self.weights, self.depth)

    @property
    def count(self) -> int:
        return len(self.depth)

    def place(self, states: Ints, weights: Floats) -> int | None:
        """The number of a belief; None if it is new."""
        return self._place.get(key_of(states, weights))

    def add(self, beliefs: list[tuple[Ints, Floats]], depths: list[int]) -> list[int]:
        """Add new beliefs; returns the number of every one of `beliefs`."""
        places: list[int] = []
        new: list[tuple[Ints, Floats, int]] = []
        for (states, weights), depth in zip(beliefs, depths, strict=True):
            order = np.argsort(states)
            key = key_of(states, weights)
            if key not in self._place:
                self._place[key] = self.count + len(new)
                new.append((states[order], weights[order], depth))
            places.append(self._place[key])
        if new:
            sizes = np.cumsum([len(states) for states, _, _ in new])
            self.offsets = np.concatenate([self.offsets, self.offsets[-1] + sizes])
            self.states = np.concatenate([self.states, *(states for states, _, _ in new)])
            self.weights = np.concatenate([self.weights, *(weights for _, weights, _ in new)])
            self.depth = np.concatenate([self.depth, [depth for _, _, depth in new]])
        return places

    def belief(self, place: int) -> tuple[Ints, Floats]:
        part = slice(self.offsets[place], self.offsets[place + 1])
        return self.states[part], self.weights[part]

    def layers(self) -> list[Ints]:
        """Numbers of the beliefs, grouped by depth, deepest first."""
        return [np.flatnonzero(self.depth == depth) for depth in np.unique(self.depth)[::-1]]


def key_of(states: Ints, weights: Floats) -> bytes:
    """A key that is the same for beliefs that agree to DIGITS decimals, in any order of their states."""
    rounded = np.round(weights, DIGITS) + 0.0
    order = np.argsort(states)
    order = order[rounded[order] > 0]
    return np.ascontiguousarray(states[order], np.int64).tobytes() + rounded[order].tobytes()


class BoundsState(NamedTuple):
    """Both bounds as plain data."""

    beliefs: Beliefs
    value: Floats  # [p] the upper bound at the beliefs of the set; empty: to be computed
    corner: Floats  # [s] the upper bound where the state is known
    informed: Floats  # [s, u]
    vectors: Floats  # [s, i] the first `used` columns are in use
    actions: Ints  # [i] first joint action of each vector
    used: int


def first_bounds(model: FactoredModel, start: Floats, now: Now) -> BoundsState:
    """Values of repeating one action, and values with observed states; less precise if the run is ending."""
    vectors = _iterated(model, float(model.reward.min()), False, now)
    informed = _iterated(model, float(model.reward.max()), True, now)
    beliefs, used = BeliefSet.of(start).data, model.reward.shape[0]
    return BoundsState(beliefs, np.zeros(0), informed.max(axis=1), informed, vectors, np.arange(used), used)


def _iterated(model: FactoredModel, reward: float, state_seen: bool, now: Now) -> Floats:
    """[s, u]: values of repeating one action (from below), or with observed states (from above)."""
    joint, states = model.reward.shape
    one: Floats = np.full((states, joint), reward / (1 - model.discount))
    other: Floats = np.empty_like(one)
    for _ in range(LONGEST):
        plain_step(model, state_seen, one, other)
        imprecise = _shift(model, one, other, above=state_seen)
        one, other = other, one
        if not imprecise or now.stopping:
            break
    return one


def informed_iteration(model: FactoredModel, before: Floats, threads: int | None, now: Now) -> tuple[Floats, bool]:
    """The next iterate [s, u] of the fast informed bound, and whether it is still imprecise."""
    after, states = np.empty_like(before), len(before)

    def piece(number: int) -> None:
        now.check()
        informed_step(model, before, states * number // PIECES, states * (number + 1) // PIECES, after)

    engine.run(piece, PIECES, threads)
    return after, _shift(model, before, after, above=True)


def _shift(model: FactoredModel, before: Floats, after: Floats, above: bool) -> bool:
    """Shift `after`, one step from `before`, to a bound on the limit; returns whether it is still imprecise.

    v* <= H v + discount / (1 - discount) max(H v - v) for every H with H(v + c) = H v + discount c (MacQueen 1966);
    likewise from below with min, for every action separately.
    """
    rest = model.discount / (1 - model.discount)
    gain = after - before
    least, most = (gain.min(), gain.max()) if above else (gain.min(axis=0), gain.max(axis=0))
    after += rest * (most if above else least)
    return bool(rest * np.max(most - least) > EXACT * scale_of(model))


def scale_of(model: FactoredModel) -> float:
    """The largest possible value."""
    return max(float(np.abs(model.reward).max()), 1e-300) / (1 - model.discount)


class Bounds:
    """Lower and upper bound on the optimal value of every belief; reuses the arrays of its state."""

    def __init__(self, model: FactoredModel, state: BoundsState, threads: int | None, now: Now) -> None:
        self.model, self.threads, self.now = model, threads, now
        self.scale = scale_of(model)
        self.set = BeliefSet(state.beliefs)
        self.value, self.corner, self.informed = state.value, state.corner, state.informed
        self.vectors, self.actions, self.count = state.vectors, state.actions, state.used
        self.place_points(len(self.value))

    def state(self) -> BoundsState:
        return BoundsState(
            self.set.data, self.value, self.corner, self.informed, self.vectors, self.actions, self.count
        )

    @property
    def lower(self) -> float:
        return float(self.best(np.zeros(1, np.int64))[1][0])

    @property
    def upper(self) -> float:
        return float(self.value[0])

    def best(self, which: Ints) -> tuple[Ints, Floats]:
        """The best vector of some beliefs of the set, and its value."""
        offsets = np.concatenate([[0], np.cumsum(self.set.offsets[which + 1] - self.set.offsets[which])])
        entries = np.concatenate([np.arange(self.set.offsets[p], self.set.offsets[p + 1]) for p in which])
        index, value = np.empty(len(which), np.int64), np.empty(len(which))
        states, weights = self.set.states[entries], self.set.weights[entries]
        kernels.best_vectors(self.vectors, self.count, offsets, states, weights, index, value)
        return index, value

    def add(self, beliefs: list[tuple[Ints, Floats]], depths: list[int]) -> list[int]:
        """Add beliefs to the set; the upper bound stays as it is."""
        places = self.set.add(beliefs, depths)
        if self.set.count > len(self.value):
            self.place_points(len(self.value))
        return places

    def place_points(self, known: int) -> None:
        """Make every belief of the set a point of the sawtooth; the first `known` keep their value."""
        belief, states = self.set, len(self.corner)
        base = np.add.reduceat(belief.weights * self.corner[belief.states], belief.offsets[:-1])
        value: Floats = np.concatenate([self.value[:known], base[known:]])
        drop, first, following = (
            np.minimum(0.0, value - base),
            np.empty(states, np.int64),
            np.empty(belief.count, np.int64),
        )
        self.points = BeliefPoints(
            belief.offsets, belief.states, belief.weights, drop, first, following, self.corner, self.informed
        )
        kernels.hang(self.points)
        kernels.point_values(self.points, known, value)
        self.value, self.base = value, base
        self.points.drop[known:] = np.minimum(0.0, value - base)[known:]

    def prune(self) -> None:
        """Lower the corners by beliefs with only one state; drop vectors that are not the best at any belief."""
        sure = np.flatnonzero(np.diff(self.set.offsets) == 1)
        np.minimum.at(self.corner, self.set.states[self.set.offsets[sure]], self.value[sure])
        self.place_points(len(self.value))
        index, _ = self.best(np.arange(self.set.count))
        used = np.unique(index)
        self.vectors = np.ascontiguousarray(self.vectors[:, used])
        self.actions, self.count = self.actions[used], len(used)

    def back_up(self, which: Ints) -> None:
        """Back up both bounds at some beliefs of the set, all from the current bounds."""
        done = self.backups(which)
        self.value[which] = np.minimum(self.value[which], done.upper)
        self.points.drop[which] = np.minimum(0.0, self.value[which] - self.base[which])
        _, old = self.best(which)
        rising = done.lower > old + EXACT * self.scale
        self.add_vectors(done.vector[rising], done.action[rising], which[rising])

    def backups(self, which: Ints) -> Backups:
        """Backups on all threads, in pieces of a few beliefs."""
        m, states = len(which), len(self.corner)
        out = empty_backups(m, states, self.model.symbols)

        def piece(number: int) -> None:
            self.now.check()
            part = slice(number * PIECE, min(m, (number + 1) * PIECE))
            own = Backups._make(field[part] for field in out)
            beliefs = (self.set.offsets, self.set.states, self.set.weights)
            back_up(self.model, self.vectors, self.count, self.points, True, 0.0, *beliefs, which[part], own)

        engine.run(piece, -(-m // PIECE), self.threads)
        return out

    def add_vectors(self, vectors: Floats, actions: Ints, which: Ints) -> None:
        """Add new vectors [k, s], each for a belief of the set; skip those no better there than an earlier one."""
        new: list[int] = []
        for k, p in enumerate(which):
            states, weights = self.set.belief(int(p))
            value = float(vectors[k, states] @ weights)
            if not new or value > float((vectors[new][:, states] @ weights).max()) + EXACT * self.scale:
                new.append(k)
        self.append(vectors[new], actions[new])

    def append(self, vectors: Floats, actions: Ints) -> None:
        if not len(vectors):
            return
        if self.count + len(vectors) > self.vectors.shape[1]:
            larger: Floats = np.zeros((len(self.corner), 2 * (self.count + len(vectors))))
            larger[:, : self.count] = self.vectors[:, : self.count]
            self.vectors = larger
        self.vectors[:, self.count : self.count + len(vectors)] = vectors.T
        self.actions = np.concatenate([self.actions, actions])
        self.count += len(vectors)


def empty_backups(m: int, states: int, symbols: int) -> Backups:
    """Arrays for the backups of m beliefs."""
    following = np.zeros((m, symbols), np.int64)
    return Backups(np.full(m, np.inf), np.empty(m), np.zeros(m, np.int64), following, np.empty((m, states)))
