"""Brute force, numpy only: values by enumerating every path, action probabilities by enumerating node paths."""

import itertools
import math

import numpy as np


def value_of_paths(start, transition, observation, reward, discount, controllers, horizon):
    """Sum over every path (states, joint nodes, joint actions, joint observations) of probability times return.

    `controllers`: (initial, action, transition) per agent.
    """
    agents = len(controllers)
    chances = [[table.tolist() for table in controller] for controller in controllers]  # lists are read faster
    start, transition, observation, reward = (np.asarray(t).tolist() for t in (start, transition, observation, reward))
    actions = list(itertools.product(*(range(c[1].shape[1]) for c in controllers)))
    seen = list(itertools.product(*(range(c[2].shape[2]) for c in controllers)))
    nodes = list(itertools.product(*(range(len(c[0])) for c in controllers)))

    def onward(state, node, t):
        total = 0.0
        for u, action in enumerate(actions):
            chosen = math.prod(chances[n][1][node[n]][action[n]] for n in range(agents))
            if chosen == 0:
                continue
            ahead = 0.0
            if t + 1 < horizon:
                for s1, y, node1 in itertools.product(range(len(start)), range(len(seen)), nodes):
                    p = transition[u][state][s1] * observation[u][s1][y]
                    for n in range(agents):
                        p *= chances[n][2][node[n]][action[n]][seen[y][n]][node1[n]]
                    if p > 0:
                        ahead += p * onward(s1, node1, t + 1)
            total += chosen * (reward[u][state] + discount * ahead)
        return total

    total = 0.0
    for state, node in itertools.product(range(len(start)), nodes):
        p = start[state] * math.prod(chances[n][0][node[n]] for n in range(agents))
        if p > 0:
            total += p * onward(state, node, 0)
    return total


def action_probabilities(initial, action, transition, actions, observations):
    """p(a_t | h_t) for t = 0, 1, ... of one agent: ratios of sums over all node paths.

    observations[t] is seen before actions[t]; observations[0] is not used.
    """

    def likelihood(last):
        total = 0.0
        for path in itertools.product(range(len(initial)), repeat=last + 1):
            p = initial[path[0]] * action[path[0], actions[0]]
            for t in range(1, last + 1):
                p *= transition[path[t - 1], actions[t - 1], observations[t], path[t]] * action[path[t], actions[t]]
            total += p
        return total

    joint = [likelihood(t) for t in range(len(actions))]
    return np.array([joint[0], *(later / earlier for earlier, later in itertools.pairwise(joint))])
