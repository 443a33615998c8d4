"""Local search on a deterministic plan: sweeps, which improve it node by node, and kicks, which leave a local optimum.

A sweep goes over the layers and gives every node its best choice, the others fixed. In an open plan (finite horizon) a
change in a layer leaves the occupancy of that layer as it is, and the value rises by the gain that the occupancy
promises. In a closed one the layer is met again, so a change is taken only when the exact value rises.

A kick is a change that single nodes do not make: all agents depart together from what they do, for a few steps. A place
where the team can be is drawn, and a short path from it. Along the path every agent's node takes its part of a joint
action: the best one if everybody knew the state, or a random one. Where it moves on is left as it is or drawn, nodes
that nobody reaches being preferred. The sweeps that follow decide what comes of it.
"""

import numpy as np
from numpy.typing import NDArray

from decpomdp.kernels.compiled import kernel
from decpomdp.kernels.model import DiscountedModel
from decpomdp.kernels.periodic import Plan, Room, fill_joint, part, reach, worth
from decpomdp.kernels.periodic_nodes import FAINT, below, chosen, reached, refresh
from decpomdp.kernels.periodic_solve import at_start, occupancies, spread, values
from decpomdp.kernels.sampling import stream

AHEAD = 3  # sweeps that are looked ahead
FINE = 1 << 30  # steps of a random fraction


@kernel
def copy(source: NDArray[np.float64], target: NDArray[np.float64]) -> None:
    """target[m, s, q] = source[m, s, q]; a loop compiles in a fraction of the time of an assignment of arrays."""
    for m in range(source.shape[0]):
        for s in range(source.shape[1]):
            for q in range(source.shape[2]):
                target[m, s, q] = source[m, s, q]


@kernel
def restore(plan: Plan, room: Room, m: int, n: int, i: int) -> None:
    """Node i of agent n in layer m is as it was."""
    plan.act[n, m, i] = room.act[i]
    for o in range(plan.move.shape[3]):
        plan.move[n, m, i, o] = room.move[i, o]


@kernel
def remember(plan: Plan, room: Room, m: int, n: int, i: int) -> None:
    """What node i of agent n in layer m is now, for `restore`."""
    room.act[i] = plan.act[n, m, i]
    for o in range(plan.move.shape[3]):
        room.move[i, o] = plan.move[n, m, i, o]


@kernel
def better(
    model: DiscountedModel,
    plan: Plan,
    room: Room,
    m: int,
    closed: bool,
    margin: float,
    value: float,
    stop: NDArray[np.int64],
) -> bool:
    """Whether the plan, changed in layer m, is worth more than `value`; then room.v and room.f are made up to date."""
    fill_joint(model, plan, m, room.joint)
    size = reach(model, plan, room.joint, closed, room.mark, room.places)
    places = room.places[:size]
    copy(room.v, room.trial)
    if (
        not values(model, plan, room.joint, closed, value + margin, 0.1 * margin, places, room.trial, stop)
        or stop[0] != 0
    ):
        return False
    copy(room.trial, room.v)
    occupancies(model, plan, room.joint, closed, FAINT, places, room.wave, room.f, stop)
    return True


@kernel
def improve(
    model: DiscountedModel,
    plan: Plan,
    room: Room,
    m: int,
    n: int,
    closed: bool,
    margin: float,
    value: float,
    stop: NDArray[np.int64],
) -> float:
    """All nodes of agent n in layer m at once; if that is no gain, one by one. The value after it."""
    layers, size = room.v.shape[0], plan.widths[n]
    following = room.v[(m + 1) % layers] if closed or m + 1 < layers else np.zeros(room.v.shape[1:])
    worth(model, plan, room.joint, m, n, room.f[m], following, room.direct, room.score)
    changed = 0
    for i in range(size):
        remember(plan, room, m, n, i)
        changed += chosen(model, plan, room, m, n, i, margin) > 0.0
    if changed == 0:
        return value
    if better(model, plan, room, m, closed, margin, value, stop):
        return at_start(model, plan, room.v)
    for i in range(size):
        restore(plan, room, m, n, i)
    for i in range(size if changed > 1 else 0):
        if chosen(model, plan, room, m, n, i, margin) > 0.0:
            if better(model, plan, room, m, closed, margin, value, stop):
                value = at_start(model, plan, room.v)
                remember(plan, room, m, n, i)
            restore(plan, room, m, n, i)
    fill_joint(model, plan, m, room.joint)
    return value


@kernel
def sweeps(
    model: DiscountedModel,
    plan: Plan,
    room: Room,
    closed: bool,
    most: int,
    patience: int,
    hope: float,
    margin: float,
    seed: np.uint64,
    stop: NDArray[np.int64],  # [1] set by another thread when it has to end
) -> float:
    """Sweep backwards over the layers until `patience` sweeps bring nothing, or `most` are done. The value.

    Ends early when AHEAD more sweeps like the last would not reach `hope`, or when `stop` is set: the plan is then what
    it has become so far, and the value is its own.
    """
    key, counter = stream(seed, 0), np.zeros(1, np.int64)
    layers, agents = room.v.shape[0], len(plan.widths)
    for m in range(layers):
        fill_joint(model, plan, m, room.joint)
    size = reach(model, plan, room.joint, closed, room.mark, room.places)
    values(model, plan, room.joint, closed, -np.inf, 0.1 * margin, room.places[:size], room.v, stop)
    if closed:
        spread(model, room.joint, room.v, stop)
    occupancies(model, plan, room.joint, closed, FAINT, room.places[:size], room.wave, room.f, stop)
    value, idle = at_start(model, plan, room.v), 0
    for _ in range(most):
        before = value
        for m in range(layers - 1, -1, -1):
            turn = below(key, counter, agents)
            for k in range(agents):
                if stop[0] != 0:
                    return value
                n = (turn + k) % agents
                refresh(model, plan, room, m, n, closed, key, counter, stop)
                value = improve(model, plan, room, m, n, closed, margin, value, stop)
        idle = 0 if value > before else idle + 1
        if idle >= patience or value + AHEAD * (value - before) < hope:
            break
    return value


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
def outcome(model: DiscountedModel, row: int, key: np.uint64, counter: NDArray[np.int64]) -> int:
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
    model: DiscountedModel, plan: Plan, room: Room, m: int, n: int, key: np.uint64, counter: NDArray[np.int64]
) -> int:
    """A random node of agent n in layer m, an unreached one if one of two draws is."""
    j = below(key, counter, plan.widths[n])
    return below(key, counter, plan.widths[n]) if reached(plan, room.mark[m], n, j) else j


@kernel
def kick(
    model: DiscountedModel, plan: Plan, room: Room, guide: NDArray[np.int64], longest: int, seed: np.uint64
) -> None:
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
