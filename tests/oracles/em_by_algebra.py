"""EM for planning by dense linear algebra and plain sums: F, V and one step; numpy only.

A controller is (initial[i], action[i, a], transition[i, a, o, j]). The chain over (s, q), q the joint node, has
P((s1, q1) | (s, q)) = sum_{u, y} pi(u | q) T(s1 | s, u) O(y | u, s1) W(q1 | q, u, y). With shifted rewards
r~ = r - min r and M the matrix of the chain,

  F = (1 - discount M^T)^-1 (start x initial),   V = (1 - discount M)^-1 r~.
"""

import itertools

import numpy as np


def joint(model, controllers):
    """Joint nodes, joint actions and joint observations as tuples, in row-major order."""
    return (
        list(itertools.product(*(range(len(c[0])) for c in controllers))),
        list(itertools.product(*(range(c[1].shape[1]) for c in controllers))),
        list(itertools.product(*(range(c[2].shape[2]) for c in controllers))),
    )


def acts(controllers, q, u):
    """pi(u | q)."""
    return np.prod([c[1][i, a] for c, i, a in zip(controllers, q, u, strict=True)])


def moves(controllers, q, u, y, q1):
    """W(q1 | q, u, y)."""
    return np.prod([c[2][i, a, o, j] for c, i, a, o, j in zip(controllers, q, u, y, q1, strict=True)])


def events(model, controllers):
    """Every (s, q, u, s1, y, q1) with its probability given (s, q); indices of places and tuples of parts."""
    nodes, actions, seen = joint(model, controllers)
    for (k, q), (x, u), (k1, q1), (z, y) in itertools.product(
        *(list(enumerate(t)) for t in (nodes, actions, nodes, seen))
    ):
        p = acts(controllers, q, u) * moves(controllers, q, u, y, q1)
        for s, s1 in itertools.product(range(len(model.start)), repeat=2):
            yield (s, k, q, x, u, s1, y, k1, q1), p * model.transition[x, s, s1] * model.observation[x, s1, z]


def occupancy_and_value(model, controllers):
    """F[s, q] and V[s, q] (shifted rewards)."""
    nodes, actions, _ = joint(model, controllers)
    states, width = len(model.start), len(nodes)
    chain = np.zeros((states, width, states, width))
    for (s, k, _, _, _, s1, _, k1, _), p in events(model, controllers):
        chain[s, k, s1, k1] += p
    earned, first = np.zeros((states, width)), np.zeros((states, width))
    shifted = model.reward - model.reward.min()
    for s, (k, q) in itertools.product(range(states), enumerate(nodes)):
        earned[s, k] = sum(acts(controllers, q, u) * shifted[x, s] for x, u in enumerate(actions))
        first[s, k] = model.start[s] * np.prod([c[0][i] for c, i in zip(controllers, q, strict=True)])
    size = states * width
    matrix = np.eye(size) - model.discount * chain.reshape(size, size)
    occupancy = np.linalg.solve(matrix.T, first.ravel()).reshape(states, width)
    return occupancy, np.linalg.solve(matrix, earned.ravel()).reshape(states, width), first


def value(model, controllers):
    """The value from the start, unshifted."""
    _, v, first = occupancy_and_value(model, controllers)
    return float((first * v).sum() + model.reward.min() / (1 - model.discount))


def step(model, controllers):
    """One EM step of all agents at once: the new controllers."""
    f, v, first = occupancy_and_value(model, controllers)
    shifted = model.reward - model.reward.min()
    counts = [tuple(np.zeros_like(table) for table in c) for c in controllers]
    for (s, k, q, x, u, s1, y, k1, q1), p in events(model, controllers):
        for (_, act, move), i, a, o, j in zip(counts, q, u, y, q1, strict=True):
            act[i, a] += f[s, k] * p * (shifted[x, s] + model.discount * v[s1, k1])
            move[i, a, o, j] += f[s, k] * p * model.discount * v[s1, k1]
    nodes, _, _ = joint(model, controllers)
    for (k, q), s in itertools.product(enumerate(nodes), range(len(model.start))):
        for (initial, _, _), i in zip(counts, q, strict=True):
            initial[i] += first[s, k] * v[s, k]
    return [
        tuple(normalised(new, old) for new, old in zip(count, c, strict=True))
        for count, c in zip(counts, controllers, strict=True)
    ]


def normalised(counts, old):
    """Rows that sum to one; a row that was never counted stays as it was."""
    total = counts.sum(axis=-1, keepdims=True)
    return np.where(total > 0, counts / np.where(total > 0, total, 1.0), old)
