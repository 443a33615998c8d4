"""Files of wrong episodes: rows, columns and metadata are refused with their place."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from decpomdp.io.logged import validate_logged

from .made_episodes import episodes, refusal, with_column, written

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
        (b"{", "metadata: not JSON: Input data was truncated"),
        (b"\xff", "metadata: not JSON: invalid character (byte 0)"),
        (
            {"format": "decpomdp-episodes/2"},
            'metadata: format: expected "decpomdp-episodes/1", got "decpomdp-episodes/2"',
        ),
        ({"discount": 2}, "metadata: discount: expected a number from 0 to 1, got 2.0"),
        ({"discount": "1"}, "metadata: discount: expected float, got str"),
        ({"agents": []}, "metadata: agents: expected at least one label, got none"),
        ({"agents": [{"name": "a"}]}, "metadata: agents[0]: object missing required field actions"),
        ({"facts": {"a": 1}}, "metadata: facts[...]: expected str, got int"),
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


def test_symbols_beyond_sixteen_bits_are_refused(path):
    labels = [str(number) for number in range(70_000)]
    about = {
        "format": "decpomdp-episodes/1", "agents": [{"name": "a", "actions": labels, "observations": labels}],
        "discount": 1, "name": "", "facts": {}, "software": "",
    }  # fmt: skip
    columns = {"episode_id": [0], "t": [0], "observation": [[65_537]], "action": [[65_538]], "action_prob": [[1.0]]}
    columns |= {"reward": [0.0], "terminated": [True], "truncated": [False]}
    pq.write_table(pa.table(columns).replace_schema_metadata({"decpomdp": json.dumps(about)}), path)
    episodes, errors = validate_logged(path)
    assert episodes is None
    assert [str(error).rpartition("column ")[2] for error in errors] == [
        "observation, agent a: expected a number from 0 to 32767 (null only at t = 0), got 65537",
        "action, agent a: expected a number from 0 to 32767, got 65538",
    ]
