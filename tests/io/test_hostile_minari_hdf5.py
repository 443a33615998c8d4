"""Minari datasets in HDF5 from anybody: values never written, in other files, of other types, under other names."""

import json
import os

import h5py
import numpy as np
import pytest

from decpomdp.core import FormatError
from decpomdp.io.minari.read import read_minari

from .limited import limited
from .made_minari import COLUMNS, READ, WARNINGS, replaced, soon

MANY = 20_000_000
pytestmark = WARNINGS


@pytest.mark.parametrize("how", [{"chunks": (1 << 16,)}, {"chunks": (1 << 16,), "compression": "gzip"}, {}])
@pytest.mark.parametrize("steps", [2, MANY])
def test_values_that_were_never_written(made, how, steps):
    for name in COLUMNS:
        replaced(
            made, name, shape=(MANY + (name == "observations"),), dtype="i8" if name in COLUMNS[:2] else "f8", **how
        )
    made.tell(total_steps=steps)
    assert made.hdf5.stat().st_size < 100_000
    expected = "expected what .* bytes can hold, got 20000000 steps" if steps == MANY else "expected at most 2 steps"
    with pytest.raises(FormatError, match=expected):
        read_minari(made.path, 0.9)


def test_values_that_were_never_written_take_no_memory(made):
    for name in COLUMNS:
        replaced(made, name, shape=(MANY + (name == "observations"),), dtype="i1", chunks=(1 << 16,))
    made.tell(total_steps=MANY)
    assert "20000000 steps" in limited(made.path, 300, read=READ)


@pytest.mark.parametrize("how", [{"chunks": (1,)}, {}])
def test_a_few_values_that_were_never_written(made, how):
    replaced(made, "rewards", shape=(2,), dtype="f8", **how)
    assert "/episode_0/rewards: expected 16 bytes, got 0 written" in made.refusal()


def test_values_in_another_file(made, tmp_path):
    (tmp_path / "secret").write_bytes(bytes(16))
    replaced(made, "rewards", shape=(2,), dtype="f8", external=[(str(tmp_path / "secret"), 0, h5py.h5f.UNLIMITED)])
    assert "/episode_0/rewards: expected values in the file itself, got a place in another file" in made.refusal()


