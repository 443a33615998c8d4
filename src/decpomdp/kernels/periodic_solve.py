"""Values and occupancies of a deterministic layered plan. With u the action of joint node q of layer m,

  V_m(s, q)      = reward[u, s] + discount sum_{s1, y} P(s1, y | s, u) V_{m+1}(s1, after(q, y))
  F_{m+1}(s1, q1) = discount sum over what leads there of P(s1, y | s, u) F_m(s, q)  (+ the start, in layer 0).

Exact where the team can be. Elsewhere values only guide choices and may be rough.
"""

import numpy as np
from numpy.typing import NDArray

from decpomdp.kernels.compiled import kernel
from decpomdp.kernels.model import DiscountedModel
from decpomdp.kernels.periodic import Joint, Plan, first_joint

ROUGH = 0.001  # of the largest possible value: error of values where the team cannot be


@kernel
def back(
    model: DiscountedModel, joint: Joint, m: int, following: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """out[s, q]: the value of layer m everywhere, given that of the next."""
    states, width = out.shape
    for s in range(states):
        for q in range(width):
            u = joint.action[m, q]
            row = u * states + s
            x = model.reward[u, s]
            for e in range(model.offsets[row], model.offsets[row + 1]):
                x += model.discounted[e] * following[model.next_state[e], joint.after[m, q, model.observation[e]]]
            out[s, q] = x


@kernel
def at_start(model: DiscountedModel, plan: Plan, v: NDArray[np.float64]) -> float:
    """The value of the plan."""
    q, total = first_joint(plan), 0.0
    for s in range(len(model.start)):
        total += model.start[s] * v[0, s, q]
    return total


@kernel
def everywhere(
    model: DiscountedModel, joint: Joint, closed: bool, v: NDArray[np.float64], before: NDArray[np.float64]
) -> None:
    """Back up all layers once, the last from the first; `before` gets the first layer as it was."""
    layers, states, width = v.shape
    for s in range(states):
        for q in range(width):
            before[s, q] = v[0, s, q] if closed else 0.0
    for m in range(layers - 1, -1, -1):
        back(model, joint, m, v[m + 1] if m + 1 < layers else before, v[m])


@kernel
def where_met(
    model: DiscountedModel, joint: Joint, places: NDArray[np.int64], v: NDArray[np.float64], before: NDArray[np.float64]
) -> tuple[float, float]:
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
        row = joint.action[m, q] * states + s
        x = model.reward[joint.action[m, q], s]
        for e in range(model.offsets[row], model.offsets[row + 1]):
            x += model.discounted[e] * following[model.next_state[e], joint.after[m, q, model.observation[e]]]
        v[m, s, q] = x
        if m == 0:
            low, high = min(low, x - before[s, q]), max(high, x - before[s, q])
    return low, high


@kernel
def values(
    model: DiscountedModel,
    plan: Plan,
    joint: Joint,
    closed: bool,
    target: float,
    tolerance: float,
    places: NDArray[np.int64],  # flat indices of all places where the team can be, rising
    v: NDArray[np.float64],  # [m, s, q]
    stop: NDArray[np.int64],  # [1] set by another thread when it has to end: a discount near 1 takes long
) -> bool:
    """Solve for v where the team can be, from the guess it holds; in an open plan everywhere.

    False, perhaps unfinished, when the value cannot exceed `target`. When once round the layers v rises by between low
    and high wherever the team can be, it has between low and high times discount^M / (1 - discount^M) still to rise
    there (MacQueen): that proves a refusal early, and the precision at the end.
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
    """Rounds after which only rounding is left of whatever was wrong."""
    return 100 + int(60.0 / (1.0 - shrink))


@kernel
def spread(model: DiscountedModel, joint: Joint, v: NDArray[np.float64], stop: NDArray[np.int64]) -> None:
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
    plan: Plan,
    joint: Joint,
    closed: bool,
    tolerance: float,
    places: NDArray[np.int64],  # flat indices of all places where the team can be
    wave: NDArray[np.float64],  # [2, place] scratch
    f: NDArray[np.float64],  # [m, s, q]
    stop: NDArray[np.int64],  # [1] not 0: it has to end
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
