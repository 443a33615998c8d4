"""A toy model, on which planners compile their kernels before the clock starts."""

import numpy as np

from decpomdp.core import Agent, DecPOMDP


def toy_model(count: int) -> DecPOMDP:
    """`count` agents with two actions and two observations, two states, a discount of 1/2."""
    agents = tuple(Agent(f"agent{n}", ("0", "1"), ("0", "1")) for n in range(count))
    joint = 2**count
    rng = np.random.default_rng(0)
    return DecPOMDP(
        agents=agents,
        states=("0", "1"),
        start=np.array([0.5, 0.5]),
        transition=rng.dirichlet(np.ones(2), (joint, 2)),
        observation=rng.dirichlet(np.ones(joint), (joint, 2)),
        reward=rng.normal(size=(joint, 2)),
        discount=0.5,
    )
