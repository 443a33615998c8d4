"""The cells of a reproduction: pure work, limits of time, and edited results that are refused."""

import importlib
import json
import shutil
import warnings
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from decpomdp.core import FormatError
from decpomdp.core.errors import LearningWarning
from decpomdp.experiments import complexity, reproduction, table2
from decpomdp.experiments.cells import Cell, check_results, results_of
from decpomdp.experiments.published import METHODS, TABLE2
from experiments.small_efforts import EFFORTS

PLANNED = ("periem", "fb-hsvi", "search")  # what takes long to compile


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    """Table 2 with all methods that are limited by counts."""
    effort = replace(EFFORTS["table2"], methods=("sbpr-iterations", "mcem", *PLANNED))
    folder = tmp_path_factory.mktemp("planned")
    return folder, reproduction.reproduce(["table2"], {"table2": effort}, folder, 1, lambda _: None)[0]


@pytest.mark.parametrize("result", [{}, [], None, {"value": 1.0}, [{}]])
def test_a_cell_without_its_numbers_is_one_line(done, tmp_path, result):
    """Of one that was emptied by hand."""
    folder, _ = done
    for name, effort in EFFORTS.items():
        cells = reproduction.cells_of([name], {name: effort})
        for cell in cells:
            (tmp_path / cell.place).parent.mkdir(exist_ok=True)
            (tmp_path / cell.place).write_bytes((folder / cell.place).read_bytes())
        if len(cells) > 2:
            content = json.loads((folder / cells[0].place).read_bytes())
            (tmp_path / cells[0].place).write_text(json.dumps({**content, "result": result}))
            with pytest.raises(FormatError, match=f"{cells[0].place}.*without its numbers; delete it"):
                reproduction.shown(tmp_path, name, effort, "quick")


@pytest.mark.parametrize("name", ["figure1", "figure2", "complexity", "robustness"])
def test_a_cell_with_another_kind_of_value_is_one_line(done, tmp_path, name):
    """A number that was edited by hand, of a cell of every work; the levels of figure 2 are a work of one cell."""
    folder, _ = done
    shutil.copytree(folder / "cells", tmp_path / "cells")
    cells = reproduction.cells_of([name], EFFORTS)
    for cell in {cell.work: cell for cell in cells}.values():
        for value in (None, "9.1", float("inf"), float("nan"), [9.1], True, 10**400):
            content = json.loads((folder / cell.place).read_bytes())
            points = content["result"] if isinstance(content["result"], list) else [content["result"]]
            points[-1][next(key for key, told in points[-1].items() if isinstance(told, float | list))] = value
            (tmp_path / cell.place).write_text(json.dumps(content))
            with pytest.raises(FormatError, match=f"{cell.place}.*without its numbers; delete it"):
                reproduction.shown(tmp_path, name, EFFORTS[name], "quick")
        shutil.copyfile(folder / cell.place, tmp_path / cell.place)
    check_results(tmp_path, results_of(tmp_path, cells))


def test_what_some_methods_lack_is_no_mistake():
    """Of one seed, every method has one cell: a size that only one method infers is not odd."""
    told = {"sbpr": 3.0, "mcem": None, "periem": None, "fb-hsvi": None}
    results = [(Cell("a:work", {"method": key}), {"value": 1.0, "inferred": size}) for key, size in told.items()]
    check_results(Path(), results)
    check_results(Path(), [(cell, {**result, "value": 2}) for cell, result in results[:1]] + results[1:])
    more = [(Cell("a:work", {"method": "sbpr", "seed": seed}), {"value": 1.0, "inferred": 2.0}) for seed in (1, 2)]
    lacking = (Cell("a:work", {"method": "sbpr", "seed": 3}), {"value": 1.0, "inferred": None})
    with pytest.raises(FormatError, match=f"{lacking[0].place}.*without its numbers"):
        check_results(Path(), [*results, *more, lacking])


def test_what_only_the_last_point_says_is_missed():
    curve = [{"value": 1.0}, {"value": 2.0, "error": 0.1}]
    results = [(Cell("a:work", {"seed": seed}), curve) for seed in range(3)]
    check_results(Path(), results)
    cell = Cell("a:work", {"seed": 3})
    with pytest.raises(FormatError, match=f"{cell.place}.*without its numbers"):
        check_results(Path(), [*results, (cell, [{"value": 1.0}, {"value": 2.0}])])


