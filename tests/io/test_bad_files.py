"""Bad files, one line each: the place, what was expected and what is there (docs/reliability.md, threat model)."""

import gzip
import io
import struct

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import decpomdp as dp
from decpomdp.core import InputError
from decpomdp.io import files
from decpomdp.io.runs import read_trace

HEADER = b"episode,t,agent,observation,action,reward\n"
ROWS = HEADER + b"0,0,ann,,go,1\n0,1,ann,dark,go,1\n"


def recorded(**options):
    """The bytes of an episodes file."""
    path = "recorded.parquet"
    dp.simulate("dectiger", episodes=50, horizon=4, seed=1).save(path)
    table = pq.read_table(path)
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="none", use_dictionary=False, write_page_checksum=True, **options)
    return sink.getvalue()


def flipped(data, at):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def huge_footer(data):
    """A Parquet file whose footer announces more bytes than the file has."""
    return data[:-8] + struct.pack("<I", 1 << 30) + data[-4:]


def long_table(**columns):
    usual = {"episode": [0], "t": [0], "agent": ["a"], "observation": ["x"], "action": ["go"], "reward": [1.0]}
    sink = io.BytesIO()
    pq.write_table(pa.table(usual | columns), sink)
    return sink.getvalue()


PARQUET = "cannot be read as Parquet"
EPISODES = [
    ("an empty file", lambda: b"", "expected a Parquet file, got another kind of file"),
    ("wrong magic", lambda: b"GIF89a" * 99, "expected a Parquet file, got another kind of file"),
    ("CSV", lambda: ROWS, "the name of a CSV file ends in .csv"),
    ("half of it", lambda: recorded()[: len(recorded()) // 2], PARQUET),
    ("no footer", lambda: recorded()[:-100], PARQUET),
    ("a huge footer", lambda: huge_footer(recorded()), PARQUET),
    ("a flipped bit in a page", lambda: flipped(recorded(), 3000), "CRC checksum verification failed"),
    ("no metadata", lambda: long_table(agent=["a"]), "contains no discount; pass --discount or discount="),
]
TABLES = [
    ("log.csv", lambda: b"", ":1: expected the names of columns in the first line, got none"),
    ("log.csv", lambda: HEADER, "expected at least one row, got none"),
    ("log.csv", lambda: ROWS.decode().encode("utf-16"), ":1: expected UTF-8 text: "),
    ("log.csv", lambda: ROWS.replace(b",", b";"), "(expected commas between columns)"),
    ("log.csv", lambda: ROWS.replace(b"dark", b'"dark'), "row 3: expected"),
    ("log.csv", lambda: ROWS.replace(b"dark", b"caf\xe9"), "Row #3: CSV conversion error to string: invalid UTF8 data"),
    ("log.csv", lambda: gzip.compress(ROWS), ":1: expected UTF-8 text: "),
    ("log.csv.gz", lambda: ROWS, "cannot be read as a table"),
    ("log.csv.gz", lambda: gzip.compress(ROWS)[:40], "cannot be read as a table"),
    ("log.parquet", lambda: ROWS, "expected a Parquet file, got another kind of file"),
    (
        "log.parquet",
        lambda: long_table(t=pa.array([0], pa.timestamp("s"))),
        "column t: expected numbers, got timestamp",
    ),
    ("log.parquet", lambda: long_table(action=[["go"]]), "column action: expected labels or whole numbers"),
]


@pytest.fixture(autouse=True)
def in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def said(read, path):
    with pytest.raises(InputError) as error:
        read(path)
    assert str(error.value).startswith(str(path))
    assert len(str(error.value).splitlines()) == 1
    return str(error.value)


def read_table(path):
    return dp.Episodes.load(path, 0.9)


def test_episodes(tmp_path):
    for content, expected in [case[1:] for case in EPISODES]:
        path = tmp_path / "e.parquet"
        path.write_bytes(content())
        assert expected in said(dp.Episodes.load, path)


def test_tables(tmp_path):
    for name, content, expected in TABLES:
        (tmp_path / name).write_bytes(content())
        assert expected in said(read_table, tmp_path / name)


READERS = {
    "team.json": dp.Team.load,
    "m.dpomdp": dp.load,
    "e.parquet": dp.Episodes.load,
    "long.csv": read_table,
    "long.parquet": read_table,
    "trace.parquet": read_trace,
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("there", ["a folder", "nothing", "an empty file", "a loop"])
def test_no_file_of_ours(tmp_path, name, there):
    path = tmp_path / name
    if there == "a folder":
        path.mkdir()
    elif there == "an empty file":
        path.touch()
    elif there == "a loop":
        path.symlink_to(path)
    said(READERS[name], path)


def test_announced_sizes_are_bounded_by_memory(tmp_path, monkeypatch):
    path = tmp_path / "e.parquet"
    dp.simulate("dectiger", episodes=500, horizon=4).save(path)
    monkeypatch.setattr(files, "memory", lambda: 1 << 18)
    expected = "needs 352000 bytes, more than half of the memory (131072 bytes)"
    assert expected in said(dp.Episodes.load, path)
    assert "more than half of the memory" in said(read_trace, path)


def test_unpacked_text_is_bounded(tmp_path, monkeypatch):
    (tmp_path / "log.csv.gz").write_bytes(gzip.compress(ROWS + b"0,2,ann,dark,go,1\n" * 100_000))
    monkeypatch.setattr(files, "memory", lambda: 1 << 18)
    assert "more than half of the memory" in said(read_table, tmp_path / "log.csv.gz")
