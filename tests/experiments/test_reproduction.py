"""Every experiment from cells to page, as small as it goes."""

import importlib
import json
import re
import runpy
import shutil
import sys
import warnings
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from decpomdp.cli.main import code_of
from decpomdp.core import FormatError, InputError
from decpomdp.core.errors import LearningWarning
from decpomdp.experiments import appendix, complexity, figure1, figure2, reproduction, robustness, table2
from decpomdp.experiments.cells import Cell, check_results, results_of
from decpomdp.experiments.origin import code_digest
from decpomdp.experiments.published import METHODS, PROBLEMS, TABLE2
from decpomdp.report.reproduced import write_reproduced
from decpomdp.report.reproduced_text import SEEN

DOCS = Path(__file__).resolve().parents[2] / "docs"
PLANNED = ("periem", "fb-hsvi", "search")  # what takes long to compile
# the quick efforts shrunk further
EFFORTS = {
    "table2": replace(
        table2.QUICK,
        seeds=1,
        problems=("broadcast",),
        methods=("sbpr-iterations", "mcem"),
        iterations=1,
        mcem_iterations=1,
        time_share=0.01,
        rounds=1,
        restarts=1,
        planning=2.0,
        steps=100_000,
    ),
    "figure1": replace(
        figure1.QUICK, seeds=2, problem="broadcast", episodes=(10,), steps=5, sizes=(1, 2), sweeps=5, truncation=6
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
        robustness.QUICK, seeds=2, problems=("broadcast",), c=(0.1,), d=(1e-6, 1.0), episodes=30, steps=4, sweeps=4
    ),
}


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """All experiments, computed once."""
    folder = tmp_path_factory.mktemp("reproduced")
    return folder, reproduction.reproduce(reproduction.NAMES, EFFORTS, folder, 1, lambda _: None, "quick")


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


@pytest.fixture
def small(monkeypatch):
    """The command with the small efforts as its quick and full ones, and with three experiments that are soon drawn."""
    names = ("table2", "appendix", "robustness")
    efforts = {name: dict.fromkeys(("quick", "full"), EFFORTS[name]) for name in names}
    known = {name: replace(reproduction.experiment_named(name), efforts=efforts[name]) for name in names}
    monkeypatch.setattr(reproduction, "experiment_named", known.__getitem__)
    monkeypatch.setattr(reproduction, "NAMES", names)


def sections(folder: Path) -> dict[str, str]:
    """What the page says of how every experiment was run."""
    told = (folder / "index.md").read_text()
    return {
        name: told for told, name in re.findall(r"^(\w+ run, \d+ cells, seeds? .*); data/(\w+)\.parquet$", told, re.M)
    }


def test_seeds_concern_what_is_named(done, tmp_path, small, capsys):
    folder, _ = done
    shutil.copytree(folder / "cells", tmp_path / "cells")
    (tmp_path / reproduction.MARK).write_text('{"format": "decpomdp-reproduce/1"}')  # an old folder

    def run(*arguments):
        assert code_of(["reproduce", *arguments, "--out", str(tmp_path)]) == 0, capsys.readouterr().err
        read = sections(tmp_path)
        assert set(read) == set(reproduction.NAMES)  # none is dropped
        return read

    before = run("appendix", "--quick", "--seeds", "1")
    assert before["robustness"] == "quick run, 8 cells, seeds 0 to 1"  # its own, not those of the appendix
    assert all(told.startswith("quick run, ") for told in before.values())
    assert "\nquick run, " in (tmp_path / "index.md").read_text()
    rows = (tmp_path / "data/robustness.parquet").read_bytes()
    now = run("table2", "--seeds", "1")
    assert now == {**before, "table2": before["table2"].replace("quick", "full")}
    assert (tmp_path / "data/robustness.parquet").read_bytes() == rows
    for page in ("index.md", "index.html"):
        assert "full run of table2, quick run of appendix and robustness, " in (tmp_path / page).read_text()
    fewer = run("robustness", "--quick", "--seeds", "1")
    assert fewer == {**now, "robustness": "quick run, 4 cells, seed 0"}
    assert run("appendix", "--quick") == fewer  # the others stay as they were last shown


