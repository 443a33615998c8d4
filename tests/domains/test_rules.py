"""The rules of each problem, checked on the finished tables."""

import numpy as np
import pytest

from decpomdp.core import DecPOMDP
from decpomdp.domains import registry


def exchanged(problem: DecPOMDP, state_order: list[int]) -> DecPOMDP:
    """The problem with the two agents exchanged; state_order[s] is what state s is then called."""
    actions, observations = len(problem.agents[0].actions), len(problem.agents[0].observations)
    u = np.arange(actions**2).reshape(actions, actions).T.ravel()
    y = np.arange(observations**2).reshape(observations, observations).T.ravel()
    s = np.array(state_order)
    return DecPOMDP(
        agents=problem.agents,
        states=problem.states,
        start=problem.start[s],
        transition=problem.transition[np.ix_(u, s, s)],
        observation=problem.observation[np.ix_(u, s, y)],
        reward=problem.reward[np.ix_(u, s)],
        discount=problem.discount,
        name=problem.name,
    )


def joint(problem: DecPOMDP, one: str, other: str) -> int:
    """The joint action of two labels."""
    actions = problem.agents[0].actions
    return actions.index(one) * len(actions) + actions.index(other)


def reachable(problem: DecPOMDP) -> np.ndarray:
    """[s]: the states that can ever be visited."""
    steps = problem.transition.any(axis=0)
    seen = problem.start > 0
    while (grown := seen | steps[seen].any(axis=0)).sum() > seen.sum():
        seen = grown
    return seen


# What the states are called when the agents are exchanged: the tiger, the two batteries, the two cells.
@pytest.mark.parametrize(
    ("name", "state_order"),
    [
        ("dectiger", [0, 1]),
        ("recycling", [0, 2, 1, 3]),
        ("gridsmall", [4 * (s % 4) + s // 4 for s in range(16)]),
    ],
)
def test_agents_are_interchangeable(name, state_order):
    problem = registry.build(name)
    swapped = exchanged(problem, state_order)
    for table in ("transition", "observation", "reward"):
        assert np.array_equal(getattr(problem, table), getattr(swapped, table)), table


def test_broadcast_agents_differ_only_in_their_arrivals():
    problem = registry.build("broadcast")
    swapped = exchanged(problem, [0, 2, 1, 3])
    assert np.array_equal(problem.observation, swapped.observation)
    assert np.array_equal(problem.reward, swapped.reward)
    assert not np.array_equal(problem.transition, swapped.transition)


def test_dectiger_is_symmetric_in_left_and_right():
    problem = registry.build("dectiger")
    mirror = [3 * a + b for a in (0, 2, 1) for b in (0, 2, 1)]
    assert np.array_equal(problem.reward, problem.reward[mirror][:, ::-1])
    assert np.array_equal(problem.observation, problem.observation[mirror][:, ::-1, ::-1])


def test_gridsmall_reward_is_the_chance_to_meet():
    problem = registry.build("gridsmall")
    meeting = [s // 4 == s % 4 for s in range(16)]
    assert problem.reward == pytest.approx(problem.transition[:, :, meeting].sum(axis=-1), abs=1e-15)
    stay = joint(problem, "stay", "stay")
    assert problem.reward[stay].tolist() == [float(m) for m in meeting]


def test_boxpushing_large_box_needs_both():
    problem = registry.build("boxpushing")
    large = problem.states.index("largeBoxAtGoal")
    into = np.argwhere(problem.transition[:, :, large])
    assert into.tolist() == [[joint(problem, "moveForward", "moveForward"), problem.states.index("s2N3N")]]
    assert problem.transition[*into[0], large] == 0.81
    assert problem.reward.max() == problem.reward[*into[0]] == 99.8


def mirrored(state: str) -> str:
    """The box pushing state seen in a mirror: left and right exchanged, and with them the robots."""
    if len(state) != 5:
        return {"leftBoxAtGoal": "rightBoxAtGoal", "rightBoxAtGoal": "leftBoxAtGoal"}.get(state, state)
    look = {"N": "N", "S": "S", "E": "W", "W": "E"}
    return f"s{5 - int(state[3])}{look[state[4]]}{5 - int(state[1])}{look[state[2]]}"


def test_boxpushing_is_its_mirror_image_but_for_the_misprint():
    problem = registry.build("boxpushing")
    s = [problem.states.index(mirrored(state)) for state in problem.states]
    turned = [1, 0, 2, 3]  # left turns are right turns in the mirror
    u = [4 * turned[other] + turned[one] for one in range(4) for other in range(4)]
    assert np.array_equal(problem.reward, problem.reward[np.ix_(u, s)])
    assert np.array_equal(problem.start, problem.start[s])
    different = np.argwhere(problem.transition != problem.transition[np.ix_(u, s, s)])
    forward = joint(problem, "moveForward", "moveForward")
    named = {(int(a), problem.states[b], problem.states[c]) for a, b, c in different}
    assert {row[:2] for row in named} == {(forward, "s2E4W"), (forward, "s1E3W")}
    assert {row[2] for row in named if row[1] == "s2E4W"} == {"s3E4W", "s3E4S"}


def test_marsrovers_never_rest_with_everything_done():
    problem = registry.build("marsrovers")
    finished = np.arange(256) % 16 == 15
    assert not reachable(problem)[finished].any()
    assert reachable(problem)[~finished].all()


def test_marsrovers_asymmetry_is_only_in_the_reward_of_mixed_work_at_different_sites():
    problem = registry.build("marsrovers")
    swapped = exchanged(problem, [64 * (s // 16 % 4) + 16 * (s // 64) + s % 16 for s in range(256)])
    assert np.array_equal(problem.transition, swapped.transition)
    assert np.array_equal(problem.observation, swapped.observation)
    mixed = {joint(problem, "drill", "sample"), joint(problem, "sample", "drill")}
    different = np.argwhere(problem.reward != swapped.reward)
    assert {int(u) for u, _ in different} == mixed
    assert all(s // 64 != s // 16 % 4 for _, s in different)
