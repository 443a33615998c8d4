"""Play a team in a batch of episodes side by side: one step at a time against any simulator, or against a dense model.

An episode is a chain of look-ups each of which needs the one before; side by side, the processor overlaps the chains.
Every step of an episode uses its own random numbers by position: lane 0 is the world's, lanes 1 + 2n and 2 + 2n are
agent n's move and action. Two teams that act alike in a situation therefore get the same random numbers.

The marginal probability of an action given the agent's own history, p(a | h) = sum_j b(j) action[j, a], needs the
node distribution b that the history implies, not the node that was sampled: `remember` keeps it up to date.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.kernels.compiled import helper, inlined, kernel
from decpomdp.kernels.model import AliasModel
from decpomdp.kernels.sampling import Sampler, draw, key_of, pick, streams


class Players(NamedTuple):
    """A team, ready to play. Rows of agent n begin at its place in `first_*`."""

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

    observations: NDArray[np.int16]  # [r, n] seen before the action; -1: nothing
    actions: NDArray[np.int16]  # [r, n]
    nodes: NDArray[np.int16]  # [r, n]
    behaviour: NDArray[np.float32]  # [r, n] marginal probability of the action; size 0 when not asked for
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
    seed: int, first: int, episodes: int, horizon: int, agents: int, behaviour: bool, size: int
) -> tuple[Paths, list[tuple[NDArray[np.uint64], Paths]]]:
    """Arrays for episodes first, first + 1, ..., and parts of about `size` episodes with their keys, for threads."""
    keys = streams(key_of(seed), np.arange(first, first + episodes))
    paths, size = empty_paths(episodes * horizon, agents, behaviour), max(1, size)
    cuts = range(0, episodes, size)
    rows = [slice(begin * horizon, (begin + size) * horizon) for begin in cuts]
    parts = [Paths._make(field[part] for field in paths) for part in rows]
    return paths, [(keys[begin : begin + size], part) for begin, part in zip(cuts, parts, strict=True)]


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
def begin(model: AliasModel, keys: NDArray[np.uint64], states: NDArray[np.int64]) -> None:
    """The first state of every episode of a batch; keys[k] are its random numbers."""
    for k in range(len(keys)):
        states[k] = pick(model.start, 0, draw(keys[k], 0))


@kernel
def advance(
    model: AliasModel,
    keys: NDArray[np.uint64],  # [k]
    counter: int,  # of the world's random number
    states: NDArray[np.int64],  # [k] changed in place
    actions: NDArray[np.int16],  # [k, n]
    observations: NDArray[np.int16],  # [k, n] out
    rewards: NDArray[np.float64],  # [k] out
) -> None:
    """One step of every episode of a batch."""
    agents = actions.shape[1]
    for k in range(len(keys)):
        u = 0
        for n in range(agents):
            u += model.action_strides[n] * actions[k, n]
        state = states[k]
        rewards[k] = model.reward[u, state]
        outcome = pick(model.outcomes, u * model.reward.shape[1] + state, draw(keys[k], counter))
        state = outcome >> model.observation_bits
        y = outcome - (state << model.observation_bits)
        states[k] = state
        for n in range(agents):
            observations[k, n] = model.observation_parts[y, n]


@kernel
def choose(
    players: Players,
    keys: NDArray[np.uint64],  # [k]
    t: int,
    observations: NDArray[np.int16],  # [k, n] seen before the action; -1: nothing (t = 0 only)
    nodes: NDArray[np.int16],  # [k, n] changed in place
    actions: NDArray[np.int16],  # [k, n] the last actions in, the next ones out
    beliefs: NDArray[np.float64],  # [k, n, i] changed in place
    behaviour: NDArray[np.float32],  # [k, n] out; size 0: neither it nor `beliefs` is used
) -> None:
    """The team's actions at step t of every episode of a batch."""
    agents = len(players.nodes)
    recording = behaviour.size > 0
    ahead = np.zeros(beliefs.shape[2])
    for k in range(len(keys)):
        for n in range(agents):
            counter = 1 + t * (1 + 2 * agents) + 1 + 2 * n
            bits, seen, before = draw(keys[k], counter), np.int64(observations[k, n]), np.int64(actions[k, n])
            if t == 0:
                node = pick(players.starts, n * players.start_stride + 1 + seen, bits)
                if recording:
                    for i in range(players.nodes[n]):
                        beliefs[k, n, i] = players.initial[n, 1 + seen, i]
            else:
                row = (nodes[k, n] * players.actions[n] + before) * players.observations[n] + seen
                node = pick(players.moves, players.first_move[n] + row, bits)
                if recording:
                    foresee(players, n, beliefs[k], before, seen, ahead)
            action = pick(players.acts, players.first_act[n] + node, draw(keys[k], counter + 1))
            if recording:
                behaviour[k, n] = remember(players, n, beliefs[k], action)
            nodes[k, n], actions[k, n] = node, action


class Batch(NamedTuple):
    """Episodes that are played side by side, at one step."""

    observations: NDArray[np.int16]  # [k, n] seen before the action; -1: nothing
    nodes: NDArray[np.int16]  # [k, n]
    actions: NDArray[np.int16]  # [k, n]
    rewards: NDArray[np.float64]  # [k]
    beliefs: NDArray[np.float64]  # [k, n, i] of every agent's node; size 0 when not asked for
    behaviour: NDArray[np.float32]  # [k, n] likewise


@helper
def new_batch(episodes: int, agents: int, nodes: int, behaviour: bool) -> Batch:
    """Episodes before their first step."""
    recorded = episodes if behaviour else 0
    return Batch(
        np.full((episodes, agents), np.int16(-1)),
        np.zeros((episodes, agents), np.int16),
        np.zeros((episodes, agents), np.int16),
        np.zeros(episodes),
        np.zeros((recorded, agents, nodes)),
        np.zeros((recorded, agents), np.float32),
    )


@helper
def act(players: Players, keys: NDArray[np.uint64], t: int, horizon: int, batch: Batch, paths: Paths) -> None:
    """`choose`, recorded in the rows k * horizon + t."""
    choose(players, keys, t, batch.observations, batch.nodes, batch.actions, batch.beliefs, batch.behaviour)
    for k in range(len(keys)):
        for n in range(len(players.nodes)):
            paths.observations[k * horizon + t, n] = batch.observations[k, n]
            paths.actions[k * horizon + t, n] = batch.actions[k, n]
            paths.nodes[k * horizon + t, n] = batch.nodes[k, n]
            if batch.behaviour.size > 0:
                paths.behaviour[k * horizon + t, n] = batch.behaviour[k, n]


@kernel
def play(model: AliasModel, players: Players, keys: NDArray[np.uint64], paths: Paths, horizon: int) -> None:
    """Episodes of a dense model into rows 0 .. len(keys) * horizon of `paths`."""
    agents, states = len(players.nodes), np.empty(len(keys), np.int64)
    batch = new_batch(len(keys), agents, players.initial.shape[2], paths.behaviour.size > 0)
    begin(model, keys, states)
    for t in range(horizon):
        act(players, keys, t, horizon, batch, paths)
        advance(model, keys, 1 + t * (1 + 2 * agents), states, batch.actions, batch.observations, batch.rewards)
        for k in range(len(keys)):
            paths.rewards[k * horizon + t] = batch.rewards[k]
