"""Random models, controllers and teams to test with."""

import numpy as np

from decpomdp.core import Agent, Controller, DecPOMDP, Team


def rows(rng, *shape, sparse=False):
    """Random distributions over the last axis; with zeros when sparse."""
    table = rng.dirichlet(np.ones(shape[-1]), size=shape[:-1])
    if sparse and shape[-1] > 1:
        table = np.where(rng.random(shape) < 0.4, 0, table) + 1e-9 * np.eye(shape[-1])[rng.integers(shape[-1])]
        table = np.where(table > 1e-8, table, 0) + (table.max(axis=-1, keepdims=True) <= 1e-8) * table
        table = table / table.sum(axis=-1, keepdims=True)
    return table


def model(rng, states=2, actions=(2, 2), observations=(2, 2), discount=0.9, sparse=False):
    agents = tuple(
        Agent(f"agent{n + 1}", tuple(f"a{i}" for i in range(a)), tuple(f"o{i}" for i in range(o)))
        for n, (a, o) in enumerate(zip(actions, observations, strict=True))
    )
    u, y = int(np.prod(actions)), int(np.prod(observations))
    return DecPOMDP(
        agents=agents,
        states=tuple(f"s{i}" for i in range(states)),
        start=rows(rng, states),
        transition=rows(rng, u, states, states, sparse=sparse),
        observation=rows(rng, u, states, y, sparse=sparse),
        reward=rng.normal(size=(u, states)),
        discount=discount,
        name="random",
    )


def controller(rng, nodes, actions, observations, sparse=False, first=False):
    return Controller(
        rows(rng, nodes),
        rows(rng, nodes, actions, sparse=sparse),
        rows(rng, nodes, actions, observations, nodes, sparse=sparse),
        rows(rng, observations, nodes) if first else None,
    )


def team(rng, problem, nodes=2, sparse=False, first=False):
    counts = [nodes] * len(problem.agents) if np.ndim(nodes) == 0 else nodes
    return Team.of(
        problem,
        [
            controller(rng, count, len(agent.actions), len(agent.observations), sparse, first)
            for count, agent in zip(counts, problem.agents, strict=True)
        ],
    )


def tables(team):
    """A team as plain arrays, for oracles."""
    return [(c.initial, c.action, c.transition) for c in team.controllers]
