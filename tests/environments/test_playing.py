"""Teams in environments, and teams in anybody's loop."""

import gymnasium
import numpy as np
import pytest
from oracles import making

import decpomdp as dp


@pytest.mark.parametrize("seed", [0, 7])
def test_a_team_plays_in_pettingzoo_as_it_does_at_home(seed):
    rng = np.random.default_rng(seed)
    model = making.model(rng, 3, (2, 3), (3, 2), sparse=True)
    team = making.team(rng, model, (3, 4))
    played = dp.play(team, dp.parallel_env(model, horizon=25), seed=seed)
    home = dp.simulate(model, team, 1, 25, seed=seed)
    for name in ("agents", "discount", "name"):
        assert getattr(played, name) == getattr(home, name)
    for name in ("observations", "actions", "rewards", "offsets", "terminated"):
        assert np.array_equal(getattr(played, name), getattr(home, name)), name
    assert played.behaviour == pytest.approx(home.behaviour, rel=1e-6)


def test_many_episodes_have_following_seeds():
    model = dp.load("dectiger")
    team, env = dp.Team.uniform(model), dp.parallel_env(model, horizon=4)
    many = dp.play(team, env, seed=5, episodes=3)
    assert many == dp.Episodes.concatenate([dp.play(team, env, seed=5 + k) for k in range(3)])
    assert many.lengths.tolist() == [4, 4, 4]
    assert not many.terminated.any()


def test_an_episode_that_ends_is_said_to_have_ended():
    lake = gymnasium.make("FrozenLake-v1", is_slippery=False)
    simulator = dp.from_pettingzoo(lambda: gymnasium.make("FrozenLake-v1", is_slippery=False))
    left = dp.Controller.deterministic([0], [[0] * 16], 4)
    right = dp.Controller.deterministic([2, 1, 1, 1], [[1] * 16, [2] * 16, [3] * 16, [3] * 16], 4)
    stuck = dp.play(dp.Team.of(simulator, [left]), lake, horizon=9)
    assert (stuck.steps, stuck.terminated.tolist()) == (9, [False])
    assert set(stuck.observations[:, 0]) == {0}
    drowned = dp.play(dp.Team.of(simulator, [right]), lake)
    assert (drowned.steps, drowned.terminated.tolist()) == (2, [True])
