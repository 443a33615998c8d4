"""Local search on a deterministic plan: sweeps, which improve it node by node, and kicks, which leave a local optimum.

A sweep goes over the layers and gives every node its best choice, the others fixed. In an open plan (finite horizon) a
change in a layer leaves the occupancy of that layer as it is, and the value rises by the gain that the occupancy
promises. In a closed one the layer is met again, so a change is taken only when the exact value rises. The best choice
of node i of agent n, the others fixed, by `worth` under the weights at hand:

  best over a of  direct[i, a] + sum_o max_j score[i, a, o, j].

An unreached node costs nothing: it becomes the best response to a random belief, mostly the one after an edge of the
layer before, so that it can be of use there. Of two equal nodes one becomes unreached.

A kick is a change that single nodes do not make: all agents depart together from what they do, for a few steps. A place
where the team can be is drawn, and a short path from it. Along the path every agent's node takes its part of a joint
action: the best one if everybody knew the state, or a random one. Where it moves on is left as it is or drawn, nodes
that nobody reaches being preferred. The sweeps that follow decide what comes of it.
"""

import numpy as np
from numpy.typing import NDArray

from decpomdp.kernels.compiled import kernel
from decpomdp.kernels.model import DiscountedModel
from decpomdp.kernels.periodic import (
    Plan,
    Room,
    at_start,
    back,
    fill_joint,
    occupancies,
    part,
    reach,
    spread,
    values,
    worth,
)
from decpomdp.kernels.sampling import draw, stream

AHEAD = 3  # sweeps that are looked ahead
FINE = 1 << 30  # steps of a random fraction
HALF = np.uint64(32)
FAINT = 1e-4  # share of the occupancy that may be left out when choices are weighed
TRIES = 4  # at drawing an edge that is ever taken
EDGES = 75  # per cent of random beliefs that are those after an edge; the others are drawn from nowhere


@kernel
def below(key: np.uint64, counter: NDArray[np.int64], limit: int) -> int:
    """A random whole number from 0 to limit - 1; the counter moves on."""
    counter[0] += 1
    return np.int64(((draw(key, counter[0]) >> HALF) * np.uint64(limit)) >> HALF)


@kernel
def chosen(model: DiscountedModel, plan: Plan, room: Room, m: int, n: int, i: int, margin: float) -> float:
    """Give node i its best action and moves by room.direct and room.score; the gain. Ties keep what there is."""
    size = plan.widths[n]
    best, best_action, now = -np.inf, 0, 0.0
    for a in range(model.actions[n]):
        total = room.direct[i, a]
        for o in range(model.observations[n]):
            high = room.score[i, a, o, 0]
            for j in range(1, size):
                high = max(high, room.score[i, a, o, j])
            total += high
        if a == plan.act[n, m, i]:
            now = room.direct[i, a]
            for o in range(model.observations[n]):
                now += room.score[i, a, o, plan.move[n, m, i, o]]
        if total > best:
            best, best_action = total, a
    if best <= now + margin:
        return 0.0
    plan.act[n, m, i] = best_action
    for o in range(model.observations[n]):
        old = plan.move[n, m, i, o]
        for j in range(size):
            if room.score[i, best_action, o, j] > room.score[i, best_action, o, plan.move[n, m, i, o]]:
                plan.move[n, m, i, o] = j
        if room.score[i, best_action, o, plan.move[n, m, i, o]] <= room.score[i, best_action, o, old]:
            plan.move[n, m, i, o] = old
    return best - now


@kernel
def reached(plan: Plan, mark: NDArray[np.bool_], n: int, i: int) -> bool:
    """Whether agent n is ever in node i of the layer with mark[s, q]."""
    for q in range(mark.shape[1]):
        if part(plan, q, n) == i:
            for s in range(mark.shape[0]):
                if mark[s, q]:
                    return True
    return False


