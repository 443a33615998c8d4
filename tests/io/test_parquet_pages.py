"""Headers of Parquet's pages are read as Arrow writes them, and believed before the footer is."""

import itertools
import struct

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import decpomdp as dp
from decpomdp.core import FormatError
from decpomdp.io.parquet_pages import pages_of
from decpomdp.io.thrift import INT, LONG, BrokenError, Reader, ShortError

from .made_parquet import varint

ROWS = 3000
WAYS = list(itertools.product(("none", "snappy", "zstd", "gzip"), ("1.0", "2.0"), (True, False), (100, 10_000)))


@pytest.fixture(scope="module")
def table():
    draw = np.random.default_rng(0)
    lists = [[1.0] * int(size) for size in draw.integers(0, 4, ROWS)]
    texts = [f"x{k % 77}" for k in range(ROWS)]
    return pa.table({"a": draw.integers(0, 5, ROWS), "b": texts, "c": lists, "d": [None, 1] * (ROWS // 2)})


@pytest.mark.parametrize(("packing", "version", "numbered", "group"), WAYS)
def test_pages_are_those_that_arrow_tells_of(tmp_path, table, packing, version, numbered, group):
    path = tmp_path / "t.parquet"
    options = {"compression": packing, "data_page_version": version, "use_dictionary": numbered}
    pq.write_table(table, path, row_group_size=group, data_page_size=500, write_page_checksum=True, **options)
    told = pq.ParquetFile(path).metadata
    found = pages_of(str(path), [3, 0, 1, 2])
    assert len(found) == told.num_row_groups
    for number, (rows, pages) in enumerate(found):
        assert rows == told.row_group(number).num_rows
        for leaf, part in zip([3, 0, 1, 2], pages, strict=True):
            column = told.row_group(number).column(leaf)
            assert (part.whole, part.values) == (True, column.num_values)
            assert 0 < column.total_uncompressed_size - part.unpacked < 20_000  # the headers themselves
            assert not part.delta


def test_a_struct_is_read_and_what_is_not_wanted_is_passed_over():
    inner = b"\x15" + varint(10) + b"\x00"  # field 1: 5
    rest = b"".join(
        [
            b"\x18\x03abc",  # 4: a text
            b"\x11\x12",  # 5, 6: truth values
            b"\x17" + struct.pack("<d", 1.5),
            b"\x19\x23\x01\x02",  # 8: two bytes
            b"\x1b\x01\x85\x02ok\x02",  # 9: a map from a text to a number
            b"\x1c" + inner,
            b"\x06\x28" + varint(3),  # 20, by its own number: -2
            b"\x19\x2c" + inner + inner,  # 21: two structs
        ]
    )
    data = b"\x35" + varint(599) + rest + b"\x00"
    wanted = {3: INT, 10: {1: INT}, 20: LONG, 21: [{1: INT}], 30: INT}
    reader = Reader(data)
    assert reader.struct(wanted) == {3: -300, 10: {1: 5}, 20: -2, 21: [{1: 5}, {1: 5}]}
    assert reader.at == len(data)
    assert Reader(data).struct({}) == {}
    for other in ({3: LONG}, {3: {}}, {10: INT}, {20: INT}, {20: [{}]}, {21: INT}, {21: {}}, {8: [{}]}, {5: INT}):
        with pytest.raises(BrokenError):  # of other types than are wanted
            Reader(data).struct(other)
    for size in range(len(data)):
        with pytest.raises(ShortError):
            Reader(data[:size]).struct(wanted)


@pytest.mark.parametrize("data", [b"\x1c" * 500, b"\x19" * 500, b"\x1e", b"\x15" + b"\xff" * 20, b"\x1b\x05\xff" * 100])
def test_what_is_no_struct_is_refused(data):
    with pytest.raises(BrokenError):
        Reader(data).struct({})


def test_the_footer_is_not_believed(tmp_path):
    path = tmp_path / "e.parquet"
    dp.write_episodes(dp.simulate("broadcast", episodes=3, horizon=4, seed=1), path)
    table = pq.read_table(path)
    many = pa.array([[0] * 20_000] * len(table), pa.list_(pa.int64()))
    pq.write_table(table.set_column(table.schema.get_field_index("action"), "action", many), path)
    said = "column action: expected lists of at most 10000 numbers, got 240000 in 12 rows"
    with pytest.raises(FormatError, match=said):
        dp.read_episodes(path)
    data, true, false = path.read_bytes(), varint(2 * 240_000), bytes([2 * 12 | 128, 128, 0])  # as long
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    path.write_bytes(data[:start] + data[start:].replace(true, false, 1))
    place = table.schema.get_field_index("action")
    assert pq.ParquetFile(path).metadata.row_group(0).column(place).num_values == 12
    with pytest.raises(FormatError, match="rows 0 to 11, column action: expected readable values, got a damaged page"):
        dp.read_episodes(path)
