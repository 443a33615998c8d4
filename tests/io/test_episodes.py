"""Episodes on disk: they come back equal, in documented columns, at once or in parts; other tools' files; errors."""

import errno
import json
import os
import resource
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from decpomdp.core import NO_OBSERVATION, Agent, Episodes, InputError, concatenate
from decpomdp.io.episodes import EpisodeWriter, read_episodes, write_episodes

from .made_episodes import AGENTS, episodes, refusal, with_column, written


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", [0, 1])
def test_episodes_come_back_equal(path, size, seed):
    agents = tuple(Agent(f"agent{n}", ["a", "b"], ["p", "q", "r"][: 2 + n % 2]) for n in range(size))
    held = episodes(agents, seed=seed)
    write_episodes(held, path)
    again = read_episodes(path)
    assert again == held
    assert np.array_equal(again.rewards, held.rewards)
    assert np.isnan(again.behaviour).any()
    assert (again.name, again.facts, again.discount) == (held.name, held.facts, held.discount)
    assert os.listdir(path.parent) == [path.name]


def test_large_alphabets_come_back_equal(path):
    labels = [str(i) for i in range(2**15)]
    held = Episodes((Agent("a", labels, labels),), [0, 2], [[32767], [0]], [[32767], [0]], [[1], [1]], [0, 0], 1)
    write_episodes(held, path)
    assert read_episodes(path) == held


def test_the_columns_are_those_that_are_documented(path):
    table = written(path)
    kinds = {field.name: field.type for field in table.schema}
    assert list(kinds.items()) == [
        ("episode_id", pa.int32()),
        ("t", pa.int32()),
        ("observation", pa.list_(pa.field("element", pa.int16()), 2)),
        ("action", pa.list_(pa.field("element", pa.int16()), 2)),
        ("action_prob", pa.list_(pa.field("element", pa.float32()), 2)),
        ("reward", pa.float64()),
        ("terminated", pa.bool_()),
        ("truncated", pa.bool_()),
    ]
    with pq.ParquetFile(path) as file:
        assert file.metadata.row_group(0).column(0).compression == "ZSTD"
        about = json.loads(file.schema_arrow.metadata[b"decpomdp"])
    assert about["format"] == "decpomdp-episodes/1"
    assert about["agents"][1] == {"name": "right", "actions": ["x", "y", "z"], "observations": ["p", "é"]}
    assert about["software"].startswith("decpomdp")


def test_the_rows_say_what_the_episodes_say(path):
    held = episodes(count=4)
    rows = written(path, held).to_pylist()
    for row, found in enumerate(rows):
        k = int(np.searchsorted(held.offsets, row, side="right")) - 1
        last = row + 1 == held.offsets[k + 1]
        assert found == {
            "episode_id": k,
            "t": row - held.offsets[k],
            "observation": [None if seen == NO_OBSERVATION else seen for seen in held.observations[row].tolist()],
            "action": held.actions[row].tolist(),
            "action_prob": [None if np.isnan(value) else value for value in held.behaviour[row].tolist()],
            "reward": held.rewards[row],
            "terminated": bool(last and held.terminated[k]),
            "truncated": bool(last and not held.terminated[k]),
        }


@pytest.mark.parametrize("integer", [pa.int8(), pa.int32(), pa.int64(), pa.uint8(), pa.uint64()])
@pytest.mark.parametrize("lists", ["plain", "large", "fixed"])
def test_files_of_other_tools_are_read(path, integer, lists):
    held = replace(episodes(), rewards=np.arange(episodes().steps))
    table = written(path, held)
    make = {"plain": pa.list_, "large": pa.large_list, "fixed": lambda kind: pa.list_(kind, 2)}[lists]
    for name in ("observation", "action"):
        table = with_column(table, name, table[name].to_pylist(), make(integer))
    table = with_column(table, "action_prob", table["action_prob"].to_pylist(), make(pa.float64()))
    table = with_column(table, "reward", table["reward"].to_pylist(), pa.float32())
    table = with_column(table, "t", table["t"].to_pylist(), integer)
    ids = [7 * (k + 3) for k in table["episode_id"].to_pylist()]  # any ids will do
    table = with_column(table, "episode_id", ids, pa.int64()).append_column("more", pa.array(range(len(table))))
    pq.write_table(table, path, row_group_size=7, compression="snappy")
    assert read_episodes(path) == held


