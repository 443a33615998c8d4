"""Deterministic controllers in layers on a model: reachable places, values, occupancies, and values of choices.

A plan has M layers; agent n has widths[n] nodes in each. Node i of layer m takes act[n, m, i] and moves to node
move[n, m, i, o] of layer m + 1, from the last layer to the first if the plan is closed. A joint node q has one joint
action, so only the possible outcomes (s1, y) of this action are visited. A place is (m, s, q); a deterministic team
reaches few of them, one in a hundred in the larger problems. With u the action of joint node q of layer m,

  V_m(s, q)       = reward[u, s] + discount sum_{s1, y} P(s1, y | s, u) V_{m+1}(s1, after(q, y))
  F_{m+1}(s1, q1) = discount sum over (s, q, y) that lead there of P(s1, y | s, u) F_m(s, q)  (+ the start, in layer 0).

Both are exact at reachable places. At other places values only guide choices, so approximations suffice.

All loops are explicit, because views, slices and assignments of arrays take long to compile.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.kernels.compiled import helper, inlined, kernel
from decpomdp.kernels.model import OutcomeModel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ROUGH = 0.001  # of the largest possible value: error of values at unreachable places


class LayeredPlan(NamedTuple):
    """A deterministic layered team."""

    act: Ints  # [n, m, i]
    move: Ints  # [n, m, i, o]
    first: Ints  # [n] start nodes in layer 0
    widths: Ints  # [n]
    strides: Ints  # [n] q = sum of nodes times strides


class PlanBuffers(NamedTuple):
    """Memory of one climb, allocated once."""

    action: Ints  # [m, q] joint actions of the plan
    after: Ints  # [m, q, y] joint nodes of the next layer
    v: Floats  # [m + 1, s, q] values; the last entry: those after the last layer in a pass over the layers
    trial: Floats  # [m + 1, s, q]
    f: Floats  # [m + 1, s, q] occupancies; the last entry: a belief for which a node is chosen
    mark: NDArray[np.bool_]  # [m, s, q] reachable places
    places: Ints  # [m * S * Q] first entries: flat indices of these places, ascending
    wave: Floats  # [2, m * S * Q]
    direct: Floats  # [i, a] rewards of the choices of a node
    score: Floats  # [i, a, o, j] their later values
    act: Ints  # [i] copy of the actions of a layer
    move: Ints  # [i, o] and of its moves
    random: NDArray[np.uint64]  # [2] key and counter of the random numbers
    stop: Ints  # [1] set by another thread if the run is ending


@helper
def part(plan: LayeredPlan, q: int, n: int) -> int:
    """Agent n's node of joint node q."""
    return q // plan.strides[n] % plan.widths[n]


@helper
def first_joint(plan: LayeredPlan) -> int:
    """The joint start node."""
    q = 0
    for n in range(len(plan.first)):
        q += plan.first[n] * plan.strides[n]
    return q


@helper
def fill_joint(model: OutcomeModel, plan: LayeredPlan, m: int, buffers: PlanBuffers) -> None:
    """Joint actions and moves of layer m."""
    for q in range(buffers.action.shape[1]):
        u = 0
        for n in range(len(plan.widths)):
            u += plan.act[n, m, part(plan, q, n)] * model.action_strides[n]
        buffers.action[m, q] = u
        for y in range(buffers.after.shape[2]):
            to = 0
            for n in range(len(plan.widths)):
                to += plan.move[n, m, part(plan, q, n), model.observation_parts[y, n]] * plan.strides[n]
            buffers.after[m, q, y] = to


@helper
def reach(model: OutcomeModel, plan: LayeredPlan, buffers: PlanBuffers, closed: bool) -> int:
    """Mark and list the reachable places; returns their number."""
    mark, places = buffers.mark, buffers.places
    layers, states, width = mark.shape
    for m in range(layers):
        for s in range(states):
            for q in range(width):
                mark[m, s, q] = False
    first, size, done = first_joint(plan), 0, 0
    for s in range(states):
        if model.start[s] > 0.0:
            mark[0, s, first] = True
            places[size] = s * width + first
            size += 1
    while done < size:
        m, rest = places[done] // (states * width), places[done] % (states * width)
        s, q, on = rest // width, rest % width, (m + 1) % layers
        done += 1
        if on == 0 and not closed:
            continue
        row = buffers.action[m, q] * states + s
        for e in range(model.offsets[row], model.offsets[row + 1]):
            s1, q1 = model.next_state[e], buffers.after[m, q, model.observation[e]]
            if not mark[on, s1, q1]:
                mark[on, s1, q1] = True
                places[size] = (on * states + s1) * width + q1
                size += 1
    size = 0
    for m in range(layers):  # the same places in ascending order
        for s in range(states):
            for q in range(width):
                if mark[m, s, q]:
                    places[size] = (m * states + s) * width + q
                    size += 1
    return size


