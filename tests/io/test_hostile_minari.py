"""Minari datasets from anybody: read as valid episodes or refused in one line, with little memory and nothing else."""

import json
import os

import pytest

from decpomdp.io.minari.read import read_minari

from .limited import limited
from .made_minari import READ, WARNINGS, soon

pytestmark = WARNINGS


# What a folder can hold


def moved(path, target, back=True):
    path.rename(target)
    if back:
        path.symlink_to(target)


@pytest.mark.parametrize("name", ["data", "data/metadata.json", "data/0", "data/0/part-0.arrow"])
def test_links_that_lead_out_are_not_followed(make, tmp_path, name):
    made = make("arrow")
    moved(made.path / name, tmp_path / "outside")
    assert "got a link that leads out of it" in made.refusal()


def test_a_link_of_the_only_data_file(made, tmp_path):
    moved(made.hdf5, tmp_path / "outside")
    assert "main_data.hdf5: expected a file of the dataset's folder, got a link that leads out" in made.refusal()
    made.hdf5.unlink()
    moved(tmp_path / "outside", made.path / "data/inside.hdf5", back=False)
    made.hdf5.symlink_to("inside.hdf5")
    assert read_minari(made.path, 0.9).steps == 2


@pytest.mark.parametrize("form", ["hdf5", "arrow", "parquet"])
def test_pipes_in_the_place_of_files(make, form):
    made = make(form)
    path = made.hdf5 if form == "hdf5" else made.part
    path.unlink()
    os.mkfifo(path)
    assert f"{path.name}: expected a file, got a folder, a pipe or a device" in soon(made.path)
    made.about.unlink()
    os.mkfifo(made.about)
    assert "expected the folder of a Minari dataset" in soon(made.path)


def test_other_files_beside_the_episode(make):
    made = make("arrow")
    (made.part.parent / "part-1.arrow").write_bytes(made.part.read_bytes())
    assert "episode 0: expected one file .arrow in its folder, got several" in made.refusal()
    made.part.unlink()
    (made.part.parent / "part-1.arrow").rename(made.part.with_suffix(".parquet"))
    assert "episode 0: expected one file .arrow in its folder, got another" in made.refusal()


# What the metadata can announce


@pytest.mark.parametrize("form", ["hdf5", "arrow", "parquet"])
def test_numbers_that_cannot_be(make, form):
    made = make(form)
    for wrong in (-1, True, "2", 2.0, None, [2], 10**30):
        for key in ("total_episodes", "total_steps"):
            made.tell(**{"total_episodes": 1, "total_steps": 2, key: wrong})
            assert f"metadata.json: expected a whole number as {key}, got" in made.refusal()
    made.tell(total_episodes=3, total_steps=2)
    assert "expected at least one step per episode, got 2 steps in 3 episodes" in made.refusal()
    made.tell(total_episodes=0, total_steps=0)
    assert "expected at least one episode, got none" in made.refusal()
    made.tell(total_episodes=10**12, total_steps=10**12)
    assert "expected what fits into memory" in made.refusal()
    made.tell(total_episodes=100_000, total_steps=100_000)
    assert "expected what" in made.refusal() or "No such file" in made.refusal()
    made.tell(total_episodes=1, total_steps=1)
    assert "expected at most 1 steps as announced, got 2" in made.refusal()


def test_odd_names_of_datasets(made):
    made.tell(dataset_id="x" * 100_000)
    assert len(read_minari(made.path, 0.9).name) == 200
    made.tell(dataset_id="a\nb")
    assert read_minari(made.path, 0.9).name == "a b"
    made.tell(dataset_id="\x1b[2J")
    assert "metadata.json: dataset_id: expected a text on one line" in made.refusal()
    made.tell(dataset_id="\ud800")
    assert "metadata.json: dataset_id: expected a text of Unicode characters" in made.refusal()


# What spaces can ask for


def nested(depth):
    text = '{"type": "Discrete", "n": 2, "start": 0}'
    return '{"type": "Tuple", "subspaces": [' * depth + text + "]}" * depth


ONE = {"type": "Discrete", "n": 1, "start": 0}
WIDE = {"type": "Discrete", "n": 2**15, "start": 0}
SPACES = [
    (nested(20), "expected at most 16 levels of spaces, got more"),
    (nested(100_000), "recursion"),
    ({"type": "MultiBinary", "n": 10**9}, "MultiBinary: expected at most 1048576 numbers, got more"),
    ({"type": "MultiBinary", "n": [10**5, 10**5]}, "MultiBinary: expected at most 1048576 numbers, got more"),
    ({"type": "MultiBinary", "n": [10**18] * 100_000}, "MultiBinary: expected at most 1048576 numbers, got more"),
    ({"type": "MultiBinary", "n": "9" * 9}, "MultiBinary: expected whole numbers as its size, got"),
    ({"type": "MultiBinary", "n": 20_000}, "observations of agent1: expected at most 32768, got more"),
    ({"type": "MultiBinary", "n": 10**6}, "observations of agent1: expected at most 32768, got more"),
    ({"type": "Discrete", "n": 10**18, "start": 0}, "observations of agent1: expected values up to"),
    ({"type": "Discrete", "n": 2, "start": 2**62}, "observations of agent1: expected values up to"),
    ({"type": "Discrete", "n": 10**40, "start": 0}, "cannot be read"),
    ({"type": "Box", "shape": [10**5] * 2, "low": 0, "high": 1, "dtype": "float32"}, "Box: expected at most 1048576"),
    ({"type": "MultiDiscrete", "nvec": [2], "start": [0], "dtype": "S1000000000"}, "expected the type of a MultiDisc"),
    ({"type": "MultiDiscrete", "nvec": [2], "start": [0], "dtype": ["x"]}, "expected the type of a MultiDiscrete's"),
    ({"type": "MultiDiscrete", "nvec": [2] * 10**5, "start": [0] * 10**5, "dtype": "int64"}, "expected at most 32768"),
    ({"type": "Tuple", "subspaces": [json.dumps(ONE)]}, "expected one of Discrete, MultiDiscrete"),
    ({"type": "Tuple", "subspaces": {}}, "expected the subspaces of a Tuple, got none"),
    ({"type": "Tuple", "subspaces": [ONE] * 20_000}, "expected at most 10000 spaces, got more"),
    ({"type": "Tuple", "subspaces": [WIDE] + [ONE] * 9_000}, "expected at most 1048576 numbers in all labels"),
    ({"type": "Graph\n"}, "expected one of Discrete, MultiDiscrete"),
    ({"type": ["Tuple"]}, "expected one of Discrete, MultiDiscrete"),
    ([], "expected one of Discrete, MultiDiscrete"),
]


@pytest.mark.parametrize(("space", "expected"), SPACES, ids=range(len(SPACES)))
def test_spaces_that_ask_for_too_much(made, space, expected):
    made.tell(observation_space=space if isinstance(space, str) else json.dumps(space))
    assert expected in made.refusal()


def test_large_spaces_take_no_memory(made):
    made.tell(observation_space='{"type": "MultiBinary", "n": 1000000000}')
    assert "expected at most 1048576 numbers" in limited(made.path, 300, read=READ)
    team = json.dumps({"type": "Dict", "subspaces": {f"a{n}": WIDE for n in range(5_000)}})
    made.tell(observation_space=team, action_space=team)
    assert "expected at most 2097152 labels of all agents" in limited(made.path, 500, read=READ)
