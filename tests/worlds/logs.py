"""Small logs of every kind that a latent world reads."""

import numpy as np

from decpomdp.core import Agent, Episodes


def small_log(seed=0, first=False, ends=False, agents=((2, 2), (3, 2)), episodes=12, longest=5, rewards=2):
    """Random episodes of unequal lengths; `agents`: numbers of actions and observations."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, longest + 1, episodes)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    rows = int(offsets[-1])
    team = tuple(
        Agent(f"agent{n}", tuple(f"a{i}" for i in range(a)), tuple(f"o{i}" for i in range(o)))
        for n, (a, o) in enumerate(agents)
    )
    actions = np.stack([rng.integers(0, a, rows) for a, _ in agents], axis=1)
    seen = np.stack([rng.integers(0, o, rows) for _, o in agents], axis=1)
    if not first:
        seen[offsets[:-1]] = -1
    paid = rng.integers(0, rewards, rows).astype(float) + actions.sum(1)
    done = rng.random(episodes) < 0.5 if ends else None
    nothing = np.full((rows, len(agents)), np.nan)
    return Episodes(team, offsets, seen, actions, nothing, paid, 0.9, done)
