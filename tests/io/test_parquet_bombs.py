"""Small Parquet files that stand for gigabytes are read or refused within little memory."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROWS = 1500
READ = """
import resource, sys
import decpomdp as dp, pyarrow.parquet
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + (600 << 20),) * 2)
try:
    print("read", dp.read_table(sys.argv[1], 0.9).steps)
except dp.FormatError as error:
    print(error.message)
"""


def written(path, **other):
    columns = {"episode": [0] * ROWS, "t": range(ROWS), "agent": ["a"] * ROWS, "observation": ["x"] * ROWS}
    table = pa.table(columns | {"action": ["y"] * ROWS, "reward": [0.0] * ROWS} | other)
    options = {"compression": "zstd", "store_schema": False, "dictionary_pagesize_limit": 1 << 26}
    pq.write_table(table, path, write_statistics=False, **options)
    assert path.stat().st_size < 100_000


@pytest.mark.parametrize(("letter", "expected"), [(b"\0", "column action: expected labels"), ("z", "read 1500")])
def test_one_long_value_in_every_row(tmp_path, letter, expected):
    value = letter * 1_000_000
    same = pa.DictionaryArray.from_arrays(np.zeros(ROWS, np.int8), pa.array([value]))
    written(tmp_path / "log.parquet", action=same)
    done = subprocess.run([sys.executable, "-c", READ, str(tmp_path / "log.parquet")], capture_output=True, text=True)
    assert done.stdout.startswith(expected), done.stderr
