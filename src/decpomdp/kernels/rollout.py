"""Play a team: against a dense model for complete episodes, or one step of a batch against any simulator.

Every step of an episode uses its own random numbers by position: lane 0 is for the model, lanes 1 + 2n and 2 + 2n for
the move and the action of agent n. Two teams that act alike in a situation therefore get the same random numbers.

The marginal probability of an action given the agent's own history, p(a | h) = sum_j b(j) action[j, a], needs the
node distribution b that the history implies, not the node that was sampled: `remember` keeps it up to date.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.kernels.compiled import inlined, kernel
from decpomdp.kernels.model import AliasModel
from decpomdp.kernels.sampling import Sampler, draw, pick, stream


class Players(NamedTuple):
    """The tables of a team. Rows of agent n begin at its entry of `first_*`."""

    starts: Sampler  # row n * (1 + max O): first node; row n * (1 + max O) + 1 + o: first node given o
    moves: Sampler  # row first_move[n] + (i * A + a) * O + o: next node
    acts: Sampler  # row first_act[n] + i: action
    first_move: NDArray[np.int64]  # [n]
    first_act: NDArray[np.int64]  # [n]
    start_stride: int
    nodes: NDArray[np.int64]  # [n]
    actions: NDArray[np.int64]  # [n]
    observations: NDArray[np.int64]  # [n]
    initial: NDArray[np.float64]  # [n, 1 + max O, i] as starts
    move: NDArray[np.float64]  # flat: agent n from move_place[n], [a, o, i, j]
    act: NDArray[np.float64]  # flat: agent n from act_place[n], [a, i]
    move_place: NDArray[np.int64]  # [n]
    act_place: NDArray[np.int64]  # [n]


class Paths(NamedTuple):
    """Recorded episodes of equal length: row k * T + t."""

    observations: NDArray[np.int16]  # [r, n] before the action; -1: none
    actions: NDArray[np.int16]  # [r, n]
    nodes: NDArray[np.int16]  # [r, n]
    behaviour: NDArray[np.float32]  # [r, n] marginal probability of the action; size 0 if not recorded
    rewards: NDArray[np.float64]  # [r]


def empty_paths(rows: int, agents: int, behaviour: bool) -> Paths:
    """Arrays for `rows` joint steps."""
    return Paths(
        observations=np.empty((rows, agents), np.int16),
        actions=np.empty((rows, agents), np.int16),
        nodes=np.empty((rows, agents), np.int16),
        behaviour=np.empty((rows if behaviour else 0, agents), np.float32),
        rewards=np.empty(rows),
    )


def cut_paths(
    first: int, episodes: int, horizon: int, agents: int, behaviour: bool, size: int
) -> tuple[Paths, list[tuple[int, int, int, Paths]]]:
    """Arrays for episodes first, first + 1, ..., and parts of about `size` episodes as the arguments of `play`."""
    paths, size, parts = empty_paths(episodes * horizon, agents, behaviour), max(1, size), []
    for begin in range(0, episodes, size):
        end = min(begin + size, episodes)
        part = Paths._make(field[begin * horizon : end * horizon] for field in paths)
        parts.append((first + begin, end - begin, horizon, part))
    return paths, parts


@inlined
def next_node(players: Players, n: int, node: int, action: int, seen: int, bits: np.uint64) -> int:
    """The next node of agent n."""
    row = players.first_move[n] + (node * players.actions[n] + action) * players.observations[n] + seen
    return pick(players.moves, row, bits)


@inlined
def foresee(
    players: Players, n: int, belief: NDArray[np.float64], action: int, seen: int, ahead: NDArray[np.float64]
) -> None:
    """Turn belief[n, i] into the distribution over nodes after (action, seen)."""
    size = players.nodes[n]
    place = players.move_place[n] + (action * players.observations[n] + seen) * size * size
    for j in range(size):
        ahead[j] = 0.0
    for i in range(size):
        weight = belief[n, i]
        if weight > 0.0:
            row = place + i * size
            for j in range(size):
                ahead[j] += weight * players.move[row + j]
    for j in range(size):
        belief[n, j] = ahead[j]


@inlined
def remember(players: Players, n: int, belief: NDArray[np.float64], action: int) -> float:
    """p(action | history) under belief[n, i], which is then conditioned on the action."""
    size = players.nodes[n]
    place = players.act_place[n] + action * size
    total = 0.0
    for i in range(size):
        belief[n, i] *= players.act[place + i]
        total += belief[n, i]
    scale = 1.0 / total
    for i in range(size):
        belief[n, i] *= scale
    return total


@kernel
def play(
    model: AliasModel,
    players: Players,
    seed: np.uint64,
    first: int,
    episodes: int,
    horizon: int,
    paths: Paths,
) -> None:
    """Episodes first .. first + episodes - 1 of a dense model into rows 0 .. episodes * horizon of `paths`."""
    agents = len(players.nodes)
    lanes = 1 + 2 * agents
    states = model.reward.shape[1]
    recording = paths.behaviour.size > 0
    node = np.zeros(agents, np.int64)
    belief = np.zeros((agents, players.initial.shape[2]))
    ahead = np.zeros(players.initial.shape[2])
    for k in range(episodes):
        key = stream(seed, first + k)
        state = pick(model.start, 0, draw(key, 0))
        y = 0
        for t in range(horizon):
            row = k * horizon + t
            counter = 1 + t * lanes
            u = 0
            for n in range(agents):
                seen = -1
                if t == 0:
                    node[n] = pick(players.starts, n * players.start_stride, draw(key, counter + 1 + 2 * n))
                    if recording:
                        for i in range(players.nodes[n]):
                            belief[n, i] = players.initial[n, 0, i]
                else:
                    seen = np.int64(model.observation_parts[y, n])
                    before = np.int64(paths.actions[row - 1, n])
                    node[n] = next_node(players, n, node[n], before, seen, draw(key, counter + 1 + 2 * n))
                    if recording:
                        foresee(players, n, belief, before, seen, ahead)
                action = pick(players.acts, players.first_act[n] + node[n], draw(key, counter + 2 + 2 * n))
                if recording:
                    paths.behaviour[row, n] = remember(players, n, belief, action)
                paths.observations[row, n] = seen
                paths.actions[row, n] = action
                paths.nodes[row, n] = node[n]
                u += model.action_strides[n] * action
            paths.rewards[row] = model.reward[u, state]
            outcome = pick(model.outcomes, u * states + state, draw(key, counter))
            state = outcome >> model.observation_bits
            y = outcome - (state << model.observation_bits)


@kernel
def begin(model: AliasModel, seed: np.uint64, states: NDArray[np.int64]) -> None:
    """First state of every episode of a batch; the same draw as in `play`."""
    for k in range(len(states)):
        states[k] = pick(model.start, 0, draw(stream(seed, k), 0))


@kernel
def advance(
    model: AliasModel,
    seed: np.uint64,
    t: int,
    states: NDArray[np.int64],  # [k] changed in place
    actions: NDArray[np.int64],  # [k, n]
    observations: NDArray[np.int16],  # [k, n] out
    rewards: NDArray[np.float64],  # [k] out
) -> None:
    """Step t of every episode of a batch; the same draws as in `play`."""
    agents = actions.shape[1]
    for k in range(len(states)):
        u = 0
        for n in range(agents):
            u += model.action_strides[n] * actions[k, n]
        rewards[k] = model.reward[u, states[k]]
        bits = draw(stream(seed, k), 1 + t * (1 + 2 * agents))
        outcome = pick(model.outcomes, u * model.reward.shape[1] + states[k], bits)
        states[k] = outcome >> model.observation_bits
        y = outcome - (states[k] << model.observation_bits)
        for n in range(agents):
            observations[k, n] = model.observation_parts[y, n]


@kernel
def choose(
    players: Players,
    seed: np.uint64,
    t: int,
    observations: NDArray[np.int16],  # [k, n] before the action; -1: none (t = 0 only)
    nodes: NDArray[np.int16],  # [k, n] changed in place
    actions: NDArray[np.int16],  # [k, n] the last actions in, the next ones out
    beliefs: NDArray[np.float64],  # [k, n, i] changed in place
    behaviour: NDArray[np.float32],  # [k, n] out
) -> None:
    """The team's actions at step t of every episode of a batch; the same draws as in `play`."""
    agents = len(players.nodes)
    ahead = np.zeros(beliefs.shape[2])
    for k in range(len(actions)):
        key = stream(seed, k)
        for n in range(agents):
            counter = 1 + t * (1 + 2 * agents) + 1 + 2 * n
            seen = np.int64(observations[k, n])
            if t == 0:
                nodes[k, n] = pick(players.starts, n * players.start_stride + 1 + seen, draw(key, counter))
                for i in range(players.nodes[n]):
                    beliefs[k, n, i] = players.initial[n, 1 + seen, i]
            else:
                before = np.int64(actions[k, n])
                nodes[k, n] = next_node(players, n, np.int64(nodes[k, n]), before, seen, draw(key, counter))
                foresee(players, n, beliefs[k], before, seen, ahead)
            actions[k, n] = pick(players.acts, players.first_act[n] + nodes[k, n], draw(key, counter + 1))
            behaviour[k, n] = remember(players, n, beliefs[k], np.int64(actions[k, n]))
