"""A table of runs: complete, resumable, summarised."""

import json
import os
import runpy
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

import decpomdp as dp
from decpomdp.cli.experiments import run_cell
from decpomdp.core import InputError
from decpomdp.domains import references, registry
from decpomdp.experiments.benchmark import (
    BenchmarkPlan,
    lines_of,
    open_table,
    run_table,
    suite_problems,
)
from decpomdp.io.run_folder import can_resume

DOCS = Path(__file__).parents[2] / "docs"
PLAN = BenchmarkPlan(("broadcast",), ("search",), 1, None, 30_000, 1)


def test_a_table_is_run_continued_and_summarised(run, tmp_path):
    base = ["benchmark", "--problems", "broadcast", "--steps", 300_000, "--out", tmp_path / "t", "--json"]
    code, out, err = run(*base, "--seeds", 1)
    assert code == 0
    assert "1 runs, 1 to do" in err
    first = json.loads(out)["lines"][0]
    assert (first["problem"], first["method"], first["seeds"]) == ("broadcast", "search", 1)
    assert first["median"] == first["worst"] == first["best"]
    before = (tmp_path / "t/broadcast-search-0/run.json").stat().st_mtime_ns
    code, out, err = run(*base, "--seeds", 2)
    assert "2 runs, 1 to do" in err
    assert (tmp_path / "t/broadcast-search-0/run.json").stat().st_mtime_ns == before
    line = json.loads(out)["lines"][0]
    teams = [dp.Team.load(tmp_path / f"t/broadcast-search-{seed}/team.json") for seed in (0, 1)]
    values = [dp.evaluate(team, dp.load("broadcast")).value for team in teams]
    assert (line["worst"], line["best"]) == (min(values), max(values))
    assert line["median"] == pytest.approx(sum(values) / 2)
    _check_documents(tmp_path, values)
    code, _, err = run(*base[:3], "--steps", 5, *base[5:])
    assert code == 2
    assert "steps = 300000" in err


def test_the_suite_has_forty_problems_and_fresh_even_seeds(run, tmp_path):
    blocks = [suite_problems(block) for block in (1, 2)]
    assert [len(block) for block in blocks] == [40, 40]
    assert blocks[0][:20] == blocks[1][:20]
    seeds = [int(name.rpartition("seed=")[2]) for block in blocks for name in block[20:]]
    assert len(set(seeds)) == 40
    assert all(seed % 2 == 0 for seed in seeds)
    assert all(registry.is_model(name) and registry.canonical(name) for name in blocks[0])
    code, _, err = run("benchmark", "--suite", "--out", tmp_path / "t")
    assert (code, err) == (2, "error: --suite: expected --block and no --problems\n")


def test_references_change_only_on_request(run, tmp_path, monkeypatch):
    file = tmp_path / "references.json"
    monkeypatch.setattr(references, "FILE", file)
    references.references.cache_clear()
    base = ["benchmark", "--problems", "broadcast:mabc", "--steps", 30_000, "--seeds", 1, "--out", tmp_path / "t"]
    assert "best known value" not in run(*base)[2]
    assert not file.exists()
    assert "as the best known value" in run(*base, "--update-references")[2]
    assert "best known value" not in run(*base, "--update-references")[2]
    (entry,) = references.references().values()
    worse = msgspec.structs.replace(entry, value=entry.value - 1)
    file.write_bytes(msgspec.json.encode({"broadcast:mabc": worse}))
    references.references.cache_clear()
    before = file.read_bytes()
    assert "is better than the best known value (--update-references stores it)" in run(*base)[2]
    assert file.read_bytes() == before
    run(*base, "--update-references")
    assert references.references() == {"broadcast:mabc": entry}
    references.references.cache_clear()


def test_planners_are_run_beside_learners_and_give_references(run, tmp_path, monkeypatch):
    monkeypatch.setattr(references, "FILE", tmp_path / "references.json")
    references.references.cache_clear()
    base = ["benchmark", "--problems", "broadcast:mabc", "--methods", "search,em,pbvi", "--seeds", 1, "--threads", 1]
    base += ["--time-limit", 1.0, "--out", tmp_path / "t"]
    code, out, err = run(*base, "--json", "--update-references")
    assert code == 0
    lines = {line["method"]: line for line in json.loads(out)["lines"]}
    assert list(lines) == ["search", "em", "pbvi"]
    assert lines["search"]["steps"] > lines["em"]["nodes"].count("+")
    assert lines["em"]["steps"] is None
    assert lines["pbvi"]["nodes"].isdigit()  # one agent that sees everything: above every team, and no reference
    (stored,) = references.references().values()
    assert stored.value == max(lines["search"]["best"], lines["em"]["best"]) < lines["pbvi"]["best"]
    assert "pbvi-0: 9.2" in err
    references.references.cache_clear()
    (tmp_path / "t/broadcast_mabc-em-0/run.json").unlink()
    code, _, err = run(*base)
    assert "3 runs, 1 to do" in err
    assert "(best known 9.2" in err
    references.references.cache_clear()


def _check_documents(folder, values):
    """The table is put into the documents, the value of every seed into the data."""
    maker = runpy.run_path(str(DOCS / "make_benchmark.py"))
    (folder / "benchmark.md").write_text(f"# Title\n\n{maker['BEGIN']}\nold\n{maker['END']}\n\nby hand\n")
    page, data = maker["put"]([folder / "t"], folder)
    text = page.read_text()
    assert text.startswith("# Title\n")
    assert text.endswith("by hand\n")
    assert "old" not in text
    assert "`decpomdp benchmark --problems broadcast --methods search --seeds 2 --steps 300000`" in text
    assert f"| {min(values):.4f} | {max(values):.4f} |" in text
    assert json.loads(data.read_text())[0]["lines"][0]["values"] == values


