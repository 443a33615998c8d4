"""Latent worlds by enumeration of all state paths, numpy only: likelihood and expected counts of one episode."""

import itertools

import numpy as np


def enumerate_paths(start, move, see, pay, inputs, symbols, rewards):
    """Likelihood, and expected counts of start[z], move[v, z, z1], see[v + 1, z, y] and pay[v, z, r].

    inputs[t] and rewards[t] are -1 in a row after the end; symbols[t] are the symbols seen before the action of row t,
    -1 where nothing was seen. The input before the first action is the last one of `see`.
    """
    length, states = len(inputs), len(start)
    counts = [np.zeros_like(table) for table in (start, move, see, pay)]
    total = 0.0
    for path in itertools.product(range(states), repeat=length):
        weight = start[path[0]]
        for t, z in enumerate(path):
            before = len(move) if t == 0 else inputs[t - 1]
            weight *= 1.0 if t == 0 else move[before, path[t - 1], z]
            weight *= 1.0 if inputs[t] < 0 else pay[inputs[t], z, rewards[t]]
            for y in symbols[t]:
                weight *= 1.0 if y < 0 else see[before, z, y]
        total += weight
        counts[0][path[0]] += weight
        for t, z in enumerate(path):
            before = len(move) if t == 0 else inputs[t - 1]
            if t > 0:
                counts[1][before, path[t - 1], z] += weight
            for y in symbols[t]:
                if y >= 0:
                    counts[2][before, z, y] += weight
            if inputs[t] >= 0:
                counts[3][inputs[t], z, rewards[t]] += weight
    return total, [table / total for table in counts]
