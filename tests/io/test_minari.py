"""Minari datasets, made by Minari itself from real Gymnasium environments and from a team's play."""

import gc
import json
import shutil
import sys

import gymnasium as gym
import minari
import numpy as np
import pytest
from gymnasium import spaces
from minari.data_collector.episode_buffer import EpisodeBuffer

from decpomdp.core import FormatError, InputError
from decpomdp.io.logged import ReadOptions, read_logged
from decpomdp.io.minari.read import read_minari


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "sets"))
    return tmp_path / "sets"


ABOUT = {"author": "a", "author_email": "a@b.c", "code_permalink": "c", "algorithm_name": "random", "description": "d"}
# Minari asks for what a test has no use for, and leaves a folder to the garbage collector
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*(eval_env|env_spec).*:UserWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


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
    assert read_logged(root / "frozen-v0", ReadOptions(discount=0.99)) == read


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


def test_spaces_that_are_not_discrete_are_refused(root):
    team_dataset(spaces.Box(0, 1, (1,)), spaces.Discrete(2), np.zeros((3, 1), np.float32), np.array([0, 1]))
    with pytest.raises(FormatError, match=r"metadata\.json: expected a discrete space: Invalid value 'Box'"):
        read_minari(root / "team-v0", 0.9)
    team_dataset(spaces.Discrete(70000), spaces.Discrete(2), np.array([0, 1, 2]), np.array([0, 1]), "big-v0")
    with pytest.raises(
        FormatError, match="observations of agent1: expected at most 32768 combinations of values, got more"
    ):
        read_minari(root / "big-v0", 0.9)


def test_symbols_outside_their_space_are_refused(root):
    team_dataset(TWO, DONE, {**SEEN, "b": np.array([5, 8, 5])}, TAKEN)
    with pytest.raises(FormatError, match="episode 0, t = 1, observation of b: expected 5 to 6, got 8"):
        read_minari(root / "team-v0", 0.9)


def test_an_end_before_the_end_and_odd_rewards_are_refused(root):
    team_dataset(TWO, DONE, SEEN, TAKEN, terminations=[True, True])
    with pytest.raises(FormatError, match="episode 0: expected finite rewards and no end before the last step"):
        read_minari(root / "team-v0", 0.9)
    team_dataset(TWO, DONE, SEEN, TAKEN, "nan-v0", rewards=(1.0, np.nan))
    with pytest.raises(FormatError, match="episode 0: expected finite rewards"):
        read_minari(root / "nan-v0", 0.9)


def test_damaged_folders_are_refused(root, tmp_path):
    team_dataset(TWO, DONE, SEEN, TAKEN)
    about = root / "team-v0/data/metadata.json"
    good = json.loads(about.read_text())

    def refusal():
        with pytest.raises(FormatError) as caught:
            read_minari(root / "team-v0", 0.9)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    about.write_text("{")
    assert "metadata.json" in refusal()
    about.write_text(json.dumps({**good, "data_format": "pickle"}))
    assert "metadata.json: Invalid enum value 'pickle' - at `$.data_format`" in refusal()
    about.write_text(json.dumps({key: value for key, value in good.items() if key != "action_space"}))
    assert "metadata.json: Object missing required field `action_space`" in refusal()
    about.write_text(json.dumps({**good, "total_steps": 3}))
    assert "expected 3 steps according to metadata.json, got 2" in refusal()
    about.write_text(json.dumps({**good, "total_episodes": 2}))
    assert "cannot be read as a Minari dataset" in refusal()
    about.write_text(json.dumps(good))
    part = next((root / "team-v0/data/0").glob("*.arrow"))
    part.write_bytes(part.read_bytes()[:100])
    assert "cannot be read as a Minari dataset" in refusal()
    shutil.rmtree(root / "team-v0/data")
    assert "expected the folder of a Minari dataset" in refusal()


def test_without_minari_the_user_is_told_what_to_install(root, monkeypatch):
    team_dataset(TWO, DONE, SEEN, TAKEN)
    monkeypatch.setitem(sys.modules, "minari.serialization", None)
    with pytest.raises(InputError, match=r"pip install decpomdp\[data\]"):
        read_minari(root / "team-v0", 0.9)