def test_what_is_lost_is_told(done, tmp_path, small, capsys):
    folder, _ = done
    shutil.copytree(folder / "cells", tmp_path / "cells")
    before = {name: reproduction.Record("quick", EFFORTS[name].seeds) for name in reproduction.NAMES}
    reproduction._write_mark(tmp_path, before)
    (tmp_path / reproduction.cells_of(["robustness"], EFFORTS)[0].place).unlink()
    assert code_of(["reproduce", "appendix", "--quick", "--out", str(tmp_path)]) == 0
    err = capsys.readouterr().err
    assert "robustness is not on the page any more: cells of its quick run (2 seeds) are missing" in err
    assert err.count("not on the page") == 1
    assert set(sections(tmp_path)) == {"table2", "appendix"}
    assert reproduction.read_mark(tmp_path).shown == before


@pytest.mark.parametrize(
    ("mark", "words"),
    [
        ("half a ma", "not JSON"),
        ("[]", "expected a JSON object"),
        ('{"format": "decpomdp-reproduce/9"}', "format: expected"),
        ('{"format": "decpomdp-reproduce/1", "shown": []}', "shown: expected object"),
        ('{"format": "decpomdp-reproduce/1", "shown": {"table2": 5}}', "expected object"),
        ('{"format": "decpomdp-reproduce/1", "shown": {"table2": {"kind": "slow", "seeds": 5}}}', "kind: invalid enum"),
        ('{"format": "decpomdp-reproduce/1", "shown": {"table2": {"kind": "full", "seeds": "5"}}}', "seeds: expected"),
        ('{"format": "decpomdp-reproduce/1", "shown": {"table2": {"kind": "full", "seeds": 0}}}', "seeds: expected"),
        ('{"format": "decpomdp-reproduce/1", "shown": {"table2": {"kind": "full", "seeds": 2.5}}}', "seeds: expected"),
        ('{"format": "decpomdp-reproduce/1", "shown": {"table2": {"kind": "full"}}}', "missing required field seeds"),
    ],
)
def test_a_mark_of_other_types_is_one_line(tmp_path, capsys, mark, words):
    (tmp_path / reproduction.MARK).write_text(mark)
    assert code_of(["reproduce", "appendix", "--out", str(tmp_path)]) == 2
    err = capsys.readouterr().err
    assert words in err
    assert reproduction.MARK in err
    assert len(err.splitlines()) == 1
    assert (tmp_path / reproduction.MARK).read_text() == mark


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


def test_every_experiment_is_shown(done):
    _, shown = done
    assert [each.experiment.name for each in shown] == list(reproduction.NAMES)
    for each in shown:
        assert each.tables
        left_open = [claim for claim in each.claims if claim.seen == "not judged"]
        assert left_open == (
            [] if each.experiment.name == "complexity" else each.claims
        )  # the others have too few seeds
        assert all("at least three seeds" in claim.told for claim in left_open)
        assert all(claim.seen in SEEN and claim.told and claim.rule for claim in each.claims)
        assert all(claim.evidence == f"{claim.told} Rule: {claim.rule}" for claim in each.claims)
        assert each.codes == {code_digest(): each.cells}
    assert reproduction.made_with(shown) == f"cells made with code {code_digest()}"


def test_cells_of_other_code_are_used_and_told(done, tmp_path):
    folder, _ = done
    names, efforts = ["appendix"], {"appendix": EFFORTS["appendix"]}
    assert reproduction.reused(folder, names, efforts) is None
    place = reproduction.cells_of(names, efforts)[0].place
    content = json.loads((folder / place).read_bytes())
    (tmp_path / place).parent.mkdir()
    (tmp_path / place).write_text(json.dumps({**content, "code": "of yesterday"}))
    assert "1 with of yesterday" in reproduction.reused(tmp_path, names, efforts)
    shown = reproduction.shown(tmp_path, "appendix", EFFORTS["appendix"], "quick")
    assert reproduction.made_with([shown]) == "cells made with code of yesterday"


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
    page = write_reproduced(shown, folder).read_text()
    entry = TABLE2["broadcast", "sbpr-iterations"]
    assert f"{entry.value:g}, {entry.nodes:g}, {entry.seconds:g}" in page
    rows = pq.read_table(folder / "data/table2.parquet").to_pylist()
    assert {row["method"] for row in rows} == {"sbpr-iterations", "mcem"}
    for row in rows:
        assert f">{row['value']:.2f}<" in page, row
    for each in shown:
        assert f'id="{each.experiment.name}"' in page
        assert all(claim.says.split("'")[0] in page for claim in each.claims)
    assert page.count("data:image/svg+xml;base64,") == 5
    assert not re.search(r"(?:src|href)=\"?https?:", page)
    assert page.index('class="no"') < page.index('class="yes"')  # what we do not see comes first


