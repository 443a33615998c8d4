"""Random data for the learner's tests, as the package wants it and as the oracles want it."""

import numpy as np

from decpomdp.core import Agent, Episodes
from decpomdp.filtering.filter import lay_out
from decpomdp.learners import behaviour
from decpomdp.learners.posterior import Counts, updated
from decpomdp.learners.sticks import Sticks, concentrations
from decpomdp.learners.sweep import Task
from decpomdp.learners.weighing import by_reward, by_utility

AGENTS = (
    Agent("x", ("a", "b"), ("o", "p")),
    Agent("y", ("a", "b", "c"), ("o", "p", "q")),
    Agent("z", ("a", "b"), ("o",)),
)


def episodes(rng, agents=2, count=5, longest=4, first=False, ended=False):
    team = AGENTS[:agents]
    lengths = rng.integers(1, longest + 1, count)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    rows = int(offsets[-1])
    seen = np.stack([rng.integers(0, len(a.observations), rows) for a in team], axis=1)
    if not first:
        seen[offsets[:-1]] = -1
    return Episodes(
        agents=team,
        offsets=offsets,
        observations=seen,
        actions=np.stack([rng.integers(0, len(a.actions), rows) for a in team], axis=1),
        behaviour=rng.uniform(0.2, 1.0, (rows, agents)),
        rewards=rng.normal(size=rows),
        discount=0.9,
        terminated=rng.random(count) < 0.5 if ended else None,
    )


def as_dicts(data):
    parts = [slice(data.offsets[k], data.offsets[k + 1]) for k in range(data.count)]
    return [
        {
            "actions": data.actions[part],
            "observations": data.observations[part],
            "behaviour": data.behaviour[part].astype(float),
            "rewards": data.rewards[part],
        }
        for part in parts
    ]


def task(data, evidence=3.0, threads=None, alpha=1.0):
    steps = by_reward(data, behaviour.log_behaviour(data))
    return Task(lay_out(data, 3), steps, evidence, alpha, threads)


def weighted_task(rng, data, evidence=3.0, alpha=0.0):
    """The utility of an episode at its last step."""
    steps = by_utility(data, behaviour.log_behaviour(data), rng.uniform(0.1, 1.0, data.count))
    return Task(lay_out(data, 3), steps, evidence, alpha, None)


def step_weights(work, data):
    return [work.steps.gain[data.offsets[k] : data.offsets[k + 1]] for k in range(data.count)]


def posterior(rng, data, prior, nodes=3, first=False):
    agents = []
    for agent in data.agents:
        a, o = len(agent.actions), len(agent.observations)
        firsts = rng.gamma(1.0, size=(o, nodes)) if first else np.zeros((o, nodes))
        counts = Counts(firsts, rng.gamma(1.0, size=(nodes, a)), rng.gamma(1.0, size=(nodes, a, o, nodes)))
        agents.append(updated(agent, prior.priors(agent), counts))
    return tuple(agents)


def as_oracle(agent):
    """An agent's posterior in the oracle's layout."""
    nodes = agent.nodes
    told = {
        "initial": np.eye(nodes)[0],
        "observations": len(agent.agent.observations),
        "rho_hat": agent.action.weights,
        "rho": agent.action.prior,
    }
    parts = [agent.move] if agent.first is None else [agent.move, agent.first]
    if not isinstance(agent.move, Sticks):
        rows = np.concatenate([part.weights for part in parts])
        return {**told, "rows_hat": rows, "rows": agent.move.prior}
    eta, chance = concentrations(agent.move.prior.c, agent.move.prior.rate)
    return {
        **told,
        "here": np.concatenate([part.here for part in parts]),
        "beyond": np.concatenate([part.beyond for part in parts]),
        "sigma": agent.move.prior.sigma,
        "eta": eta,
        "chance": np.exp(chance),
        "shared": agent.move.prior.shared,
    }
