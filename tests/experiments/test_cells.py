"""Cells: identified by what they depend on, saved atomically, computed once, and never lost."""

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from decpomdp.cli.experiments import line_of
from decpomdp.core import FormatError, InputError
from decpomdp.experiments import pool
from decpomdp.experiments.cells import Cell, code_digest, compute, finished, load, save
from experiments import work


def doubled(seed, **options):
    return Cell(work.doubled, {"seed": seed}, **options)


def run(folder, cells, jobs=1, tell=lambda _: None):
    pool.run(cells, jobs, partial(finished, folder), partial(save, folder), tell)


def test_the_digest_is_what_a_result_depends_on():
    cell = Cell(work.doubled, {"a": 1, "b": [1, 2]})
    assert cell.digest == Cell(work.doubled, {"b": [1, 2], "a": 1}, cost=7.0).digest
    others = Cell(work.doubled, {"a": 2, "b": [1, 2]}), Cell(work.slow, cell.settings)
    assert len({cell.digest, *(other.digest for other in others)}) == 3


def test_a_result_is_saved_and_read_back(tmp_path):
    cell = doubled(1)
    assert not finished(tmp_path, cell)
    save(tmp_path, cell, compute(cell))
    assert load(tmp_path, cell).result == work.Doubled(2.0, None)
    assert load(tmp_path, cell).code == code_digest()


def test_a_damaged_result_is_one_line(tmp_path):
    for edit in [
        {"result": {}},
        {"result": {"value": "4"}},
        {"settings": {"seed": 3}},
        "half a ce",
    ]:
        cell = doubled(2)
        save(tmp_path, cell, compute(cell))
        path = tmp_path / cell.place
        path.write_text(edit if isinstance(edit, str) else json.dumps({**json.loads(path.read_text()), **edit}))
        with pytest.raises(
            FormatError, match=f"{cell.place}: not a result file of this experiment; delete it to recompute"
        ):
            load(tmp_path, cell)


def test_the_digest_of_the_code_is_that_of_its_files(tmp_path):
    def digest():
        code_digest.cache_clear()
        return code_digest(tmp_path)

    names = ("core/a.py", "cli/b.py", "report/c.css", "core/__pycache__/a.pyc")
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x = 1\n")
    before = digest()
    for name in names[1:]:  # these do not change results
        (tmp_path / name).write_text("x = 2\n")
    assert digest() == before
    (tmp_path / "core/a.py").write_text("x = 2\n")
    assert digest() != before


def test_cells_are_computed_once(tmp_path):
    cells = [doubled(seed, alone=seed == 2) for seed in range(4)]
    told = []
    run(tmp_path, [*cells, cells[0]], 2, told.append)
    assert [load(tmp_path, cell).result.value for cell in cells] == [0.0, 2.0, 4.0, 6.0]
    ends = [progress for progress in told if progress.last is not None]
    assert [(p.done, p.todo, p.kept) for p in ends] == [(n, 4, 0) for n in range(1, 5)]
    assert ends[-1].last == cells[2]  # what runs alone comes last
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")}
    told.clear()
    run(tmp_path, cells, 2, told.append)
    assert [(p.done, p.todo, p.kept) for p in told] == [(0, 0, 4)]
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")}


def test_a_cell_whose_process_is_killed_is_run_once_more(tmp_path):
    once = Cell(work.killed, {"notes": str(tmp_path / "once"), "times": 1})
    twice = Cell(work.killed, {"notes": str(tmp_path / "twice"), "times": 2, "problem": "broadcast"})
    run(tmp_path, [once, doubled(1)], 2)
    assert load(tmp_path, once).result == "done"
    assert load(tmp_path, doubled(1)).result.value == 2.0
    with pytest.raises(InputError, match="broadcast seed 0: its process was killed 2 times"):
        run(tmp_path, [twice])


def test_a_mistake_names_the_cell(tmp_path):
    with pytest.raises(InputError, match="broadcast seed 3: expected another problem"):
        run(tmp_path, [Cell(work.failing, {"problem": "broadcast", "seed": 3})])


def test_progress_in_words():
    cell = Cell(len, {"problem": "broadcast", "method": "mcem", "seed": 1})
    assert line_of(pool.CellProgress(12, 80, 30, 95.2, 430.4, cell)) == (
        "12/80 cells (30 reused), 95 s, 430 s left: broadcast mcem seed 1"
    )
    assert line_of(pool.CellProgress(0, 0, 5, 0.0, None)) == "0/0 cells (5 reused)"
    assert line_of(pool.CellProgress(0, 54, 0, 10.0, None)) == "0/54 cells (0 reused), 10 s"


PATHS = (str(Path(__file__).resolve().parents[1]), os.environ.get("PYTHONPATH", ""))  # where `experiments.work` is
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, PATHS))}
SCRIPT = """
import sys
from functools import partial
from pathlib import Path
from decpomdp.experiments import pool
from decpomdp.experiments.cells import Cell, finished, save
from experiments.work import slow

if __name__ == "__main__":
    out = Path(sys.argv[1])
    cells = [Cell(slow, {"seed": seed}) for seed in range(20)]
    tell = lambda p: print(p.done, p.todo, p.kept, flush=True)
    pool.run(cells, 2, partial(finished, out), partial(save, out), tell)
"""


def children(process):
    return [int(pid) for pid in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def alive(process):
    try:
        return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_kill_loses_no_finished_cell_and_leaves_no_process(tmp_path, how):
    (tmp_path / "script.py").write_text(SCRIPT)
    out = tmp_path / "out"
    command = [sys.executable, str(tmp_path / "script.py"), str(out)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, env=ENVIRONMENT
    ) as process:
        for line in process.stdout:
            if line.startswith("3 "):
                break
        workers = children(process.pid)
        if how == signal.SIGINT:
            os.killpg(process.pid, how)  # as the terminal does
            assert process.stderr.read().count("\nKeyboardInterrupt") == 1  # of the script, which does not catch it
        else:
            os.kill(process.pid, how)
    kept = {path: path.read_bytes() for path in out.glob("cells/*.json")}
    assert 3 <= len(kept) < 20
    deadline = time.monotonic() + 20
    while any(map(alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(alive, workers))
    again = subprocess.run(command, capture_output=True, text=True, check=True, env=ENVIRONMENT)
    assert again.stdout.splitlines()[0] == f"0 {20 - len(kept)} {len(kept)}"
    assert len(list(out.glob("cells/*.json"))) == 20
    assert all(path.read_bytes() == data for path, data in kept.items())
