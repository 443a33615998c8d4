"""Small Parquet files that stand for gigabytes are read or refused within little memory."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import decpomdp as dp
from decpomdp.io import opening

from .limited import EPISODES, limited

ROWS = 1500


def written(path, use_dictionary=True, column_encoding=None, **other):
    columns = {"episode": [0] * ROWS, "t": range(ROWS), "agent": ["a"] * ROWS, "observation": ["x"] * ROWS}
    table = pa.table(columns | {"action": ["y"] * ROWS, "reward": [0.0] * ROWS} | other)
    options = {"compression": "zstd", "store_schema": False, "dictionary_pagesize_limit": 1 << 26}
    options |= {"use_dictionary": use_dictionary, "column_encoding": column_encoding}
    pq.write_table(table, path, write_statistics=False, **options)
    assert path.stat().st_size < 100_000


@pytest.mark.parametrize(
    ("letter", "expected"),
    [
        (b"\0", "column action: expected labels"),
        ("z", "row 0, column action: expected a label of at most 16384 letters"),
    ],
)
def test_one_long_value_in_every_row(tmp_path, letter, expected):
    value = letter * 1_000_000
    same = pa.DictionaryArray.from_arrays(np.zeros(ROWS, np.int8), pa.array([value]))
    written(tmp_path / "log.parquet", action=same)
    assert limited(tmp_path / "log.parquet", 300).startswith(expected)


def test_a_page_that_unpacks_to_more_than_any_page(tmp_path):
    path = tmp_path / "log.parquet"
    written(path, action=["z" * 100_000_000, *["y"] * (ROWS - 1)])
    assert re.fullmatch(
        r"column action: expected pages that unpack to at most 67108864 bytes, or 100 times their own, "
        r"got one of 1000\d+",
        limited(path, 300),
    )


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
def test_texts_that_repeat_the_one_before_in_no_bytes(tmp_path, encoding):
    path = tmp_path / "log.parquet"
    written(path, use_dictionary=False, action=["z" * 50_000] * ROWS, column_encoding={"action": encoding})
    said = (
        "column action: expected texts in plain or dictionary encoding, got delta encoding (pyarrow can write it anew)"
    )
    assert limited(path, megabytes=100) == said


def test_many_labels_that_differ_in_one_letter_do_not_fit(tmp_path, monkeypatch):
    path = tmp_path / "log.parquet"
    monkeypatch.setattr(opening, "memory", lambda: 40 << 20)
    written(path, use_dictionary=False, action=[f"{'z' * 50_000}{k}" for k in range(ROWS)])
    with pytest.raises(dp.FormatError, match="expected what fits into memory"):
        dp.read_table(path, 0.9)


def test_a_small_file_does_not_stand_for_very_many_rows(tmp_path):
    path, rows = tmp_path / "log.parquet", 24_000_000
    same = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int8)), pa.array(["x"]))
    columns = {"episode": same, "t": np.zeros(rows, np.int8), "agent": same, "observation": same, "action": same}
    options = {"compression": "zstd", "store_schema": False, "write_statistics": False, "row_group_size": rows}
    pq.write_table(pa.table(columns | {"reward": np.zeros(rows, np.int8)}), path, data_page_size=1 << 26, **options)
    assert limited(path, 100).startswith("expected what ")


def test_looking_for_damage_takes_little_memory_too(tmp_path):
    """One column is damaged, and another one, of the wrong type, stands for a gigabyte."""
    path = tmp_path / "e.parquet"
    dp.write_episodes(dp.simulate("broadcast", episodes=3, horizon=4, seed=1), path)
    table = pq.read_table(path)
    flat = pa.DictionaryArray.from_arrays(np.zeros(12 << 20, np.int8), pa.array(["z" * 100]))
    lists = pa.ListArray.from_arrays(np.arange(13, dtype=np.int32) << 20, flat)
    wide = table.set_column(table.schema.get_field_index("action"), "action", lists)
    pq.write_table(wide, path, compression={"action": "zstd", "reward": "none"}, use_dictionary=["action.list.element"])
    data = bytearray(path.read_bytes())
    column = pq.ParquetFile(path).metadata.row_group(0).column(table.schema.get_field_index("reward"))
    data[column.data_page_offset : column.data_page_offset + 8] = b"\xff" * 8
    path.write_bytes(bytes(data))
    assert (
        limited(path, 600, read=EPISODES) == "rows 0 to 11, column reward: expected readable values, got a damaged page"
    )
