"""Cells: named by what they depend on, kept whole, run once, and never lost."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from decpomdp import __version__
from decpomdp.core import FormatError, InputError
from decpomdp.experiments import figure2
from decpomdp.experiments.cells import Cell, check_results, content_of, finished, keep, result_of, results_of
from decpomdp.experiments.crew import FEW, Pace, run_cells
from decpomdp.experiments.origin import UNKNOWN, code_digest, codes_of, digest_of, made_words, reused_words

ECHO = "json:dumps"  # a pure function of settings that every Python has
PLAYED = (1, 5, 40)  # iterations of a curve


def test_the_digest_is_what_a_result_depends_on():
    cell = Cell(ECHO, {"a": 1, "b": [1, 2]})
    assert cell.digest == Cell(ECHO, {"b": [1, 2], "a": 1}, cost=7.0).digest
    assert len({cell.digest, Cell(ECHO, {"a": 2, "b": [1, 2]}).digest, Cell("json:loads", cell.settings).digest}) == 3


def test_a_result_is_kept_and_read_back(tmp_path):
    cell = Cell(ECHO, {"seed": 1})
    assert not finished(tmp_path, cell)
    assert result_of(tmp_path, cell) is None
    keep(tmp_path, cell, {"value": 1.5, "lost": float("nan")}, "0123456789ab")
    assert result_of(tmp_path, cell) == {"value": 1.5, "lost": None}
    assert results_of(tmp_path, [cell, Cell(ECHO, {"seed": 2})]) is None
    assert results_of(tmp_path, [cell]) == [(cell, {"value": 1.5, "lost": None})]


def test_the_code_that_made_a_cell_is_kept_with_it(tmp_path):
    cells = [Cell(ECHO, {"seed": seed}) for seed in range(4)]
    for cell, code in zip(cells, ("a" * 12, "a" * 12, code_digest()), strict=False):
        keep(tmp_path, cell, seed_of(cell), code)
    assert json.loads((tmp_path / cells[0].place).read_bytes())["version"] == __version__
    assert codes_of(tmp_path, cells) == {"a" * 12: 2, code_digest(): 1}  # the fourth is not finished
    old = tmp_path / cells[0].place
    old.write_text(json.dumps({key: value for key, value in json.loads(old.read_text()).items() if key != "code"}))
    codes = codes_of(tmp_path, [*cells, cells[0]])
    assert codes == {UNKNOWN: 1, "a" * 12: 1, code_digest(): 1}
    assert f"1 {UNKNOWN}, 1 with {'a' * 12}; delete" in reused_words(codes)
    assert reused_words({code_digest(): 3}) is None
    assert made_words(codes).startswith("cells made with different code: ")


def seed_of(cell: Cell) -> int:
    return cell.settings["seed"]


def test_the_digest_of_the_code_is_that_of_its_files(tmp_path):
    for name in ("core/a.py", "cli/b.py", "report/c.css", "core/__pycache__/a.pyc", "__pycache__/d.pyc"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x = 1\n")
    before = digest_of(tmp_path)
    for name in ("cli/b.py", "report/c.css", "core/__pycache__/a.pyc", "__pycache__/d.pyc"):  # these move no result
        (tmp_path / name).write_text("x = 2\n")
    assert digest_of(tmp_path) == before
    (tmp_path / "core/a.py").write_text("x = 2\n")
    changed = digest_of(tmp_path)
    (tmp_path / "core/a.py").rename(tmp_path / "core/z.py")
    assert len({before, changed, digest_of(tmp_path)}) == 3


def test_what_is_no_cell_is_refused(tmp_path):
    (tmp_path / "x.json").write_text("half a ce")
    with pytest.raises(FormatError, match="expected what a run of this table has left there"):
        content_of(tmp_path / "x.json")


def curves(seeds=3):
    """Of every method of figure 2, with points as its work writes them."""
    cells = figure2.cells(figure2.Effort(seeds=seeds, side=2, iterations=40))[:-1]
    return [
        (
            cell,
            [
                {"iteration": i, "value": 9.0 + i, **{key: cell.settings[key] for key in ("method", "seed")}}
                for i in PLAYED
            ],
        )
        for cell in cells
    ]


@pytest.mark.parametrize("seeds", [1, 3])
@pytest.mark.parametrize(
    ("place", "edit"),
    [
        (-1, {"iteration": 41}),
        (0, {"iteration": 5}),
        (1, {"iteration": [5]}),
        (0, {"method": "foo"}),
        (1, {"method": "mcem"}),  # that of another cell
        (-1, {"seed": -1}),
        (0, {"seed": 1}),
        (0, {"seed": [0]}),
        (0, {"side": 3}),  # added, and not what the settings say
    ],
)
def test_what_a_point_says_of_itself_is_what_its_cell_is(tmp_path, seeds, place, edit):
    results = curves(seeds)
    check_results(tmp_path, results)
    cell, points = results[0]
    points[place] |= edit
    with pytest.raises(FormatError, match=f"{cell.place}.*without its numbers; delete it"):
        check_results(tmp_path, results)


def test_a_curve_without_one_of_its_points_is_refused(tmp_path):
    results = curves()
    del results[4][1][1]
    with pytest.raises(FormatError, match=f"{results[4][0].place}.*without its numbers; delete it"):
        check_results(tmp_path, results)


def test_a_limit_is_not_what_came_of_it(tmp_path):
    """Sweeps and nodes are called the same in settings and in results; the problem is not to be another."""
    settings = {"problem": "broadcast", "sweeps": 200, "nodes": 5}
    told = {"sweeps": 31, "nodes": 4.5}
    results = [(Cell(ECHO, {**settings, "seed": seed}), {**told, "problem": "broadcast"}) for seed in range(3)]
    check_results(tmp_path, results)
    results[1][1]["problem"] = "dectiger"
    with pytest.raises(FormatError, match=f"{results[1][0].place}.*without its numbers"):
        check_results(tmp_path, results)


def test_cells_are_run_once(tmp_path):
    cells = [Cell(ECHO, {"seed": seed}, alone=seed == 2) for seed in range(4)]
    told = []
    run_cells(tmp_path, [*cells, cells[0]], 2, told.append)
    assert [json.loads(result_of(tmp_path, cell)) for cell in cells] == [cell.settings for cell in cells]
    assert [(p.done, p.todo, p.kept) for p in told] == [(n, 4, 0) for n in range(5)]
    assert codes_of(tmp_path, cells) == {code_digest(): 4}
    assert told[-1].last == cells[2]  # what wants to be alone comes last
    assert told[0].left is None
    assert told[-1].left == 0
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")}
    told.clear()
    run_cells(tmp_path, cells, 2, told.append)
    assert [(p.done, p.todo, p.kept) for p in told] == [(0, 0, 4)]
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")}


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_the_first_cells_of_all_workers_are_no_pace(workers):
    """Each waits 56 s for the compiler; from then on they finish one cell a second together."""
    cells = [Cell(ECHO, {"seed": seed}, cost=2.0) for seed in range(54)]
    pace = Pace(cells, workers)
    assert pace.left(50.0) is None
    for number, cell in enumerate(cells, 1):
        now = 56.0 + max(number - workers, 0)
        pace.add(cell, now)
        if number < workers + FEW:
            assert pace.left(now) is None
        else:
            assert pace.left(now) == pytest.approx(54 - number)
    assert Pace([], 2).left(1.0) is None


def test_what_runs_alone_takes_the_time_of_all_workers():
    together = [Cell(ECHO, {"seed": seed}) for seed in range(12)]
    alone = [Cell(ECHO, {"seed": seed}, alone=True) for seed in range(5)]
    pace = Pace([*together, *alone], 2)
    for number, cell in enumerate(together):  # two at a time, a second each
        pace.add(cell, 1.0 + number // 2)
    assert pace.left(6.0) == pytest.approx(5.0)


def test_a_mistake_names_the_cell(tmp_path):
    with pytest.raises(InputError, match="broadcast seed 3: ModuleNotFoundError"):
        run_cells(tmp_path, [Cell("decpomdp.nowhere:work", {"problem": "broadcast", "seed": 3})], 1, lambda _: None)


def test_a_process_that_dies_is_told(tmp_path):
    with pytest.raises(InputError, match="processes ended before it was finished"):
        run_cells(tmp_path, [Cell("sys:exit", {})], 1, lambda _: None)


SCRIPT = """
import sys
from pathlib import Path
from dataclasses import replace
from decpomdp.experiments import complexity
from decpomdp.experiments.crew import run_cells

