"""The folder of a reproduction: cells, data, figures, the page and the documents."""

import json
import re
import shutil
import sys
import xml.etree.ElementTree as ET

import pyarrow.parquet as pq
import pytest

from decpomdp.cli.main import code_of
from decpomdp.core import InputError
from decpomdp.experiments import figure1, reproduction, robustness, table1, table2
from decpomdp.experiments.cells import code_digest, compute, load
from decpomdp.experiments.published import PROBLEMS, TABLE2
from decpomdp.report.reproduced import SEEN, write_reproduced
from experiments.small_efforts import EFFORTS


def test_every_experiment_is_shown(done):
    folder, shown = done
    assert [each.experiment.name for each in shown] == list(reproduction.NAMES)
    for each in shown:
        name = each.experiment.name
        assert each.tables
        open_claims = [claim for claim in each.claims if claim.seen == "not judged"]
        assert open_claims == ([] if name == "complexity" else each.claims)  # the others have too few seeds
        assert all(claim.seen in SEEN and claim.numbers and claim.rule for claim in each.claims)
        assert each.codes == {code_digest(): each.cells}
        rows = pq.read_table(folder / f"data/{name}.parquet").to_pylist()
        assert len(rows) >= each.cells > 0
    assert reproduction.made_with(shown) == f"cells made with code {code_digest()}"


@pytest.mark.parametrize("name", ["figure1", "figure2", "appendix", "complexity", "robustness"])
def test_figures_are_drawn(done, name):
    folder, _ = done
    assert (folder / f"figures/{name}.png").read_bytes().startswith(b"\x89PNG")
    drawn = ET.parse(folder / f"figures/{name}.svg").getroot()
    assert len(list(drawn.iter("{http://www.w3.org/2000/svg}path"))) > 20


def without_times(result):
    if isinstance(result, dict):
        return {key: without_times(value) for key, value in result.items() if not key.endswith("seconds")}
    return [without_times(each) for each in result] if isinstance(result, list) else result


def kinds():
    """A cell of every kind of work and method that is not limited by time."""
    found = {}
    for cell in reproduction.cells_of(reproduction.NAMES, EFFORTS):
        found.setdefault((cell.work_name, cell.settings.get("method")), cell)
    return [pytest.param(cell, marks=pytest.mark.slow if "table2" in key[0] else ()) for key, cell in found.items()]


@pytest.mark.parametrize("cell", kinds(), ids=lambda cell: f"{cell.work_name.rpartition('.')[2]} {cell.name}")
def test_cells_are_pure(done, cell):
    """Computed here, in another process than before, to the same numbers."""
    import msgspec

    here, there = (msgspec.to_builtins(one.result) for one in (compute(cell), load(done[0], cell)))
    assert without_times(here) == without_times(there)


@pytest.mark.slow
def test_all_methods_of_table_2_are_shown(tmp_path):
    methods = ("sbpr-time", "mcem-time", "periem", "fb-hsvi", "search")
    effort = EFFORTS["table2"] | {"methods": methods}
    (shown,) = reproduction.reproduce(["table2"], {"table2": effort}, tmp_path, 1, lambda _: None)
    rows = pq.read_table(tmp_path / "data/table2.parquet").to_pylist()
    assert {row["method"] for row in rows} == set(methods)
    assert {row["stopped"] for row in rows if row["method"].endswith("-time")} == {"processor time"}
    assert len(shown.tables[0].rows) == len(methods)


def test_processor_time_ends_a_run():
    settings = {"problem": "broadcast", "method": "mcem", "seed": 0, "limits": {"processor_seconds": 0.0}}
    assert table2.work(settings).stopped == "processor time"


def test_cells_of_other_code_are_reused_and_named(done, tmp_path):
    folder, _ = done
    place = reproduction.cells_of(["appendix"], EFFORTS)[0].place
    content = json.loads((folder / place).read_bytes())
    (tmp_path / place).parent.mkdir()
    (tmp_path / place).write_text(json.dumps({**content, "code": "of yesterday"}))
    shown = reproduction.section_of(tmp_path, "appendix", EFFORTS["appendix"], "quick")
    assert reproduction.made_with([shown]) == "cells made with code of yesterday"