@kernel
def survey(model: OutcomeModel, plan: LayeredPlan, buffers: PlanBuffers, closed: bool) -> int:
    """Fill the joint tables of the plan and the reachable places; returns the number of places."""
    for m in range(buffers.mark.shape[0]):
        fill_joint(model, plan, m, buffers)
    return reach(model, plan, buffers, closed)


@helper
def worth(
    model: OutcomeModel, plan: LayeredPlan, buffers: PlanBuffers, m: int, n: int, weights: int, following: int
) -> None:
    """Fill buffers.direct and buffers.score for the choices of agent n's nodes in layer m, the others fixed.

    The weights are buffers.f[weights], the values of the next layer buffers.v[following].
    """
    direct, score = buffers.direct, buffers.score
    states, width = buffers.mark.shape[1], buffers.mark.shape[2]
    stride, size = plan.strides[n], plan.widths[n]
    for i in range(size):
        for a in range(model.actions[n]):
            direct[i, a] = 0.0
            for o in range(model.observations[n]):
                for j in range(size):
                    score[i, a, o, j] = 0.0
    for s in range(states):
        for q in range(width):
            mass = buffers.f[weights, s, q]
            if mass <= 0.0:
                continue
            i = part(plan, q, n)
            base = buffers.action[m, q] - plan.act[n, m, i] * model.action_strides[n]
            for a in range(model.actions[n]):
                u = base + a * model.action_strides[n]
                direct[i, a] += mass * model.reward[u, s]
                row = u * states + s
                for e in range(model.offsets[row], model.offsets[row + 1]):
                    o = model.observation_parts[model.observation[e], n]
                    to = buffers.after[m, q, model.observation[e]] - plan.move[n, m, i, o] * stride
                    share = mass * (model.discount * model.chance[e])
                    for j in range(size):
                        score[i, a, o, j] += share * buffers.v[following, model.next_state[e], to + j * stride]


@inlined
def value_of(model: OutcomeModel, buffers: PlanBuffers, m: int, s: int, q: int, v: Floats, following: int) -> float:
    """The value of a place, given that of the next layer, v[following]."""
    u = buffers.action[m, q]
    row = u * len(model.start) + s
    x = model.reward[u, s]
    for e in range(model.offsets[row], model.offsets[row + 1]):
        x += (
            model.discount
            * model.chance[e]
            * v[following, model.next_state[e], buffers.after[m, q, model.observation[e]]]
        )
    return x


@helper
def at_start(model: OutcomeModel, plan: LayeredPlan, v: Floats) -> float:
    """The value of the plan."""
    q, total = first_joint(plan), 0.0
    for s in range(len(model.start)):
        total += model.start[s] * v[0, s, q]
    return total


@helper
def back(model: OutcomeModel, buffers: PlanBuffers, m: int, v: Floats, following: int) -> None:
    """v[m]: the values of layer m at all places, given v[following]."""
    for s in range(v.shape[1]):
        for q in range(v.shape[2]):
            v[m, s, q] = value_of(model, buffers, m, s, q, v, following)


@helper
def everywhere(model: OutcomeModel, buffers: PlanBuffers, closed: bool, v: Floats) -> None:
    """Back up all layers once, the last one from the old values of the first (or from 0)."""
    layers, states, width = buffers.mark.shape
    for s in range(states):
        for q in range(width):
            v[layers, s, q] = v[0, s, q] if closed else 0.0
    for m in range(layers - 1, -1, -1):
        back(model, buffers, m, v, m + 1)


