"""Brute force over every deterministic joint policy of a finite horizon: the best value there is. numpy only.

A local policy is one action for every sequence of own observations of length 0, 1, ..., horizon - 1.
"""

import itertools

import numpy as np


def best_value(start, transition, observation, reward, discount, actions, observations, horizon):
    """The optimum over all deterministic decentralised policies. `actions`, `observations`: sizes per agent."""
    policies = [
        list(local_policies(a, o, horizon)) for a, o in zip(actions, observations, strict=True)
    ]  # each: {history: action}
    problem = (transition, observation, reward, discount, actions, observations)
    return max(value(start, problem, joint, horizon) for joint in itertools.product(*policies))


def local_policies(actions, observations, horizon):
    """Every map from own histories to actions."""
    histories = [h for t in range(horizon) for h in itertools.product(range(observations), repeat=t)]
    for chosen in itertools.product(range(actions), repeat=len(histories)):
        yield dict(zip(histories, chosen, strict=True))


def value(start, problem, policies, horizon):
    """Expected discounted reward of one joint policy, by walking all joint histories."""
    agents = len(policies)

    def onward(weights, histories, t):
        transition, observation, reward, discount, actions, observations = problem
        chosen = [policies[n][histories[n]] for n in range(agents)]
        u = int(np.ravel_multi_index(chosen, actions))
        total = float(weights @ reward[u])
        if t + 1 < horizon:
            arrived = weights @ transition[u]
            for y, seen in enumerate(itertools.product(*(range(o) for o in observations))):
                after = tuple((*histories[n], seen[n]) for n in range(agents))
                total += discount * onward(arrived * observation[u, :, y], after, t + 1)
        return total

    return onward(np.asarray(start), ((),) * agents, 0)


def central_value(start, transition, observation, reward, discount, horizon):
    """The optimum when one mind sees all observations: at least the decentralised one."""

    def onward(weights, left):
        best = -np.inf
        for u in range(len(reward)):
            total = float(weights @ reward[u])
            if left > 1:
                arrived = weights @ transition[u]
                for y in range(observation.shape[2]):
                    total += discount * onward(arrived * observation[u, :, y], left - 1)
            best = max(best, total)
        return best

    return onward(np.asarray(start), horizon)
