"""Sweeps over the layers of a deterministic plan: node by node the best choice, the others fixed.

In an open plan (finite horizon) a change in a layer leaves the occupancy of that layer as it is, and the value rises by
the gain that the occupancy promises. In a closed one the layer is met again, so a change is taken only when the exact
value rises.
"""

import numpy as np

from decpomdp.kernels.compiled import kernel
from decpomdp.kernels.periodic import Game, Plan, Room, fill_joint, reach, worth
from decpomdp.kernels.periodic_nodes import FAINT, below, chosen, refresh
from decpomdp.kernels.periodic_solve import at_start, occupancies, spread, values
from decpomdp.kernels.sampling import stream

AHEAD = 3  # sweeps that are looked ahead


@kernel
def better(game: Game, plan: Plan, room: Room, m: int, closed: bool, margin: float, value: float) -> bool:
    """Whether the plan, changed in layer m, is worth more than `value`; then room.v and room.f are made up to date."""
    fill_joint(game, plan, m, room.joint)
    size = reach(game, plan, room.joint, closed, room.mark, room.places)
    places = room.places[:size]
    room.trial[:] = room.v
    if not values(game, plan, room.joint, closed, value + margin, 0.1 * margin, places, room.trial):
        return False
    room.v[:] = room.trial
    occupancies(game, plan, room.joint, closed, FAINT, places, room.wave, room.f)
    return True


@kernel
def improve(game: Game, plan: Plan, room: Room, m: int, n: int, closed: bool, margin: float, value: float) -> float:
    """All nodes of agent n in layer m at once; if that is no gain, one by one. The value after it."""
    layers, size = room.v.shape[0], plan.widths[n]
    following = room.v[(m + 1) % layers] if closed or m + 1 < layers else np.zeros(room.v.shape[1:])
    worth(game, plan, room.joint, m, n, room.f[m], following, room.direct, room.score)
    room.act[:size] = plan.act[n, m, :size]
    room.move[:size] = plan.move[n, m, :size]
    changed = 0
    for i in range(size):
        changed += chosen(game, plan, room, m, n, i, margin) > 0.0
    if changed == 0:
        return value
    if better(game, plan, room, m, closed, margin, value):
        return at_start(game, plan, room.v)
    plan.act[n, m, :size] = room.act[:size]
    plan.move[n, m, :size] = room.move[:size]
    for i in range(size if changed > 1 else 0):
        if chosen(game, plan, room, m, n, i, margin) > 0.0:
            if better(game, plan, room, m, closed, margin, value):
                value = at_start(game, plan, room.v)
                room.act[i] = plan.act[n, m, i]
                room.move[i] = plan.move[n, m, i]
            plan.act[n, m, i] = room.act[i]
            plan.move[n, m, i] = room.move[i]
    fill_joint(game, plan, m, room.joint)
    return value


@kernel
def sweeps(
    game: Game,
    plan: Plan,
    room: Room,
    closed: bool,
    most: int,
    patience: int,
    hope: float,
    margin: float,
    seed: np.uint64,
) -> float:
    """Sweep backwards over the layers until `patience` sweeps bring nothing, or `most` are done. The value.

    Ends early when AHEAD more sweeps like the last would not reach `hope`.
    """
    key, counter = stream(seed, 0), np.zeros(1, np.int64)
    layers, agents = room.v.shape[0], len(plan.widths)
    for m in range(layers):
        fill_joint(game, plan, m, room.joint)
    size = reach(game, plan, room.joint, closed, room.mark, room.places)
    values(game, plan, room.joint, closed, -np.inf, 0.1 * margin, room.places[:size], room.v)
    if closed:
        spread(game, room.joint, room.v)
    occupancies(game, plan, room.joint, closed, FAINT, room.places[:size], room.wave, room.f)
    value, idle = at_start(game, plan, room.v), 0
    for _ in range(most):
        before = value
        for m in range(layers - 1, -1, -1):
            turn = below(key, counter, agents)
            for k in range(agents):
                n = (turn + k) % agents
                refresh(game, plan, room, m, n, closed, key, counter)
                value = improve(game, plan, room, m, n, closed, margin, value)
        idle = 0 if value > before else idle + 1
        if idle >= patience or value + AHEAD * (value - before) < hope:
            break
    return value