@kernel
def same(plan: Plan, m: int, n: int, one: int, other: int) -> bool:
    """Whether two nodes of agent n in layer m do the same."""
    equal = plan.act[n, m, one] == plan.act[n, m, other]
    for o in range(plan.move.shape[3]):
        equal = equal and plan.move[n, m, one, o] == plan.move[n, m, other, o]
    return equal


@kernel
def merge(model: DiscountedModel, plan: Plan, room: Room, m: int, n: int) -> bool:
    """Of equal nodes in layer m only the first is reached any more; whether there were any."""
    layers, size = room.v.shape[0], plan.widths[n]
    before = (m - 1) % layers
    merged = False
    for k in range(1, size):
        for i in range(k):
            if same(plan, m, n, i, k):
                for other in range(size):
                    for o in range(model.observations[n]):
                        if plan.move[n, before, other, o] == k:
                            plan.move[n, before, other, o] = i
                            merged = True
                if m == 0 and plan.first[n] == k:
                    plan.first[n] = i
                    merged = True
                break
    if merged:
        fill_joint(model, plan, before, room.joint)
    return merged


@kernel
def edge_belief(
    model: DiscountedModel, plan: Plan, room: Room, m: int, n: int, i: int, key: np.uint64, counter: NDArray[np.int64]
) -> bool:
    """room.belief = where the team is when agent n leaves a random node of the layer before by a random observation.

    Agent n is put into node i. False when that never happens.
    """
    before = (m - 1) % room.v.shape[0]
    node, o = below(key, counter, plan.widths[n]), below(key, counter, model.observations[n])
    found = False
    f = room.f[before]
    room.belief[:] = 0.0
    for s in range(f.shape[0]):
        for q in range(f.shape[1]):
            if f[s, q] <= 0.0 or part(plan, q, n) != node:
                continue
            row = room.joint.action[before, q] * f.shape[0] + s
            for e in range(model.offsets[row], model.offsets[row + 1]):
                y = model.observation[e]
                if model.observation_parts[y, n] == o:
                    to = room.joint.after[before, q, y]
                    to += (i - part(plan, to, n)) * plan.strides[n]
                    room.belief[model.next_state[e], to] += f[s, q] * model.discounted[e]
                    found = True
    return found


@kernel
def random_belief(plan: Plan, room: Room, n: int, i: int, key: np.uint64, counter: NDArray[np.int64]) -> None:
    """room.belief = a few random states, the others in random nodes; agent n in node i."""
    room.belief[:] = 0.0
    for _ in range(1 + below(key, counter, 3)):
        s, q = below(key, counter, room.belief.shape[0]), below(key, counter, room.belief.shape[1])
        q += (i - part(plan, q, n)) * plan.strides[n]
        room.belief[s, q] += 1.0 + below(key, counter, 100)


@kernel
def refresh(
    model: DiscountedModel,
    plan: Plan,
    room: Room,
    m: int,
    n: int,
    closed: bool,
    key: np.uint64,
    counter: NDArray[np.int64],
    stop: NDArray[np.int64],
) -> None:
    """Every unreached node of agent n in layer m becomes the best answer to a random belief."""
    merged = merge(model, plan, room, m, n)
    size = reach(model, plan, room.joint, closed, room.mark, room.places)
    if merged:
        occupancies(model, plan, room.joint, closed, FAINT, room.places[:size], room.wave, room.f, stop)
    layers = room.v.shape[0]
    following = room.v[(m + 1) % layers] if closed or m + 1 < layers else np.zeros(room.v.shape[1:])
    for i in range(plan.widths[n]):
        if reached(plan, room.mark[m], n, i):
            continue
        found = False
        if (closed or m > 0) and below(key, counter, 100) < EDGES:
            for _ in range(TRIES):
                found = found or edge_belief(model, plan, room, m, n, i, key, counter)
        if not found:
            random_belief(plan, room, n, i, key, counter)
        worth(model, plan, room.joint, m, n, room.belief, following, room.direct, room.score)
        chosen(model, plan, room, m, n, i, 0.0)
        fill_joint(model, plan, m, room.joint)
    back(model, room.joint, m, following, room.v[m])


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