def test_null_for_a_whole_list_and_reserved_numbers_are_read(path):
    held = episodes()
    table = written(path, held)
    seen = [None if row == [None, None] else row for row in table["observation"].to_pylist()]
    assert None in seen
    known = [None if row == [None, None] else row for row in table["action_prob"].to_pylist()]
    assert None in known
    table = with_column(table, "observation", seen, pa.list_(pa.int16()))
    pq.write_table(with_column(table, "action_prob", known, pa.list_(pa.float32())), path)
    assert read_episodes(path) == held
    reserved = [[-1 if value is None else value for value in row or [None, None]] for row in seen]
    pq.write_table(with_column(table, "observation", reserved, pa.list_(pa.int16())), path)
    assert read_episodes(path) == held


def test_an_episode_that_both_ended_and_was_cut_off_ended(path):
    table = written(path)
    pq.write_table(
        with_column(table, "truncated", pa.compute.or_(table["terminated"], table["truncated"]).combine_chunks()), path
    )
    assert read_episodes(path) == episodes()


ENDED = "expected terminated or truncated to be true on the last row of"


# In episodes of 1, 5, 4 and 2 steps: rows 1 to 5 are episode 1.
def test_errors_give_the_place(path):
    for column, row, value, expected in [
        ("episode_id", 4, None, "row 4 (episode None, step 3), column episode_id: expected a value, got null"),
        ("episode_id", 4, 0, "row 4 (episode 0, step 3), column episode_id: expected an id not used before"),
        ("t", 4, 7, "row 4 (episode 1, step 7), column t: expected 0, 1, 2, ... in an episode, got 7"),
        ("observation", 4, [0, 2], "episode 1, step 3, agent right: expected an observation from 0 to 1, got 2"),
        ("observation", 4, None, "episode 1, step 3, agent left: expected an observation from 0 to 2, got -1"),
        ("observation", 4, [0], "column observation: expected a list of 2 numbers, one per agent, got [0]"),
        ("action", 4, [0, 3], "episode 1, step 3, agent right: expected an action from 0 to 2, got 3"),
        ("action", 4, [0, None], "episode 1, step 3, agent right: expected an action from 0 to 2, got -1"),
        ("action_prob", 4, [1, 0], "agent right: expected a behaviour probability above 0 and up to 1"),
        ("reward", 4, float("nan"), "rewards[r=4] is nan, expected a finite number"),
        ("terminated", 4, True, "column terminated: expected false before the last row of an episode, got True"),
        ("ended", 5, False, f"row 5 (episode 1, step 4), column terminated: {ENDED}"),
    ]:
        table = written(path, episodes(lengths=(1, 5, 4, 2)))
        kinds = {
            "observation": pa.list_(pa.int64()),
            "action": pa.list_(pa.int64()),
            "action_prob": pa.list_(pa.float64()),
        }
        for name in ("terminated", "truncated") if column == "ended" else (column,):
            values = table[name].to_pylist()
            values[row] = value
            table = with_column(table, name, values, kinds.get(name, table.schema.field(name).type))
        pq.write_table(table, path)
        assert expected in refusal(path)


def test_columns_of_the_wrong_type(path):
    for column, value, kind, expected in [
        ("t", "soon", pa.string(), "column t: expected int64, got string (Failed to parse string: 'soon'"),
        ("observation", 0, pa.int16(), "column observation: expected list<item: int16>, got int16"),
        ("action", [0.5, 0], pa.list_(pa.float32()), "column action: expected list<item: int16>, got list<"),
        ("action", [2**64 - 1, 0], pa.list_(pa.uint64()), "Integer value 18446744073709551615 not in range"),
        ("terminated", [True], pa.list_(pa.bool_()), "column terminated: expected bool, got list<"),
    ]:
        table = written(path)
        pq.write_table(with_column(table, column, [value] * len(table), kind), path)
        assert expected in refusal(path)


def test_missing_and_repeated_columns_are_refused(path):
    for column in ["episode_id", "action_prob"]:
        table = written(path)
        pq.write_table(table.drop_columns([column]), path)
        assert refusal(path).startswith(f"column {column}: expected one, got only '")
        pq.write_table(table.append_column(column, table[column]), path)
        assert refusal(path) == f"column {column}: expected one, got 2 of that name"


