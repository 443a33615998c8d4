"""Every experiment from cells to page, as small as it goes."""

import importlib
import json
import re
import sys
import warnings
import xml.etree.ElementTree as ET
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from decpomdp.core import InputError
from decpomdp.core.errors import LearningWarning
from decpomdp.experiments import appendix, complexity, figure1, figure2, reproduction, robustness, table2
from decpomdp.experiments.cells import Cell
from decpomdp.experiments.judging import above, mean_of, size_verdict, verdict
from decpomdp.experiments.published import METHODS, PROBLEMS, TABLE2
from decpomdp.report.reproduced import write_reproduced

# the quick efforts shrunk further
EFFORTS = {
    "table2": replace(
        table2.QUICK,
        seeds=1,
        problems=("broadcast",),
        methods=("sbpr-iterations", "mcem", "periem", "fb-hsvi", "search"),
        iterations=1,
        mcem_iterations=1,
        time_share=0.01,
        rounds=1,
        restarts=1,
        planning=2.0,
        steps=100_000,
    ),
    "figure1": replace(
        figure1.QUICK, seeds=2, problem="broadcast", episodes=(10, 20), steps=5, sizes=(1, 2), sweeps=5, truncation=6
    ),
    "figure2": replace(figure2.QUICK, seeds=1, side=2, iterations=2, episodes=20, every=1, tests=20),
    "appendix": replace(appendix.QUICK, seeds=1, problems=("broadcast",), iterations=2, every=1),
    "complexity": replace(
        complexity.QUICK,
        repeats=1,
        base={"K": 20, "N": 2, "T": 5, "Z": 3, "S": None},
        sizes={"K": (10, 20), "N": (1, 2), "T": (5, 10), "T terminal": (5, 10), "Z": (2, 4), "S": (2, 4)},
    ),
    "robustness": replace(
        robustness.QUICK, seeds=1, problems=("broadcast",), c=(0.1,), d=(1e-6, 1.0), episodes=30, steps=4, sweeps=4
    ),
}


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """All experiments, computed once."""
    folder = tmp_path_factory.mktemp("reproduced")
    return folder, reproduction.reproduce(reproduction.NAMES, EFFORTS, folder, 1, lambda _: None)


def test_every_experiment_is_shown(done):
    _, shown = done
    assert [each.experiment.name for each in shown] == list(reproduction.NAMES)
    for each in shown:
        assert each.tables
        assert each.claims
        assert all(claim.seen in ("yes", "partly", "no") and claim.evidence for claim in each.claims)


@pytest.mark.parametrize("name", reproduction.NAMES)
def test_data_are_written(done, name):
    folder, shown = done
    rows = pq.read_table(folder / f"data/{name}.parquet").to_pylist()
    cells = next(each.cells for each in shown if each.experiment.name == name)
    assert len(rows) >= cells > 0
    assert any(isinstance(value, float) for value in rows[0].values())


@pytest.mark.parametrize("name", ["figure1", "figure2", "appendix", "complexity", "robustness"])
def test_figures_are_drawn(done, name):
    folder, _ = done
    picture = (folder / f"figures/{name}.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 10_000
    drawn = ET.parse(folder / f"figures/{name}.svg").getroot()
    assert drawn.tag.endswith("svg")
    assert len(list(drawn.iter("{http://www.w3.org/2000/svg}path"))) > 20


def test_the_page_has_the_papers_numbers_and_ours(done):
    folder, shown = done
    page = write_reproduced(shown, folder, "quick").read_text()
    entry = TABLE2["broadcast", "sbpr-iterations"]
    assert f"{entry.value:g}, {entry.nodes:g}, {entry.seconds:g}" in page
    rows = pq.read_table(folder / "data/table2.parquet").to_pylist()
    assert {row["method"] for row in rows} == set(METHODS) - {"sbpr-time"}
    for row in rows:
        assert f">{row['value']:.2f}<" in page, row
    for each in shown:
        assert f'id="{each.experiment.name}"' in page
        assert all(claim.says.split("'")[0] in page for claim in each.claims)
    assert page.count("data:image/svg+xml;base64,") == 5
    assert not re.search(r"(?:src|href)=\"?https?:", page)
    assert page.index('class="no"') < page.index('class="yes"')  # what we do not see comes first


def test_an_unfinished_experiment_is_not_shown(done):
    folder, _ = done
    assert reproduction.shown(folder, "table2", table2.QUICK) is None


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
    slow = {("decpomdp.experiments.one_run:work", method) for method in ("sbpr", "mcem", "fb-hsvi")}
    return [pytest.param(cell, marks=pytest.mark.slow if key in slow else ()) for key, cell in found.items()]


@pytest.mark.parametrize("cell", kinds(), ids=lambda cell: f"{cell.work.rpartition('.')[2]} {cell.name}")
def test_cells_are_pure(done, cell: Cell):
    """Computed here, in another process than before, to the same bytes."""
    folder, _ = done
    module, _, name = cell.work.partition(":")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LearningWarning)
        again = getattr(importlib.import_module(module), name)(dict(cell.settings))
    kept = json.loads((folder / cell.place).read_bytes())["result"]
    assert told(json.loads(json.dumps(again))) == told(kept)


