"""Minari datasets, made by Minari itself from real Gymnasium environments and from a team's play."""

import gc

import gymnasium as gym
import minari
import numpy as np
import pytest
from gymnasium import spaces
from minari.data_collector.episode_buffer import EpisodeBuffer

from decpomdp.io.logged import read_logged
from decpomdp.io.minari import read_minari

from .made_minari import ABOUT, WARNINGS


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "sets"))
    return tmp_path / "sets"


pytestmark = WARNINGS


def collected(name, env_id, episodes, data_format):
    """Play at random with Minari's collector; what was seen, done and earned is noted here too."""
    env = minari.DataCollector(gym.make(env_id), data_format=data_format)
    env.action_space.seed(0)
    notes = []
    for k in range(episodes):
        seen, _ = env.reset(seed=k)
        rows, over = [], False
        while not over:
            action = env.action_space.sample()
            following, reward, terminated, truncated, _ = env.step(action)
            rows.append((seen, action, reward))
            seen, over = following, terminated or truncated
        notes.append((rows, terminated))
    env.create_dataset(f"{name}-v0", **ABOUT)
    env.close()
    gc.collect()
    return notes


@pytest.mark.slow  # collecting with Minari itself needs its extra `create`, which brings jax
@pytest.mark.parametrize("data_format", ["hdf5", "arrow", "parquet"])
def test_a_real_environment(root, data_format):
    notes = collected("frozen", "FrozenLake-v1", 12, data_format)
    read = read_minari(root / "frozen-v0", 0.99)
    assert read.count == 12
    assert read.lengths.tolist() == [len(rows) for rows, _ in notes]
    flat = [row for rows, _ in notes for row in rows]
    assert read.observations[:, 0].tolist() == [int(seen) for seen, _, _ in flat]
    assert read.actions[:, 0].tolist() == [int(action) for _, action, _ in flat]
    assert read.rewards.tolist() == [float(reward) for _, _, reward in flat]
    assert read.terminated.tolist() == [ended for _, ended in notes]
    assert np.isnan(read.behaviour).all()
    assert (len(read.agents[0].actions), len(read.agents[0].observations)) == (4, 16)
    assert read.name == "frozen-v0"
    assert read_logged(root / "frozen-v0", discount=0.99) == read


@pytest.mark.slow
def test_observations_with_parts_become_one_symbol(root):
    notes = collected("blackjack", "Blackjack-v1", 10, "arrow")
    read = read_minari(root / "blackjack-v0", 1.0)
    labels = read.agents[0].observations
    assert len(labels) == 32 * 11 * 2
    told = [labels[o] for o in read.observations[:, 0]]
    assert told == ["/".join(str(int(part)) for part in seen) for rows, _ in notes for seen, _, _ in rows]


def team_dataset(seen, taken, observations, actions, name="team-v0", rewards=(1.0, 2.0), **changed):
    told = {"terminations": [False, True], "truncations": [False, False], **changed}
    buffer = EpisodeBuffer(observations=observations, actions=actions, rewards=list(rewards), **told)
    minari.create_dataset_from_buffers(
        name,
        [buffer],
        observation_space=seen,
        action_space=taken,
        data_format="arrow",
        **ABOUT,
    )


TWO = spaces.Dict({"a": spaces.Discrete(3), "b": spaces.Discrete(2, start=5)})
DONE = spaces.Dict({"a": spaces.Discrete(2), "b": spaces.MultiDiscrete([2, 3])})
SEEN = {"a": np.array([0, 1, 2]), "b": np.array([5, 6, 5])}
TAKEN = {"a": np.array([1, 0]), "b": np.array([[1, 2], [0, 1]])}


def test_a_team_in_dictionaries(root):
    team_dataset(TWO, DONE, SEEN, TAKEN)
    read = read_minari(root / "team-v0", 0.9, "mine")
    assert [agent.name for agent in read.agents] == ["a", "b"]
    assert read.agents[1].observations == ("5", "6")
    assert read.agents[1].actions == ("0/0", "0/1", "0/2", "1/0", "1/1", "1/2")
    assert read.observations.tolist() == [[0, 0], [1, 1]]
    assert read.actions.tolist() == [[1, 5], [0, 1]]
    assert read.rewards.tolist() == [1, 2]
    assert read.terminated.tolist() == [True]
    assert read.name == "mine"


def test_a_team_in_tuples(root):
    pair = spaces.Tuple([spaces.Discrete(3), spaces.Discrete(2)])
    team_dataset(pair, pair, (np.array([0, 1, 2]), np.array([1, 0, 1])), (np.array([2, 0]), np.array([0, 1])))
    read = read_minari(root / "team-v0", 0.9)
    assert [agent.name for agent in read.agents] == ["agent1", "agent2"]
    assert read.actions.tolist() == [[2, 0], [0, 1]]
