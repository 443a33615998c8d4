"""Deterministic and softened machines, for learning by interaction: choices, episodes and folding.

A machine is a Moore machine with a root, node 0, in which every episode begins; the root never acts. On the first
observation, or without one (the last column of `move`, which is also index -1), the root moves to the first node that
acts. From then on node i takes action[i] and on observation o moves to move[i, o].

Random numbers are addressed by position: lane 0 of a step is for the model, lane 1 + n for agent n. Two teams that act
alike in a situation get the same random numbers, which makes paired comparisons precise. One draw of 64 bits is used
for an agent's move and action, each with 16 bits for the entry of an alias table and 16 for its cut: probabilities are
exact to 2^-16, far below the rate of exploration.

A model is played in blocks of episodes that advance in lockstep: an episode is a chain of dependent look-ups, and the
processor can overlap the chains of different episodes.

Folding merges the nodes of a machine that its visits do not distinguish. Two nodes can be merged if they take the same
action and, on every observation that was visited at both, lead to nodes that can be merged; merging a pair may force
further merges. An edge that was visited at only one of the nodes is used for both. Finding the smallest such machine is
NP-hard; greedy merging, pair by pair in the given order, is fast and, for small machines, as good.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.kernels.compiled import helper, inlined, kernel
from decpomdp.kernels.model import AliasModel
from decpomdp.kernels.sampling import draw, pick, stream

ROOT = 0
LANES = 16  # episodes of a block
S16, S32, S48 = np.uint64(16), np.uint64(32), np.uint64(48)
M16 = np.uint64(0xFFFF)


class Machines(NamedTuple):
    """A deterministic team. Smaller machines and alphabets are padded."""

    action: NDArray[np.int32]  # [n, i]
    move: NDArray[np.int32]  # [n, i, o] the last column: no observation
    actions: NDArray[np.int64]  # [n] sizes of the alphabets


class RandomWindow(NamedTuple):
    """The steps begin .. end - 1, in which agent n takes a random action with probability rates[n]."""

    begin: int
    end: int
    rates: NDArray[np.float64]  # [n]


class Soft(NamedTuple):
    """A softened team: alias tables of actions and, when memory is learned, of next nodes."""

    act: NDArray[np.int64]  # [n, i, a] entries: cut << 32 | other << 16 | own
    hop: NDArray[np.int64]  # [n, i, o, j] likewise; used when free
    move: NDArray[np.int32]  # [n, i, o] used when not free
    nodes: NDArray[np.int64]  # [n] root included
    actions: NDArray[np.int64]  # [n]
    free: bool


class PlayedBatch(NamedTuple):
    """A batch of recorded episodes."""

    observations: NDArray[np.int16]  # [k, t, n] before the action; -1: none
    actions: NDArray[np.int16]  # [k, t, n]
    nodes: NDArray[np.int16]  # [k, t, n]
    rewards: NDArray[np.float64]  # [k, t]
    lengths: NDArray[np.int64]  # [k]


@inlined
def stray(machines: Machines, window: RandomWindow, n: int, action: int, bits: np.uint64) -> int:
    """`action`, or with the window's rate a uniform action of agent n."""
    if np.float64(bits & M16) < window.rates[n] * 65536.0:
        return np.int64(((bits >> S32) * np.uint64(machines.actions[n])) >> S32)
    return action


@inlined
def decide(entry: int, chance: int) -> int:
    """The outcome of an alias entry, without a branch: its own below the cut, otherwise the other."""
    return (entry >> (0 if chance < (entry >> 32) else 16)) & 0xFFFF


@inlined
def soft_move(soft: Soft, n: int, node: int, seen: int, bits: np.uint64) -> int:
    """The next node of a softened agent, by the upper half of the bits."""
    if not soft.free:
        return np.int64(soft.move[n, node, seen])
    place = (np.int64(bits >> S48) * (soft.nodes[n] - 1)) >> 16
    return decide(soft.hop[n, node, seen, place], np.int64((bits >> S32) & M16))


@inlined
def soft_act(soft: Soft, n: int, node: int, bits: np.uint64) -> int:
    """The action of a softened agent, by the lower half of the bits."""
    place = (np.int64((bits >> S16) & M16) * soft.actions[n]) >> 16
    return decide(soft.act[n, node, place], np.int64(bits & M16))


