"""Brute force over all deterministic controllers of given sizes on a tiny model, infinite horizon; numpy and core only.

Every controller starts in node 0, takes one action per node and moves by observation. The value of every team of them
is found by solving its Bellman equation densely.
"""

import itertools

import numpy as np

from decpomdp.core import Controller, Team


def controllers(nodes, actions, observations):
    """Every deterministic controller as (actions[i], moves[i, o])."""
    for chosen in itertools.product(range(actions), repeat=nodes):
        for flat in itertools.product(range(nodes), repeat=nodes * observations):
            yield np.array(chosen), np.array(flat).reshape(nodes, observations)


def value(model, machines):
    """The value of a team of (actions[i], moves[i, o]), each starting in node 0."""
    sizes = [len(actions) for actions, _ in machines]
    joint_nodes = list(itertools.product(*(range(size) for size in sizes)))
    place = {q: k for k, q in enumerate(joint_nodes)}
    u_of = {tuple(row): u for u, row in enumerate(model.action_table())}
    seen = model.observation_table()
    states, width = len(model.states), len(joint_nodes)
    chain, earned = np.zeros((states, width, states, width)), np.zeros((states, width))
    for q in joint_nodes:
        u = u_of[tuple(actions[i] for (actions, _), i in zip(machines, q, strict=True))]
        earned[:, place[q]] = model.reward[u]
        for y, parts in enumerate(seen):
            after = tuple(moves[i, o] for (_, moves), i, o in zip(machines, q, parts, strict=True))
            chain[:, place[q], :, place[after]] += model.transition[u] * model.observation[u, :, y]
    size = states * width
    v = np.linalg.solve(np.eye(size) - model.discount * chain.reshape(size, size), earned.ravel())
    return float(model.start @ v.reshape(states, width)[:, 0])


def best(model, nodes):
    """The highest value of any team of deterministic controllers with nodes[n] nodes, and that team."""
    every = [
        list(controllers(count, len(agent.actions), len(agent.observations)))
        for count, agent in zip(nodes, model.agents, strict=True)
    ]
    highest, machines = max(
        ((value(model, team), team) for team in itertools.product(*every)), key=lambda pair: pair[0]
    )
    return highest, team_of(model, machines)


def team_of(model, machines):
    """(actions[i], moves[i, o]) of every agent as a team."""
    return Team.of(
        model,
        [
            Controller.deterministic(actions, moves, len(agent.actions))
            for (actions, moves), agent in zip(machines, model.agents, strict=True)
        ],
    )
