"""Tables that were cut or damaged: what can no longer be read is named by rows and column."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from decpomdp.core import FormatError
from decpomdp.io.episodes import read_episodes, write_episodes
from decpomdp.io.tables import read_table, write_table

from .made_tables import episodes


def test_cut_and_corrupt_files_are_refused(tmp_path):
    write_table(episodes(), tmp_path / "e.csv")
    whole = (tmp_path / "e.csv").read_bytes()
    lines = whole.splitlines(keepends=True)
    (tmp_path / "cut.csv").write_bytes(b"".join(lines[:-1]))  # a line short: an agent or an end is missing
    with pytest.raises(FormatError, match=r"row \d+, column"):
        read_table(tmp_path / "cut.csv", 0.9)
    (tmp_path / "cut.csv").write_bytes(whole[:-15])
    with pytest.raises(FormatError):
        read_table(tmp_path / "cut.csv", 0.9)
    (tmp_path / "bytes.csv").write_bytes(whole[:200] + b"\xff\xfe" + whole[200:])
    with pytest.raises(FormatError, match=r"cannot be read as a table|expected UTF-8"):
        read_table(tmp_path / "bytes.csv", 0.9)
    for content in (b"", lines[0]):
        (tmp_path / "empty.csv").write_bytes(content)
        with pytest.raises(FormatError):
            read_table(tmp_path / "empty.csv", 0.9)
    write_table(episodes(), tmp_path / "e.parquet")
    whole = (tmp_path / "e.parquet").read_bytes()
    for damaged in (whole[: len(whole) // 2], whole[:40] + bytes([whole[40] ^ 255]) + whole[41:]):
        (tmp_path / "bad.parquet").write_bytes(damaged)
        with pytest.raises(FormatError):
            read_table(tmp_path / "bad.parquet", 0.9)
    with pytest.raises(FormatError, match="No such file"):
        read_table(tmp_path / "none.csv", 0.9)


def spoilt(path, group, name):
    """A long or an episodes file with one bit of one column of one group of rows turned over; the rows of the group."""
    with pq.ParquetFile(path) as file:
        sizes = [file.metadata.row_group(g).num_rows for g in range(file.num_row_groups)]
        about = file.metadata.row_group(group)
        parts = [about.column(c) for c in range(about.num_columns)]
        part = next(part for part in parts if part.path_in_schema.split(".")[0] == name)
        last = (part.dictionary_page_offset or part.data_page_offset) + part.total_compressed_size
    data = bytearray(path.read_bytes())
    data[last - 1] ^= 4  # in the last page itself, behind its header
    path.write_bytes(data)
    return sum(sizes[:group]), sum(sizes[: group + 1]) - 1


@pytest.mark.parametrize("name", ["episode", "agent", "observation", "reward", "truncated"])
@pytest.mark.parametrize("group", [0, 2])
def test_a_damaged_page_of_a_long_table_is_named(tmp_path, name, group):
    path = tmp_path / "e.parquet"
    write_table(episodes(), path)
    pq.write_table(pq.read_table(path), path, row_group_size=37, write_page_checksum=True)
    first, last = spoilt(path, group, name)
    with pytest.raises(FormatError) as caught:
        read_table(path, 0.9)
    place = f"rows {first} to {last}, column {name}"
    assert str(caught.value) == f"{path}: {place}: expected readable values, got a damaged page"


@pytest.mark.parametrize("name", ["episode_id", "observation", "action_prob", "reward"])
@pytest.mark.parametrize("group", [0, 2])
def test_a_damaged_page_of_an_episodes_file_is_named(tmp_path, name, group):
    path = tmp_path / "e.parquet"
    write_episodes(episodes(), path)
    pq.write_table(pq.read_table(path), path, row_group_size=20, write_page_checksum=True)
    first, last = spoilt(path, group, name)
    with pytest.raises(FormatError) as caught:
        read_episodes(path)
    place = f"rows {first} to {last}, column {name}"
    assert str(caught.value) == f"{path}: {place}: expected readable values, got a damaged page"


@pytest.mark.parametrize("kept", [4, 100, 0.5, -1, -9])
def test_a_parquet_file_without_its_end_is_called_so(tmp_path, kept):
    path = tmp_path / "e.parquet"
    for write, read in ((write_episodes, read_episodes), (write_table, lambda path: read_table(path, 0.9))):
        write(episodes(), path)
        data = path.read_bytes()
        path.write_bytes(data[: kept if kept != 0.5 else len(data) // 2])
        with pytest.raises(FormatError) as caught:
            read(path)
        size = path.stat().st_size
        assert f"cut off or damaged at its end ({size} bytes are there), and no row can be read" in str(caught.value)


def test_bits_of_a_long_parquet_file_are_named_by_place(tmp_path):
    """Whatever bit turns over, nothing is said in the words of a library but for what metadata make of it."""
    path = tmp_path / "e.parquet"
    write_table(episodes(), path)
    data = path.read_bytes()
    rng = np.random.default_rng(1)
    said = []
    for place in rng.integers(len(data) // 2, size=60):  # pages; the footer is the last third
        damaged = bytearray(data)
        damaged[place] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        try:
            read_table(path, 0.9)
        except FormatError as error:
            said.append(str(error))
    assert len(said) > 20
    assert all(f"{path}: rows 0 to " in one and ", column " in one for one in said), said
