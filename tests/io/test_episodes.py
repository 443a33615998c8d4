"""Episodes on disk: what is written comes back equal, and what is wrong is refused with its row and column."""

import errno
import json
import os
import resource
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from decpomdp.core import NO_OBSERVATION, Agent, Episodes, FormatError, InputError, concatenate
from decpomdp.io import episodes as episodes_io
from decpomdp.io.episodes import EpisodeWriter, read_episodes, write_episodes

AGENTS = (Agent("left", ["stay", "go"], ["p", "q", "r"]), Agent("right", ["x", "y", "z"], ["p", "é"]))


def episodes(agents=AGENTS, count=20, seed=0, lengths=None):
    """Random episodes with everything that may happen: first observations for all, some or none, unknown behaviour."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 7, count) if lengths is None else lengths
    count, offsets = len(lengths), np.concatenate([[0], np.cumsum(lengths)])
    shape = (int(offsets[-1]), len(agents))
    observations = np.stack([rng.integers(0, len(agent.observations), shape[0]) for agent in agents], axis=-1)
    observations[offsets[:-1]] = np.where(rng.random((count, len(agents))) < 0.5, NO_OBSERVATION, 1)
    behaviour = rng.uniform(1e-6, 1, shape).astype(np.float32)
    behaviour[rng.random(shape) < 0.2] = np.nan
    return Episodes(
        agents=agents,
        offsets=offsets,
        observations=observations,
        actions=np.stack([rng.integers(0, len(agent.actions), shape[0]) for agent in agents], axis=-1),
        behaviour=behaviour,
        rewards=rng.normal(size=shape[0]) * 10.0 ** rng.integers(-300, 300, shape[0]),
        discount=0.1 + 0.2,
        terminated=rng.random(count) < 0.5,
        name="näme",
        facts={"seed": str(seed), "note": 'a "quoted" \n 日本'},
    )


def written(path, held=None):
    """The Arrow table of a good file."""
    write_episodes(episodes() if held is None else held, path)
    return pq.read_table(path)


def refusal(path):
    with pytest.raises(FormatError) as caught:
        read_episodes(path)
    assert caught.value.path == str(path)
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(f"{path}: ")


def with_column(table, name, values, kind=None):
    column = values if isinstance(values, pa.Array) else pa.array(values, kind)
    return table.set_column(table.schema.get_field_index(name), name, column)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "episodes.parquet"


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


@pytest.mark.parametrize("terminated", [True, False])
def test_the_smallest_episodes_come_back_equal(path, terminated):
    agent = Agent("a", ["x"], ["y"])
    held = Episodes((agent,), [0, 1], [[NO_OBSERVATION]], [[0]], [[np.nan]], [0], 1, [terminated])
    write_episodes(held, path)
    assert read_episodes(path) == held


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


def test_the_file_does_not_depend_on_the_parts(path, monkeypatch):
    monkeypatch.setattr(episodes_io, "GROUP", 64)
    monkeypatch.setattr(episodes_io, "PARTS", 5)
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


@pytest.mark.parametrize("lengths", [(64,), (10, 10), (1,), (200, 1)])
def test_a_writer_holds_less_than_a_group_in_few_parts(path, monkeypatch, lengths):
    monkeypatch.setattr(episodes_io, "GROUP", 64)
    monkeypatch.setattr(episodes_io, "PARTS", 5)
    with EpisodeWriter(path, AGENTS, episodes().discount) as writer:
        for seed in range(100):
            writer.add(episodes(lengths=lengths, seed=seed))
            assert sum(len(table) for table in writer._waiting) == writer._rows < 64
            assert len(writer._waiting) < 5
    assert read_episodes(path).lengths.tolist() == list(lengths) * 100


def test_the_name_and_facts_are_those_of_the_writer(path):
    with EpisodeWriter(path, AGENTS, episodes().discount, "mine", {"a": "b"}) as writer:
        writer.add(episodes())
    assert read_episodes(path) == replace(episodes(), name="mine", facts={"a": "b"})


@pytest.mark.parametrize(
    "error", [RuntimeError("mine"), OSError("mine"), InputError("mine"), KeyboardInterrupt("mine")]
)
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
    monkeypatch.setattr(episodes_io, "GROUP", group)
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


def test_a_bad_path_is_refused_before_anything_is_played(tmp_path):
    with pytest.raises(InputError, match=r"^cannot write .*: the folder .* does not exist$"):
        EpisodeWriter(tmp_path / "none" / "e.parquet", AGENTS, 1).__enter__()
    with pytest.raises(InputError, match=r"^cannot write .*: it is a folder$"):
        EpisodeWriter(tmp_path, AGENTS, 1).__enter__()
    assert os.listdir(tmp_path) == []


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


def test_a_writer_works_in_its_block_only(path):
    writer = EpisodeWriter(path, AGENTS, episodes().discount)
    with pytest.raises(InputError, match=r"^episodes: expected an EpisodeWriter inside its with block, got one outsi"):
        writer.add(episodes())
    with writer:
        writer.add(episodes())
    with pytest.raises(InputError, match=r"^episodes: expected an EpisodeWriter inside its with block, got one outsi"):
        writer.add(episodes())
    assert read_episodes(path).count == episodes().count


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"agents": []}, "agents: expected at least one label, got none"),
        ({"discount": 2}, "discount: expected a number from 0 to 1, got 2.0"),
        ({"name": 3}, "name: expected a text, got 3"),
        ({"facts": {"a": 3}}, "facts['a']: expected a text, got 3"),
    ],
)
def test_a_bad_writer_cannot_be_made(path, changes, expected):
    with pytest.raises(InputError) as caught:
        EpisodeWriter(path, **({"agents": AGENTS, "discount": 1} | changes))
    assert str(caught.value) == expected


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


LEFT, RIGHT = "agent left", "agent right"


# In episodes of 1, 5, 4 and 2 steps: rows 1 to 5 are episode 1.
@pytest.mark.parametrize(
    ("column", "row", "value", "expected"),
    [
        ("episode_id", 4, None, "row 4, column episode_id: expected a number, got null"),
        ("episode_id", 4, 0, "row 4, column episode_id: expected an id not used before (the rows of an episode"),
        ("episode_id", 5, 9, "row 5, column t: expected 0, 1, 2, ... within an episode, got 4"),
        ("t", 4, None, "row 4, column t: expected a number, got null"),
        ("t", 4, 7, "row 4, column t: expected 0, 1, 2, ... within an episode, got 7"),
        ("t", 0, 1, "row 0, column t: expected 0, 1, 2, ... within an episode, got 1"),
        (
            "observation",
            4,
            [0, 2],
            f"row 4 (episode 1, step 3), column observation, {RIGHT}: expected a number from 0 to 1 (null only",
        ),
        (
            "observation",
            1,
            [-2, 0],
            f"row 1 (episode 1, step 0), column observation, {LEFT}: expected a number from 0 to 2 (null only",
        ),
        (
            "observation",
            4,
            [0, -1],
            f"row 4 (episode 1, step 3), column observation, {RIGHT}: expected a number from 0 to 1 (null only",
        ),
        (
            "observation",
            4,
            None,
            f"row 4 (episode 1, step 3), column observation, {LEFT}: expected a number from 0 to 2 (null only at t =",
        ),
        (
            "observation",
            4,
            [0],
            "row 4 (episode 1, step 3), column observation: expected 2 numbers (one per agent), got 1",
        ),
        (
            "observation",
            4,
            [],
            "row 4 (episode 1, step 3), column observation: expected 2 numbers (one per agent), got 0",
        ),
        (
            "action",
            4,
            [0, 3],
            f"row 4 (episode 1, step 3), column action, {RIGHT}: expected a number from 0 to 2, got 3",
        ),
        (
            "action",
            4,
            [65536, 0],
            f"row 4 (episode 1, step 3), column action, {LEFT}: expected a number from 0 to 1, got 65536",
        ),
        (
            "action",
            1,
            [-1, 0],
            f"row 1 (episode 1, step 0), column action, {LEFT}: expected a number from 0 to 1, got -1",
        ),
        (
            "action",
            4,
            [0, None],
            f"row 4 (episode 1, step 3), column action, {RIGHT}: expected a number from 0 to 2, got null",
        ),
        (
            "action",
            4,
            None,
            f"row 4 (episode 1, step 3), column action, {LEFT}: expected a number from 0 to 1, got null",
        ),
        ("action", 4, [0, 0, 0], "row 4 (episode 1, step 3), column action: expected 2 numbers (one per agent), got 3"),
        (
            "action_prob",
            4,
            [1, 0],
            f"row 4 (episode 1, step 3), column action_prob, {RIGHT}: expected a probability above 0 and up to 1",
        ),
        (
            "action_prob",
            4,
            [1.01, 1],
            f"row 4 (episode 1, step 3), column action_prob, {LEFT}: expected a probability above 0 and up to 1",
        ),
        (
            "action_prob",
            4,
            [1e300, 1],
            f"row 4 (episode 1, step 3), column action_prob, {LEFT}: expected a probability above 0 and up to",
        ),
        (
            "action_prob",
            4,
            [1],
            "row 4 (episode 1, step 3), column action_prob: expected 2 numbers (one per agent), got 1",
        ),
        ("reward", 4, None, "row 4 (episode 1, step 3), column reward: expected a number, got null"),
        ("reward", 4, float("nan"), "row 4 (episode 1, step 3), column reward: expected a finite number, got nan"),
        ("reward", 4, float("inf"), "row 4 (episode 1, step 3), column reward: expected a finite number, got inf"),
        (
            "terminated",
            4,
            True,
            "row 4 (episode 1, step 3), column terminated: expected false before the last row of an episode, got True",
        ),
        (
            "truncated",
            4,
            True,
            "row 4 (episode 1, step 3), column truncated: expected false before the last row of an episode, got True",
        ),
        ("terminated", 4, None, "row 4 (episode 1, step 3), column terminated: expected true or false, got null"),
        (
            "ended",
            5,
            False,
            "row 5 (episode 1, step 4), column terminated: expected this or truncated to be true on the last row of",
        ),
    ],
)
def test_a_bad_row_is_refused_with_its_place(path, column, row, value, expected):
    table = written(path, episodes(lengths=(1, 5, 4, 2)))
    kinds = {"observation": pa.list_(pa.int64()), "action": pa.list_(pa.int64()), "action_prob": pa.list_(pa.float64())}
    for name in ("terminated", "truncated") if column == "ended" else (column,):
        values = table[name].to_pylist()
        values[row] = value
        table = with_column(table, name, values, kinds.get(name, table.schema.field(name).type))
    pq.write_table(table, path)
    assert refusal(path).startswith(expected)


@pytest.mark.parametrize(
    ("column", "kind", "expected"),
    [
        ("episode_id", pa.float64(), "column episode_id: expected whole numbers, got double"),
        ("t", pa.string(), "column t: expected whole numbers, got string"),
        ("observation", pa.int16(), "column observation: expected lists of whole numbers, got int16"),
        ("action", pa.list_(pa.float32()), "column action: expected lists of whole numbers, got list<"),
        ("action_prob", pa.list_(pa.string()), "column action_prob: expected lists of numbers, got list<"),
        ("reward", pa.string(), "column reward: expected numbers, got string"),
        ("terminated", pa.int8(), "column terminated: expected truth values, got int8"),
    ],
)
def test_columns_of_the_wrong_type_are_refused(path, column, kind, expected):
    table = written(path)
    pq.write_table(with_column(table, column, [None] * len(table), kind), path)
    assert refusal(path).startswith(expected)


def test_the_episode_of_a_bad_row_is_called_by_its_id(path):
    table = written(path, episodes(lengths=(1, 5, 4, 2)))
    ids = [100 + 7 * number for number in table["episode_id"].to_pylist()]
    actions = [[9, 0] if row == 8 else pair for row, pair in enumerate(table["action"].to_pylist())]
    table = with_column(table, "episode_id", ids, pa.int32())
    pq.write_table(with_column(table, "action", actions, pa.list_(pa.int64())), path)
    assert refusal(path).startswith("row 8 (episode 114, step 2), column action, agent left: expected")


def test_numbers_beyond_all_bounds_are_refused(path):
    table = written(path)
    pq.write_table(with_column(table, "action", [[2**64 - 1, 0]] * len(table), pa.list_(pa.uint64())), path)
    assert refusal(path).startswith("column action: Integer value 18446744073709551615 not in range")


@pytest.mark.parametrize("column", ["episode_id", "t", "observation", "action", "action_prob", "reward", "terminated"])
def test_missing_and_repeated_columns_are_refused(path, column):
    table = written(path)
    pq.write_table(table.drop_columns([column]), path)
    assert refusal(path).startswith(f"column {column}: expected one, got only '")
    pq.write_table(table.append_column(column, table[column]), path)
    assert refusal(path) == f"column {column}: expected one, got 2 of that name"


def test_a_file_without_rows_is_refused(path):
    pq.write_table(written(path).slice(0, 0), path)
    assert refusal(path) == "expected at least one row, got none"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (None, 'metadata: expected agents, labels and discount under "decpomdp", got nothing'),
        (b"{", "metadata: not JSON: Expecting property name"),
        (b"\xff", "metadata: expected UTF-8 text, got another byte at position 0"),
        (
            {"format": "decpomdp-episodes/2"},
            'metadata: format: expected "decpomdp-episodes/1", got "decpomdp-episodes/2"',
        ),
        ({"discount": 2}, "metadata: discount: expected a number from 0 to 1, got 2.0"),
        ({"discount": "1"}, "metadata: discount: expected float, got str"),
        ({"agents": []}, "metadata: agents: expected at least one label, got none"),
        ({"agents": [{"name": "a"}]}, "metadata: agents[0]: object missing required field actions"),
        ({"facts": {"a": 1}}, "metadata: facts[...]: expected str, got float"),
        ({"colour": "red"}, "metadata: object contains unknown field colour"),
        (
            {"agents": [{"name": "a", "actions": ["x"], "observations": ["y"]}]},
            "row 0 (episode 0, step 0), column observation: expected 1",
        ),
    ],
)
def test_bad_metadata_is_refused(path, change, expected):
    table = written(path)
    about = change if not isinstance(change, dict) else json.loads(table.schema.metadata[b"decpomdp"]) | change
    data = json.dumps(about).encode() if isinstance(about, dict) else about
    pq.write_table(table.replace_schema_metadata(None if data is None else {"decpomdp": data}), path)
    assert refusal(path).startswith(expected)


def test_files_that_cannot_be_read(tmp_path):
    assert refusal(tmp_path / "none").endswith("No such file or directory")
    for content in (b"", b"PAR1", b'{"format": "decpomdp-team/1"}' * 10):
        (tmp_path / "other").write_bytes(content)
        assert refusal(tmp_path / "other").startswith("cannot be read as Parquet: ")


def test_truncated_files_are_refused(path):
    write_episodes(episodes(), path)
    data = path.read_bytes()
    for length in np.linspace(0, len(data) - 1, 60).astype(int):
        path.write_bytes(data[:length])
        assert refusal(path).startswith("cannot be read as Parquet: ")


def test_a_damaged_file_is_never_read_as_another(path):
    """Rows and metadata: labels, discount, name and facts are in a footer that has no checksum of its own."""
    write_episodes(episodes(), path)
    data = path.read_bytes()
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(400):
        damaged = bytearray(data)
        damaged[rng.integers(len(data))] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        try:
            assert read_episodes(path) == episodes()
        except FormatError:
            refused += 1
    assert refused > 200


@pytest.mark.parametrize("change", [(b'"stay"', b'"stax"'), (b"0.30000000000000004", b"0.30000000000000001")])
def test_changed_metadata_are_refused(path, change):
    write_episodes(episodes(), path)
    with pq.ParquetFile(path) as file:
        table, digest = file.read(), file.metadata.metadata[b"decpomdp-digest"]
    about = table.schema.metadata[b"decpomdp"]
    assert change[0] in about
    kept = {"decpomdp": about.replace(*change), "decpomdp-digest": digest}
    pq.write_table(table.replace_schema_metadata(kept), path)
    assert refusal(path).startswith("expected the rows and metadata that were written, got others")
    pq.write_table(table.replace_schema_metadata({"decpomdp": about.replace(*change)}), path)
    assert read_episodes(path).discount == 0.3 or read_episodes(path).agents[0].actions == ("stax", "go")


def test_changed_rows_are_refused(path):
    write_episodes(episodes(), path)
    with pq.ParquetFile(path) as file:
        table = file.read()
    rewards = table["reward"].to_pylist()
    pq.write_table(with_column(table, "reward", [*rewards[:-1], -rewards[-1]]), path)
    assert "changed or damaged" in refusal(path)


def test_files_of_earlier_versions_have_no_digest(path):
    held = episodes()
    table = written(path, held)
    assert b"decpomdp-digest" not in table.schema.metadata
    pq.write_table(table, path)
    assert read_episodes(path) == held


def test_the_digest_depends_on_the_rows_alone(path):
    from decpomdp.io.episode_digest import Digest, digest_of

    held = episodes()
    parts = Digest()
    for seed in (1, 2):
        parts.add(episodes(seed=seed))
    joined = concatenate([episodes(seed=1), episodes(seed=2)])
    assert parts.text(b"about") == digest_of(joined, b"about")
    assert digest_of(held, b"about") != digest_of(held, b"other")


def test_another_kind_of_data_says_how_to_convert_it(tmp_path):
    from decpomdp.io.tables import write_table

    for name in ("my log.csv", "long.parquet"):
        write_table(episodes(), tmp_path / name)
        said = refusal(tmp_path / name)
        assert said.startswith("expected an episodes file, got a long table; convert it first: decpomdp data convert ")
        assert ("'" in said) == (" " in name)
    (tmp_path / "folder").mkdir()
    assert "got a folder; if it is a Minari dataset, convert it first" in refusal(tmp_path / "folder")


def test_importing_does_not_load_pyarrow():
    code = "import sys, decpomdp.io.episodes; sys.exit('pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
