"""Backups of single beliefs, the initial bounds, and values and visits of a policy graph.

The backup of belief b takes the best joint action and, after every joint observation y, the best vector for the
successor of b. The result is a vector, and a lower bound at every belief:

  vector(s) = reward[u, s] + discount * sum_s1 transition[u, s, s1] sum_y observation[u, s1, y] vector_next(y)(s1)

Node i of a policy graph takes joint action u_i and moves to node following[i, y] after y. Its value is the same sum
with the next node's values; visits = the start in the first node + discount * visits moved by one step.

A semi-random behaviour plays a policy on joint beliefs that every agent follows with some probability. The belief is
exact: it follows from all agents' actions and observations. Agent n takes its part of the action of the belief's best
vector with probability `follow`, otherwise it acts uniformly; p(a_n) = follow [a_n is its part] + (1 - follow) / A_n.
Every step uses its own random numbers by position: lane 0 is for the model, as in `rollout`; lanes 1 + 2n and 2 + 2n
decide whether agent n follows, and its action otherwise.
"""

from typing import NamedTuple

import numpy as np

from decpomdp.kernels.beliefs import (
    BeliefPoints,
    Floats,
    Ints,
    Scratch,
    best_vector,
    foresee,
    scratch_for,
    successor,
    upper_values,
)
from decpomdp.kernels.compiled import kernel
from decpomdp.kernels.model import AliasModel, FactoredModel
from decpomdp.kernels.rollout import Paths
from decpomdp.kernels.sampling import HALF, draw, pick, stream

UNIT = 1.0 / 18446744073709551616.0  # 2^-64: from 64 random bits to [0, 1)


class Backups(NamedTuple):
    """The results of backups of several beliefs."""

    upper: Floats  # [m]
    lower: Floats  # [m]
    action: Ints  # [m]
    following: Ints  # [m, y] index of the vector after y
    vector: Floats  # [m, s]


@kernel
def back_up(
    model: FactoredModel,
    vectors: Floats,  # [s, i] of which `count` are in use
    count: int,
    points: BeliefPoints,
    bounded: bool,
    slack: float,
    offsets: Ints,
    states: Ints,
    weights: Floats,
    which: Ints,  # [m] beliefs, by their place in offsets
    out: Backups,
) -> None:
    """Back up both bounds at some beliefs. Without `bounded` only the lower bound, and no action is skipped."""
    joint = model.reward.shape[0]
    scratch = scratch_for(model.reward.shape[1], model.symbols, model.widest)
    values, scores = np.empty(joint), np.empty(count)
    following = np.empty(model.symbols, np.int64)
    for m in range(len(which)):
        part = slice(offsets[which[m]], offsets[which[m] + 1])
        own, mass = states[part], weights[part]
        values[:] = np.inf
        if bounded:
            upper_values(model, points, own, mass, scratch, values)
            out.upper[m] = values.max()
        out.lower[m] = -np.inf
        for _ in range(joint):
            u = np.argmax(values)  # the most promising remaining action
            if values[u] <= out.lower[m]:  # no other action is better
                break
            values[u] = -np.inf
            lower = lower_value(model, vectors, count, u, slack, own, mass, scratch, scores, following)
            if lower > out.lower[m] + slack:
                out.lower[m], out.action[m] = lower, u
                for y in range(model.symbols):
                    out.following[m, y] = following[y]
        fill_vector(model, vectors, out.action[m], out.following[m], scratch.dense, out.vector[m])
        scratch.dense[:] = 0.0


@kernel
def lower_value(
    model: FactoredModel,
    vectors: Floats,
    count: int,
    u: int,
    slack: float,
    states: Ints,
    weights: Floats,
    scratch: Scratch,
    scores: Floats,
    following: Ints,
) -> float:
    """The lower bound of taking u first; following[y]: the next vector."""
    earned, ahead = 0.0, 0.0
    for k in range(len(states)):
        earned += weights[k] * model.reward[u, states[k]]
    seen = foresee(model, u, states, weights, scratch)
    every = slice(0, scratch.first[seen])
    otherwise, _ = best_vector(vectors, count, scratch.states[every], scratch.weights[every], slack, scores)
    following[:] = otherwise  # after observations that are impossible at this belief: as without an observation
    for k in range(seen):
        part = slice(scratch.first[k], scratch.first[k + 1])
        i, value = best_vector(vectors, count, scratch.states[part], scratch.weights[part], slack, scores)
        following[scratch.seen[k]] = i
        ahead += value
    return earned + model.discount * ahead


