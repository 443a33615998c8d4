"""Workers that say nothing or cannot work for us, and what is no scheduler at all: told in one line, and soon."""

import signal
import time

import numpy as np
import pytest
from distributed import Client
from engines.processes import until

from decpomdp.cli.main import code_of
from decpomdp.engines.cluster import Cluster, same
from decpomdp.engines.errors import EngineError

PACKAGES = {
    "none": {"__init__.py": "raise ModuleNotFoundError('No module named decpomdp')"},
    "old": {"__init__.py": "", "engines/__init__.py": "", "engines/connection.py": ""},
}


@pytest.fixture
def stopped(processes):
    """Two workers, of which one says nothing any more once this is called."""
    address = processes.exactly(2)
    with Cluster(address) as cluster:  # they have loaded what they need
        assert cluster.workers == 2
    silent = processes.workers[1]
    yield lambda: (silent.send_signal(signal.SIGSTOP), address)[1]
    silent.send_signal(signal.SIGCONT)


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


def test_a_worker_without_this_package_or_with_an_old_one(processes, tmp_path):
    for kind, files in PACKAGES.items():
        for name, content in files.items():
            (tmp_path / kind / "decpomdp" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / kind / "decpomdp" / name).write_text(content)
    known = addresses(processes.exactly(1))
    address = processes.add(*({"PYTHONPATH": str(tmp_path / kind)} for kind in PACKAGES))
    wrong = "|".join(set(addresses(address)) - set(known))
    try:
        for _ in PACKAGES:
            with pytest.raises(
                EngineError, match=f"worker ({wrong}): expected decpomdp .*, got none or another"
            ) as found:
                Cluster(address)
            assert "\n" not in str(found.value)
            processes.exactly(len(processes.workers) - 1)
    finally:
        processes.exactly(1)


def test_a_silent_worker_is_left_out(stopped, monkeypatch):
    monkeypatch.setattr("decpomdp.engines.connection.TELLING", 2.0)
    monkeypatch.setattr("decpomdp.engines.cluster.ENDING", 1.0)
    address = stopped()
    began = time.monotonic()
    with pytest.warns(RuntimeWarning, match=r"1 of 2 workers \(tcp://[\d.:]+\) did not answer within 2 s"):
        cluster = Cluster(address)
    with cluster:
        assert cluster.workers == cluster.places == 1
        put = [cluster.put(np.full(3, n)) for n in range(3)]  # by turns, but not to that one
        assert all(map(cluster.is_there, put))
        cluster.everywhere(same, 1)
    assert time.monotonic() - began < 20


def test_no_worker_answers(stopped, processes, monkeypatch):
    monkeypatch.setattr("decpomdp.engines.connection.TELLING", 1.0)
    address = stopped()
    processes.workers[0].send_signal(signal.SIGSTOP)
    try:
        with pytest.raises(EngineError, match="expected an answer of a worker, got none within 1 s"):
            Cluster(address)
    finally:
        processes.workers[0].send_signal(signal.SIGCONT)


def test_the_end_does_not_wait_for_one_that_fell_silent(stopped, processes, monkeypatch):
    """Neither where it is stopped nor where it dies meanwhile; nothing was put there, and nobody says so."""
    monkeypatch.setattr("decpomdp.engines.cluster.ENDING", 1.0)
    with Cluster(processes.address) as cluster:
        stopped()
        began = time.monotonic()
        cluster.everywhere(same, 1)
        assert time.monotonic() - began < 10
        cluster.everywhere(time.sleep, 0)
    until(lambda: len(addresses(processes.address)) == 2)


def test_what_was_never_put_is_not_said_to_be_lost(processes):
    with Cluster(processes.exactly(1)) as cluster:
        asked = cluster.submit(time.sleep, 0.5)
        cluster.client.cancel([asked])
        with pytest.raises(EngineError, match="a worker, or what it worked on, is lost"):
            cluster.results([asked])