base = {"K": 100, "N": 2, "T": 10, "Z": 10, "S": None}
cells = complexity.cells(replace(complexity.QUICK, seeds=20, repeats=20, base=base, sizes={"K": (100,)}))
if __name__ == "__main__":
    run_cells(Path(sys.argv[1]), cells, 1, lambda p: print(p.done, p.todo, p.kept, flush=True))
"""


def children(process: int) -> list[int]:
    return [int(pid) for pid in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def alive(process: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_killed_at_any_moment_nothing_is_lost(tmp_path):
    """A real kill: finished cells stay as they are, the rest is done by the next run, no process goes on."""
    (tmp_path / "script.py").write_text(SCRIPT)
    out = tmp_path / "out"
    command = [sys.executable, str(tmp_path / "script.py"), str(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if line.startswith("3 "):
                break
        workers = children(process.pid) if sys.platform == "linux" else []
        os.kill(process.pid, signal.SIGKILL)
    kept = {path: path.read_bytes() for path in out.glob("cells/*.json")}
    assert 3 <= len(kept) < 20
    assert all(json.loads(data)["result"]["whole_seconds"] > 0 for data in kept.values())
    deadline = time.monotonic() + 20
    while any(map(alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(alive, workers))
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0] == f"0 {20 - len(kept)} {len(kept)}"
    assert len(list(out.glob("cells/*.json"))) == 20
    assert all(path.read_bytes() == data for path, data in kept.items())
