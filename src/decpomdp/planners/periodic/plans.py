"""Deterministic layered plans: random ones, enlarged ones, and their teams.

An enlarged plan of the same value is a start with more freedom: more layers by unrolling the period, more nodes that
are not yet reachable.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Controller, DecPOMDP, Team
from decpomdp.core.agent import strides_of
from decpomdp.kernels.model import OutcomeModel
from decpomdp.kernels.periodic import LayeredPlan, PlanBuffers
from decpomdp.planners.em.chain import LayeredController

SWEEPS = 1000  # most sweeps of value iteration for the guide
CLOSE = 1e-6  # relative change at which it stops


def guide_of(model: DecPOMDP, check: Callable[[], None] = lambda: None) -> NDArray[np.int64]:
    """[s]: the best joint action if all agents knew the state, by value iteration."""
    v = np.zeros(len(model.states))
    for _ in range(SWEEPS):
        check()
        worth = model.reward + model.discount * (model.transition @ v)  # [u, s]
        change, v = float(np.abs(worth.max(axis=0) - v).max()), worth.max(axis=0)
        if change <= CLOSE * max(1e-300, float(np.abs(v).max())):
            break
    return worth.argmax(axis=0).astype(np.int64)


def random_plan(game: OutcomeModel, layers: int, widths: Sequence[int], rng: np.random.Generator) -> LayeredPlan:
    """Every choice drawn uniformly."""
    plan = _empty(layers, widths, int(game.observations.max()))
    for n, width in enumerate(widths):
        plan.act[n, :, :width] = rng.integers(game.actions[n], size=(layers, width))
        plan.move[n, :, :width] = rng.integers(width, size=(layers, width, plan.move.shape[3]))
    return plan


def enlarged(game: OutcomeModel, plan: LayeredPlan, times: int, more: int, rng: np.random.Generator) -> LayeredPlan:
    """The same behaviour with `times` as many layers and `more` unreachable random nodes in each."""
    layers = plan.act.shape[1]
    larger = random_plan(game, layers * times, [int(width) + more for width in plan.widths], rng)
    for n, width in enumerate(plan.widths):
        larger.act[n, :, :width] = np.tile(plan.act[n, :, :width], (times, 1))
        larger.move[n, :, :width] = np.tile(plan.move[n, :, :width], (times, 1, 1))
    larger.first[:] = plan.first
    return larger


def copied(plan: LayeredPlan) -> LayeredPlan:
    """A copy with its own arrays."""
    return plan._replace(act=plan.act.copy(), move=plan.move.copy(), first=plan.first.copy())


def buffers_for(game: OutcomeModel, plan: LayeredPlan, stop: NDArray[np.int64]) -> PlanBuffers:
    """Buffers for a climb from `plan`, which ends early when stop[0] is set."""
    layers, width = plan.act.shape[1:]
    states, joint = len(game.start), math.prod(int(w) for w in plan.widths)
    actions, observations = int(game.actions.max()), int(game.observations.max())
    shape = (layers, states, joint)
    return PlanBuffers(
        action=np.zeros((layers, joint), np.int64),
        after=np.zeros((layers, joint, len(game.observation_parts)), np.int64),
        v=np.zeros((layers + 1, *shape[1:])),
        trial=np.zeros((layers + 1, *shape[1:])),
        f=np.zeros((layers + 1, *shape[1:])),
        mark=np.zeros(shape, np.bool_),
        places=np.zeros(math.prod(shape), np.int64),
        wave=np.zeros((2, math.prod(shape))),
        direct=np.zeros((width, actions)),
        score=np.zeros((width, actions, observations, width)),
        act=np.zeros(width, np.int64),
        move=np.zeros((width, observations), np.int64),
        random=np.zeros(2, np.uint64),
        stop=stop,
    )


def team_of(model: DecPOMDP, plan: LayeredPlan) -> Team:
    """The plan, closed, as a team; node i of layer m is node m * w + i."""
    layers = plan.act.shape[1]
    controllers = []
    for n, agent in enumerate(model.agents):
        width, symbols = int(plan.widths[n]), len(agent.observations)
        base = (np.arange(layers) + 1) % layers * width  # first node of the next layer
        moves = plan.move[n, :, :width, :symbols] + base[:, None, None]
        table = moves.reshape(layers * width, symbols)
        chosen = plan.act[n, :, :width].ravel()
        controllers.append(
            Controller.deterministic(chosen.tolist(), table.tolist(), len(agent.actions), int(plan.first[n]))
        )
    return Team.of(model, controllers)


def softened(model: DecPOMDP, plan: LayeredPlan, share: float) -> list[LayeredController]:
    """The plan as stochastic tables: `share` of every row is uniform."""

    def soft(chosen: NDArray[np.int64], size: int) -> NDArray[np.float64]:
        return (1 - share) * np.eye(size)[chosen] + share / size

    tables = []
    for n, agent in enumerate(model.agents):
        width, actions, symbols = int(plan.widths[n]), len(agent.actions), len(agent.observations)
        move = soft(plan.move[n, :, :width, :symbols], width)[:, :, None]  # [m, i, 1, o, j]
        shape = (*move.shape[:2], actions, symbols, width)
        tables.append(
            LayeredController(
                soft(plan.first[n], width),
                soft(plan.act[n, :, :width], actions),
                np.ascontiguousarray(np.broadcast_to(move, shape)),
            )
        )
    return tables


def trimmed(plan: LayeredPlan, mark: NDArray[np.bool_]) -> LayeredPlan:
    """The plan without unreachable nodes, by mark[m, s, q]; all layers are as wide as the widest."""
    layers = plan.act.shape[1]
    reached = []  # [n][m] nodes
    for n in range(len(plan.widths)):
        parts = np.arange(mark.shape[2]) // plan.strides[n] % plan.widths[n]
        reached.append([np.unique(parts[mark[m].any(axis=0)]) for m in range(layers)])
    widths = [max(1, *(len(nodes) for nodes in own)) for own in reached]
    smaller = _empty(layers, widths, plan.move.shape[3])
    for n, own in enumerate(reached):
        for m, nodes in enumerate(own):
            number = np.zeros(int(plan.widths[n]), np.int64)
            after = own[(m + 1) % layers]
            number[after] = np.arange(len(after))
            smaller.act[n, m, : len(nodes)] = plan.act[n, m, nodes]
            smaller.move[n, m, : len(nodes)] = number[plan.move[n, m, nodes]]
        smaller.first[n] = int(np.searchsorted(own[0], plan.first[n]))
    return smaller


def _empty(layers: int, widths: Sequence[int], symbols: int) -> LayeredPlan:
    shape = (len(widths), layers, max(widths))
    return LayeredPlan(
        np.zeros(shape, np.int64),
        np.zeros((*shape, symbols), np.int64),
        np.zeros(len(widths), np.int64),
        np.array(widths, np.int64),
        strides_of(widths),
    )
