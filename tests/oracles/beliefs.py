"""Brute force, numpy only: beliefs by Bayes' rule term by term, centralised optima by enumerating everything."""

import numpy as np


def after(belief, u, y, transition, observation):
    """The belief after joint action u and joint observation y, and the probability of y."""
    states = len(belief)
    joint = np.zeros(states)
    for s1 in range(states):
        for s in range(states):
            joint[s1] += belief[s] * transition[u, s, s1] * observation[u, s1, y]
    p = joint.sum()
    return (joint / p if p > 0 else joint), p


def optimum(belief, transition, observation, reward, discount, horizon):
    """Best value over `horizon` steps of one agent that sees every joint observation, by enumerating what it may do."""
    if horizon == 0:
        return 0.0
    best = -np.inf
    for u in range(len(reward)):
        value = float(belief @ reward[u])
        for y in range(observation.shape[2]):
            ahead = (belief @ transition[u]) * observation[u, :, y]
            p = ahead.sum()
            if p > 0:
                value += discount * p * optimum(ahead / p, transition, observation, reward, discount, horizon - 1)
        best = max(best, value)
    return best


def between(belief, transition, observation, reward, discount, horizon):
    """Two numbers that the best value for ever lies between: what comes after the horizon is at its worst or best."""
    value = optimum(belief, transition, observation, reward, discount, horizon)
    tail = discount**horizon / (1 - discount)
    return value + tail * reward.min(), value + tail * reward.max()
