"""Deterministic controllers in layers on a model: reachable places, values, occupancies, and the worth of choices.

A plan has M layers; agent n has widths[n] nodes in each. Node i of layer m takes act[n, m, i] and moves to node
move[n, m, i, o] of layer m + 1, from the last layer to the first when the plan is closed. A joint node q has one joint
action, so only the outcomes (s1, y) that it can have are visited. A place is (m, s, q); from its start a deterministic
team reaches few of them, one in a hundred in the larger problems. With u the action of joint node q of layer m,

  V_m(s, q)       = reward[u, s] + discount sum_{s1, y} P(s1, y | s, u) V_{m+1}(s1, after(q, y))
  F_{m+1}(s1, q1) = discount sum over (s, q, y) that lead there of P(s1, y | s, u) F_m(s, q)  (+ the start, in layer 0).

Both are exact at reachable places. Elsewhere values only guide choices and may be rough.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.kernels.compiled import inlined, kernel
from decpomdp.kernels.model import DiscountedModel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ROUGH = 0.001  # of the largest possible value: error of values where the team cannot be


class LayeredPlan(NamedTuple):
    """A deterministic layered team."""

    act: Ints  # [n, m, i]
    move: Ints  # [n, m, i, o]
    first: Ints  # [n] start nodes in layer 0
    widths: Ints  # [n]
    strides: Ints  # [n] q = sum of nodes times strides


class JointPlan(NamedTuple):
    """The plan by joint nodes."""

    action: Ints  # [m, q]
    after: Ints  # [m, q, y]


class PlanBuffers(NamedTuple):
    """Memory of one climb, allocated once."""

    joint: JointPlan
    v: Floats  # [m, s, q]
    trial: Floats  # [m, s, q]
    f: Floats  # [m, s, q]
    mark: NDArray[np.bool_]  # [m, s, q] where the team can be
    places: Ints  # [m * S * Q] flat indices of these places, in its first entries
    wave: Floats  # [2, m * S * Q]
    belief: Floats  # [s, q]
    direct: Floats  # [i, a]
    score: Floats  # [i, a, o, j]
    act: Ints  # [i] of the layer as it was
    move: Ints  # [i, o]


@kernel
def part(plan: LayeredPlan, q: int, n: int) -> int:
    """Agent n's node of joint node q."""
    return q // plan.strides[n] % plan.widths[n]


@kernel
def first_joint(plan: LayeredPlan) -> int:
    """The joint start node."""
    q = 0
    for n in range(len(plan.first)):
        q += plan.first[n] * plan.strides[n]
    return q


@kernel
def fill_joint(model: DiscountedModel, plan: LayeredPlan, m: int, joint: JointPlan) -> None:
    """Joint actions and moves of layer m."""
    for q in range(joint.action.shape[1]):
        u = 0
        for n in range(len(plan.widths)):
            u += plan.act[n, m, part(plan, q, n)] * model.action_strides[n]
        joint.action[m, q] = u
        for y in range(joint.after.shape[2]):
            to = 0
            for n in range(len(plan.widths)):
                to += plan.move[n, m, part(plan, q, n), model.observation_parts[y, n]] * plan.strides[n]
            joint.after[m, q, y] = to


@kernel
def sift(numbers: Ints, top: int, size: int) -> None:
    """Restore the heap of the first `size` numbers below numbers[top]."""
    while 2 * top + 1 < size:
        child = 2 * top + 1
        if child + 1 < size and numbers[child + 1] > numbers[child]:
            child += 1
        if numbers[top] >= numbers[child]:
            break
        numbers[top], numbers[child] = numbers[child], numbers[top]
        top = child