def test_values_in_a_pipe(made, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    replaced(made, "rewards", shape=(2,), dtype="f8", external=[(str(tmp_path / "pipe"), 0, h5py.h5f.UNLIMITED)])
    assert "expected values in the file itself" in soon(made.path)


def test_a_dataset_made_of_others(made, tmp_path):
    with h5py.File(tmp_path / "other.hdf5", "w") as file:
        file["secret"] = np.ones(2)
    layout = h5py.VirtualLayout((2,), "f8")
    layout[:] = h5py.VirtualSource(str(tmp_path / "other.hdf5"), "secret", (2,))
    with h5py.File(made.hdf5, "a") as file:
        del file["episode_0/rewards"]
        file["episode_0"].create_virtual_dataset("rewards", layout)
    assert "got a place in another file" in made.refusal()


@pytest.mark.parametrize("name", ["episode_0", "episode_0/rewards", "episode_0/observations"])
@pytest.mark.parametrize("outside", [False, True])
def test_names_that_lead_elsewhere(made, tmp_path, name, outside):
    with h5py.File(tmp_path / "other.hdf5", "w") as other, h5py.File(made.hdf5, "a") as file:
        file.copy(name, other, "secret")
        file.copy(name, file, "moved")
        del file[name]
        file[name] = h5py.ExternalLink(str(tmp_path / "other.hdf5"), "/secret") if outside else h5py.SoftLink("/moved")
    assert f"/{name}: expected what is in the file itself, got a link" in made.refusal()


def test_a_name_that_leads_to_a_pipe(made, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with h5py.File(made.hdf5, "a") as file:
        del file["episode_0/rewards"]
        file["episode_0/rewards"] = h5py.ExternalLink(str(tmp_path / "pipe"), "/secret")
    assert "got a link" in soon(made.path)


@pytest.mark.parametrize(
    "how",
    [
        {"dtype": h5py.string_dtype()},
        {"dtype": "S100"},
        {"dtype": h5py.vlen_dtype("f8")},
        {"dtype": h5py.ref_dtype},
        {"dtype": h5py.opaque_dtype(np.dtype("V8"))},
        {"dtype": np.dtype([("a", "f8"), ("b", "f8")])},
        {"dtype": np.dtype(("f8", (1000,)))},
        {"dtype": "f16"},
    ],
)
def test_other_types_than_numbers(made, how):
    replaced(made, "rewards", shape=(2,), **how)
    assert "/episode_0/rewards: expected numbers or truth values, got another type" in made.refusal()


def test_packed_values(made):
    replaced(made, "rewards", data=np.zeros(2), compression="gzip", chunks=(2,))
    assert "expected values that are not packed (h5repack -f NONE), got packed ones" in made.refusal()


@pytest.mark.parametrize("shape", [(), (3,), (2, 2), (2, 10**9), (0,), (2, 0)])
def test_other_shapes(made, shape):
    replaced(made, "actions", shape=shape, dtype="i8")
    assert "/episode_0/actions: expected 2 rows of 1 numbers, got the shape" in made.refusal()
    replaced(made, "actions", data=h5py.Empty("i8"))
    assert "/episode_0/actions: expected 2 rows of 1 numbers, got the shape None" in made.refusal()
    replaced(made, "rewards", data=h5py.Empty("f8"))
    made.refusal()


def test_groups_and_datasets_in_each_others_place(made):
    with h5py.File(made.hdf5, "a") as file:
        del file["episode_0/actions"]
        file.create_group("episode_0/actions")
    assert "/episode_0/actions: expected a dataset, got another object" in made.refusal()
    with h5py.File(made.hdf5, "a") as file:
        del file["episode_0"]
        file["episode_0"] = np.zeros(2)
    assert "/episode_0: expected a group, got another object" in made.refusal()
    with h5py.File(made.hdf5, "a") as file:
        del file["episode_0"]
    assert "expected /episode_0, got none" in made.refusal()


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("/x", "expected a name, got a path"),
        ("a/b", "a/b: expected a name, got a path"),
        (".", ".: expected a name, got a path"),
        ("x\ny", "/x y, got none"),
        ("a\x00", "expected a name, got a path"),
        ("\ud800", "expected a text of Unicode characters"),
    ],
)
def test_names_of_agents_lead_nowhere(made, key, expected):
    space = {"type": "Dict", "subspaces": {key: {"type": "Discrete", "n": 2, "start": 0}}}
    made.tell(observation_space=json.dumps(space), action_space=json.dumps(space))
    with h5py.File(made.hdf5, "a") as file:
        for name, count in (("observations", 3), ("actions", 2)):
            del file[f"episode_0/{name}"]
            file[f"episode_0/{name}/a/b"] = np.zeros(count, int)
        file["x"] = np.zeros(3, int)
    assert expected in made.refusal()


def test_one_episode_under_many_names(made):
    steps, names = 100_000, 200
    with h5py.File(made.hdf5, "a") as file:
        for name in COLUMNS:
            del file[f"episode_0/{name}"]
            file["episode_0"].create_dataset(name, shape=(steps + (name == "observations"),), dtype="i1")
        for k in range(1, names):
            file[f"episode_{k}"] = file["episode_0"]
    made.tell(total_episodes=names, total_steps=names * steps)
    assert "bytes can hold, got 20000000 steps" in limited(made.path, 300, read=READ)


def test_what_is_not_needed_is_not_read(made):
    with h5py.File(made.hdf5, "a") as file:
        infos = file["episode_0"].require_group("infos")
        infos.create_dataset("many", shape=(1 << 30,), dtype="f8", chunks=(1 << 16,))
        infos.create_dataset("texts", data=["x" * 1000] * 3, dtype=h5py.string_dtype())
    assert limited(made.path, 300, read=READ) == "read 2 1"


def test_what_is_not_needed_is_not_waited_for(made, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with h5py.File(made.hdf5, "a") as file:
        infos = file["episode_0"].require_group("infos")
        infos.create_dataset("pipe", shape=(2,), dtype="f8", external=[(str(tmp_path / "pipe"), 0, 16)])
        infos["elsewhere"] = h5py.ExternalLink(str(tmp_path / "pipe"), "/x")
    assert soon(made.path) == ""