def test_the_page_of_the_benchmark_says_what_its_data_say():
    maker = runpy.run_path(str(DOCS / "make_benchmark.py"))
    page = (DOCS / "benchmark.md").read_text(encoding="utf-8")
    tables = json.loads((DOCS / "benchmark.json").read_text(encoding="utf-8"))
    assert tables
    for table in tables:
        assert maker["text_of"](table) in page
        for line in table["lines"]:
            assert len(line["values"]) == line["seeds"]
            assert line["median"] == statistics.median(line["values"])
            assert (line["worst"], line["best"]) == (min(line["values"]), max(line["values"]))


def test_a_table_says_where_nothing_was_learned(run, tmp_path):
    base = ["benchmark", "--problems", " broadcast ,", "--methods", "sbpr, mcem", "--seeds", 1, "--steps", 10]
    code, out, err = run(*base, "--out", tmp_path / "t", "--json")
    assert code == 0
    lines = json.loads(out)["lines"]
    assert [(line["method"], line["untaught"]) for line in lines] == [("sbpr", 1), ("mcem", 1)]
    assert "broadcast sbpr: in 1 of 1 runs nothing was learned" in err


def test_mistakes_are_one_line(run, tmp_path):
    for options, words in [
        (["--methods", ","], "--methods: expected names among search, sbpr, mcem, fb-hsvi, periem, em, pbvi, got none"),
        (["--methods", "search,em", "--steps", 5], "--steps: not a limit of em; give a --time-limit"),
        (["--methods", "em", "--problems", "traffic:2"], "expected one with a model, got traffic:2"),
        (["--methods", "magic"], "magic"),
        (["--problems", "nothing"], "nothing"),
    ]:
        code, _, err = run("benchmark", *options, "--out", tmp_path / "t")
        assert code == 2
        assert words in err
        assert len(err.splitlines()) == 1
        assert not (tmp_path / "t").exists()


def test_a_killed_run_is_resumed_to_the_same_team(tmp_path):
    """Killed after its first checkpoint; the same command goes on from it."""
    plan = BenchmarkPlan(("dectiger",), ("search",), 1, None, 3_000_000, 1)
    folder = tmp_path / "t/dectiger-search-0"
    settings = {"problem": "dectiger", "method": "search", "seed": 0, "steps": 3_000_000, "time_limit": None}
    command = ["learn", "dectiger", "--steps", "3000000", "--threads", "1", "--quiet", "--checkpoint-every", "0"]
    open_table(tmp_path / "t", plan)
    process = subprocess.Popen([sys.executable, "-m", "decpomdp", *command, "--out", str(folder)])
    while not can_resume(folder):
        assert process.poll() is None
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert lines_of(tmp_path / "t", plan) == []
    before = (folder / "run.json").read_bytes()
    run_table(tmp_path / "t", plan, 1, run_cell, lambda _: None)
    assert b'"finished": false' in before
    run_cell({**settings, "threads": 1, "remote": False, "out": str(tmp_path / "here")})
    assert (folder / "team.json").read_bytes() == (tmp_path / "here/team.json").read_bytes()


def test_runs_of_another_problem_or_version_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan = BenchmarkPlan(("own.dpomdp",), ("search",), 1, None, 3000, 1)
    dp.load("broadcast").save("own.dpomdp")
    run_table(Path("t"), plan, 1, run_cell, lambda _: None)
    place = Path("t/benchmark.json")
    before = place.read_text()
    changed = json.loads(before) | {"decpomdp": "0.0.1"}
    place.write_text(json.dumps(changed))
    with pytest.raises(InputError, match=r"the plan of this folder .decpomdp = 0\.0\.1., got .*choose another"):
        run_table(Path("t"), plan, 1, run_cell, lambda _: None)
    place.write_text(before)
    dp.load("broadcast", 0.5).save("own.dpomdp")
    with pytest.raises(InputError, match=r"expected the plan of this folder .sources = .*choose another --out"):
        run_table(Path("t"), plan, 1, run_cell, lambda _: None)


def test_wrong_plans_and_damaged_files_are_one_line(tmp_path):
    plan = BenchmarkPlan(("a/my.dpomdp", "b/my.dpomdp"), ("search",), 1, None, 100, 1)
    with pytest.raises(InputError, match=r"different names, got a/my\.dpomdp and b/my\.dpomdp"):
        open_table(tmp_path / "t", plan)
    (tmp_path / "broadcast-search-0").mkdir()
    value = '{"format": "decpomdp-run/2", "value": {"value": null}, "nodes": [1], "steps": 1}'
    plan, run = ("benchmark.json", open_table), ("broadcast-search-0/run.json", lines_of)
    for (name, reader), content, words in [
        (plan, "[]", "benchmark.json: not the plan"),
        (plan, '{"problems": 1}', r"the plan of this folder .problems = 1., got"),
        (plan, "\xff", "benchmark.json: not the plan"),
        (run, "[]", "run.json: "),
        (run, value, "run.json: expected a run with a finite value"),
    ]:
        (tmp_path / name).write_text(content)
        with pytest.raises(InputError, match=words):
            reader(tmp_path, PLAN)
