"""How the belief set of PBVI grows and its bounds are backed up: explore, expand, sweep.

A belief that is t steps from the start may keep a gap of epsilon / discount^t: only beyond that it is worked on.
"""

import numpy as np

from decpomdp.engines import threads as engine
from decpomdp.kernels import beliefs as kernels
from decpomdp.planners.pbvi.beliefs import Floats, Whole
from decpomdp.planners.pbvi.bounds import Bounds

WALKS = 16  # explored in an iteration
EXPANDED = 256  # beliefs whose successors are looked at in an iteration, at most
STEPS = 200  # of a walk, at most
CIRCLES = 5  # times that a walk may come back to a belief it has been at


class Growth:
    """Up to `most` beliefs, until the bounds at the start are `epsilon` apart."""

    def __init__(self, bounds: Bounds, epsilon: float, most: int, seed: int) -> None:
        self.bounds, self.clock, self.epsilon, self.most = bounds, bounds.clock, epsilon, most
        self.joint, self.states = bounds.dynamics.reward.shape
        self.rng = np.random.default_rng(seed)

    def explore(self) -> None:
        """Walks where the bounds are furthest apart, backed up on the way home."""
        for _ in range(WALKS):
            path = [0]
            for step in range(1, STEPS):
                self.clock.check()
                belief, excess = self._ahead(path[-1], step)
                full = self.bounds.set.count >= self.most and self.bounds.set.place(*belief) is None
                if excess <= 0 or full or len(path) - len(set(path)) > CIRCLES:
                    break
                path += self.bounds.add([belief], [step])
            for p in dict.fromkeys(reversed(path)):
                self.bounds.back_up(np.array([p]))

    def expand(self) -> None:
        """For every belief whose bounds still differ: its successor that is furthest from the set."""
        excess, belief = self._open(), self.bounds.set
        room = min(EXPANDED, self.most - belief.count)
        chosen = np.argsort(-excess, kind="stable")[: max(0, room)]
        chosen = chosen[excess[chosen] > 0]
        chances = self.rng.random((len(chosen), self.joint))
        found = engine.run(lambda k: self._furthest(int(chosen[k]), chances[k]), len(chosen), self.bounds.threads)
        new = [
            (one, int(belief.depth[p]) + 1) for (one, distance), p in zip(found, chosen, strict=True) if distance > 0
        ]
        self.bounds.add([one for one, _ in new], [depth for _, depth in new])

    def sweep(self) -> None:
        """Back up every belief whose bounds still differ, deepest first."""
        excess = self._open()
        for layer in self.bounds.set.layers():
            chosen = layer[excess[layer] > 0]
            if len(chosen):
                self.bounds.back_up(chosen)
        self.bounds.settle()

    def _ahead(self, p: int, step: int) -> tuple[tuple[Whole, Floats], float]:
        """The belief after the step that a walk takes, and how much further apart its bounds are than they may be."""
        bounds = self.bounds
        target = float(self._allowed(np.array(step)))
        out: tuple[Whole, Floats] = np.empty(self.states, np.int64), np.empty(self.states)
        size, excess = kernels.toward(
            bounds.dynamics, bounds.vectors, bounds.count, bounds.points, *bounds.set.belief(p), target, *out
        )
        return (out[0][:size], out[1][:size]), excess

    def _furthest(self, p: int, chances: Floats) -> tuple[tuple[Whole, Floats], float]:
        self.clock.check()
        states, weights = np.empty(self.states, np.int64), np.empty(self.states)
        size, distance = kernels.furthest(self.bounds.dynamics, self.bounds.points, p, chances, states, weights)
        return (states[:size], weights[:size]), distance

    def _allowed(self, depth: Whole) -> Floats:
        """The gap that a belief so many steps from the start may have."""
        with np.errstate(over="ignore", divide="ignore"):
            return self.epsilon * np.float64(self.bounds.dynamics.discount) ** -depth.astype(np.float64)

    def _open(self) -> Floats:
        """[p]: how much further apart the bounds are than they may be."""
        belief = self.bounds.set
        _, lower = self.bounds.best(np.arange(belief.count))
        return self.bounds.value - lower - self._allowed(belief.depth)
