"""A change that single nodes do not make: all agents depart together from what they do, for a few steps.

A place where the team can be is drawn, and a short path from it. Along the path every agent's node takes its part of a
joint action: the best one if everybody knew the state, or a random one. Where it moves on is left as it is or drawn,
nodes that nobody reaches being preferred. What comes of it is decided by the sweeps that follow.
"""

import numpy as np
from numpy.typing import NDArray

from decpomdp.kernels.compiled import kernel
from decpomdp.kernels.model import OutcomeModel
from decpomdp.kernels.periodic import Plan, Room, part
from decpomdp.kernels.periodic_nodes import below, reached
from decpomdp.kernels.sampling import stream

FINE = 1 << 30  # steps of a random fraction


@kernel
def random_place(room: Room, m: int, key: np.uint64, counter: NDArray[np.int64]) -> int:
    """s * Q + q of a random place in layer m where the team can be; -1 if there is none."""
    mark = room.mark[m]
    total = 0
    for s in range(mark.shape[0]):
        for q in range(mark.shape[1]):
            total += mark[s, q]
    chosen = below(key, counter, total) if total > 0 else 0
    for s in range(mark.shape[0]):
        for q in range(mark.shape[1]):
            chosen -= mark[s, q]
            if chosen < 0:
                return s * mark.shape[1] + q
    return -1


@kernel
def outcome(model: OutcomeModel, row: int, key: np.uint64, counter: NDArray[np.int64]) -> int:
    """A random outcome of a (u, s)."""
    rest = model.discount * below(key, counter, FINE) / FINE
    last = model.offsets[row + 1] - 1
    for e in range(model.offsets[row], last):
        rest -= model.discounted[e]
        if rest < 0.0:
            return e
    return last


@kernel
def onward(
    model: OutcomeModel, plan: Plan, room: Room, m: int, n: int, key: np.uint64, counter: NDArray[np.int64]
) -> int:
    """A random node of agent n in layer m, an unreached one if one of two draws is."""
    j = below(key, counter, plan.widths[n])
    return below(key, counter, plan.widths[n]) if reached(plan, room.mark[m], n, j) else j


@kernel
def kick(model: OutcomeModel, plan: Plan, room: Room, guide: NDArray[np.int64], longest: int, seed: np.uint64) -> None:
    """Change `plan`; `guide[s]` is the best joint action when the state is known. Needs room.mark of the plan."""
    key, counter = stream(seed, 1), np.zeros(1, np.int64)
    layers, states, width = room.v.shape
    m = below(key, counter, layers)
    place = random_place(room, m, key, counter)
    if place < 0:
        m, place = 0, random_place(room, 0, key, counter)
    s, q = place // width, place % width
    guided = below(key, counter, 5)  # quarters of the joint actions that are guided
    for _ in range(1 + below(key, counter, longest)):
        u = guide[s] if below(key, counter, 4) < guided else below(key, counter, len(model.reward))
        e = outcome(model, u * states + s, key, counter)
        on, to = (m + 1) % layers, 0
        for n in range(len(plan.widths)):
            i, o = part(plan, q, n), model.observation_parts[model.observation[e], n]
            plan.act[n, m, i] = u // model.action_strides[n] % model.actions[n]
            if below(key, counter, 2) == 0:
                plan.move[n, m, i, o] = onward(model, plan, room, on, n, key, counter)
            to += plan.move[n, m, i, o] * plan.strides[n]
        m, s, q = on, model.next_state[e], to
