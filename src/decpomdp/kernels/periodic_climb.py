"""Local search on a deterministic plan: sweeps, which improve it node by node, and kicks, which leave a local optimum.

A sweep goes over the layers and gives every node its best choice, the others fixed. In an open plan (finite horizon) a
change in a layer leaves the occupancy of that layer as it is, and the value rises by the gain under that
occupancy. In a closed one the layer is met again, so a change is taken only when the exact value rises. The best choice
of node i of agent n, the others fixed, by `worth` under the weights at hand:

  best over a of  direct[i, a] + sum_o max_j score[i, a, o, j].

An unreached node costs nothing: it becomes the best response to a random belief, mostly the one after an edge of the
layer before, where it can be useful. Of two equal nodes one becomes unreached.

A kick is a change that no single node can make: all agents change their actions for a few steps. A place
where the team can be is drawn, and a short path from it. Along the path every agent's node takes its part of a joint
action: the best one if the state were known, or a random one. Its moves are unchanged or drawn, with a preference for
unreached nodes. The sweeps that follow decide whether the change is accepted.
"""

import numpy as np
from numpy.typing import NDArray

from decpomdp.kernels.compiled import kernel
from decpomdp.kernels.model import DiscountedModel
from decpomdp.kernels.periodic import (
    Floats,
    Ints,
    LayeredPlan,
    PlanBuffers,
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
EDGES = 75  # per cent of random beliefs that follow an edge; the others are drawn freely


@kernel
def below(key: np.uint64, counter: Ints, limit: int) -> int:
    """A random integer from 0 to limit - 1; increments the counter."""
    counter[0] += 1
    return np.int64(((draw(key, counter[0]) >> HALF) * np.uint64(limit)) >> HALF)


@kernel
def chosen(
    model: DiscountedModel, plan: LayeredPlan, buffers: PlanBuffers, m: int, n: int, i: int, margin: float
) -> float:
    """Give node i its best action and moves by buffers.direct and buffers.score; the gain. Ties change nothing."""
    size = plan.widths[n]
    best, best_action, now = -np.inf, 0, 0.0
    for a in range(model.actions[n]):
        total = buffers.direct[i, a]
        for o in range(model.observations[n]):
            high = buffers.score[i, a, o, 0]
            for j in range(1, size):
                high = max(high, buffers.score[i, a, o, j])
            total += high
        if a == plan.act[n, m, i]:
            now = buffers.direct[i, a]
            for o in range(model.observations[n]):
                now += buffers.score[i, a, o, plan.move[n, m, i, o]]
        if total > best:
            best, best_action = total, a
    if best <= now + margin:
        return 0.0
    plan.act[n, m, i] = best_action
    for o in range(model.observations[n]):
        old = plan.move[n, m, i, o]
        for j in range(size):
            if buffers.score[i, best_action, o, j] > buffers.score[i, best_action, o, plan.move[n, m, i, o]]:
                plan.move[n, m, i, o] = j
        if buffers.score[i, best_action, o, plan.move[n, m, i, o]] <= buffers.score[i, best_action, o, old]:
            plan.move[n, m, i, o] = old
    return best - now


@kernel
def reached(plan: LayeredPlan, mark: NDArray[np.bool_], n: int, i: int) -> bool:
    """Whether agent n is ever in node i of the layer with mark[s, q]."""
    for q in range(mark.shape[1]):
        if part(plan, q, n) == i:
            for s in range(mark.shape[0]):
                if mark[s, q]:
                    return True
    return False


@kernel
def same(plan: LayeredPlan, m: int, n: int, one: int, other: int) -> bool:
    """Whether two nodes of agent n in layer m are equal."""
    equal = plan.act[n, m, one] == plan.act[n, m, other]
    for o in range(plan.move.shape[3]):
        equal = equal and plan.move[n, m, one, o] == plan.move[n, m, other, o]
    return equal


@kernel
def merge(model: DiscountedModel, plan: LayeredPlan, buffers: PlanBuffers, m: int, n: int) -> bool:
    """Redirect moves to equal nodes of layer m to the first of them; whether there were any."""
    layers, size = buffers.v.shape[0], plan.widths[n]
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
        fill_joint(model, plan, before, buffers.joint)
    return merged


@kernel
def edge_belief(
    model: DiscountedModel,
    plan: LayeredPlan,
    buffers: PlanBuffers,
    m: int,
    n: int,
    i: int,
    key: np.uint64,
    counter: Ints,
) -> bool:
    """buffers.belief: the team's distribution after agent n leaves a random node of the layer before on a random o.

    Agent n is in node i. False when that move never occurs.
    """
    before = (m - 1) % buffers.v.shape[0]
    node, o = below(key, counter, plan.widths[n]), below(key, counter, model.observations[n])
    drawn = False
    f = buffers.f[before]
    buffers.belief[:] = 0.0
    for s in range(f.shape[0]):
        for q in range(f.shape[1]):
            if f[s, q] <= 0.0 or part(plan, q, n) != node:
                continue
            row = buffers.joint.action[before, q] * f.shape[0] + s
            for e in range(model.offsets[row], model.offsets[row + 1]):
                y = model.observation[e]
                if model.observation_parts[y, n] == o:
                    to = buffers.joint.after[before, q, y]
                    to += (i - part(plan, to, n)) * plan.strides[n]
                    buffers.belief[model.next_state[e], to] += f[s, q] * model.discounted[e]
                    drawn = True
    return drawn


@kernel
def random_belief(plan: LayeredPlan, buffers: PlanBuffers, n: int, i: int, key: np.uint64, counter: Ints) -> None:
    """buffers.belief = a few random states, the others in random nodes; agent n in node i."""
    buffers.belief[:] = 0.0
    for _ in range(1 + below(key, counter, 3)):
        s, q = below(key, counter, buffers.belief.shape[0]), below(key, counter, buffers.belief.shape[1])
        q += (i - part(plan, q, n)) * plan.strides[n]
        buffers.belief[s, q] += 1.0 + below(key, counter, 100)


@kernel
def refresh(
    model: DiscountedModel,
    plan: LayeredPlan,
    buffers: PlanBuffers,
    m: int,
    n: int,
    closed: bool,
    key: np.uint64,
    counter: Ints,
    stop: Ints,
) -> None:
    """Every unreached node of agent n in layer m becomes the best response to a random belief."""
    merged = merge(model, plan, buffers, m, n)
    size = reach(model, plan, buffers.joint, closed, buffers.mark, buffers.places)
    if merged:
        occupancies(model, plan, buffers.joint, closed, FAINT, buffers.places[:size], buffers.wave, buffers.f, stop)
    layers = buffers.v.shape[0]
    following = buffers.v[(m + 1) % layers] if closed or m + 1 < layers else np.zeros(buffers.v.shape[1:])
    for i in range(plan.widths[n]):
        if reached(plan, buffers.mark[m], n, i):
            continue
        drawn = False
        if (closed or m > 0) and below(key, counter, 100) < EDGES:
            for _ in range(TRIES):
                drawn = drawn or edge_belief(model, plan, buffers, m, n, i, key, counter)
        if not drawn:
            random_belief(plan, buffers, n, i, key, counter)
        worth(model, plan, buffers.joint, m, n, buffers.belief, following, buffers.direct, buffers.score)
        chosen(model, plan, buffers, m, n, i, 0.0)
        fill_joint(model, plan, m, buffers.joint)
    back(model, buffers.joint, m, following, buffers.v[m])


@kernel
def copy(source: Floats, target: Floats) -> None:
    """target[m, s, q] = source[m, s, q]; a loop compiles in a fraction of the time of an assignment of arrays."""
    for m in range(source.shape[0]):
        for s in range(source.shape[1]):
            for q in range(source.shape[2]):
                target[m, s, q] = source[m, s, q]


@kernel
def restore(plan: LayeredPlan, buffers: PlanBuffers, m: int, n: int, i: int) -> None:
    """Undo the changes of node i of agent n in layer m."""
    plan.act[n, m, i] = buffers.act[i]
    for o in range(plan.move.shape[3]):
        plan.move[n, m, i, o] = buffers.move[i, o]


@kernel
def remember(plan: LayeredPlan, buffers: PlanBuffers, m: int, n: int, i: int) -> None:
    """Store node i of agent n in layer m for `restore`."""
    buffers.act[i] = plan.act[n, m, i]
    for o in range(plan.move.shape[3]):
        buffers.move[i, o] = plan.move[n, m, i, o]


@kernel
def better(
    model: DiscountedModel,
    plan: LayeredPlan,
    buffers: PlanBuffers,
    m: int,
    closed: bool,
    margin: float,
    value: float,
    stop: Ints,
) -> bool:
    """Whether the plan, changed in layer m, has a value above `value`; then buffers.v and buffers.f are updated."""
    fill_joint(model, plan, m, buffers.joint)
    size = reach(model, plan, buffers.joint, closed, buffers.mark, buffers.places)
    places = buffers.places[:size]
    copy(buffers.v, buffers.trial)
    if (
        not values(model, plan, buffers.joint, closed, value + margin, 0.1 * margin, places, buffers.trial, stop)
        or stop[0] != 0
    ):
        return False
    copy(buffers.trial, buffers.v)
    occupancies(model, plan, buffers.joint, closed, FAINT, places, buffers.wave, buffers.f, stop)
    return True


@kernel
def improve(
    model: DiscountedModel,
    plan: LayeredPlan,
    buffers: PlanBuffers,
    m: int,
    n: int,
    closed: bool,
    margin: float,
    value: float,
    stop: Ints,
) -> float:
    """All nodes of agent n in layer m at once; if that is no gain, one by one. The value after it."""
    layers, size = buffers.v.shape[0], plan.widths[n]
    following = buffers.v[(m + 1) % layers] if closed or m + 1 < layers else np.zeros(buffers.v.shape[1:])
    worth(model, plan, buffers.joint, m, n, buffers.f[m], following, buffers.direct, buffers.score)
    changed = 0
    for i in range(size):
        remember(plan, buffers, m, n, i)
        changed += chosen(model, plan, buffers, m, n, i, margin) > 0.0
    if changed == 0:
        return value
    if better(model, plan, buffers, m, closed, margin, value, stop):
        return at_start(model, plan, buffers.v)
    for i in range(size):
        restore(plan, buffers, m, n, i)
    for i in range(size if changed > 1 else 0):
        if chosen(model, plan, buffers, m, n, i, margin) > 0.0:
            if better(model, plan, buffers, m, closed, margin, value, stop):
                value = at_start(model, plan, buffers.v)
                remember(plan, buffers, m, n, i)
            restore(plan, buffers, m, n, i)
    fill_joint(model, plan, m, buffers.joint)
    return value


@kernel
def sweeps(
    model: DiscountedModel,
    plan: LayeredPlan,
    buffers: PlanBuffers,
    closed: bool,
    most: int,
    patience: int,
    hope: float,
    margin: float,
    seed: np.uint64,
    stop: Ints,  # [1] set by another thread when it has to end
) -> float:
    """Sweep backwards over the layers until `patience` sweeps bring nothing, or `most` are done. The value.

    Ends early when AHEAD more sweeps like the last would not reach `hope`, or when `stop` is set: the plan is then what
    it has become so far, and the value is its own.
    """
    key, counter = stream(seed, 0), np.zeros(1, np.int64)
    layers, agents = buffers.v.shape[0], len(plan.widths)
    for m in range(layers):
        fill_joint(model, plan, m, buffers.joint)
    size = reach(model, plan, buffers.joint, closed, buffers.mark, buffers.places)
    values(model, plan, buffers.joint, closed, -np.inf, 0.1 * margin, buffers.places[:size], buffers.v, stop)
    if closed:
        spread(model, buffers.joint, buffers.v, stop)
    occupancies(model, plan, buffers.joint, closed, FAINT, buffers.places[:size], buffers.wave, buffers.f, stop)
    value, idle = at_start(model, plan, buffers.v), 0
    for _ in range(most):
        before = value
        for m in range(layers - 1, -1, -1):
            turn = below(key, counter, agents)
            for k in range(agents):
                if stop[0] != 0:
                    return value
                n = (turn + k) % agents
                refresh(model, plan, buffers, m, n, closed, key, counter, stop)
                value = improve(model, plan, buffers, m, n, closed, margin, value, stop)
        idle = 0 if value > before else idle + 1
        if idle >= patience or value + AHEAD * (value - before) < hope:
            break
    return value


@kernel
def random_place(buffers: PlanBuffers, m: int, key: np.uint64, counter: Ints) -> int:
    """s * Q + q of a random place in layer m where the team can be; -1 if there is none."""
    mark = buffers.mark[m]
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
def outcome(model: DiscountedModel, row: int, key: np.uint64, counter: Ints) -> int:
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
    model: DiscountedModel, plan: LayeredPlan, buffers: PlanBuffers, m: int, n: int, key: np.uint64, counter: Ints
) -> int:
    """A random node of agent n in layer m, an unreached one if one of two draws is."""
    j = below(key, counter, plan.widths[n])
    return below(key, counter, plan.widths[n]) if reached(plan, buffers.mark[m], n, j) else j


@kernel
def kick(
    model: DiscountedModel, plan: LayeredPlan, buffers: PlanBuffers, guide: Ints, longest: int, seed: np.uint64
) -> None:
    """Change `plan`; `guide[s]` is the best joint action when the state is known. Needs buffers.mark of the plan."""
    key, counter = stream(seed, 1), np.zeros(1, np.int64)
    layers, states, width = buffers.v.shape
    m = below(key, counter, layers)
    place = random_place(buffers, m, key, counter)
    if place < 0:
        m, place = 0, random_place(buffers, 0, key, counter)
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
                plan.move[n, m, i, o] = onward(model, plan, buffers, on, n, key, counter)
            to += plan.move[n, m, i, o] * plan.strides[n]
        m, s, q = on, model.next_state[e], to
