"""Local search on a deterministic plan: sweeps, which improve it node by node, and kicks, which leave a local optimum.

A sweep goes over the layers and gives every node its best choice, the others fixed. In an open plan (finite horizon) a
change in a layer does not change the occupancy of that layer, and the value rises by the gain under that occupancy. In
a closed plan the layer is visited again, so a change is accepted only if the exact value rises. The best choice of node
i of agent n, the others fixed, by the tables of `worth`:

  best over a of  direct[i, a] + sum_o max_j score[i, a, o, j].

Changing an unreached node costs nothing: it becomes the best response to a random belief, mostly the one after an edge
of the previous layer, where the node can be useful. Of two equal nodes one becomes unreached.

A kick is a change that no single node can make: all agents change their actions for a few steps. A reachable place and
a short path from it are drawn. Along the path every agent's node takes its part of a joint action: the best one if the
state were known, or a random one. Its moves are unchanged or drawn, with a preference for unreached nodes. The sweeps
that follow decide whether the change is accepted.
"""

import numpy as np
from numpy.typing import NDArray

from decpomdp.kernels.compiled import helper, kernel
from decpomdp.kernels.model import OutcomeModel
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
from decpomdp.kernels.sampling import HALF, draw, stream

ZERO = np.int64(0)  # a literal argument would be a constant, with another compiled copy of the function
AHEAD = 3  # sweeps of the extrapolation towards `hope`
FINE = 1 << 30  # resolution of random fractions
FAINT = 1e-4  # share of the occupancy that may be omitted when choices are compared
TRIES = 4  # attempts to draw an edge that can occur
EDGES = 75  # per cent of random beliefs that follow an edge; the others are drawn freely


@helper
def begin_random(buffers: PlanBuffers, seed: np.uint64, number: int) -> None:
    """Set the random numbers to the beginning of a stream."""
    buffers.random[0], buffers.random[1] = stream(seed, number), 0


@helper
def below(random: NDArray[np.uint64], limit: int) -> int:
    """A random integer from 0 to limit - 1; increments the counter."""
    random[1] += np.uint64(1)
    return np.int64(((draw(random[0], random[1]) >> HALF) * np.uint64(limit)) >> HALF)


@helper
def chosen(
    model: OutcomeModel, plan: LayeredPlan, buffers: PlanBuffers, m: int, n: int, i: int, margin: float
) -> float:
    """Give node i its best action and moves by buffers.direct and buffers.score. Returns the gain; ties: no change."""
    size, score, move = plan.widths[n], buffers.score, plan.move
    best, best_action, now = -np.inf, 0, 0.0
    for a in range(model.actions[n]):
        total = buffers.direct[i, a]
        for o in range(model.observations[n]):
            high = score[i, a, o, 0]
            for j in range(1, size):
                high = max(high, score[i, a, o, j])
            total += high
        if a == plan.act[n, m, i]:
            now = buffers.direct[i, a]
            for o in range(model.observations[n]):
                now += score[i, a, o, move[n, m, i, o]]
        if total > best:
            best, best_action = total, a
    if best <= now + margin:
        return 0.0
    plan.act[n, m, i] = best_action
    for o in range(model.observations[n]):
        for j in range(size):
            if score[i, best_action, o, j] > score[i, best_action, o, move[n, m, i, o]]:
                move[n, m, i, o] = j
    return best - now


@helper
def reached(plan: LayeredPlan, mark: NDArray[np.bool_], m: int, n: int, i: int) -> bool:
    """Whether agent n is ever in node i of layer m."""
    for q in range(mark.shape[2]):
        if part(plan, q, n) == i:
            for s in range(mark.shape[1]):
                if mark[m, s, q]:
                    return True
    return False


@helper
def merge(model: OutcomeModel, plan: LayeredPlan, buffers: PlanBuffers, m: int, n: int) -> bool:
    """Redirect moves to equal nodes of layer m to the first of them. Returns whether there were any."""
    size, before = plan.widths[n], (m - 1) % buffers.mark.shape[0]
    merged = False
    for k in range(1, size):
        for i in range(k):
            equal = plan.act[n, m, i] == plan.act[n, m, k]
            for o in range(plan.move.shape[3]):
                equal = equal and plan.move[n, m, i, o] == plan.move[n, m, k, o]
            if equal:
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
        fill_joint(model, plan, before, buffers)
    return merged


@helper
def clear_belief(buffers: PlanBuffers) -> None:
    """An empty belief, in the last entry of buffers.f."""
    layers, states, width = buffers.mark.shape
    for s in range(states):
        for q in range(width):
            buffers.f[layers, s, q] = 0.0


