"""Cells of a table on a real Dask cluster, and in processes of this machine."""

import os

import pytest
from engines.processes import ENVIRONMENT

import decpomdp as dp
from decpomdp.core import InputError
from decpomdp.engines.cluster import Cluster
from decpomdp.experiments.cells import Cell, result_of
from decpomdp.experiments.crew import Crew, run_cells
from decpomdp.experiments.elsewhere import _content, _with_file, _worked
from decpomdp.io.dpomdp.writer import write_dpomdp


def test_cells_on_a_cluster(processes, tmp_path):
    """The same results, and a folder that a cell fills, though the worker does not write there."""
    cells = [Cell("engines.cells:doubled", {"seed": seed}) for seed in (3, 4)]
    written = Cell("engines.cells:written", {"out": str(tmp_path / "far" / "own"), "seed": 5}, own_file="own/run.json")
    with Cluster(processes.exactly(1)) as cluster:
        run_cells(tmp_path, [*cells, written], cluster, lambda progress: None)
    assert [result_of(tmp_path, cell) for cell in cells] == [6, 8]
    assert result_of(tmp_path, written) == {"seed": 5}
    assert (tmp_path / "own/deep/more.txt").read_bytes() == b"more"
    assert not (tmp_path / "far").exists()


def test_a_cell_whose_process_is_killed_is_run_once_more(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", ENVIRONMENT["PYTHONPATH"], prepend=os.pathsep)
    with Crew() as crew:
        once = {"notes": str(tmp_path / "once"), "times": 1}
        assert crew.one(Cell("engines.cells:killed", once)) == "done"
        twice = {"notes": str(tmp_path / "twice"), "times": 2}
        with pytest.raises(InputError, match=r"2 processes ended before it was finished \(the last one with code -9\)"):
            crew.one(Cell("engines.cells:killed", twice))


def test_the_file_of_a_problem_is_the_same_on_workers(processes, tmp_path, monkeypatch):
    """They work in another folder, where a file of that name is another one or none."""
    address, cell = processes.exactly(1), Cell("engines.cells:loaded", {"problem": "p.dpomdp", "seed": 0})
    (tmp_path / "own").mkdir()
    monkeypatch.chdir(tmp_path / "own")
    write_dpomdp(dp.load("broadcast"), "p.dpomdp")
    with Cluster(address) as cluster:
        run_cells(tmp_path, [cell], cluster, lambda progress: None)
        assert result_of(tmp_path, cell) == dp.load("broadcast").digest()
        sent = _with_file(cell, _content)
        write_dpomdp(dp.load("dectiger"), "p.dpomdp")
        with pytest.raises(InputError, match=r"/p\.dpomdp: expected the same file on the worker tcp.*, got another"):
            cluster.results([cluster.submit(_worked, sent, "me")])
