"""A toy method for tests of the driver: random search for a target, with steps that shrink as the budget is used.

As a program (`python toy_method.py FOLDER`) it runs with a checkpoint before every step and prints a digest.
"""

import os
import sys
import time
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple

import numpy as np

from decpomdp.core import Agent, Controller, Fit, Team
from decpomdp.core.run import Budget, Now, run
from decpomdp.io.checkpoints import CheckpointFolder


class ClimbState(NamedTuple):
    best: np.ndarray  # [d]
    value: float
    random: np.random.Generator
    idle: int = 0  # iterations without a gain
    steps: int = 0
    iterations: int = 0
    stopped: str = ""


def team(best: np.ndarray) -> Team:
    """Any team that depends on the result."""
    weights = np.exp(best - best.max())
    actions = tuple(f"a{n}" for n in range(len(best)))
    controller = Controller(np.ones(1), (weights / weights.sum())[None], np.ones((1, len(best), 1, 1)))
    return Team((Agent("one", actions, ("o",)),), (controller,), 0.9)


@dataclass(frozen=True)
class Climb:
    """Maximise -|x - target|^2."""

    target: np.ndarray  # [d]
    tries: int = 100
    patience: int = 1000
    pause: float = 0.0  # seconds of work in a step
    state = ClimbState

    def toy(self) -> "Climb":
        return Climb(np.zeros(1), 1)

    def init(self, now: Now) -> ClimbState:
        return ClimbState(np.zeros_like(self.target), -np.inf, np.random.default_rng(7))

    def step(self, state: ClimbState, now: Now) -> tuple[ClimbState, dict | None]:
        end = time.monotonic() + self.pause
        while time.monotonic() < end:
            now.check()
            time.sleep(0.001)
        tries = state.best + (1 - now.progress) * state.random.normal(size=(self.tries, len(state.best)))
        values = -((tries - self.target) ** 2).sum(axis=-1)
        top = int(values.argmax())
        better = values[top] > state.value
        idle = 0 if better else state.idle + 1
        state = state._replace(
            idle=idle,
            steps=state.steps + self.tries,
            iterations=state.iterations + 1,
            stopped="converged" if idle >= self.patience else "",
        )
        if not better:
            return state, None
        state = state._replace(best=tries[top], value=float(values[top]))
        return state, {"iteration": state.iterations, "value": state.value, "sizes": (1, 2), "nothing": float("nan")}

    def result(self, state: ClimbState) -> tuple[Fit, dict | None]:
        return Fit(team(state.best)), None


def digest(fit: Fit) -> str:
    """Of the team and of the trace without seconds."""
    rows = [{key: row[key] for key in row if key != "seconds"} for row in fit.trace]
    return sha256(fit.team.controllers[0].action.tobytes() + repr(rows).encode()).hexdigest()[:16]


if __name__ == "__main__":
    checkpoint = CheckpointFolder(sys.argv[1], "toy", every=0)
    try:
        fit = run(Climb(np.linspace(-1, 1, 8), pause=0.002), Budget(iterations=300), checkpoint=checkpoint).fit
    except KeyboardInterrupt:  # the second one: do not wait for the step
        os._exit(130)
    os.write(1, f"{digest(fit)} {fit.stopped} {len(fit.trace)}\n".encode())  # one write: all of it or nothing