@pytest.fixture
def small(monkeypatch):
    """The command with small efforts, and with two experiments that are soon drawn."""
    names = ("appendix", "robustness")

    def efforts_of(kind, seeds=None):
        return {name: EFFORTS[name] | ({} if seeds is None else {"seeds": seeds}) for name in names}

    monkeypatch.setattr(reproduction, "efforts_of", efforts_of)
    monkeypatch.setattr(reproduction, "NAMES", names)


def sections(folder):
    """What the page says of how every experiment was run."""
    text = (folder / "index.md").read_text()
    return {
        name: words for words, name in re.findall(r"^(\w+ run, \d+ cells, seeds? .*); data/(\w+)\.parquet$", text, re.M)
    }


def test_seeds_concern_what_is_named(done, tmp_path, small, capsys):
    folder, _ = done
    shutil.copytree(folder / "cells", tmp_path / "cells")
    shown = {name: {"kind": "quick", "seeds": EFFORTS[name]["seeds"]} for name in reproduction.NAMES}
    (tmp_path / reproduction.MARK).write_text(json.dumps({"format": "decpomdp-reproduce/1", "shown": shown}))

    def run(*arguments):
        assert code_of(["reproduce", *arguments, "--out", str(tmp_path)]) == 0, capsys.readouterr().err
        return sections(tmp_path)

    before = run("appendix", "--quick", "--seeds", "1")
    assert before["robustness"] == "quick run, 8 cells, seeds 0 to 1"  # its own, not those of the appendix
    fewer = run("robustness", "--quick", "--seeds", "1")
    assert fewer == {**before, "robustness": "quick run, 4 cells, seed 0"}
    (tmp_path / reproduction.cells_of(["robustness"], EFFORTS)[0].place).unlink()
    run("appendix", "--quick")
    assert "robustness is left out of the page: cells of its quick run (1 seeds) are" in capsys.readouterr().err


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
    learned = [s for s in found if s["form"] == "printed" and s["method"] in ("sbpr", "dp")]
    assert {(s["evidence"], s["preset"], s["stop"], s["truncation"]) for s in learned} == {
        (1.0, "as-printed", "paper", 50)
    }
    readings = {
        (c.settings["reading"], c.settings["c"], c.settings["d"]) for c in robustness.cells(effort["robustness"])
    }
    assert {("scale", 0.1, 1e-6), ("rate", 0.1, 1e-6)} < readings
    assert all(c.alone for c in table1.cells(effort["complexity"]))


def test_wrong_seeds_folders_and_a_missing_matplotlib(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="seeds: expected"):
        reproduction.efforts_of("quick", 0)
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match="expected a new, empty or unfinished folder"):
        reproduction.open_folder(tmp_path)
    for name in ("matplotlib.pyplot", "matplotlib"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InputError, match=r"pip install decpomdp\[figures\]"):
        reproduction.reproduce(["complexity"], EFFORTS, tmp_path / "out", 1, lambda _: None)
    assert not (tmp_path / "out").exists()


def test_the_page_and_its_markdown(done):
    folder, shown = done
    page = write_reproduced(shown, folder).read_text()
    entry = TABLE2["broadcast", "sbpr-iterations"]
    assert f"{entry.value:g}, {entry.nodes:g}, {entry.seconds:g}" in page
    for row in pq.read_table(folder / "data/table2.parquet").to_pylist():
        assert f">{row['value']:.2f}<" in page, row
    assert page.count("data:image/svg+xml;base64,") == 5
    assert not re.search(r"(?:src|href)=\"?https?:", page)
    assert page.index('class="no"') < page.index('class="yes"')  # claims that are not seen come first
    text = (folder / "index.md").read_text()
    assert reproduction.made_with(shown) in text.splitlines()[2]
    for each in shown:
        assert all(claim.says.split("'")[0] in page for claim in each.claims)
        for table in each.tables:
            for row in table.rows:
                words = " | ".join(cell.strip().replace("|", "\\|").replace("*", "\\*") for cell in row)
                assert f"| {words} |" in text
    for block in re.findall(r"(?:^\|.*\n)+", text, re.M):  # every row has as many cells as its header
        assert len({re.sub(r"\\.", "", line).count("|") for line in block.splitlines()}) == 1, block
