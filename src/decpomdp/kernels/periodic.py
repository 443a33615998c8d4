"""Deterministic controllers in layers on a model: where the team can be, and what every choice of a node is worth.

A plan has M layers; agent n has widths[n] nodes in each. Node i of layer m takes act[n, m, i] and moves to node
move[n, m, i, o] of layer m + 1, from the last layer to the first when the plan is closed. A joint node q has one joint
action, so only the outcomes (s1, y) that it can have are visited. A place is (m, s, q); from its start a deterministic
team meets few of them, one in a hundred in the larger problems.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.kernels.compiled import kernel
from decpomdp.kernels.model import DiscountedModel


class Plan(NamedTuple):
    """A deterministic layered team."""

    act: NDArray[np.int64]  # [n, m, i]
    move: NDArray[np.int64]  # [n, m, i, o]
    first: NDArray[np.int64]  # [n] start nodes in layer 0
    widths: NDArray[np.int64]  # [n]
    strides: NDArray[np.int64]  # [n] q = sum of nodes times strides


class Joint(NamedTuple):
    """The plan by joint nodes."""

    action: NDArray[np.int64]  # [m, q]
    after: NDArray[np.int64]  # [m, q, y]


class Room(NamedTuple):
    """Memory of one climb."""

    joint: Joint
    v: NDArray[np.float64]  # [m, s, q]
    trial: NDArray[np.float64]  # [m, s, q]
    f: NDArray[np.float64]  # [m, s, q]
    mark: NDArray[np.bool_]  # [m, s, q] where the team can be
    places: NDArray[np.int64]  # [m * S * Q] flat indices of these places, in its first entries
    wave: NDArray[np.float64]  # [2, m * S * Q]
    belief: NDArray[np.float64]  # [s, q]
    direct: NDArray[np.float64]  # [i, a]
    score: NDArray[np.float64]  # [i, a, o, j]
    act: NDArray[np.int64]  # [i] of the layer as it was
    move: NDArray[np.int64]  # [i, o]


@kernel
def part(plan: Plan, q: int, n: int) -> int:
    """Agent n's node of joint node q."""
    return q // plan.strides[n] % plan.widths[n]


@kernel
def first_joint(plan: Plan) -> int:
    """The joint start node."""
    q = 0
    for n in range(len(plan.first)):
        q += plan.first[n] * plan.strides[n]
    return q


@kernel
def fill_joint(model: DiscountedModel, plan: Plan, m: int, joint: Joint) -> None:
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
def sift(numbers: NDArray[np.int64], top: int, size: int) -> None:
    """Let numbers[top] sink to its place in the heap of the first `size` numbers."""
    while 2 * top + 1 < size:
        child = 2 * top + 1
        if child + 1 < size and numbers[child + 1] > numbers[child]:
            child += 1
        if numbers[top] >= numbers[child]:
            break
        numbers[top], numbers[child] = numbers[child], numbers[top]
        top = child


@kernel
def sort(numbers: NDArray[np.int64], size: int) -> None:
    """Put the first `size` numbers into rising order (heapsort: the library's own sort takes seconds to compile)."""
    for top in range(size // 2 - 1, -1, -1):
        sift(numbers, top, size)
    for last in range(size - 1, 0, -1):
        numbers[0], numbers[last] = numbers[last], numbers[0]
        sift(numbers, 0, last)


@kernel
def reach(
    model: DiscountedModel, plan: Plan, joint: Joint, closed: bool, mark: NDArray[np.bool_], places: NDArray[np.int64]
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
    plan: Plan,
    joint: Joint,
    m: int,
    n: int,
    weights: NDArray[np.float64],  # [s, q] of layer m
    following: NDArray[np.float64],  # [s, q] value of the next layer
    direct: NDArray[np.float64],  # [i, a] out: rewards
    score: NDArray[np.float64],  # [i, a, o, j] out: value of what follows
) -> None:
    """What every action and every move of agent n's nodes in layer m is worth under `weights`, the others fixed."""
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