@helper
def edge_belief(model: OutcomeModel, plan: LayeredPlan, buffers: PlanBuffers, m: int, n: int, i: int) -> bool:
    """The belief after agent n leaves a random node of the previous layer on a random observation.

    Agent n is in node i. Returns False if that move never occurs.
    """
    f, random, (layers, states, width) = buffers.f, buffers.random, buffers.mark.shape
    before = (m - 1) % layers
    node, o = below(random, plan.widths[n]), below(random, model.observations[n])
    drawn = False
    clear_belief(buffers)
    for s in range(states):
        for q in range(width):
            if f[before, s, q] <= 0.0 or part(plan, q, n) != node:
                continue
            row = buffers.action[before, q] * states + s
            for e in range(model.offsets[row], model.offsets[row + 1]):
                y = model.observation[e]
                if model.observation_parts[y, n] == o:
                    to = buffers.after[before, q, y]
                    to += (i - part(plan, to, n)) * plan.strides[n]
                    f[layers, model.next_state[e], to] += f[before, s, q] * (model.discount * model.chance[e])
                    drawn = True
    return drawn


@helper
def random_belief(plan: LayeredPlan, buffers: PlanBuffers, n: int, i: int) -> None:
    """A belief of a few random states, the others in random nodes; agent n in node i."""
    random, (layers, states, width) = buffers.random, buffers.mark.shape
    clear_belief(buffers)
    for _ in range(1 + below(random, 3)):
        s, q = below(random, states), below(random, width)
        q += (i - part(plan, q, n)) * plan.strides[n]
        buffers.f[layers, s, q] += 1.0 + below(random, 100)


@helper
def layer_after(buffers: PlanBuffers, m: int, closed: bool) -> int:
    """The entry of buffers.v that follows layer m; in an open plan 0 follows the last one."""
    layers = buffers.mark.shape[0]
    return (m + 1) % layers if closed else m + 1


@helper
def refresh(model: OutcomeModel, plan: LayeredPlan, buffers: PlanBuffers, m: int, n: int, closed: bool) -> None:
    """Every unreached node of agent n in layer m becomes the best response to a random belief."""
    layers, following = buffers.mark.shape[0], layer_after(buffers, m, closed)
    merged = merge(model, plan, buffers, m, n)
    size = reach(model, plan, buffers, closed)
    if merged:
        occupancies(model, plan, buffers, closed, FAINT, size)
    for i in range(plan.widths[n]):
        if reached(plan, buffers.mark, m, n, i):
            continue
        drawn = False
        if (closed or m > 0) and below(buffers.random, 100) < EDGES:
            for _ in range(TRIES):
                drawn = drawn or edge_belief(model, plan, buffers, m, n, i)
        if not drawn:
            random_belief(plan, buffers, n, i)
        worth(model, plan, buffers, m, n, layers, following)
        chosen(model, plan, buffers, m, n, i, 0.0)
        fill_joint(model, plan, m, buffers)
    back(model, buffers, m, buffers.v, following)


@helper
def copy(source: Floats, target: Floats) -> None:
    """target = source."""
    for m in range(source.shape[0]):
        for s in range(source.shape[1]):
            for q in range(source.shape[2]):
                target[m, s, q] = source[m, s, q]


@helper
def tried(
    model: OutcomeModel,
    plan: LayeredPlan,
    buffers: PlanBuffers,
    m: int,
    n: int,
    first: int,
    end: int,
    closed: bool,
    margin: float,
    value: float,
) -> tuple[float, int]:
    """Give nodes first .. end - 1 their best choices if that raises the value; updates buffers.v and buffers.f.

    Returns the value, and the number of nodes with better choices. `value`: the old one; -inf: unknown.
    """
    changed = 0
    for i in range(first, end):
        buffers.act[i] = plan.act[n, m, i]
        for o in range(plan.move.shape[3]):
            buffers.move[i, o] = plan.move[n, m, i, o]
        changed += chosen(model, plan, buffers, m, n, i, margin) > 0.0
    if changed == 0 and value > -np.inf:
        return value, 0
    fill_joint(model, plan, m, buffers)
    size = reach(model, plan, buffers, closed)
    copy(buffers.v, buffers.trial)
    higher = values(model, plan, buffers, closed, value + margin, 0.1 * margin, size, buffers.trial)
    if higher and buffers.stop[0] == 0:
        copy(buffers.trial, buffers.v)
        occupancies(model, plan, buffers, closed, FAINT, size)
        return at_start(model, plan, buffers.v), changed
    for i in range(first, end):
        plan.act[n, m, i] = buffers.act[i]
        for o in range(plan.move.shape[3]):
            plan.move[n, m, i, o] = buffers.move[i, o]
    fill_joint(model, plan, m, buffers)
    return value, changed


