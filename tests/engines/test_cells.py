"""Cells of a table on a real Dask cluster."""

from functools import partial

import pytest

import decpomdp as dp
from decpomdp.cli.experiments import run_cell
from decpomdp.core import InputError
from decpomdp.engines.cluster import Cluster
from decpomdp.experiments import pool
from decpomdp.experiments.benchmark import BenchmarkPlan, in_temporary_folder, lines_of, run_folder, run_table
from decpomdp.experiments.cells import Cell, finished, load, save
from decpomdp.io.dpomdp.writer import write_dpomdp
from experiments import work


def test_cells_on_a_cluster(processes, tmp_path):
    cells = [Cell(work.doubled, {"seed": seed}, alone=seed == 4) for seed in (3, 4)]
    killed = Cell(work.killed, {"notes": str(tmp_path / "notes"), "times": 0})
    failing = Cell(work.failing, {"problem": "broadcast"})
    with Cluster(processes.exactly(1)) as cluster:
        pool.run([*cells, killed], cluster, partial(finished, tmp_path), partial(save, tmp_path), lambda _: None)
        with pytest.raises(InputError, match="broadcast seed 0: expected another problem"):
            pool.run([failing], cluster, partial(finished, tmp_path), partial(save, tmp_path), lambda _: None)
    assert [load(tmp_path, cell).result.value for cell in cells] == [6.0, 8.0]


def test_runs_come_back_from_workers(processes, tmp_path):
    """The same team as on this machine, though the worker has its own folder."""
    write_dpomdp(dp.load("broadcast"), tmp_path / "own.dpomdp")
    plan = BenchmarkPlan((str(tmp_path / "own.dpomdp"),), ("search",), 1, None, 3000, 1)
    with Cluster(processes.exactly(1)) as cluster:
        run_table(tmp_path / "there", plan, cluster, run_cell, lambda _: None)
    run_table(tmp_path / "here", plan, 1, run_cell, lambda _: None)
    here, there = (run_folder(tmp_path / name, plan.problems[0], "search", 0) for name in ("here", "there"))
    assert (here / "team.json").read_bytes() == (there / "team.json").read_bytes()
    assert sorted(path.name for path in here.iterdir()) == sorted(path.name for path in there.iterdir())
    assert [line["seeds"] for line in lines_of(tmp_path / "there", plan)] == [1]


def test_another_file_on_the_worker_is_refused(tmp_path):
    write_dpomdp(dp.load("broadcast"), tmp_path / "own.dpomdp")
    with pytest.raises(InputError, match=r"own\.dpomdp: expected the same file on the worker, got another one"):
        in_temporary_folder(None, {"problem": str(tmp_path / "own.dpomdp"), "digest": "of another"})
