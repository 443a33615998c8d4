"""Problems as PettingZoo environments: its conformance tests, the same episodes as at home; teams that play there."""

import warnings

import gymnasium
import numpy as np
import pytest
from oracles import making

import decpomdp as dp
from decpomdp.core import InputError
from decpomdp.domains import registry

with warnings.catch_warnings():  # the tests of PettingZoo import games by a name that it deprecates itself
    warnings.simplefilter("ignore", DeprecationWarning)
    from pettingzoo.test import parallel_api_test, parallel_seed_test


@pytest.mark.parametrize(("name", "horizon"), [(name, (None, 7)[n % 2]) for n, name in enumerate(registry.PAPER)])
def test_pettingzoo_finds_nothing_wrong(name, horizon, capsys):
    parallel_api_test(dp.parallel_env(name, horizon=horizon), num_cycles=60)
    assert "Passed" in capsys.readouterr().out
    parallel_seed_test(lambda: dp.parallel_env(name, horizon=horizon), num_cycles=30)


def trace(env, seed, steps=30):
    shown, _ = env.reset(seed=seed)
    rng = np.random.default_rng(1)
    lines = [tuple(shown.values())]
    for _ in range(steps):
        actions = {name: int(rng.integers(env.action_space(name).n)) for name in env.agents}
        seen, rewards, *_ = env.step(actions)
        lines.append((*seen.values(), *rewards.values()))
    return lines


def test_a_seed_fixes_an_episode_and_the_environments_own_seed_those_of_resets_without_one():
    one, other = dp.parallel_env("dectiger", seed=0), dp.parallel_env("dectiger", seed=0)
    assert trace(one, None) == trace(other, None)
    assert trace(one, 0) == trace(one, 0) == trace(dp.parallel_env("dectiger", seed=99), 0)  # zero is a seed, too
    assert any(trace(one, 0) != trace(one, seed) for seed in range(1, 5))
    assert trace(one, None) != trace(one, None)  # the episodes of one environment differ from each other
    one.reset(seed=0)
    other.reset(seed=0)
    assert [trace(one, None) for _ in range(2)] == [trace(other, None) for _ in range(2)]


def test_nothing_is_seen_at_first_and_everybody_is_paid_the_team_reward():
    env = dp.parallel_env("dectiger", horizon=2)
    shown, infos = env.reset(seed=0)
    assert shown == {"agent1": 2, "agent2": 2}
    assert infos == {"agent1": {}, "agent2": {}}
    seen, rewards, ended, cut, _ = env.step({"agent1": 0, "agent2": 0})
    assert set(seen.values()) <= {0, 1}
    assert rewards == {"agent1": -2.0, "agent2": -2.0}
    assert not any(ended.values())
    assert not any(cut.values())
    *_, ended, cut, _ = env.step({"agent1": 0, "agent2": 0})
    assert not any(ended.values())
    assert all(cut.values())
    assert env.agents == []
    assert env.step({}) == ({}, {}, {}, {}, {})


class Countdown:
    """Three steps; the agent sees how many are left."""

    name, discount, repeatable = "countdown", 0.5, True
    agents = (dp.Agent("x", ("wait",), ("0", "1", "2", "3")),)

    def reset(self, episodes, seed):
        self.left = 3
        return np.full((episodes, 1), 3)

    def step(self, actions):
        self.left -= 1
        return dp.Step(np.full((1, 1), self.left), np.ones(1), np.array([self.left == 0]))


def test_a_simulator_with_first_observations_and_an_end():
    env = dp.parallel_env(Countdown())
    parallel_api_test(env, num_cycles=10)
    assert env.reset()[0] == {"x": 3}
    assert [env.step({"x": 0})[2]["x"] for _ in range(3)] == [False, False, True]
    with pytest.raises(InputError, match="countdown, which hides its state"):
        env.state()


def test_mistakes_are_named():
    env = dp.parallel_env("dectiger")
    env.reset()
    for wrong in ({"agent1": 0}, {"agent1": 0, "agent2": 0, "agent3": 0}, [0, 0]):
        with pytest.raises(InputError, match="actions: expected a dictionary with an action of agent1, agent2, got"):
            env.step(wrong)
    with pytest.raises(InputError, match="action of agent2: expected a whole number from 0 to 2, got 3"):
        env.step({"agent1": 0, "agent2": 3})
    with pytest.raises(InputError, match='render_mode: expected None or "ansi"'):
        dp.parallel_env("dectiger", render_mode="human")
    with pytest.raises(InputError, match="horizon"):
        dp.parallel_env("dectiger", horizon=0)
    with pytest.raises(InputError, match="seed"):
        env.reset(seed=-1)


def test_nobody_acts_before_the_beginning_or_after_the_end():
    env = dp.parallel_env("dectiger", horizon=1)
    both = {"agent1": 0, "agent2": 0}
    with pytest.raises(InputError, match="before reset and after the end of an episode, got dict"):
        env.step(both)
    env.reset(seed=1)
    env.step(both)
    assert env.step({}) == ({}, {}, {}, {}, {})
    with pytest.raises(InputError, match="after the end of an episode"):
        env.step(both)


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
