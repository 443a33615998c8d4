"""What a node becomes: the best choice under weights, and new tasks for nodes that nobody reaches.

For node i of agent n, the others fixed, by `worth` under the weights at hand:

  best over a of  direct[i, a] + sum_o max_j score[i, a, o, j].

A node that nobody reaches costs nothing: it is made the best answer to a random belief, mostly the one that an edge of
the layer before leads to, so that it can be of use there. Of two equal nodes one is freed like that.
"""

import numpy as np
from numpy.typing import NDArray

from decpomdp.kernels.compiled import kernel
from decpomdp.kernels.model import DiscountedModel
from decpomdp.kernels.periodic import Plan, Room, fill_joint, part, reach, worth
from decpomdp.kernels.periodic_solve import back, occupancies
from decpomdp.kernels.sampling import draw

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