@helper
def where_met(model: OutcomeModel, buffers: PlanBuffers, size: int, v: Floats) -> tuple[float, float]:
    """`everywhere` for a closed plan, at reachable places only. Returns the smallest and largest rise of layer 0."""
    layers, states, width = buffers.mark.shape
    low, high = np.inf, -np.inf
    for k in range(size):
        place = buffers.places[k]
        if place >= states * width:
            break
        v[layers, place // width, place % width] = v[0, place // width, place % width]
    for k in range(size - 1, -1, -1):
        m, rest = buffers.places[k] // (states * width), buffers.places[k] % (states * width)
        s, q = rest // width, rest % width
        x = value_of(model, buffers, m, s, q, v, m + 1)
        v[m, s, q] = x
        if m == 0:
            low, high = min(low, x - v[layers, s, q]), max(high, x - v[layers, s, q])
    return low, high


@helper
def enough(shrink: float) -> int:
    """Passes after which only rounding errors are left."""
    return 100 + int(60.0 / (1.0 - shrink))


@helper
def values(
    model: OutcomeModel,
    plan: LayeredPlan,
    buffers: PlanBuffers,
    closed: bool,
    target: float,
    tolerance: float,
    size: int,  # of buffers.places
    v: Floats,  # [m + 1, s, q]
) -> bool:
    """Solve for v at reachable places, starting from its content; for an open plan at all places.

    Returns False, perhaps before convergence, if the value cannot exceed `target`. If one pass over the layers raises v
    by between low and high at all reachable places, v can still rise there by between low and high times
    discount^M / (1 - discount^M) (MacQueen): this bounds the value early, and the error at the end.
    """
    layers, states, width = buffers.mark.shape
    shrink = model.discount**layers
    rest = shrink / (1.0 - shrink)
    if not closed:
        everywhere(model, buffers, closed, v)
        return at_start(model, plan, v) > target
    for _ in range(enough(shrink)):
        low, high = where_met(model, buffers, size, v)
        if at_start(model, plan, v) + high * rest <= target:
            return False
        if buffers.stop[0] != 0 or (high - low) * rest <= tolerance:  # a discount near 1 takes long
            break
    more = 0.5 * (low + high) / (1.0 - shrink)
    for k in range(size):
        m, place = buffers.places[k] // (states * width), buffers.places[k] % (states * width)
        v[m, place // width, place % width] += more * model.discount ** (layers - m)
    return at_start(model, plan, v) > target


@helper
def spread(model: OutcomeModel, buffers: PlanBuffers, closed: bool) -> None:
    """Values of a closed plan at all places; unreachable ones only guide choices, so the precision is ROUGH."""
    layers, states, width = buffers.mark.shape
    shrink = model.discount**layers
    largest = 0.0
    for u in range(model.reward.shape[0]):
        for s in range(states):
            largest = max(largest, abs(model.reward[u, s]))
    wanted = ROUGH * largest / (1.0 - model.discount)
    for _ in range(enough(shrink)):
        everywhere(model, buffers, closed, buffers.v)
        change = 0.0
        for s in range(states):
            for q in range(width):
                change = max(change, abs(buffers.v[0, s, q] - buffers.v[layers, s, q]))
        if buffers.stop[0] != 0 or change * shrink <= wanted * (1.0 - shrink):
            break


@helper
def occupancies(
    model: OutcomeModel, plan: LayeredPlan, buffers: PlanBuffers, closed: bool, tolerance: float, size: int
) -> None:
    """buffers.f[m, s, q]: discounted visits from the start, until the remaining discount is at most `tolerance`."""
    layers, states, width = buffers.mark.shape
    f, wave, places = buffers.f, buffers.wave, buffers.places
    for m in range(layers):
        for s in range(states):
            for q in range(width):
                f[m, s, q] = 0.0
    for k in range(size):
        wave[0, places[k]] = 0.0
    first = first_joint(plan)
    for s in range(states):
        wave[0, s * width + first] = model.start[s]
    mass, now, step = 1.0, 0, 0
    while mass > tolerance and (closed or step < layers) and buffers.stop[0] == 0:
        for k in range(size):
            wave[1 - now, places[k]] = 0.0
        for k in range(size):
            share = wave[now, places[k]]
            if share > 0.0:
                m, rest = places[k] // (states * width), places[k] % (states * width)
                s, q, on = rest // width, rest % width, (m + 1) % layers
                f[m, s, q] += share
                if on == 0 and not closed:
                    continue
                row = buffers.action[m, q] * states + s
                for e in range(model.offsets[row], model.offsets[row + 1]):
                    to = (on * states + model.next_state[e]) * width + buffers.after[m, q, model.observation[e]]
                    wave[1 - now, to] += share * (model.discount * model.chance[e])
        now, mass, step = 1 - now, mass * model.discount, step + 1
