"""The best two-step plans, found by trying them all, have the values printed in the literature.

Undiscounted optimal values at horizon 2, as the papers on exact planning report them, for instance F. Oliehoek,
M. Spaan, C. Amato, S. Whiteson. Incremental clustering and expansion for faster optimal planning in Dec-POMDPs.
JAIR 46, 2013; and J. Dibangoye, C. Amato, O. Buffet, F. Charpillet. Optimally solving Dec-POMDPs as continuous-state
MDPs. JAIR 55, 2016.
"""

from itertools import product

import numpy as np
import pytest

from decpomdp.core import DecPOMDP
from decpomdp.domains import registry

PUBLISHED = {
    "dectiger": -4.0,
    "broadcast": 2.0,
    "recycling": 7.0,
    "gridsmall": 0.91,
    "boxpushing": 17.6,
    "marsrovers": 5.8,
}


def best_second_step(gains: np.ndarray) -> float:
    """gains[y1, y2, a1, a2]: best sum over rules y1 -> a1, y2 -> a2, by trying every rule of agent 1."""
    ys = [y for y in range(gains.shape[0]) if gains[y].any()]  # what agent 1 can see at all
    best = -np.inf
    for rule in product(range(gains.shape[2]), repeat=len(ys)):
        given = sum(gains[y, :, a] for y, a in zip(ys, rule, strict=True))  # [y2, a2]
        best = max(best, given.max(axis=-1).sum())
    return best


def best_two_steps(problem: DecPOMDP) -> float:
    observations = [len(agent.observations) for agent in problem.agents]
    actions = [len(agent.actions) for agent in problem.agents]
    values = []
    for u in range(problem.joint_actions):
        seen = problem.start @ problem.transition[u]  # [s1]
        gains = np.einsum("s,sy,us->yu", seen, problem.observation[u], problem.reward)
        later = best_second_step(gains.reshape(*observations, *actions))
        values.append(problem.start @ problem.reward[u] + later)
    return max(values)


@pytest.mark.parametrize("name", registry.PAPER)
def test_best_two_steps_are_worth_what_is_published(name):
    assert best_two_steps(registry.build(name)) == pytest.approx(PUBLISHED[name], abs=1e-9)


def test_the_search_can_fail():
    problem = registry.build("recycling")
    poorer = DecPOMDP(
        problem.agents,
        problem.states,
        problem.start,
        problem.transition,
        problem.observation,
        problem.reward - 0.01,
        problem.discount,
    )
    assert best_two_steps(poorer) == pytest.approx(PUBLISHED["recycling"] - 0.02)
