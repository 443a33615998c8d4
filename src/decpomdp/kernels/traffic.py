"""The traffic problem's rules, compiled: a batch of grids by one step, or a team for complete episodes.

Streets are numbered rows first, then columns; light (i, j) is agent i * side + j and shows 0: green for its row, 1:
green for its column. `decpomdp.domains.traffic` explains the rules.

The grid has its own stream of random numbers (those of the agents: `kernels.rollout`): 64 bits per street and step, the
upper half for arrivals, the lower half for rounding the flow to whole cars. Teams that act alike in a situation
therefore get the same random numbers.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.kernels.compiled import inlined, kernel
from decpomdp.kernels.rollout import Paths, Players, foresee, next_node, remember
from decpomdp.kernels.sampling import HALF, LOW, draw, mix, pick, stream

WORLD = np.uint64(0x7472616666696321)  # makes the grid's stream different from the agents'


class Rules(NamedTuple):
    """The numbers of one grid."""

    side: int
    most: int  # cars that a street holds
    flow: int  # cars that an open street lets through in a step
    arrival: np.uint64  # a platoon arrives if 32 random bits are below this
    platoon: int  # cars that arrive together
    penalty: float  # of a full street


@inlined
def begin_grid(rules: Rules, key: np.uint64, loads: NDArray[np.int8]) -> None:
    """Draw the cars on every street before the first step; all numbers are equally likely."""
    for street in range(2 * rules.side):
        loads[street] = np.int64(((draw(key, street) >> HALF) * np.uint64(rules.most + 1)) >> HALF)


@inlined
def advance_grid(rules: Rules, key: np.uint64, t: int, lights: NDArray[np.int16], loads: NDArray[np.int8]) -> float:
    """Step t: cars leave if lights agree, then others arrive. Returns the reward; `loads` is changed in place."""
    side = rules.side
    reward = 0.0
    for street in range(2 * side):
        column = street >= side
        place, stride, green = (street - side, side, 1) if column else (street * side, 1, 0)
        through, before = 0, True
        for _ in range(side):
            here = lights[place] == green
            through += here and before
            before = here
            place += stride
        bits = draw(key, (1 + t) * 2 * side + street)
        carried = (np.uint64(rules.flow * through << 32) // np.uint64(side) + (bits & LOW)) >> HALF
        left = min(np.int64(carried), np.int64(loads[street]))
        come = rules.platoon if (bits >> HALF) < rules.arrival else 0
        now = min(loads[street] - left + come, rules.most)
        loads[street] = now
        reward += left
        if now == rules.most:
            reward -= rules.penalty
    return reward


@inlined
def comparison(rules: Rules, loads: NDArray[np.int8], n: int) -> int:
    """The observation of light n: 0, 1, 2 if its row has fewer cars than its column, equally many, or more."""
    difference = loads[n // rules.side] - loads[rules.side + n % rules.side]
    return 1 + (difference > 0) - (difference < 0)


@kernel
def begin(rules: Rules, seed: np.uint64, loads: NDArray[np.int8], observations: NDArray[np.int16]) -> None:
    """loads[k, street] and observations[k, n] of a new batch; the same draws as in `play`."""
    for k in range(len(loads)):
        begin_grid(rules, mix(stream(seed, k) ^ WORLD), loads[k])
        for n in range(observations.shape[1]):
            observations[k, n] = comparison(rules, loads[k], n)


@kernel
def advance(
    rules: Rules,
    seed: np.uint64,
    t: int,
    actions: NDArray[np.int16],  # [k, n]
    loads: NDArray[np.int8],  # [k, street] changed in place
    observations: NDArray[np.int16],  # [k, n] out
    rewards: NDArray[np.float64],  # [k] out
) -> None:
    """Step t of every episode of a batch; the same draws as in `play`."""
    for k in range(len(loads)):
        rewards[k] = advance_grid(rules, mix(stream(seed, k) ^ WORLD), t, actions[k], loads[k])
        for n in range(observations.shape[1]):
            observations[k, n] = comparison(rules, loads[k], n)


@kernel
def play(
    rules: Rules, players: Players, seed: np.uint64, first: int, episodes: int, horizon: int, paths: Paths
) -> None:
    """Episodes first .. first + episodes - 1 of a team into rows 0 .. episodes * horizon of `paths`."""
    agents = len(players.nodes)
    lanes = 1 + 2 * agents
    recording = paths.behaviour.size > 0
    loads = np.zeros(2 * rules.side, np.int8)
    belief = np.zeros((agents, players.initial.shape[2]))
    ahead = np.zeros(players.initial.shape[2])
    for k in range(episodes):
        key = stream(seed, first + k)
        grid = mix(key ^ WORLD)
        begin_grid(rules, grid, loads)
        for t in range(horizon):
            row = k * horizon + t
            for n in range(agents):
                counter = 2 + t * lanes + 2 * n
                seen = comparison(rules, loads, n)
                if t == 0:
                    node = pick(players.starts, n * players.start_stride + 1 + seen, draw(key, counter))
                    if recording:
                        for i in range(players.nodes[n]):
                            belief[n, i] = players.initial[n, 1 + seen, i]
                else:
                    before = np.int64(paths.actions[row - 1, n])
                    last = np.int64(paths.nodes[row - 1, n])
                    node = next_node(players, n, last, before, seen, draw(key, counter))
                    if recording:
                        foresee(players, n, belief, before, seen, ahead)
                action = pick(players.acts, players.first_act[n] + node, draw(key, counter + 1))
                if recording:
                    paths.behaviour[row, n] = remember(players, n, belief, action)
                paths.observations[row, n] = seen
                paths.actions[row, n] = action
                paths.nodes[row, n] = node
            paths.rewards[row] = advance_grid(rules, grid, t, paths.actions[row], loads)
