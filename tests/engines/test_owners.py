"""Whose cells a cluster works on: several use it at the same time, and nothing goes on for nobody."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from engines.cells import impatient
from engines.processes import ENVIRONMENT, until

from decpomdp.core import InputError
from decpomdp.domains.load import load
from decpomdp.engines.cluster import Cluster, same
from decpomdp.engines.errors import EngineError
from decpomdp.experiments.cells import Cell, result_of
from decpomdp.experiments.crew import Crew, run_cells
from decpomdp.experiments.elsewhere import _content, _with_file, _worked
from decpomdp.io.dpomdp.writer import write_dpomdp

CLIENT = """
import sys
from pathlib import Path
from decpomdp.engines.cluster import Cluster
from decpomdp.experiments.cells import Cell
from decpomdp.experiments.crew import run_cells
folder = Path(sys.argv[2])
cells = [Cell("engines.cells:slow", {"seed": seed, "folder": str(folder), "seconds": 300}) for seed in (0, 1)]
with Cluster(sys.argv[1]) as cluster:
    run_cells(folder, cells, cluster, lambda progress: None)
"""


def slow(folder, seed, seconds):
    return Cell("engines.cells:slow", {"seed": seed, "folder": str(folder), "seconds": seconds})


def begun(folder):
    """Processes that have begun a slow cell."""
    return [int(path.read_text()) for path in Path(folder).glob("*.pid") if path.read_text()]


def alive(number):
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_end_of_one_table_leaves_the_other_alone(processes, tmp_path):
    address = processes.exactly(2)
    mine, other = tmp_path / "mine", tmp_path / "other"
    mine.mkdir()
    with Cluster(address) as cluster, Cluster(address) as another:
        cell = Cell("engines.cells:waiting", {"seed": 7, "folder": str(mine)})
        work = threading.Thread(target=run_cells, args=(mine, [cell], cluster, lambda progress: None))
        work.start()
        until(lambda: begun(mine))
        run_cells(other, [Cell("engines.cells:doubled", {"seed": 3})], another, lambda progress: None)
        assert work.is_alive()
        (mine / "go on").touch()
        work.join()
    assert result_of(mine, cell) == 7


def test_after_an_interrupt_nothing_else_begins(processes, tmp_path):
    address = processes.exactly(1)
    cells = [Cell("engines.cells:doubled", {"seed": 3}), *(slow(tmp_path, seed, 300) for seed in range(5))]

    def tell(progress):
        if progress.done:
            raise KeyboardInterrupt

    with Cluster(address) as cluster:
        with pytest.raises(KeyboardInterrupt):
            run_cells(tmp_path, cells, cluster, tell)
        assert cluster.results([cluster.submit(same, 1)]) == [1]  # there is room again
    until(lambda: not any(map(alive, begun(tmp_path))))
    assert len(begun(tmp_path)) <= 2


def test_cells_end_with_the_client_that_was_killed(processes, tmp_path):
    environment = {**os.environ, **ENVIRONMENT}
    command = [sys.executable, "-c", CLIENT, processes.exactly(1), str(tmp_path)]
    client = subprocess.Popen(command, env=environment)
    until(lambda: begun(tmp_path))
    assert all(map(alive, begun(tmp_path)))
    client.send_signal(signal.SIGKILL)
    client.wait()
    until(lambda: not any(map(alive, begun(tmp_path))))
    with Cluster(processes.address) as cluster:
        assert cluster.results([cluster.submit(same, 1)]) == [1]
    assert len(begun(tmp_path)) == 1


def test_a_cell_whose_process_is_killed_is_done_once_more(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", ENVIRONMENT["PYTHONPATH"], prepend=os.pathsep)
    with Crew() as crew:
        once = {"notes": str(tmp_path / "once"), "times": 1}
        assert crew.one(Cell("engines.cells:killed", once)) == "done"
        twice = {"notes": str(tmp_path / "twice"), "times": 2}
        with pytest.raises(InputError, match=r"2 processes ended before it was finished \(the last one with code -9\)"):
            crew.one(Cell("engines.cells:killed", twice))
        assert (tmp_path / "twice").read_text() == "begun\n" * 2


def test_an_idle_process_that_died_costs_nothing(tmp_path, monkeypatch):
    """The question that it did not take any more is asked again, and nothing is left of it."""
    monkeypatch.setenv("PYTHONPATH", ENVIRONMENT["PYTHONPATH"], prepend=os.pathsep)
    with Crew() as crew:
        assert crew.one(Cell("engines.cells:doubled", {"seed": 3})) == 6
        (first,) = crew.processes
        os.kill(first.pid, signal.SIGKILL)
        os.waitid(os.P_PID, first.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and nobody has asked for its code
        assert crew.one(Cell("engines.cells:doubled", {"seed": 4})) == 8
        assert not alive(first.pid)
        assert first.stdin.closed
        assert first.stdout.closed
        assert first not in crew.processes


def test_a_process_without_work_ends_though_nobody_says_so(processes, tmp_path):
    """As where a client was killed while another worker did the rest; whoever comes later is served by a new one."""
    with Cluster(processes.exactly(1)) as cluster:
        cluster.everywhere(impatient)
        for seed in range(2):
            assert cluster.results([cluster.submit(_worked, slow(tmp_path, seed, 0.0), "me")])[0][1] == seed
            until(lambda: not any(map(alive, begun(tmp_path))), 30)
    assert len(set(begun(tmp_path))) == 2


def test_the_file_of_a_problem_is_the_same_on_workers(processes, tmp_path, monkeypatch):
    """They work in another folder, where a file of that name is another one or none."""
    address, cell = processes.exactly(1), Cell("engines.cells:loaded", {"problem": "p.dpomdp", "seed": 0})
    (tmp_path / "own").mkdir()
    monkeypatch.chdir(tmp_path / "own")
    write_dpomdp(load("broadcast"), "p.dpomdp")
    with Cluster(address) as cluster:
        run_cells(tmp_path, [cell], cluster, lambda progress: None)
        assert result_of(tmp_path, cell) == load("broadcast").digest()
        asked = _with_file(cell, _content)
        write_dpomdp(load("dectiger"), "p.dpomdp")
        with pytest.raises(
            InputError, match=r"/p\.dpomdp: expected the same file on the worker tcp.*, got another one"
        ):
            cluster.results([cluster.submit(_worked, asked, "me")])
        Path("p.dpomdp").unlink()
        with pytest.raises(InputError, match=r"expected the same file on the worker tcp.*, got none: cannot be read"):
            cluster.results([cluster.submit(_worked, asked, "me")])
    with pytest.raises(InputError, match=r"p\.dpomdp: cannot be read"):  # nor is another one taken where ours is gone
        _with_file(cell, _content)


def test_a_worker_of_another_version_that_comes_later_is_refused(processes):
    with Cluster(processes.exactly(1)) as cluster:
        cluster._versions = {**cluster._versions, "numba": "7.7"}  # all that come are later ones
        with pytest.raises(EngineError, match=r"a worker that came later: expected numba 7\.7, as it is here, got 0"):
            cluster.results([cluster.submit(same, 1)])
