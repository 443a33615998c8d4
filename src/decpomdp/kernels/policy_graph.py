"""A policy graph on a model: node i takes joint action u_i and goes to node following[i, y] after y.

value(i, s) = reward[u_i, s] + discount * sum_s1 transition[u_i, s, s1] sum_y observation[u_i, s1, y] value(next, s1)
visits = start in the first node + discount * visits moved one step on
"""

import numpy as np

from decpomdp.kernels.beliefs import Floats, Whole
from decpomdp.kernels.compiled import kernel
from decpomdp.kernels.model import FactoredModel
from decpomdp.kernels.point_backup import fill_vector


@kernel
def value_step(model: FactoredModel, actions: Whole, following: Whole, values: Floats, out: Floats) -> float:
    """One backup of the node values [s, i]; returns the largest change."""
    states = len(values)
    ahead, vector = np.empty(states), np.empty(states)
    change = 0.0
    for i in range(len(actions)):
        fill_vector(model, values, actions[i], following[i], ahead, vector)
        for s in range(states):
            change = max(change, abs(vector[s] - values[s, i]))
            out[s, i] = vector[s]
    return change


@kernel
def visit_step(model: FactoredModel, actions: Whole, following: Whole, visits: Floats, out: Floats) -> None:
    """out[i, s] += discount * the visits [i, s] moved one step on."""
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