@pytest.mark.slow
def test_all_methods_of_table_2_are_shown(planned):
    folder, shown = planned
    rows = pq.read_table(folder / "data/table2.parquet").to_pylist()
    assert {row["method"] for row in rows} == set(METHODS) - {"sbpr-time", "mcem-time"}
    assert {claim.seen for claim in shown.claims} == {"not judged"}  # one seed
    assert len(shown.tables[0].rows) == len(METHODS) - 2  # all but those of fixed time
    effort = replace(EFFORTS["table2"], methods=("fb-hsvi", "search"))
    for cell in table2.cells(effort):
        assert again(cell) == kept(folder, cell)


def plain(result):
    """A result without its times."""
    if isinstance(result, dict):
        return {key: plain(value) for key, value in result.items() if not key.endswith("seconds")}
    return [plain(each) for each in result] if isinstance(result, list) else result


def kinds():
    """A cell of every kind of work; of table 2, one per method that is not limited by time."""
    found = {}
    for cell in reproduction.cells_of(reproduction.NAMES, EFFORTS):
        if "processor_seconds" not in cell.settings.get("limits", {}):
            found.setdefault((cell.work, cell.settings.get("method")), cell)
    slow = {("decpomdp.experiments.one_run:work", method) for method in ("sbpr", "mcem")}
    return [pytest.param(cell, marks=pytest.mark.slow if key in slow else ()) for key, cell in found.items()]


@pytest.mark.parametrize("cell", kinds(), ids=lambda cell: f"{cell.work.rpartition('.')[2]} {cell.name}")
def test_cells_are_pure(done, cell: Cell):
    """Computed here, in another process than before, to the same bytes."""
    folder, _ = done
    assert again(cell) == kept(folder, cell)


def again(cell: Cell) -> str:
    module, _, name = cell.work.partition(":")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LearningWarning)
        return told(json.loads(json.dumps(getattr(importlib.import_module(module), name)(dict(cell.settings)))))


def kept(folder: Path, cell: Cell) -> str:
    return told(json.loads((folder / cell.place).read_bytes())["result"])


def told(result):
    return json.dumps(plain(result), sort_keys=True)


def test_cells_limited_by_time_have_their_own_rows():
    """Both methods get the same time."""
    methods = ("sbpr-time", "sbpr-iterations", "mcem-time", "mcem")
    cells = table2.cells(replace(table2.QUICK, seeds=1, problems=("broadcast",), methods=methods))
    assert [row["method"] for row in table2.rows([(cell, {"value": 1.0}) for cell in cells])] == list(methods)
    limits = [cell.settings["limits"].get("processor_seconds") for cell in cells]
    wanted = min(table2.QUICK.longest, TABLE2["broadcast", "mcem"].seconds * table2.QUICK.time_share)
    assert limits == [wanted, None, wanted, None]


def test_the_claim_about_fixed_time_compares_equal_times():
    rows = [
        {"problem": "broadcast", "method": method, "seed": seed, "value": value + 0.01 * seed, "sampled": value}
        | {"sampled_error": 0.1, "nodes": 2.0, "inferred": None, "seconds": 6.0}
        for method, value in (("sbpr-iterations", 1.0), ("mcem", 5.0), ("sbpr-time", 4.0), ("mcem-time", 2.0))
        for seed in range(3)
    ]
    seen = [claim.seen for claim in table2.EXPERIMENT.claims(rows)]
    assert seen == ["no", "yes"]


def test_processor_time_ends_a_run():
    from decpomdp.experiments import one_run

    settings = {"problem": "broadcast", "method": "mcem", "seed": 0, "limits": {"processor_seconds": 0.0}}
    assert one_run.work(settings)["stopped"] == "processor time"


def test_the_exponents_are_those_of_the_times():
    sizes = (10, 20, 40)
    parts = {"filter": 1.0, "count": 2.0, "weigh": 0.0, "bound": 3.0, "whole": 1.5}
    rows = [
        {"vary": "K", "size": size, **{f"{part}_seconds": size**power for part, power in parts.items()}}
        for size in sizes
    ]
    assert {part: round(complexity.slope(rows, "K", part), 9) for part in parts} == parts
