"""The value of a team in fractions, without any rounding: every row of probabilities is divided by its sum."""

import itertools
import math
from fractions import Fraction

import numpy as np


def rows(table):
    """Floats as fractions, every row divided by its sum."""
    given = np.vectorize(Fraction, otypes=[object])(np.asarray(table, float))
    return given / given.sum(axis=-1, keepdims=True)


def true_value(model, team, horizon=None):
    """The expected discounted sum of rewards over `horizon` steps; None: for ever."""
    start, transition, observation = rows(model.start), rows(model.transition), rows(model.observation)
    own = [(rows(c.initial), rows(c.action), rows(c.transition)) for c in team.controllers]
    nodes = list(itertools.product(*(range(n) for n in team.nodes)))
    pairs = list(itertools.product(range(len(start)), nodes))
    earned, moves = np.full(len(pairs), Fraction(0)), np.full((len(pairs), len(pairs)), Fraction(0))
    for (at, (s, q)), (u, action) in itertools.product(enumerate(pairs), enumerate(model.action_table())):
        chosen = math.prod((own[n][1][q[n], a] for n, a in enumerate(action)), start=Fraction(1))
        if chosen == 0:
            continue
        earned[at] += chosen * Fraction(float(model.reward[u, s]))
        for (to, (s1, q1)), (y, seen) in itertools.product(enumerate(pairs), enumerate(model.observation_table())):
            walked = [own[n][2][q[n], action[n], o, q1[n]] for n, o in enumerate(seen)]
            moves[at, to] += chosen * transition[u, s, s1] * observation[u, s1, y] * math.prod(walked)
    first = [start[s] * math.prod(own[n][0][i] for n, i in enumerate(q)) for s, q in pairs]
    ahead = Fraction(model.discount) * moves
    value = _solved(ahead, earned) if horizon is None else np.full(len(pairs), Fraction(0))
    for _ in range(horizon or 0):
        value = earned + ahead @ value
    return np.array(first, object) @ value


def _solved(ahead, earned):
    """v = earned + ahead v, by elimination; 1 - ahead is dominated by its diagonal."""
    size = len(earned)
    left = np.concatenate([np.eye(size, dtype=int) - ahead, earned[:, None]], axis=1)
    for i in range(size):
        left[i] = left[i] / left[i, i]
        for k in range(size):
            if k != i and left[k, i]:
                left[k] = left[k] - left[k, i] * left[i]
    return left[:, -1]
