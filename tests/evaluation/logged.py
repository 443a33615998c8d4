"""What was logged for off-policy evaluation: behaviours and teams near each other, and actions that are rare."""

import numpy as np
from oracles import making

import decpomdp as dp
from decpomdp.core import Controller, Episodes, Team


def mild():
    """A tiny model, a behaviour and a team that are not far apart."""
    rng = np.random.default_rng(11)
    model = making.model(rng, 2, (2, 2), (2, 2), 0.9)
    team = making.team(rng, model, 2)
    return model, team.exploring(0.5), team


def seen_then_done(behaviour, count, seed, earned=((0.0, 1.0, 1.0), (0.0, 1.0, 100.0))):
    """One agent that sees `x` or `y` and then does one thing; behaviour[o, a], earned[o, a]."""
    rng = np.random.default_rng(seed)
    seen = rng.integers(0, 2, count)
    did = np.array([rng.choice(3, p=behaviour[o]) for o in seen])
    recorded, rewards = np.array(behaviour)[seen, did], np.array(earned)[seen, did]
    agent = dp.Agent("x", ("a", "b", "c"), ("x", "y"))
    return Episodes((agent,), np.arange(count + 1), seen[:, None], did[:, None], recorded[:, None], rewards, 0.9)


def doing(logged, acts):
    """The team that does acts[o] after seeing o."""
    controller = Controller([0.5, 0.5], acts, np.full((2, 3, 2, 2), 0.5), np.eye(2))
    return Team(logged.agents, (controller,), 0.9)