def test_bad_metadata_is_refused(path):
    for change, expected in [
        (None, 'metadata: expected agents, labels and discount under "decpomdp", got nothing'),
        (b"{", "metadata: not JSON: Input data was truncated"),
        (
            {"format": "decpomdp-episodes/2"},
            'metadata: format: expected "decpomdp-episodes/1", got "decpomdp-episodes/2"',
        ),
        ({"discount": 2}, "discount: expected a number from 0 to 1, got 2.0"),
        ({"agents": [{"name": "a"}]}, "metadata: agents[0]: object missing required field actions"),
        ({"colour": "red"}, "metadata: object contains unknown field colour"),
        (
            {"agents": [{"name": "a", "actions": ["x"], "observations": ["y"]}]},
            "row 0 (episode 0, step 0), column observation: expected a list of 1 numbers",
        ),
    ]:
        table = written(path)
        about = change if not isinstance(change, dict) else json.loads(table.schema.metadata[b"decpomdp"]) | change
        data = json.dumps(about).encode() if isinstance(about, dict) else about
        pq.write_table(table.replace_schema_metadata(None if data is None else {"decpomdp": data}), path)
        assert refusal(path).startswith(expected)


def test_the_file_does_not_depend_on_the_parts(path, monkeypatch):
    monkeypatch.setattr("decpomdp.io.episodes.GROUP", 64)
    monkeypatch.setattr("decpomdp.io.episodes.PARTS", 5)
    parts = [replace(episodes(count=count, seed=count), name="näme", facts={}) for count in (1, 1, 1, 1, 1, 70, 3, 30)]
    whole = concatenate(parts)
    write_episodes(whole, path)
    streamed = path.with_name("streamed.parquet")
    with EpisodeWriter(streamed, AGENTS, whole.discount, "näme") as writer:
        for part in parts:
            writer.add(part)
        assert writer.count == whole.count
    assert read_episodes(streamed) == whole
    assert streamed.read_bytes() == path.read_bytes()
    with pq.ParquetFile(streamed) as file:
        sizes = [file.metadata.row_group(g).num_rows for g in range(file.num_row_groups)]
    assert sizes == [64] * (whole.steps // 64) + [whole.steps % 64]


@pytest.mark.parametrize("error", [OSError("mine"), KeyboardInterrupt("mine")])
def test_a_failing_block_keeps_its_error_and_leaves_the_old_file(path, error):
    write_episodes(episodes(seed=1), path)
    with pytest.raises(type(error), match=r"^mine$"):
        fail_halfway(path, error)
    assert read_episodes(path) == episodes(seed=1)
    assert os.listdir(path.parent) == [path.name]


def fail_halfway(path, error):
    with EpisodeWriter(path, AGENTS, episodes().discount) as writer:
        writer.add(episodes())
        raise error


@pytest.mark.parametrize("group", [16, 10**6])  # the disk fills up while rows are added, or at the end
def test_a_full_disk_leaves_nothing(path, monkeypatch, group):
    monkeypatch.setattr("decpomdp.io.episodes.GROUP", group)
    held = episodes(count=3000)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with pytest.raises(InputError) as caught:
        write_within(2000, hard, held, path)
    assert str(caught.value) == f"cannot write {path}: {os.strerror(errno.EFBIG)}"
    assert os.listdir(path.parent) == []


def write_within(limit, hard, held, path):
    soft, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        write_episodes(held, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def add_to(path, discount, *parts, agents=AGENTS):
    with EpisodeWriter(path, agents, discount) as writer:
        for part in parts:
            writer.add(part)


@pytest.mark.parametrize("other", [{"discount": 0.5}, {"agents": AGENTS[::-1]}])
def test_other_episodes_are_not_added(path, other):
    options = {"discount": episodes().discount, "agents": AGENTS} | other
    with pytest.raises(InputError, match=r"^episodes: expected the agents and discount of the file, got different"):
        add_to(path, options["discount"], episodes(), agents=options["agents"])
    assert os.listdir(path.parent) == []


def test_a_file_without_episodes_is_not_written(path):
    with pytest.raises(InputError) as caught:
        add_to(path, 1)
    assert str(caught.value) == f"cannot write {path}: expected at least one episode, got none"
    assert os.listdir(path.parent) == []