@kernel
def follow_batch(
    machines: Machines,
    window: RandomWindow,
    seed: np.uint64,
    first: int,
    t: int,
    seen: NDArray[np.int16],  # [k, n]
    nodes: NDArray[np.int16],  # [k, n] changed in place
    actions: NDArray[np.int16],  # [k, n] out
) -> None:
    """Step t of a deterministic team in every episode of a batch; the same draws as `values`."""
    agents = len(machines.actions)
    for k in range(len(seen)):
        key = stream(seed, first + k)
        for n in range(agents):
            node = np.int64(machines.move[n, nodes[k, n], seen[k, n]])
            action = np.int64(machines.action[n, node])
            if window.begin <= t and t < window.end:
                action = stray(machines, window, n, action, draw(key, 1 + t * (1 + agents) + 1 + n))
            nodes[k, n], actions[k, n] = node, action


@kernel
def sample_batch(
    soft: Soft,
    seed: np.uint64,
    first: int,
    t: int,
    seen: NDArray[np.int16],  # [k, n]
    nodes: NDArray[np.int16],  # [k, n] changed in place
    actions: NDArray[np.int16],  # [k, n] out
) -> None:
    """Step t of a softened team in every episode of a batch; the same draws as `sample`."""
    agents = len(soft.actions)
    for k in range(len(seen)):
        key = stream(seed, first + k)
        for n in range(agents):
            bits = draw(key, 1 + t * (1 + agents) + 1 + n)
            node = soft_move(soft, n, np.int64(nodes[k, n]), np.int64(seen[k, n]), bits)
            nodes[k, n], actions[k, n] = node, soft_act(soft, n, node, bits)


@kernel
def count_edges(played: PlayedBatch, visits: NDArray[np.int64]) -> None:
    """Add to visits[n, i, o] how often agent n left node i on o (the last column: no observation)."""
    for k in range(len(played.lengths)):
        for n in range(visits.shape[0]):
            node = ROOT
            for t in range(played.lengths[k]):
                visits[n, node, played.observations[k, t, n]] += 1
                node = np.int64(played.nodes[k, t, n])


class Block(NamedTuple):
    """Episodes that are played in lockstep."""

    keys: NDArray[np.uint64]  # [b]
    states: NDArray[np.int64]  # [b]
    nodes: NDArray[np.int64]  # [b, n]
    seen: NDArray[np.int64]  # [b, n]


@helper
def empty_block(agents: int) -> Block:
    """Arrays for LANES episodes."""
    shape = (LANES, agents)
    return Block(
        np.empty(LANES, np.uint64), np.empty(LANES, np.int64), np.empty(shape, np.int64), np.empty(shape, np.int64)
    )


@helper
def begin_block(model: AliasModel, seed: np.uint64, first: int, size: int, block: Block) -> None:
    """Start the episodes first .. first + size - 1 of a block."""
    for b in range(size):
        block.keys[b] = stream(seed, first + b)
        block.states[b] = pick(model.start, 0, draw(block.keys[b], 0))
        for n in range(block.nodes.shape[1]):
            block.nodes[b, n], block.seen[b, n] = ROOT, -1


@inlined
def advance(model: AliasModel, block: Block, b: int, u: int, counter: int) -> float:
    """Take joint action u in episode b; returns the reward, updates state and observations."""
    state = block.states[b]
    reward = model.reward[u, state]
    outcome = pick(model.outcomes, u * model.reward.shape[1] + state, draw(block.keys[b], counter))
    state = outcome >> model.observation_bits
    y = outcome - (state << model.observation_bits)
    block.states[b] = state
    for n in range(block.nodes.shape[1]):
        block.seen[b, n] = model.observation_parts[y, n]
    return reward


@kernel
def values(
    model: AliasModel,
    machines: Machines,
    window: RandomWindow,
    seed: np.uint64,
    first: int,
    horizon: int,
    discount: float,
    returns: NDArray[np.float64],  # [k] out
) -> None:
    """Discounted returns since the beginning of the window, of episodes first, first + 1, ..."""
    agents = len(machines.actions)
    block = empty_block(agents)
    for begin in range(0, len(returns), LANES):
        size = min(LANES, len(returns) - begin)
        begin_block(model, seed, first + begin, size, block)
        returns[begin : begin + size] = 0.0
        weight = 1.0
        for t in range(horizon):
            counter = 1 + t * (1 + agents)
            exploring = window.begin <= t and t < window.end
            for b in range(size):
                u = 0
                for n in range(agents):
                    node = np.int64(machines.move[n, block.nodes[b, n], block.seen[b, n]])
                    block.nodes[b, n] = node
                    action = np.int64(machines.action[n, node])
                    if exploring:
                        action = stray(machines, window, n, action, draw(block.keys[b], counter + 1 + n))
                    u += model.action_strides[n] * action
                reward = advance(model, block, b, u, counter)
                if t >= window.begin:
                    returns[begin + b] += weight * reward
            weight *= discount


