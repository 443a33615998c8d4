"""The folder of a reproduction: what was run is shown, kept and told, and efforts hold what the paper has."""

import json
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from decpomdp.cli.main import code_of
from decpomdp.core import InputError
from decpomdp.experiments import complexity, figure1, reproduction, robustness, table2
from decpomdp.experiments.origin import code_digest
from decpomdp.experiments.published import PROBLEMS
from decpomdp.report.reproduced import SEEN
from experiments.small_efforts import EFFORTS


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
    (tmp_path / reproduction.MARK).write_bytes(reproduction._mark(before))
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


def test_an_unfinished_experiment_is_not_shown(done):
    folder, _ = done
    assert reproduction.shown(folder, "table2", table2.QUICK, "quick") is None


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
    assert all(s["cap"] is None and not s["normalise"] for s in printed)
    learned = [s for s in printed if s["method"] in ("sbpr", "dp")]
    assert {(s["evidence"], s["resize"], s["stop"]) for s in learned} == {(1.0, False, "paper")}
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
