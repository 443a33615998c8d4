"""Minari datasets from anybody: read as valid episodes or refused in one line, with little memory and nothing else."""

import json
import os
import subprocess
import sys

import h5py
import minari
import numpy as np
import pyarrow as pa
import pytest
from gymnasium import spaces

import decpomdp as dp
from decpomdp.core import FormatError
from decpomdp.io.minari import read_minari

from .limited import limited
from .made_minari import COLUMNS, FLAT, WARNINGS, replaced

READ = "dp.read_minari(path, 0.9)"
MANY = 20_000_000
pytestmark = WARNINGS


def soon(path):
    """What is said by a process that may not wait: a pipe would be waited for in a library, for ever."""
    script = (
        "import sys, decpomdp as dp\ntry:\n    dp.read_minari(sys.argv[1], 0.9)\nexcept dp.FormatError as e: print(e)"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, timeout=20, check=True)
    return done.stdout.decode()


# What HDF5 can do


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


# What Arrow and Parquet can do


@pytest.mark.parametrize("form", ["arrow", "parquet"])
@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("rewards", pa.nulls(3)),
        ("rewards", pa.array([1.0, None, 2.0])),
        ("rewards", pa.array(["1", "2", "3"])),
        ("rewards", pa.array(["1", "2", "3"]).dictionary_encode()),
        ("rewards", pa.array([[1.0], [2.0], [3.0]])),
        ("actions", pa.array([{"a": 1}, {"a": 0}, {"a": 1}])),
        ("observations", pa.array([[], [], []], pa.list_(pa.int64(), 0))),
        ("observations", pa.array([[0], [1], [0]], pa.list_(pa.int64(), 1))),
    ],
    ids=range(8),
)
def test_columns_of_other_types(make, form, name, column):
    made = make(form)
    columns = made.tables()
    made.write({key: values[: len(column)] for key, values in columns.items()} | {name: column})
    assert name in made.refusal()


@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_columns_that_are_missing_or_twice(make, form):
    made = make(form)
    columns = made.tables()
    made.write({name: values for name, values in columns.items() if name != "rewards"})
    assert "expected one column rewards, got 0" in made.refusal()
    twice = pa.Table.from_arrays([*columns.values(), columns["rewards"]], [*columns, "rewards"])
    made.write(twice)
    assert "expected one column rewards, got 2" in made.refusal()


@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_more_rows_than_announced(make, form):
    made = make(form)
    made.write({name: pa.concat_arrays([values] * 100) for name, values in made.tables().items()})
    assert "expected at most 2 steps as announced, got 299" in made.refusal()
    made.write({name: values[:1] for name, values in made.tables().items()})
    assert "expected at least two rows, got 1" in made.refusal()
    made.write({name: values[:0] for name, values in made.tables().items()})
    assert "expected at least two rows, got 0" in made.refusal()


def test_packed_batches(make):
    made = make("arrow")
    zeros = pa.array(np.zeros(10_000_000))
    columns = {"observations": zeros.cast("int64"), "actions": zeros.cast("int64"), **dict.fromkeys(FLAT, zeros)}
    made.write(columns, compression="zstd")
    made.tell(total_steps=len(zeros) - 1)
    assert made.part.stat().st_size < 500_000
    said = limited(made.path, 300, read=READ)
    assert "bytes can hold, got 9999999 steps" in said
    made.tell(total_steps=2)
    assert "expected values that are not packed, got packed ones" in limited(made.path, 300, read=READ)


def test_rows_that_parquet_writes_in_no_bytes(make):
    made = make("parquet")
    zeros = pa.array(np.zeros(10_000_000, np.int8))
    made.write(dict.fromkeys(COLUMNS, zeros), compression="zstd")
    made.tell(total_steps=len(zeros) - 1)
    assert made.part.stat().st_size < 500_000
    assert "expected what fits into memory" in limited(made.path, 300, read=READ, memory=500 << 20)
    made.tell(total_steps=2)
    assert "expected at most 2 steps as announced, got 9999999" in limited(made.path, 300, read=READ)


def test_lists_that_announce_any_length(make):
    made = make("parquet", spaces.MultiBinary(3), np.zeros((3, 3), np.int8))
    assert read_minari(made.path, 0.9).steps == 2
    columns = made.tables()
    columns["observations"] = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(3_000_000, np.int8)), 1_000_000)
    made.write(columns)
    assert "column observations: expected numbers as its space says" in made.refusal()


@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_damaged_bytes_are_read_or_refused(make, form):
    made = make(form)
    good, random, said = made.part.read_bytes(), np.random.default_rng(0), []
    for _ in range(150):
        data = bytearray(good)
        for place in random.integers(len(data), size=3):
            data[place] = random.integers(256)
        made.part.write_bytes(data)
        try:
            assert read_minari(made.path, 0.9).steps == 2
        except FormatError as error:
            said.append(str(error))
    assert said
    assert not any("\n" in line for line in said)


# What is honest is read as Minari reads it

PARTS = spaces.Dict(
    {"a": spaces.Discrete(3), "b": spaces.Tuple([spaces.MultiBinary(2), spaces.MultiDiscrete([[2], [3]])])}
)


@pytest.mark.parametrize("form", ["hdf5", "arrow", "parquet"])
def test_the_same_as_minari_reads(make, form):
    random = np.random.default_rng(1)
    lows, binary = random.integers(3, size=3), random.integers(2, size=(3, 2), dtype=np.int8)
    several = random.integers(2, size=(3, 2, 1))
    infos = {"texts": ["x", "y", "z"], "numbers": np.zeros((3, 2))}
    made = make(form, PARTS, {"a": lows, "b": (binary, several)}, infos=infos)
    (episode,) = minari.MinariDataset(made.path / "data").iterate_episodes()
    assert episode.observations["a"].tolist() == lows.tolist()
    read = read_minari(made.path, 0.9)
    labels = [read.agents[0].observations[symbol] for symbol in read.observations[:, 0]]
    rows = zip(lows, binary, several, strict=True)
    assert labels == ["/".join(map(str, [low, *two, *more.ravel()])) for low, two, more in rows][:2]
    assert read.rewards.tolist() == episode.rewards.tolist()
    assert isinstance(read, dp.Episodes)


def test_an_episode_in_several_batches(make):
    made = make("arrow")
    table = pa.table({name: pa.concat_arrays([values[:2]] * 50) for name, values in made.tables().items()})
    ends = pa.array([False] * 100)
    table = table.set_column(3, "terminations", ends).set_column(4, "truncations", ends)
    with pa.ipc.new_file(made.part, table.schema) as file:
        file.write_table(table, max_chunksize=7)
    made.tell(total_steps=99)
    read = read_minari(made.path, 0.9)
    assert read.actions[:, 0].tolist() == ([0, 1] * 50)[:99]
    assert read.lengths.tolist() == [99]