@kernel
def record(
    model: AliasModel,
    machines: Machines,
    window: RandomWindow,
    seed: np.uint64,
    episodes: NDArray[np.int64],
    played: PlayedBatch,
) -> None:
    """Record the episodes with the numbers `episodes`; they are the same as in `values`."""
    horizon, agents = played.rewards.shape[1], len(machines.actions)
    block = empty_block(agents)
    for k in range(len(episodes)):
        begin_block(model, seed, episodes[k], np.int64(1), block)
        for t in range(horizon):
            counter = 1 + t * (1 + agents)
            u = 0
            for n in range(agents):
                seen = block.seen[0, n]
                node = np.int64(machines.move[n, block.nodes[0, n], seen])
                block.nodes[0, n] = node
                action = np.int64(machines.action[n, node])
                if window.begin <= t and t < window.end:
                    action = stray(machines, window, n, action, draw(block.keys[0], counter + 1 + n))
                played.observations[k, t, n], played.actions[k, t, n], played.nodes[k, t, n] = seen, action, node
                u += model.action_strides[n] * action
            played.rewards[k, t] = advance(model, block, 0, u, counter)
        played.lengths[k] = horizon


@kernel
def sample(model: AliasModel, soft: Soft, seed: np.uint64, played: PlayedBatch) -> None:
    """Episodes of a softened team with their sampled nodes."""
    episodes, horizon, agents = played.actions.shape
    block = empty_block(agents)
    for begin in range(0, episodes, LANES):
        size = min(LANES, episodes - begin)
        begin_block(model, seed, begin, size, block)
        for t in range(horizon):
            counter = 1 + t * (1 + agents)
            for b in range(size):
                k, u = begin + b, 0
                for n in range(agents):
                    bits, seen = draw(block.keys[b], counter + 1 + n), block.seen[b, n]
                    node = soft_move(soft, n, block.nodes[b, n], seen, bits)
                    block.nodes[b, n] = node
                    action = soft_act(soft, n, node, bits)
                    played.observations[k, t, n], played.actions[k, t, n], played.nodes[k, t, n] = seen, action, node
                    u += model.action_strides[n] * action
                played.rewards[k, t] = advance(model, block, b, u, counter)
    for k in range(episodes):
        played.lengths[k] = horizon


@inlined
def representative(parent: NDArray[np.int64], node: int) -> int:
    """The representative of `node`."""
    while parent[node] != node:
        node = parent[node]
    return node


@inlined
def copy_machine(
    parent: NDArray[np.int64], move: NDArray[np.int64], parents: NDArray[np.int64], moves: NDArray[np.int64]
) -> None:
    """parents = parent, moves = move."""
    for i in range(len(parent)):
        parents[i] = parent[i]
        for o in range(move.shape[1]):
            moves[i, o] = move[i, o]


@helper
def merge(
    one: int,
    other: int,
    action: NDArray[np.int64],
    move: NDArray[np.int64],
    parent: NDArray[np.int64],
    pairs: NDArray[np.int64],  # [p, 2] scratch
) -> bool:
    """Try to merge two nodes; changes parent and move, which are invalid if the result is False."""
    pairs[0, 0], pairs[0, 1], waiting = one, other, 1
    while waiting > 0:
        waiting -= 1
        a, b = representative(parent, pairs[waiting, 0]), representative(parent, pairs[waiting, 1])
        if a == b:
            continue
        if a == ROOT or b == ROOT or action[a] != action[b]:
            return False
        parent[b] = a
        for o in range(move.shape[1]):
            if move[a, o] < 0:
                move[a, o] = move[b, o]
            elif move[b, o] >= 0:
                pairs[waiting, 0], pairs[waiting, 1] = move[a, o], move[b, o]
                waiting += 1
    return True


@kernel
def fold(
    action: NDArray[np.int64],  # [i]
    move: NDArray[np.int64],  # [i, o] -1: never visited; changed in place
    order: NDArray[np.int64],  # visited nodes, by priority
    parent: NDArray[np.int64],  # [i] out: the representative of i
) -> None:
    """Merge all pairs that can be merged, in order."""
    nodes, symbols = move.shape
    pairs = np.empty((nodes * (symbols + 1) + 1, 2), np.int64)
    parents, moves = np.empty(nodes, np.int64), np.empty((nodes, symbols), np.int64)
    for i in range(nodes):
        parent[i] = i
    for x in range(len(order)):
        for y in range(x):
            one, other = representative(parent, order[y]), representative(parent, order[x])
            if one == other:
                continue
            copy_machine(parent, move, parents, moves)
            if not merge(one, other, action, move, parent, pairs):
                copy_machine(parents, moves, parent, move)
    for i in range(nodes):
        parent[i] = representative(parent, i)
