"""Play a policy on joint beliefs that every agent follows with some probability.

The belief is exact: it follows from all agents' actions and observations. Agent n takes its part of the action of the
belief's best vector with probability `follow`, otherwise it acts uniformly; p(a_n) = follow [a_n is its part] +
(1 - follow) / A_n. Every step uses its own random numbers by position: lane 0 is the world's, as in `rollout`; lanes
1 + 2n and 2 + 2n say whether agent n follows and what it does otherwise.
"""

from typing import NamedTuple

import numpy as np

from decpomdp.kernels.beliefs import Floats, Ints, Scratch, best_vector, foresee, scratch_for, successor
from decpomdp.kernels.compiled import kernel
from decpomdp.kernels.model import AliasModel, FactoredModel
from decpomdp.kernels.rollout import Paths
from decpomdp.kernels.sampling import HALF, draw, pick, stream

UNIT = 1.0 / 18446744073709551616.0  # 2^-64: from 64 random bits to [0, 1)


class Leader(NamedTuple):
    """A policy on beliefs, and the probability of following it."""

    vectors: Floats  # [s, i]
    actions: Ints  # [i] joint action of every vector
    parts: Ints  # [u, n]
    sizes: Ints  # [n] actions of every agent
    start: Ints  # [k] states that an episode may begin in
    chance: Floats  # [k] their probabilities
    follow: float


@kernel
def wander(
    world: AliasModel,
    model: FactoredModel,
    leader: Leader,
    seed: np.uint64,
    first: int,
    episodes: int,
    horizon: int,
    paths: Paths,
) -> None:
    """Play the episodes first, first + 1, ... of the sequence that `seed` fixes."""
    agents, states = len(leader.sizes), model.reward.shape[1]
    scratch, scores = scratch_for(states, model.symbols, model.widest), np.empty(len(leader.actions))
    held, weights = np.empty(states, np.int64), np.empty(states)
    for k in range(episodes):
        key = stream(seed, first + k)
        state = pick(world.start, 0, draw(key, 0))
        size = len(leader.start)
        for s in range(size):
            held[s], weights[s] = leader.start[s], leader.chance[s]
        y = 0
        for t in range(horizon):
            row, counter = k * horizon + t, 1 + t * (1 + 2 * agents)
            best, _ = best_vector(leader.vectors, len(leader.actions), held[:size], weights[:size], 0.0, scores)
            u = 0
            for n in range(agents):
                part = leader.parts[leader.actions[best], n]
                action = part
                if float(draw(key, counter + 1 + 2 * n)) * UNIT >= leader.follow:
                    action = np.int64(((draw(key, counter + 2 + 2 * n) >> HALF) * np.uint64(leader.sizes[n])) >> HALF)
                chance = (1.0 - leader.follow) / leader.sizes[n]
                paths.behaviour[row, n] = chance + leader.follow if action == part else chance
                paths.observations[row, n] = -1 if t == 0 else world.observation_parts[y, n]
                paths.actions[row, n] = action
                u += world.action_strides[n] * action
            paths.rewards[row] = world.reward[u, state]
            outcome = pick(world.outcomes, u * states + state, draw(key, counter))
            state = outcome >> world.observation_bits
            y = outcome - (state << world.observation_bits)
            size = follow_belief(model, u, y, held, weights, size, scratch)


@kernel
def follow_belief(
    model: FactoredModel, u: int, y: int, states: Ints, weights: Floats, size: int, scratch: Scratch
) -> int:
    """The belief after u and y, in place; returns its number of states."""
    seen = foresee(model, u, states[:size], weights[:size], scratch)
    for k in range(seen):
        if scratch.seen[k] == y:
            return successor(scratch, k, states, weights)
    return size
