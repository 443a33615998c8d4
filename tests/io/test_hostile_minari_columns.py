"""Minari datasets in Arrow and Parquet from anybody: other types, missing columns, packed batches, damaged bytes."""

import minari
import numpy as np
import pyarrow as pa
import pytest
from gymnasium import spaces

import decpomdp as dp
from decpomdp.core import FormatError
from decpomdp.io.minari.read import read_minari

from .limited import limited
from .made_minari import COLUMNS, FLAT, READ, WARNINGS

pytestmark = WARNINGS


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