@kernel
def sweeps(
    model: OutcomeModel,
    plan: LayeredPlan,
    buffers: PlanBuffers,
    closed: bool,
    most: int,
    patience: int,
    hope: float,
    margin: float,
    seed: np.uint64,
) -> float:
    """Sweep backwards over the layers until `patience` sweeps bring no gain, or `most` are done. Returns the value.

    Ends early if AHEAD more sweeps like the last would not reach `hope`, or if the run is ending. The plan then has the
    changes made so far; the value is that of this plan, or -inf if it is not known yet.
    """
    layers, agents = buffers.mark.shape[0], len(plan.widths)
    begin_random(buffers, seed, 0)
    for m in range(layers):
        fill_joint(model, plan, m, buffers)
    value, _ = tried(model, plan, buffers, ZERO, ZERO, ZERO, ZERO, closed, margin, -np.inf)
    if value == -np.inf:
        return value
    if closed:
        spread(model, buffers, closed)
    value, idle = at_start(model, plan, buffers.v), 0
    for _ in range(most):
        before = value
        for m in range(layers - 1, -1, -1):
            turn = below(buffers.random, agents)
            for k in range(agents):
                if buffers.stop[0] != 0:
                    return value
                n, old = (turn + k) % agents, value
                refresh(model, plan, buffers, m, n, closed)
                worth(model, plan, buffers, m, n, m, layer_after(buffers, m, closed))
                value, changed = tried(model, plan, buffers, m, n, ZERO, plan.widths[n], closed, margin, value)
                if value == old and changed > 1:  # no gain by changing all nodes at once: one by one
                    for i in range(plan.widths[n]):
                        value, _ = tried(model, plan, buffers, m, n, i, i + 1, closed, margin, value)
        idle = 0 if value > before else idle + 1
        if idle >= patience or value + AHEAD * (value - before) < hope:
            break
    return value


@helper
def random_place(buffers: PlanBuffers, m: int) -> int:
    """s * Q + q of a random reachable place in layer m; -1 if there is none."""
    _, states, width = buffers.mark.shape
    total = 0
    for s in range(states):
        for q in range(width):
            total += buffers.mark[m, s, q]
    left, drawn = below(buffers.random, total) if total > 0 else 0, -1
    for s in range(states):
        for q in range(width):
            if buffers.mark[m, s, q]:
                if left == 0:
                    drawn = s * width + q
                left -= 1
    return drawn


@helper
def outcome(model: OutcomeModel, buffers: PlanBuffers, row: int) -> int:
    """A random outcome of a (u, s)."""
    rest = model.discount * below(buffers.random, FINE) / FINE
    e, last = model.offsets[row], model.offsets[row + 1] - 1
    while e < last:
        rest -= model.discount * model.chance[e]
        if rest < 0.0:
            break
        e += 1
    return e


@kernel
def kick(
    model: OutcomeModel, plan: LayeredPlan, buffers: PlanBuffers, guide: Ints, longest: int, seed: np.uint64
) -> None:
    """Change `plan`; `guide[s]` is the best joint action if the state is known. Needs buffers.mark of the plan."""
    begin_random(buffers, seed, 1)
    random, (layers, states, width) = buffers.random, buffers.mark.shape
    m = below(random, layers)
    place = random_place(buffers, m)
    if place < 0:
        m, place = 0, random_place(buffers, ZERO)
    s, q = place // width, place % width
    guided = below(random, 5)  # quarters of the joint actions that are guided
    for _ in range(1 + below(random, longest)):
        u = guide[s] if below(random, 4) < guided else below(random, len(model.reward))
        e = outcome(model, buffers, u * states + s)
        on, to = (m + 1) % layers, 0
        for n in range(len(plan.widths)):
            i, o = part(plan, q, n), model.observation_parts[model.observation[e], n]
            plan.act[n, m, i] = u // model.action_strides[n] % model.actions[n]
            if below(random, 2) == 0:
                j = below(random, plan.widths[n])  # a reached node is drawn once more
                plan.move[n, m, i, o] = below(random, plan.widths[n]) if reached(plan, buffers.mark, on, n, j) else j
            to += plan.move[n, m, i, o] * plan.strides[n]
        m, s, q = on, model.next_state[e], to
