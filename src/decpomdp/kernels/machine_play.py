"""Play machines against a dense model: returns only, recorded episodes, or episodes of a softened team.

Episodes are played in blocks, step by step side by side: an episode is a chain of look-ups each of which needs the one
before, and the processor can overlap the chains of different episodes.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.kernels.compiled import inlined, kernel
from decpomdp.kernels.machines import ROOT, Machines, Played, Soft, Window, soft_act, soft_move, stray
from decpomdp.kernels.model import AliasModel
from decpomdp.kernels.sampling import draw, pick, stream

LANES = 16  # episodes of a block


class Block(NamedTuple):
    """Episodes that are played side by side."""

    keys: NDArray[np.uint64]  # [b]
    states: NDArray[np.int64]  # [b]
    nodes: NDArray[np.int64]  # [b, n]
    seen: NDArray[np.int64]  # [b, n]


@inlined
def empty_block(agents: int) -> Block:
    """Room for LANES episodes."""
    shape = (LANES, agents)
    return Block(
        np.zeros(LANES, np.uint64), np.zeros(LANES, np.int64), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    )


@inlined
def begin_block(model: AliasModel, seed: np.uint64, first: int, size: int, block: Block) -> None:
    """Start the episodes first .. first + size - 1 side by side."""
    for b in range(size):
        block.keys[b] = stream(seed, first + b)
        block.states[b] = pick(model.start, 0, draw(block.keys[b], 0))
        for n in range(block.nodes.shape[1]):
            block.nodes[b, n], block.seen[b, n] = ROOT, -1


@inlined
def advance(model: AliasModel, block: Block, b: int, u: int, counter: int) -> float:
    """Joint action u in episode b: the reward; state and observations change."""
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
    window: Window,
    seed: np.uint64,
    first: int,
    horizon: int,
    discount: float,
    returns: NDArray[np.float64],  # [k] out
) -> None:
    """Discounted returns from the window's begin on, of episodes first, first + 1, ..."""
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
    model: AliasModel, machines: Machines, window: Window, seed: np.uint64, episodes: NDArray[np.int64], played: Played
) -> None:
    """The episodes with the numbers `episodes`, step by step: the same as `values` plays."""
    horizon, agents = played.rewards.shape[1], len(machines.actions)
    block = empty_block(agents)
    for k in range(len(episodes)):
        begin_block(model, seed, episodes[k], 1, block)
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
def sample(model: AliasModel, soft: Soft, seed: np.uint64, played: Played) -> None:
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
