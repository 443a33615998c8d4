"""The traffic problem's rules, compiled: a batch of grids by one step, or a team for complete episodes.

Streets are numbered rows first, then columns; light (i, j) is agent i * side + j and shows 0: green for its row, 1:
green for its column. `decpomdp.domains.traffic` explains the rules.

The grid has its own stream of random numbers (those of the agents: `kernels.rollout`): 64 bits per street and step, the
upper half for arrivals, the lower half for the fraction of a car that the flow may leave over. Teams that
act alike in a situation therefore get the same random numbers.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.kernels.compiled import inlined, kernel
from decpomdp.kernels.rollout import Paths, Players, act, new_batch
from decpomdp.kernels.sampling import HALF, LOW, draw, mix

WORLD = np.uint64(0x7472616666696321)  # sets the grid's stream apart from the agents'


class Rules(NamedTuple):
    """The numbers of one grid."""

    side: int
    most: int  # cars that a street holds
    flow: int  # cars that an open street lets through in a step
    arrival: np.uint64  # a platoon comes when 32 random bits are below this
    platoon: int  # cars that come together
    penalty: float  # of a full street


@inlined
def advance_grid(rules: Rules, key: np.uint64, t: int, lights: NDArray[np.int16], loads: NDArray[np.int8]) -> float:
    """Step t: cars leave where lights agree, then others come. Returns the reward; `loads` is changed in place."""
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
    """What light n sees: 0, 1, 2 as its row has fewer cars than its column, as many, or more."""
    difference = loads[n // rules.side] - loads[rules.side + n % rules.side]
    return 1 + (difference > 0) - (difference < 0)


@kernel
def begin(
    rules: Rules,
    keys: NDArray[np.uint64],  # [k]
    loads: NDArray[np.int8],  # [k, street] out
    observations: NDArray[np.int16],  # [k, n] out
) -> None:
    """The first step of a new batch: every number of cars on a street is equally likely."""
    for k in range(len(keys)):
        for street in range(2 * rules.side):
            bits = draw(mix(keys[k] ^ WORLD), street)
            loads[k, street] = np.int64(((bits >> HALF) * np.uint64(rules.most + 1)) >> HALF)
        for n in range(observations.shape[1]):
            observations[k, n] = comparison(rules, loads[k], n)


@kernel
def advance(
    rules: Rules,
    keys: NDArray[np.uint64],  # [k]
    t: int,
    actions: NDArray[np.int16],  # [k, n]
    loads: NDArray[np.int8],  # [k, street] changed in place
    observations: NDArray[np.int16],  # [k, n] out
    rewards: NDArray[np.float64],  # [k] out
) -> None:
    """Step t of every episode of a batch."""
    for k in range(len(keys)):
        rewards[k] = advance_grid(rules, mix(keys[k] ^ WORLD), t, actions[k], loads[k])
        for n in range(observations.shape[1]):
            observations[k, n] = comparison(rules, loads[k], n)


@kernel
def play(rules: Rules, players: Players, keys: NDArray[np.uint64], paths: Paths, horizon: int) -> None:
    """Episodes of a team into rows 0 .. len(keys) * horizon of `paths`."""
    batch = new_batch(len(keys), len(players.nodes), players.initial.shape[2], paths.behaviour.size > 0)
    loads = np.zeros((len(keys), 2 * rules.side), np.int8)
    begin(rules, keys, loads, batch.observations)
    for t in range(horizon):
        act(players, keys, t, horizon, batch, paths)
        advance(rules, keys, t, batch.actions, loads, batch.observations, batch.rewards)
        for k in range(len(keys)):
            paths.rewards[k * horizon + t] = batch.rewards[k]
