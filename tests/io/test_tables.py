"""Long tables: what is written comes back equal, and other tools read it and write it."""

import csv
from dataclasses import replace

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from decpomdp.core import FormatError, InputError
from decpomdp.io.episodes import write_episodes
from decpomdp.io.logged import kind_of, read_logged
from decpomdp.io.tables import read_table, write_table

from .made_episodes import ODD as AGENTS
from .made_episodes import odd_episodes as episodes
from .made_episodes import same


@pytest.fixture(params=["e.csv", "e.parquet"])
def path(tmp_path, request):
    return tmp_path / request.param


@pytest.mark.parametrize("seed", range(3))
def test_tables_come_back_equal(path, seed):
    held = episodes(seed=seed)
    write_table(held, path)
    again = read_table(path, 0.9, AGENTS)
    assert same(again, held)
    assert np.array_equal(again.rewards, held.rewards)
    assert again.facts == {"imported from": path.name}
    occurring = read_table(path, 0.9)
    assert occurring.agents[0].actions == ("go, or not", "stay")  # those that occur, sorted
    assert np.array_equal(occurring.rewards, held.rewards)


def test_polars_and_plain_python_read_what_is_written(path):
    held = episodes()
    write_table(held, path)
    frame = pl.read_csv(path) if path.suffix == ".csv" else pl.read_parquet(path)
    assert frame.columns[:6] == ["episode", "t", "agent", "observation", "action", "reward"]
    assert len(frame) == 2 * held.steps
    right = frame.filter(pl.col("agent") == "right")
    assert right["action"].to_list() == [AGENTS[1].actions[a] for a in held.actions[:, 1]]
    assert right["reward"].to_numpy() == pytest.approx(held.rewards, rel=1e-12)
    if path.suffix == ".csv":
        with open(path, newline="") as file:
            assert sum(1 for _ in csv.DictReader(file)) == 2 * held.steps


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_what_polars_writes_is_read(tmp_path, kind):
    held = episodes()
    write_table(held, tmp_path / "e.parquet")
    frame = pl.read_parquet(tmp_path / "e.parquet").sample(fraction=1.0, shuffle=True, seed=3)
    if kind == "csv":
        frame.write_csv(tmp_path / "p.csv")
    else:
        frame = frame.with_columns(pl.col("agent").cast(pl.Categorical), pl.col("action").cast(pl.Categorical))
        frame.write_parquet(tmp_path / "p.parquet")
    again = read_table(tmp_path / f"p.{kind}", 0.9, AGENTS)
    assert sorted(again.returns()) == sorted(held.returns())  # whatever the order of rows
    assert again.steps == held.steps


def test_nan_is_an_unknown_probability_and_no_reward(path):
    write_table(episodes(), path)
    read = pl.read_csv if path.suffix == ".csv" else pl.read_parquet
    write = pl.DataFrame.write_csv if path.suffix == ".csv" else pl.DataFrame.write_parquet
    table = read(path)
    write(table.with_columns(pl.col("action_prob").fill_null(float("nan"))), path)
    assert same(read_table(path, 0.9, AGENTS), episodes())
    write(table.with_columns(reward=pl.lit(float("nan"))), path)
    with pytest.raises(FormatError, match=r"row [02], column reward: expected a finite number, got"):
        read_table(path, 0.9)


def test_an_episode_that_ended_and_was_cut_off_ended(path):
    held = replace(episodes(), terminated=np.ones(20, bool))
    write_table(held, path)
    read = pl.read_csv if path.suffix == ".csv" else pl.read_parquet
    write = pl.DataFrame.write_csv if path.suffix == ".csv" else pl.DataFrame.write_parquet
    write(read(path).with_columns(truncated=pl.col("terminated")), path)
    assert read_table(path, 0.9, AGENTS).terminated.all()


def test_parquet_of_the_wrong_types_is_refused(tmp_path):
    write_table(episodes(), tmp_path / "e.parquet")
    table = pq.read_table(tmp_path / "e.parquet")
    for name, kind in (("action", pa.bool_()), ("reward", pa.bool_()), ("t", pa.bool_())):
        at = table.schema.get_field_index(name)
        other = table.set_column(at, name, pa.array(np.zeros(len(table)), pa.float64()).cast(kind))
        pq.write_table(other, tmp_path / "bad.parquet")
        with pytest.raises(FormatError, match=f"column {name}: expected .*, got (bool|double)"):
            read_table(tmp_path / "bad.parquet", 0.9)


def test_whole_numbers_kept_as_floats_are_accepted(tmp_path):
    """What data frames make of whole numbers beside empty cells."""
    frame = pl.DataFrame(
        {
            "episode": [0, 0],
            "t": [0.0, 1.0],
            "agent": ["a", "a"],
            "observation": [None, 1.0],
            "action": [1.0, 0.0],
            "reward": [1, 2],
        }
    )
    frame.write_parquet(tmp_path / "f.parquet")
    read = read_table(tmp_path / "f.parquet", 0.9)
    assert read.observations.tolist() == [[-1], [1]]
    assert read.actions.tolist() == [[1], [0]]
    frame.with_columns(action=pl.lit(0.5)).write_parquet(tmp_path / "f.parquet")
    with pytest.raises(
        FormatError, match=r"row 0, column action: expected a label, or a whole number such as 12 .*, got 0\.5"
    ):
        read_table(tmp_path / "f.parquet", 0.9)


def test_kinds_are_found_out(tmp_path):
    held = episodes()
    write_table(held, tmp_path / "l.csv")
    write_table(held, tmp_path / "l.parquet")
    write_episodes(held, tmp_path / "e.parquet")
    kinds = {name: kind_of(tmp_path / name) for name in ("l.csv", "l.parquet", "e.parquet", ".")}
    assert kinds == {"l.csv": "long", "l.parquet": "long", "e.parquet": "episodes", ".": "minari"}
    assert read_logged(tmp_path / "e.parquet") == held
    assert same(read_logged(tmp_path / "l.parquet", discount=0.9, agents=AGENTS), held)
    with pytest.raises(InputError, match="contains no discount"):
        read_logged(tmp_path / "l.csv")
    assert read_logged(tmp_path / "e.parquet", discount=0.5).discount == 0.5