def told(result):
    return json.dumps(plain(result), sort_keys=True)


def test_a_cell_limited_by_time_has_its_own_column():
    effort = replace(table2.QUICK, seeds=1, problems=("broadcast",), methods=("sbpr-time", "sbpr-iterations"))
    rows = table2.rows([(cell, {"value": 1.0}) for cell in table2.cells(effort)])
    assert [row["method"] for row in rows] == ["sbpr-time", "sbpr-iterations"]
    limit = table2.cells(effort)[0].settings["limits"]["processor_seconds"]
    assert limit == TABLE2["broadcast", "mcem"].seconds * effort.time_share


def test_processor_time_ends_a_run():
    from decpomdp.experiments import one_run

    settings = {"problem": "broadcast", "method": "mcem", "seed": 0, "limits": {"processor_seconds": 0.0}}
    assert one_run.work(settings)["stopped"] == "interrupted"


def test_the_full_run_holds_what_the_paper_has():
    effort = reproduction.efforts_of("full")
    cells = reproduction.cells_of(["table2"], effort)
    columns = {(c.settings["problem"], c.settings["method"]) for c in cells}
    assert columns == {(p, m) for p in PROBLEMS for m in ("sbpr", "mcem", "periem", "fb-hsvi", "search")}
    grid = {(c.settings["episodes"], c.settings["method"]) for c in figure1.cells(effort["figure1"])}
    assert grid == {(k, m) for k in (30, 100, 300) for m in ("em", "sbpr", "dp")}
    assert all(c.settings["follow"] == 0.3 for c in figure1.cells(effort["figure1"]))
    assert {c.settings.get("truncation") for c in figure1.cells(effort["figure1"])} == {50, None}
    readings = {
        (c.settings["reading"], c.settings["c"], c.settings["d"]) for c in robustness.cells(effort["robustness"])
    }
    assert {("scale", 0.1, 1e-6), ("rate", 0.1, 1e-6)} < readings
    assert all(c.alone for c in complexity.cells(effort["complexity"]))


def test_seeds_are_what_is_asked_for():
    for name, effort in reproduction.efforts_of("quick", 2).items():
        seeds = {cell.settings["seed"] for cell in reproduction.cells_of([name], {name: effort})}
        assert seeds == {0, 1}
    with pytest.raises(InputError, match="seeds: expected"):
        reproduction.efforts_of("quick", 0)


def test_the_rule_of_agreement():
    ours = mean_of([1.0, 2.0, 3.0])
    assert ours.half == pytest.approx(4.302652729911275 / 3**0.5)  # Student's t with two degrees of freedom
    assert [verdict(value, ours) for value in (-0.5, 2.0, 4.4, 4.5)] == ["higher", "agrees", "agrees", "lower"]
    assert mean_of([5.0], test_error=0.5).half == pytest.approx(0.98)
    assert verdict(5.9, mean_of([5.0], test_error=0.5)) == "agrees"
    assert above(mean_of([5.0, 5.1]), mean_of([1.0, 1.1])) == "above"
    assert above(mean_of([1.0, 1.1]), mean_of([5.0, 5.1])) == "below"
    assert above(mean_of([1.0, 9.0]), mean_of([2.0, 7.0])) == "level"
    assert above(mean_of([1.0 + 1e-12, 1.0 + 1e-12]), mean_of([1.0, 1.0])) == "level"
    assert [size_verdict(size, ours) for size in (0.5, 1, 3, 4)] == ["more", "agrees", "agrees", "fewer"]


def test_the_exponents_are_those_of_the_times():
    sizes = (10, 20, 40)
    parts = {"filter": 1.0, "count": 2.0, "weigh": 0.0, "bound": 3.0, "whole": 1.5}
    rows = [
        {"vary": "K", "size": size, **{f"{part}_seconds": size**power for part, power in parts.items()}}
        for size in sizes
    ]
    assert {part: round(complexity.slope(rows, "K", part), 9) for part in parts} == parts


def test_a_strange_folder_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match="expected a new, empty or unfinished folder"):
        reproduction.open_folder(tmp_path)


def test_without_matplotlib_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"pip install decpomdp\[figures\]"):
        reproduction.reproduce(["complexity"], EFFORTS, tmp_path / "out", 1, lambda _: None)
    assert not (tmp_path / "out").exists()
