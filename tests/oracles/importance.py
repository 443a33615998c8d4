"""Brute force, numpy only: importance ratios by enumerating node paths, expectations by enumerating trajectories."""

import itertools

import numpy as np


def history_probability(initial, action, transition, actions, seen, initial_given=None):
    """Probability that one agent takes all `actions`, given what it saw: the sum over every path of nodes.

    seen[t] is what was seen before actions[t]; seen[0] is -1 when nothing was.
    """
    start = initial if seen[0] < 0 or initial_given is None else initial_given[seen[0]]
    total = 0.0
    for path in itertools.product(range(len(initial)), repeat=len(actions)):
        p = start[path[0]] * action[path[0], actions[0]]
        for t in range(1, len(actions)):
            p *= transition[path[t - 1], actions[t - 1], seen[t], path[t]] * action[path[t], actions[t]]
        total += p
    return total


def ratios(team, episode):
    """[t]: ratio of all actions up to t. `episode`: (actions [t, n], seen [t, n], behaviour [t, n], rewards [t])."""
    actions, seen, behaviour, _ = episode
    out = []
    for t in range(len(actions)):
        over = 1.0
        for n, c in enumerate(team.controllers):
            own = (actions[: t + 1, n], seen[: t + 1, n], c.initial_given)
            over *= history_probability(c.initial, c.action, c.transition, *own)
            over /= np.prod(behaviour[: t + 1, n].astype(float))
        out.append(over)
    return out


def estimates(team, episodes, discount, horizon):
    """Ordinary, per-decision and self-normalised estimates, by the book; effective sample sizes [t]."""
    every = [(ratios(team, episode), episode[3]) for episode in episodes]
    ordinary = decision = 0.0
    for weight, rewards in every:
        length = min(len(rewards), horizon)
        ordinary += weight[length - 1] * sum(discount**t * rewards[t] for t in range(length))
        decision += sum(discount**t * weight[t] * rewards[t] for t in range(length))
    normal, sizes = 0.0, []
    for t in range(horizon):
        weights = [weight[min(t, len(weight) - 1)] for weight, _ in every]
        earned = [rewards[t] if t < len(rewards) else 0.0 for _, rewards in every]
        normal += discount**t * sum(w * r for w, r in zip(weights, earned, strict=True)) / sum(weights)
        sizes.append(sum(weights) ** 2 / sum(w * w for w in weights))
    return ordinary / len(every), decision / len(every), normal, sizes


def expected(model, behaviour, team, horizon):
    """Expectations of (ordinary estimate, per-decision estimate, ratio of the last step) over what `behaviour` logs.

    Sums over every sequence of joint actions and observations; the state is summed out step by step.
    """
    joint, seen = model.action_table(), model.observation_table()
    found = np.zeros(3)

    def chance(who, acts, sights):
        p = 1.0
        for n, c in enumerate(who.controllers):
            p *= history_probability(c.initial, c.action, c.transition, joint[acts, n], [-1, *seen[sights, n]])
        return p

    def walk(belief, acts, sights):  # belief [s]: probability of state and sights, given the actions
        for u in range(model.joint_actions):
            now = [*acts, u]
            logged = chance(behaviour, now, sights)
            if logged == 0:
                continue
            ratio = chance(team, now, sights) / logged
            earned = model.discount ** len(acts) * float(belief @ model.reward[u])  # times the past's probability
            found[1] += logged * ratio * earned
            if len(now) == horizon:
                found[2] += logged * ratio * belief.sum()
                found[0] += logged * ratio * _return_given(model, now, sights)
                continue
            for y in range(model.joint_observations):
                after = (belief @ model.transition[u]) * model.observation[u][:, y]
                walk(after, now, [*sights, y])

    walk(model.start, [], [])
    return found


def _return_given(model, acts, sights):
    """Sum over state paths of probability (of states and of `sights`) times the discounted return."""
    total = 0.0
    for path in itertools.product(range(len(model.states)), repeat=len(acts)):
        p, gain = model.start[path[0]], 0.0
        for t, u in enumerate(acts):
            gain += model.discount**t * model.reward[u, path[t]]
            if t + 1 < len(acts):
                p *= model.transition[u, path[t], path[t + 1]] * model.observation[u, path[t + 1], sights[t]]
        total += p * gain
    return total
