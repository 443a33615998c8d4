"""`simulate`: problems by name or file, teams by name or file, and the same episodes as the command's."""

import numpy as np
import pytest

import decpomdp as dp
from decpomdp.core import InputError
from decpomdp.domains.traffic import Traffic
from decpomdp.rollouts.collect import team_for
from simulators import Uncompiled


def test_nobody_in_particular_acts_at_random():
    model = dp.load("dectiger")
    by_name = dp.simulate("dectiger", episodes=10, horizon=4, seed=3)
    assert by_name == dp.simulate(model, dp.Team.uniform(model), 10, 4, 3)
    assert by_name == dp.simulate(model, "random", 10, 4, 3)
    assert (by_name.count, by_name.steps, by_name.name) == (10, 40, "dectiger")
    assert dp.simulate("dectiger").count == 1000


def test_policies_that_come_with_a_problem():
    rows = dp.simulate("traffic:3", "all-row", episodes=2, horizon=3)
    assert np.all(rows.actions == rows.actions[0, 0])
    with pytest.raises(
        InputError, match=r"policy: expected random, all-row, .* or the path of a team.json, got 'nonsense'"
    ):
        dp.simulate("traffic:3", "nonsense")
    assert team_for("heuristic", Traffic(3)) == Traffic(3).policies()["heuristic"]


def test_pieces_of_a_slow_simulator_are_different_episodes():
    played = dp.simulate(Uncompiled(piece=4), episodes=8, horizon=10, seed=1)
    assert played == dp.simulate(Uncompiled(piece=4), episodes=8, horizon=10, seed=1)
    first, second = np.split(played.observations, 2)
    assert not np.array_equal(first, second)
    assert not np.array_equal(*np.split(played.actions, 2))


def test_another_discount():
    assert dp.simulate("dectiger", episodes=1, discount=0.5).discount == 0.5
    assert dp.simulate(dp.load("dectiger"), episodes=1, discount=0.5).discount == 0.5
    with pytest.raises(InputError, match="discount: expected none for a simulator"):
        dp.simulate(dp.DenseSimulator("dectiger"), episodes=1, discount=0.5)


def test_the_number_of_threads_is_checked():
    played = dp.simulate("recycling", episodes=2)
    team = dp.Team.uniform(played)
    for evaluate in (dp.sampled_value, lambda *_, threads: dp.offpolicy_value(played, team, threads=threads)):
        with pytest.raises(InputError, match="threads: expected a whole number from 1"):
            evaluate("recycling", "random", threads=0)
