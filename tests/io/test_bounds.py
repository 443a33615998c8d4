"""Files that stand for more than anybody has: refused by what they announce, before it is laid out."""

import bz2
import gzip
import lzma
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import decpomdp as dp
from decpomdp.core import FormatError
from decpomdp.io import opening, trace_columns
from decpomdp.io.runs import read_trace, write_trace

ROWS = "episode,t,agent,observation,action,reward\n"


def test_lists_of_an_episodes_file_hold_one_number_per_agent(tmp_path):
    path = tmp_path / "e.parquet"
    dp.write_episodes(dp.simulate("broadcast", episodes=3, horizon=4, seed=1), path)
    table = pq.read_table(path)
    many = pa.array([[0] * 20_000] * len(table), pa.list_(pa.int64()))
    pq.write_table(table.set_column(table.schema.get_field_index("action"), "action", many), path)
    with pytest.raises(
        FormatError, match="column action: expected lists of at most 10000 numbers, got 240000 in 12 rows"
    ):
        dp.read_episodes(path)


@pytest.mark.parametrize(("rows", "values"), [(100, 10**9), (10**9, 500)])
def test_a_trace_has_a_bound(tmp_path, monkeypatch, rows, values):
    path = tmp_path / "trace.parquet"
    write_trace(tuple({"sweep": k, "bound": 0.5 * k, "sizes": (1.0, 2.0)} for k in range(150)), path)
    told = read_trace(path)
    assert told["bound"] == [0.5 * k for k in range(150)]
    assert [list(size) for size in told["sizes"]] == [[1.0, 2.0]] * 150
    monkeypatch.setattr(trace_columns, "MOST_ROWS", rows)
    monkeypatch.setattr(trace_columns, "MOST_VALUES", values)
    with pytest.raises(FormatError, match=f"expected at most {min(rows, values)} (rows|values), got (150|600)"):
        read_trace(path)


def test_a_trace_of_what_we_do_not_write_is_refused(tmp_path):
    path = tmp_path / "trace.parquet"
    pq.write_table(pa.table({"a": pa.array([b"x" * 100] * 10, pa.binary(100))}), path)
    with pytest.raises(FormatError, match=r"column a: expected numbers, texts or lists, got fixed_size_binary\[100\]"):
        read_trace(path)


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_lines_of_a_packed_file_count_whatever_ends_them(tmp_path, monkeypatch, end):
    rows = [f"{k},0,ann,,{np.random.default_rng(k).integers(9)},1" for k in range(3000)]
    text = end.join([ROWS.strip(), *rows]) + end
    path = tmp_path / "log.csv.gz"
    path.write_bytes(gzip.compress(text.encode()))
    assert dp.read_table(path, 0.9).rewards.shape[0] == 3000
    monkeypatch.setattr(opening, "memory", lambda: 200_000)
    with pytest.raises(FormatError, match="expected what fits into memory"):
        dp.read_table(path, 0.9)


def zipped(path, data):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("log.csv", data)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("bzip2", lambda path, data: path.write_bytes(bz2.compress(data))),
        ("xz", lambda path, data: path.write_bytes(lzma.compress(data))),
        ("zip", zipped),
    ],
)
def test_other_packing_is_named(tmp_path, name, write):
    path = tmp_path / "log.csv"
    write(path, (ROWS + "0,0,ann,,0,1\n").encode())
    with pytest.raises(FormatError, match=f"got a {name} file; unpack it first, or pack it with gzip or zstandard"):
        dp.read_table(path, 0.9)
