"""Bad episodes files: errors about rows, columns and metadata give the place."""

import json

import pyarrow as pa
import pyarrow.parquet as pq

from .made_episodes import episodes, refusal, with_column, written

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
