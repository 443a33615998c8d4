"""Workers that say nothing or cannot work for us, and what is no scheduler at all: told in one line, and soon."""

import time

from distributed import Client

from decpomdp.cli.main import code_of


def addresses(scheduler):
    with Client(scheduler, timeout=60, set_as_default=False) as client:
        return list(client.nthreads())


def test_a_worker_is_no_scheduler(processes, tmp_path, capsys):
    worker = addresses(processes.exactly(1))[0]
    began = time.monotonic()
    given = ["simulate", "broadcast", "--out", str(tmp_path / "e.parquet"), "--engine", "dask", "--scheduler", worker]
    assert code_of(given) == 2
    assert time.monotonic() - began < 20
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert "what answers is no Dask scheduler" in lines[0]