def test_the_markdown_says_what_the_page_says(done):
    folder, shown = done
    write_reproduced(shown, folder)
    told = (folder / "index.md").read_text()
    assert told.startswith("# Stick-breaking policy learning")
    assert f"quick run, {sum(each.cells for each in shown)} cells; python " in told
    assert reproduction.made_with(shown) in told.splitlines()[2]
    for each in shown:
        assert f"\n## {each.experiment.title.replace('|', chr(92) + '|')}\n" in told
        for picture in each.pictures:
            assert f"](figures/{picture.name}.png)" in told
        for table in each.tables:
            for row in table.rows:
                words = " | ".join(cell.strip().replace("|", "\\|").replace("*", "\\*") for cell in row)
                assert f"| {words} |" in told
    assert told.index("**no**") < told.index("**yes**")
    lines = [re.sub(r"\\.", "", line) for line in told.splitlines() if line.startswith("|")]
    assert len(lines) > 40
    for block in re.findall(r"(?:^\|.*\n)+", told, re.M):  # every row has as many cells as its header
        widths = {re.sub(r"\\.", "", line).count("|") for line in block.splitlines()}
        assert len(widths) == 1, block


def test_a_run_is_put_into_the_documents(done, tmp_path):
    folder, shown = done
    write_reproduced(shown, folder)
    maker = runpy.run_path(str(DOCS / "make_reproduce.py"))
    (tmp_path / "pictures").mkdir()
    page = tmp_path / "reproduce.md"
    page.write_text(f"# Title\n\n{maker['BEGIN']}\nold numbers\n{maker['END']}\n\n## By hand\n")
    files = maker["put"](folder, tmp_path)
    told = page.read_text()
    assert told.startswith("# Title\n")
    assert told.endswith("## By hand\n")
    assert "old numbers" not in told
    assert "**These numbers are of this run: quick run, " in told
    assert "](pictures/reproduce_figure1.png)" in told
    assert "[sbpr.md](sbpr.md)" in told
    assert {path.name for path in files} >= {"reproduce.md", "reproduce_figure1.png", "reproduce_robustness.png"}
    assert (tmp_path / "pictures/reproduce_figure1.png").read_bytes().startswith(b"\x89PNG")
    once = page.read_bytes()
    maker["put"](folder, tmp_path)
    assert page.read_bytes() == once


def test_the_documents_have_room_for_a_run(tmp_path):
    maker = runpy.run_path(str(DOCS / "make_reproduce.py"))
    told = (DOCS / "reproduce.md").read_text()
    assert told.count(maker["BEGIN"]) == told.count(maker["END"]) == 1
    assert "**These numbers are of this run: " in told
    (tmp_path / "reproduce.md").write_text("no marks")
    (tmp_path / "index.md").write_text("# Title\n\nline\n\nrest\n")
    with pytest.raises(SystemExit, match="expected the marks"):
        maker["put"](tmp_path, tmp_path)


def test_an_unfinished_experiment_is_not_shown(done):
    folder, _ = done
    assert reproduction.shown(folder, "table2", table2.QUICK, "quick") is None


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
    assert one_run.work(settings)["stopped"] == "interrupted"


def test_the_full_run_holds_what_the_paper_has():
    effort = reproduction.efforts_of("full")
    cells = reproduction.cells_of(["table2"], effort)
    columns = {(c.settings["problem"], c.settings["method"]) for c in cells}
    assert columns == {(p, m) for p in PROBLEMS for m in ("sbpr", "mcem", "periem", "fb-hsvi", "search")}
    found = [c.settings for c in figure1.cells(effort["figure1"])]
    data = [(30, 0.3), (100, 0.3), (300, 0.3), (300, 0.7)]
    grid = {(s["episodes"], s["follow"], s["form"], s["method"]) for s in found}
    pairs = {(form, m) for form in figure1.WAYS for m in figure1.NAMES} - {("counted", "em"), ("counted", "em-best")}
    assert grid == {(*d, *pair) for d in data for pair in pairs}  # EM as printed is EM with episodes counted
    printed = [s for s in found if s["form"] == "printed"]
    assert all(s["cap"] is None and not s["normalise"] and s["evidence"] == 1.0 for s in printed)
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