@kernel
def fill_vector(model: FactoredModel, vectors: Floats, u: int, following: Ints, ahead: Floats, out: Floats) -> None:
    """The value of taking u and then vector following[y]; `ahead` is overwritten."""
    states = len(out)
    base = u * states
    transition, observation = model.transition, model.observation
    for s1 in range(states):
        ahead[s1] = 0.0
        for e in range(observation.offsets[base + s1], observation.offsets[base + s1 + 1]):
            ahead[s1] += observation.values[e] * vectors[s1, following[observation.columns[e]]]
    for s in range(states):
        total = 0.0
        for e in range(transition.offsets[base + s], transition.offsets[base + s + 1]):
            total += transition.values[e] * ahead[transition.columns[e]]
        out[s] = model.reward[u, s] + model.discount * total


@kernel
def informed_step(model: FactoredModel, informed: Floats, first: int, end: int, out: Floats) -> None:
    """One step of the fast informed bound [s, u] for the states first .. end - 1.

    out(s, u) = reward[u, s] + discount * sum_y max_u1 sum_s1 P(s1, y | s, u) informed(s1, u1)
    """
    states, joint = informed.shape
    scratch = scratch_for(states, model.symbols, model.widest)
    one, sure, scores = np.empty(1, np.int64), np.ones(1), np.empty(joint)
    for s in range(first, end):
        one[0] = s
        for u in range(joint):
            total = 0.0
            for k in range(foresee(model, u, one, sure, scratch)):
                part = slice(scratch.first[k], scratch.first[k + 1])
                total += best_vector(informed, joint, scratch.states[part], scratch.weights[part], 0.0, scores)[1]
            out[s, u] = model.reward[u, s] + model.discount * total


@kernel
def plain_step(model: FactoredModel, free: bool, values: Floats, out: Floats) -> None:
    """One step of values [s, u] that need no beliefs.

    With `free`, every later step takes the best action for the observed state; otherwise u again.
    """
    states, joint = values.shape
    transition = model.transition
    best = np.empty(states)
    for s in range(states):
        best[s] = values[s].max()
    for u in range(joint):
        for s in range(states):
            total = 0.0
            for e in range(transition.offsets[u * states + s], transition.offsets[u * states + s + 1]):
                s1 = transition.columns[e]
                total += transition.values[e] * (best[s1] if free else values[s1, u])
            out[s, u] = model.reward[u, s] + model.discount * total


@kernel
def value_step(model: FactoredModel, actions: Ints, following: Ints, values: Floats, out: Floats) -> None:
    """One backup of the node values [s, i]."""
    states = len(values)
    ahead, vector = np.empty(states), np.empty(states)
    for i in range(len(actions)):
        fill_vector(model, values, actions[i], following[i], ahead, vector)
        for s in range(states):
            out[s, i] = vector[s]


@kernel
def visit_step(model: FactoredModel, actions: Ints, following: Ints, visits: Floats, out: Floats) -> None:
    """out[i, s] += discount * the visits [i, s] moved by one step."""
    nodes, states = visits.shape
    transition, observation = model.transition, model.observation
    ahead = np.empty(states)
    for i in range(nodes):
        ahead[:] = 0.0
        base = actions[i] * states
        for s in range(states):
            weight = model.discount * visits[i, s]
            if weight > 0.0:
                for e in range(transition.offsets[base + s], transition.offsets[base + s + 1]):
                    ahead[transition.columns[e]] += weight * transition.values[e]
        for s1 in range(states):
            if ahead[s1] > 0.0:
                for e in range(observation.offsets[base + s1], observation.offsets[base + s1 + 1]):
                    out[following[i, observation.columns[e]], s1] += ahead[s1] * observation.values[e]


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
