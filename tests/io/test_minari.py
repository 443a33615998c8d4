"""Minari datasets, made by Minari itself from real Gymnasium environments and from a team; those that are refused."""

import json
import sys

import h5py
import minari
import numpy as np
import pytest
from gymnasium import spaces
from minari.data_collector.episode_buffer import EpisodeBuffer

from decpomdp.core import InputError
from decpomdp.io.minari import read_minari

from .made_minari import ABOUT, COLUMNS, WARNINGS, replaced


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "sets"))
    return tmp_path / "sets"


pytestmark = WARNINGS


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


def test_bad_metadata(made):
    good = made.about.read_text()
    for changed, expected in (
        ({"total_episodes": -1}, "Expected `int` >= 1 - at `$.total_episodes`"),
        ({"total_steps": "2"}, "Expected `int`, got `str` - at `$.total_steps`"),
        ({"total_steps": 1}, "expected 1 steps according to metadata.json, got 2"),
        ({"total_steps": 10**12}, "expected at most 268435456 steps, got 1000000000000"),
        ({"total_episodes": 2}, "cannot be read as a Minari dataset"),
        ({"data_format": "pickle"}, "Invalid enum value 'pickle' - at `$.data_format`"),
    ):
        made.about.write_text(json.dumps(json.loads(good) | changed))
        assert expected in made.refusal()


def test_bad_spaces(made):
    box = {"type": "Box", "shape": [1], "low": [0.0], "high": [1.0], "dtype": "float64"}
    for space, expected in (
        (box, "expected a discrete space, got Box(0.0, 1.0, (1,), float64)"),
        ({"type": "Graph"}, "cannot be read as a Minari dataset: "),
        ([], "cannot be read as a Minari dataset: "),
        ({"type": "MultiBinary", "n": 10**9}, "observations of agent1: expected at most 32768 combinations of values"),
        ({"type": "Discrete", "n": 70_000, "start": 0}, "observations of agent1: expected at most 32768 combinations"),
    ):
        made.tell(observation_space=json.dumps(space))
        assert expected in made.refusal()


def test_the_environment_in_the_metadata_is_never_created(made, tmp_path):
    spec = {"id": "x-v0", "entry_point": "os:mkdir", "kwargs": {"path": str(tmp_path / "ran")}}
    about = json.loads(made.about.read_text()) | {"env_spec": json.dumps(spec)}
    made.about.write_text(json.dumps(about))
    assert read_minari(made.path, 0.9).steps == 2
    del about["action_space"]
    made.about.write_text(json.dumps(about))
    assert "Object missing required field `action_space`" in made.refusal()
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["data", "data/0/part-0.arrow"])
def test_links_that_leave_the_folder(make, tmp_path, name):
    made = make("arrow")
    (made.path / name).rename(tmp_path / "outside")
    (made.path / name).symlink_to(tmp_path / "outside")
    assert "expected a file in this folder, got a link to a file outside" in made.refusal()


def external_link(made, other):
    with h5py.File(made.hdf5, "a") as file:
        del file["episode_0/rewards"]
        file["episode_0/rewards"] = h5py.ExternalLink(str(other), "/secret")


def external_storage(made, other):
    replaced(made, "rewards", shape=(2,), dtype="f8", external=[(str(other), 0, h5py.h5f.UNLIMITED)])


def virtual_dataset(made, other):
    layout = h5py.VirtualLayout((2,), "f8")
    layout[:] = h5py.VirtualSource(str(other), "secret", (2,))
    with h5py.File(made.hdf5, "a") as file:
        del file["episode_0/rewards"]
        file["episode_0"].create_virtual_dataset("rewards", layout)


@pytest.mark.parametrize("refer", [external_link, external_storage, virtual_dataset])
def test_hdf5_data_in_another_file(made, tmp_path, refer):
    with h5py.File(tmp_path / "other.hdf5", "w") as file:
        file["secret"] = np.ones(2)
    refer(made, tmp_path / "other.hdf5")
    assert "/episode_0/rewards: expected data in the file itself, got a " in made.refusal()


def test_announced_sizes_are_bounded_before_memory_is_allocated(make):
    made = make("hdf5")
    for name in COLUMNS:
        replaced(made, name, shape=(1 << 40,), dtype="i1", chunks=(1 << 16,))
    assert "/episode_0: expected at most 4294967296 bytes, got more" in made.refusal()


def test_bad_values(made):
    good = made.hdf5.read_bytes()
    for name, values, expected in (
        ("rewards", np.array([0, np.nan]), "episode 0: expected finite rewards and no end before the last step"),
        ("terminations", np.array([True, True]), "episode 0: expected finite rewards and no end before the last step"),
        ("actions", np.array([0, 2]), "t = 1, action of agent1: expected 0 to 1, got 2"),
        ("actions", np.zeros(3, int), "expected one observation more than actions, got other lengths"),
        ("actions", np.zeros((2, 2), int), "the values do not belong to the spaces"),
        ("rewards", np.array([b"a", b"b"]), "the values do not belong to the spaces"),
    ):
        made.hdf5.write_bytes(good)
        replaced(made, name, data=values)
        assert expected in made.refusal()
    for name in ("main_data.hdf5", "metadata.json"):
        path = made.path / "data" / name
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        made.refusal()
        path.write_bytes(whole)


@pytest.mark.parametrize("missing", ["h5py", "minari.serialization"])
def test_the_user_is_told_what_to_install(made, monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(InputError, match=r"pip install decpomdp\[data\]"):
        read_minari(made.path, 0.9)


PARTS = spaces.Dict(
    {"a": spaces.Discrete(3), "b": spaces.Tuple([spaces.MultiBinary(2), spaces.MultiDiscrete([[2], [3]])])}
)


@pytest.mark.parametrize("form", ["hdf5", "arrow", "parquet"])
def test_parts_and_infos(make, form):
    random = np.random.default_rng(1)
    low, binary = random.integers(3, size=3), random.integers(2, size=(3, 2), dtype=np.int8)
    several = random.integers(2, size=(3, 2, 1))
    infos = {"texts": ["x", "y", "z"], "numbers": np.zeros((3, 2))}
    read = read_minari(make(form, PARTS, {"a": low, "b": (binary, several)}, infos=infos).path, 0.9)
    labels = [read.agents[0].observations[symbol] for symbol in read.observations[:, 0]]
    rows = zip(low, binary, several, strict=True)
    assert labels == ["/".join(map(str, [one, *two, *more.ravel()])) for one, two, more in rows][:2]
    assert read.rewards.tolist() == [1.0, 2.0]
