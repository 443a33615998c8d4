"""Models: a bad one cannot exist, a good one cannot become bad; the number of steps that matter under a discount."""

from dataclasses import replace

import numpy as np
from oracles import making

from decpomdp.core import Agent
from decpomdp.core.model import horizon_of

SIZES = [((2,), (3,)), ((2, 3), (3, 2)), ((2, 1, 2), (1, 2, 2)), ((2, 1, 2, 1, 2), (1, 2, 1, 2, 2))]


def model(actions=(2, 3), observations=(3, 2), seed=0):
    return making.model(np.random.default_rng(seed), 4, actions, observations)


def test_sizes_and_tables_for_any_number_of_agents():
    for actions, observations in SIZES:
        problem = model(actions, observations)
        assert problem.joint_actions == len(problem.action_table()) == np.prod(actions)
        assert problem.joint_observations == len(problem.observation_table()) == np.prod(observations)
        joint = 0
        for part, size in zip(problem.action_table()[-2], actions, strict=True):
            joint = joint * size + part
        assert joint == problem.joint_actions - 2


def test_the_digest_is_of_the_numbers_alone():
    problem = model()
    renamed = tuple(Agent(f"{agent.name}!", agent.actions, agent.observations) for agent in problem.agents)
    same = replace(problem, agents=renamed, states=tuple("abcd"), discount=0.1, name="other")
    assert same.digest() == problem.digest()
    for name in ("start", "transition", "observation", "reward"):
        assert replace(problem, **{name: getattr(model(seed=1), name)}).digest() != problem.digest(), name


def test_the_digest_does_not_see_the_sign_of_zero():
    rewards = np.zeros((6, 4))
    assert replace(model(), reward=rewards).digest() == replace(model(), reward=-rewards).digest()


def test_the_digest_sees_how_joint_actions_divide():
    one = model((2, 3), (3, 2))
    swapped = tuple(Agent(a.name, b.actions, b.observations) for a, b in zip(one.agents, one.agents[::-1], strict=True))
    assert replace(one, agents=swapped).digest() != one.digest()


def test_the_first_power_that_is_small_enough():
    for tail in [1e-4, 0.01, 0.05]:
        for discount in [0.001, 0.1, 0.3, 0.5, 0.9, 0.95, 0.99, 0.9999]:
            steps = horizon_of(discount, tail, 10**9)
            assert steps >= 1
            assert discount**steps <= tail * (1 + 1e-12)
            assert steps == 1 or discount ** (steps - 1) > tail * (1 - 1e-12)
            assert horizon_of(discount, tail, 3) == min(steps, 3)


def test_the_ends():
    assert horizon_of(0.0, 0.01, 100) == 1
    assert horizon_of(1.0, 0.01, 100) == 100
