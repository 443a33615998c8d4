"""Both bounds over a belief set, and their backups.

Lower: vectors, each the value of some policy (or less) from every state; they begin with taking one action for ever.
Upper: values at the beliefs of the set with the sawtooth between them; it begins with the fast informed bound
(Hauskrecht, 2000), which itself begins with the values of an agent that sees the state. All of these are iterated
from the safe side, so that stopping early stays safe.
"""

import numpy as np

from decpomdp.core import InputError
from decpomdp.engines import threads as engine
from decpomdp.engines.clock import Clock
from decpomdp.kernels import beliefs as kernels
from decpomdp.kernels.beliefs import Points
from decpomdp.kernels.model import FactoredModel
from decpomdp.kernels.point_backup import Backups, back_up, informed_step, plain_step
from decpomdp.planners.pbvi.beliefs import BeliefSet, Floats, Whole

PIECE = 8  # beliefs that one thread backs up at a time
EXACT = 1e-11  # of the largest possible value: changes below this are rounding
LONGEST = 20_000  # iterations of the bounds without beliefs, at most
INFORMED = 300  # of the informed bound: they are dear, and points improve it where it matters
PATIENCE = 0.1  # of the time limit may be spent on the informed bound
PIECES = 8  # of an iteration of the informed bound


class Bounds:
    """Lower and upper bound on the optimal value of every belief."""

    def __init__(self, dynamics: FactoredModel, start: Floats, threads: int | None, clock: Clock) -> None:
        self.dynamics, self.threads, self.clock = dynamics, threads, clock
        self.scale = max(float(np.abs(dynamics.reward).max()), 1e-300) / (1 - dynamics.discount)
        if not np.isfinite(self.scale * len(start)):
            raise InputError("value: the rewards are too large to be added up in floating point")
        self.set = BeliefSet(start)
        self.vectors = self._plain(free=False, reward=float(dynamics.reward.min()))  # [s, i], `count` of them in use
        self.count = dynamics.reward.shape[0]
        self.actions: Whole = np.arange(self.count)  # [i] of every vector
        self.informed = self._informed(self._plain(free=True, reward=float(dynamics.reward.max())))  # [s, u]
        self.corner: Floats = self.informed.max(axis=1)  # [s]
        self.value: Floats = np.zeros(0)  # [p] the upper bound at the beliefs of the set
        self.hang(0)

    def _plain(self, free: bool, reward: float) -> Floats:
        """One action for ever (from below), or the state always seen (from above)."""
        states, joint = self.dynamics.reward.shape[1], self.dynamics.reward.shape[0]
        one: Floats = np.full((states, joint), reward / (1 - self.dynamics.discount))
        other: Floats = np.empty_like(one)
        for _ in range(LONGEST):
            plain_step(self.dynamics, free, one, other)
            open_ended = self._shift(one, other, above=free)
            one, other = other, one
            if not open_ended or self.clock.over():
                break
        return one

    def _informed(self, one: Floats) -> Floats:
        """The fast informed bound, from values that are surely too high."""
        other: Floats = np.empty_like(one)
        states = len(one)

        def piece(number: int) -> None:
            first, end = states * number // PIECES, states * (number + 1) // PIECES
            informed_step(self.dynamics, one, first, end, other)

        for _ in range(INFORMED):
            engine.run(piece, PIECES, self.threads)
            open_ended = self._shift(one, other, above=True)
            one, other = other, one
            if not open_ended or self.clock.share() > PATIENCE:
                break
        return one

    def _shift(self, before: Floats, after: Floats, above: bool) -> bool:
        """Move `after`, which is one step on from `before`, to a safe guess of the end; says whether it is still rough.

        v* <= H v + discount / (1 - discount) max(H v - v) for every H that passes on what is added to all of v
        (MacQueen 1966); likewise from below with min, and there for every action alone.
        """
        rest = self.dynamics.discount / (1 - self.dynamics.discount)
        gain = after - before
        least, most = (gain.min(), gain.max()) if above else (gain.min(axis=0), gain.max(axis=0))
        after += rest * (most if above else least)
        return bool(rest * np.max(most - least) > EXACT * self.scale)

    @property
    def lower(self) -> float:
        """At the start."""
        return float(self.best(np.zeros(1, np.int64))[1][0])

    @property
    def upper(self) -> float:
        """At the start."""
        return float(self.value[0])

    def best(self, which: Whole) -> tuple[Whole, Floats]:
        """The best vector of some beliefs of the set, and its value."""
        offsets = np.concatenate([[0], np.cumsum(self.set.offsets[which + 1] - self.set.offsets[which])])
        entries = np.concatenate([np.arange(self.set.offsets[p], self.set.offsets[p + 1]) for p in which])
        index, value = np.empty(len(which), np.int64), np.empty(len(which))
        states, weights = self.set.states[entries], self.set.weights[entries]
        kernels.best_vectors(self.vectors, self.count, offsets, states, weights, index, value)
        return index, value

    def add(self, beliefs: list[tuple[Whole, Floats]], depths: list[int]) -> list[int]:
        """Beliefs for the set; the upper bound stays as it is."""
        places = self.set.add(beliefs, depths)
        if self.set.count > len(self.value):
            self.hang(len(self.value))
        return places

    def hang(self, known: int) -> None:
        """The sawtooth's points: every belief of the set. The first `known` have a value; the others are given one."""
        belief, states = self.set, len(self.corner)
        base = np.add.reduceat(belief.weights * self.corner[belief.states], belief.offsets[:-1])
        value: Floats = np.concatenate([self.value[:known], base[known:]])
        self.points = Points(
            belief.offsets,
            belief.states,
            belief.weights,
            np.minimum(0.0, value - base),
            np.empty(states, np.int64),
            np.empty(belief.count, np.int64),
            self.corner,
            self.informed,
        )
        kernels.hang(self.points)
        kernels.point_values(self.points, known, value)
        self.value, self.base = value, base
        self.points.drop[known:] = np.minimum(0.0, value - base)[known:]

    def settle(self) -> None:
        """Beliefs that are sure of their state lower the corners; vectors that are nowhere best go."""
        sure = np.flatnonzero(np.diff(self.set.offsets) == 1)
        np.minimum.at(self.corner, self.set.states[self.set.offsets[sure]], self.value[sure])
        self.hang(len(self.value))
        index, _ = self.best(np.arange(self.set.count))
        kept = np.unique(index)
        self.vectors = np.ascontiguousarray(self.vectors[:, kept])
        self.actions, self.count = self.actions[kept], len(kept)

    def back_up(self, which: Whole) -> None:
        """Both bounds at some beliefs of the set, all from the bounds as they are now."""
        done = self.backups(which)
        self.value[which] = np.minimum(self.value[which], done.upper)
        self.points.drop[which] = np.minimum(0.0, self.value[which] - self.base[which])
        _, old = self.best(which)
        rising = done.lower > old + EXACT * self.scale
        self.learn(done.vector[rising], done.action[rising], which[rising])

    def backups(self, which: Whole) -> Backups:
        """Backed up by all threads; a piece is a few beliefs, whatever the threads."""
        m, states = len(which), len(self.corner)
        out = empty_backups(m, states, self.dynamics.symbols)

        def piece(number: int) -> None:
            self.clock.check()
            part = slice(number * PIECE, min(m, (number + 1) * PIECE))
            own = Backups._make(field[part] for field in out)
            belief = self.set
            back_up(
                self.dynamics,
                self.vectors,
                self.count,
                self.points,
                True,
                0.0,
                belief.offsets,
                belief.states,
                belief.weights,
                which[part],
                own,
            )

        engine.run(piece, -(-m // PIECE), self.threads)
        return out

    def learn(self, vectors: Floats, actions: Whole, which: Whole) -> None:
        """Take in new vectors [k, s], each for a belief of the set, unless an earlier one of them is as good there."""
        kept: list[int] = []
        for k, p in enumerate(which):
            states, weights = self.set.belief(int(p))
            value = float(vectors[k, states] @ weights)
            if not kept or value > float((vectors[kept][:, states] @ weights).max()) + EXACT * self.scale:
                kept.append(k)
        self.take(vectors[kept], actions[kept])

    def take(self, vectors: Floats, actions: Whole) -> None:
        """Append vectors [k, s]."""
        if not len(vectors):
            return
        if self.count + len(vectors) > self.vectors.shape[1]:
            room: Floats = np.zeros((len(self.corner), 2 * (self.count + len(vectors))))
            room[:, : self.count] = self.vectors[:, : self.count]
            self.vectors = room
        self.vectors[:, self.count : self.count + len(vectors)] = vectors.T
        self.actions = np.concatenate([self.actions, actions])
        self.count += len(vectors)


def empty_backups(m: int, states: int, symbols: int) -> Backups:
    """Room for the backups of m beliefs."""
    return Backups(
        np.full(m, np.inf),
        np.empty(m),
        np.zeros(m, np.int64),
        np.zeros((m, symbols), np.int64),
        np.empty((m, states)),
    )