@kernel
def sort(numbers: Ints, size: int) -> None:
    """Put the first `size` numbers into rising order (heapsort: the library's own sort takes seconds to compile)."""
    for top in range(size // 2 - 1, -1, -1):
        sift(numbers, top, size)
    for last in range(size - 1, 0, -1):
        numbers[0], numbers[last] = numbers[last], numbers[0]
        sift(numbers, 0, last)


@kernel
def reach(
    model: DiscountedModel, plan: LayeredPlan, joint: JointPlan, closed: bool, mark: NDArray[np.bool_], places: Ints
) -> int:
    """mark[m, s, q]: whether the team can ever be there; the flat indices of these places, rising, and how many."""
    layers, states, width = mark.shape
    mark[:] = False
    q, size = first_joint(plan), 0
    for s in range(states):
        if model.start[s] > 0.0:
            mark[0, s, q] = True
            places[size] = s * width + q
            size += 1
    done = 0
    while done < size:
        m, rest = places[done] // (states * width), places[done] % (states * width)
        s, q, on = rest // width, rest % width, (m + 1) % layers
        done += 1
        if on == 0 and not closed:
            continue
        row = joint.action[m, q] * states + s
        for e in range(model.offsets[row], model.offsets[row + 1]):
            s1, q1 = model.next_state[e], joint.after[m, q, model.observation[e]]
            if not mark[on, s1, q1]:
                mark[on, s1, q1] = True
                places[size] = (on * states + s1) * width + q1
                size += 1
    sort(places, size)
    return size


@kernel
def worth(
    model: DiscountedModel,
    plan: LayeredPlan,
    joint: JointPlan,
    m: int,
    n: int,
    weights: Floats,  # [s, q] of layer m
    following: Floats,  # [s, q] value of the next layer
    direct: Floats,  # [i, a] out: rewards
    score: Floats,  # [i, a, o, j] out: later values
) -> None:
    """The value of every action and move of agent n's nodes in layer m under `weights`, the others fixed."""
    states, width = weights.shape
    direct[:] = 0.0
    score[:] = 0.0
    stride, size = plan.strides[n], plan.widths[n]
    for s in range(states):
        for q in range(width):
            mass = weights[s, q]
            if mass <= 0.0:
                continue
            i = part(plan, q, n)
            base = joint.action[m, q] - plan.act[n, m, i] * model.action_strides[n]
            for a in range(model.actions[n]):
                u = base + a * model.action_strides[n]
                direct[i, a] += mass * model.reward[u, s]
                row = u * states + s
                for e in range(model.offsets[row], model.offsets[row + 1]):
                    o = model.observation_parts[model.observation[e], n]
                    to = joint.after[m, q, model.observation[e]] - plan.move[n, m, i, o] * stride
                    share = mass * model.discounted[e]
                    for j in range(size):
                        score[i, a, o, j] += share * following[model.next_state[e], to + j * stride]


@inlined
def value_of(model: DiscountedModel, joint: JointPlan, m: int, s: int, q: int, following: Floats) -> float:
    """The value of a place, given that of the next layer."""
    u = joint.action[m, q]
    row = u * len(model.start) + s
    x = model.reward[u, s]
    for e in range(model.offsets[row], model.offsets[row + 1]):
        x += model.discounted[e] * following[model.next_state[e], joint.after[m, q, model.observation[e]]]
    return x


@kernel
def back(model: DiscountedModel, joint: JointPlan, m: int, following: Floats, out: Floats) -> None:
    """out[s, q]: the value of layer m everywhere, given that of the next."""
    states, width = out.shape
    for s in range(states):
        for q in range(width):
            out[s, q] = value_of(model, joint, m, s, q, following)


@kernel
def at_start(model: DiscountedModel, plan: LayeredPlan, v: Floats) -> float:
    """The value of the plan."""
    q, total = first_joint(plan), 0.0
    for s in range(len(model.start)):
        total += model.start[s] * v[0, s, q]
    return total


@kernel
def everywhere(model: DiscountedModel, joint: JointPlan, closed: bool, v: Floats, before: Floats) -> None:
    """Back up all layers once, the last from the first; `before` gets the first layer as it was."""
    layers, states, width = v.shape
    for s in range(states):
        for q in range(width):
            before[s, q] = v[0, s, q] if closed else 0.0
    for m in range(layers - 1, -1, -1):
        back(model, joint, m, v[m + 1] if m + 1 < layers else before, v[m])


@kernel
def where_met(model: DiscountedModel, joint: JointPlan, places: Ints, v: Floats, before: Floats) -> tuple[float, float]:
    """Like `everywhere` in a closed plan, but only at `places`; the least and the greatest rise in the first layer."""
    layers, states, width = v.shape
    low, high = np.inf, -np.inf
    for place in places:
        if place >= states * width:
            break
        before[place // width, place % width] = v[0, place // width, place % width]
    for k in range(len(places) - 1, -1, -1):
        m, rest = places[k] // (states * width), places[k] % (states * width)
        s, q = rest // width, rest % width
        following = v[m + 1] if m + 1 < layers else before
        v[m, s, q] = x = value_of(model, joint, m, s, q, following)
        if m == 0:
            low, high = min(low, x - before[s, q]), max(high, x - before[s, q])
    return low, high


@kernel
def values(
    model: DiscountedModel,
    plan: LayeredPlan,
    joint: JointPlan,
    closed: bool,
    target: float,
    tolerance: float,
    places: Ints,  # flat indices of all places where the team can be, rising
    v: Floats,  # [m, s, q]
    stop: Ints,  # [1] set by another thread when it has to end: a discount near 1 takes long
) -> bool:
    """Solve for v where the team can be, from the guess it holds; in an open plan everywhere.

    False, perhaps unfinished, when the value cannot exceed `target`. When once round the layers v rises by between low
    and high wherever the team can be, it has between low and high times discount^M / (1 - discount^M) still to rise
    there (MacQueen): this bounds the value early, and the error at the end.
    """
    layers, states, width = v.shape
    shrink = model.discount**layers
    rest = shrink / (1.0 - shrink)
    before = np.empty((states, width))
    if not closed:
        everywhere(model, joint, False, v, before)
        return at_start(model, plan, v) > target
    for _ in range(enough(shrink)):
        low, high = where_met(model, joint, places, v, before)
        if at_start(model, plan, v) + high * rest <= target:
            return False
        if stop[0] != 0:
            break
        if (high - low) * rest <= tolerance:
            break
    more, flat = 0.5 * (low + high) / (1.0 - shrink), v.reshape(-1)
    for place in places:
        flat[place] += more * model.discount ** (layers - place // (states * width))
    return at_start(model, plan, v) > target


@kernel
def enough(shrink: float) -> int:
    """Rounds after which only rounding errors are left."""
    return 100 + int(60.0 / (1.0 - shrink))


@kernel
def spread(model: DiscountedModel, joint: JointPlan, v: Floats, stop: Ints) -> None:
    """Values of a closed plan also where the team cannot be: they only guide choices, so ROUGH is enough."""
    states, width = v.shape[1], v.shape[2]
    before = np.empty((states, width))
    shrink = model.discount ** len(v)
    largest = 0.0
    for u in range(model.reward.shape[0]):
        for s in range(model.reward.shape[1]):
            largest = max(largest, abs(model.reward[u, s]))
    wanted = ROUGH * largest / (1.0 - model.discount)
    for _ in range(enough(shrink)):
        everywhere(model, joint, True, v, before)
        change = 0.0
        for s in range(states):
            for q in range(width):
                change = max(change, abs(v[0, s, q] - before[s, q]))
        if stop[0] != 0 or change * shrink <= wanted * (1.0 - shrink):
            break


@kernel
def occupancies(
    model: DiscountedModel,
    plan: LayeredPlan,
    joint: JointPlan,
    closed: bool,
    tolerance: float,
    places: Ints,  # flat indices of all places where the team can be
    wave: Floats,  # [2, place] scratch
    f: Floats,  # [m, s, q]
    stop: Ints,  # [1] not 0: it has to end
) -> None:
    """f[m, s, q], discounted visits from the start, but for the last `tolerance` of them."""
    layers, states, width = f.shape
    flat = f.reshape(-1)
    f[:] = 0.0
    for place in places:
        wave[0, place] = 0.0
    q = first_joint(plan)
    for s in range(states):
        wave[0, s * width + q] = model.start[s]
    mass, now, step = 1.0, 0, 0
    while mass > tolerance and (closed or step < layers) and stop[0] == 0:
        for place in places:
            wave[1 - now, place] = 0.0
            flat[place] += wave[now, place]
        for place in places:
            share = wave[now, place]
            if share > 0.0:
                m, rest = place // (states * width), place % (states * width)
                s, q, on = rest // width, rest % width, (m + 1) % layers
                if on == 0 and not closed:
                    continue
                row = joint.action[m, q] * states + s
                for e in range(model.offsets[row], model.offsets[row + 1]):
                    to = (on * states + model.next_state[e]) * width + joint.after[m, q, model.observation[e]]
                    wave[1 - now, to] += share * model.discounted[e]
        now, mass, step = 1 - now, mass * model.discount, step + 1
