"""A table of runs: complete, resumable, summarised as it says."""

import json
from pathlib import Path

import pytest

import decpomdp as dp
from decpomdp.cli.main import code_of
from decpomdp.core import InputError
from decpomdp.experiments.benchmark import Plan, cell_of, lines_of, open_table, run_table
from decpomdp.experiments.cells import finished


@pytest.fixture
def told(capsys):
    def call(*arguments):
        code = code_of([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def test_a_table_is_run_continued_and_summarised(told, tmp_path):
    base = ["benchmark", "--problems", "broadcast", "--steps", 300_000, "--out", tmp_path / "t", "--json"]
    code, out, err = told(*base, "--seeds", 1)
    assert code == 0
    assert "1 runs, 1 to do" in err
    first = json.loads(out)["lines"][0]
    assert (first["problem"], first["method"], first["seeds"]) == ("broadcast", "search", 1)
    assert first["median"] == first["worst"] == first["best"]
    before = (tmp_path / "t/broadcast-search-0/run.json").stat().st_mtime_ns
    code, out, err = told(*base, "--seeds", 2)
    assert "2 runs, 1 to do" in err
    assert (tmp_path / "t/broadcast-search-0/run.json").stat().st_mtime_ns == before
    line = json.loads(out)["lines"][0]
    values = [
        dp.evaluate(dp.read_team(tmp_path / f"t/broadcast-search-{seed}/team.json"), dp.load("broadcast")).value
        for seed in (0, 1)
    ]
    assert (line["worst"], line["best"]) == (min(values), max(values))
    assert line["median"] == pytest.approx(sum(values) / 2)
    code, _, err = told(*base[:3], "--steps", 5, *base[5:])
    assert code == 2
    assert "steps = 300000" in err


PLAN = Plan(("broadcast",), ("search",), 1, None, 30_000, 1)


def test_a_run_that_was_cut_off_is_run_again(told, tmp_path):
    open_table(tmp_path, PLAN)
    (tmp_path / "broadcast-search-0").mkdir()
    (tmp_path / "broadcast-search-0/team.json").write_text("half")
    assert not finished(tmp_path, cell_of(tmp_path, PLAN, "broadcast", "search", 0))
    base = ["benchmark", "--problems", "broadcast", "--steps", 30_000, "--time-limit", 60, "--threads", 1]
    code, _, err = told(*base, "--out", tmp_path)
    assert code == 2
    assert "time_limit = None" in err  # another plan than this folder's
    run_table(tmp_path, PLAN, 1, "decpomdp.cli.benchmark:learned", lambda line: None)
    assert dp.read_team(tmp_path / "broadcast-search-0/team.json").agents


def test_a_run_that_fails_says_why(tmp_path):
    plan = Plan(("broadcast",), ("magic",), 1, None, 100, 1)
    with pytest.raises(InputError, match="broadcast magic seed 0: method: expected one of"):
        run_table(tmp_path / "t", plan, 1, "decpomdp.cli.benchmark:learned", lambda line: None)


def test_a_strange_folder_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match="expected a new, empty or unfinished benchmark folder"):
        open_table(tmp_path, Plan(("dectiger",), ("search",), 1, 1.0, None, None))


def test_files_name_their_cells():
    cell = cell_of(Path("t"), PLAN, "some/where/my.dpomdp.gz", "search", 3)
    assert cell.own_file == "my-search-3/run.json"
    assert cell.settings["out"] == str(Path("t/my-search-3"))


def test_an_empty_table_has_no_lines(tmp_path):
    assert list(lines_of(tmp_path, Plan(("dectiger",), ("search",), 2, 1.0, None, None))) == []


def test_unknown_names_are_refused(told, tmp_path):
    code, _, err = told("benchmark", "--methods", "magic", "--out", tmp_path / "t")
    assert code == 2
    assert "magic" in err
    code, _, err = told("benchmark", "--problems", "nothing", "--out", tmp_path / "t")
    assert code == 2
    assert not (tmp_path / "t").exists()


@pytest.fixture
def cell(tmp_path):
    open_table(tmp_path, PLAN)
    (tmp_path / "broadcast-search-0").mkdir()
    return cell_of(tmp_path, PLAN, "broadcast", "search", 0, "decpomdp.cli.benchmark:learned")


def test_a_run_that_is_not_over_is_no_result(tmp_path, cell):
    """Its run.json is written when learning ends, before its value is known."""
    (tmp_path / cell.place).write_text("{}")
    (tmp_path / cell.place).with_name("begun.json").write_text("{}")
    assert not finished(tmp_path, cell)
    assert list(lines_of(tmp_path, PLAN)) == []


def test_a_run_that_was_killed_goes_on_from_its_checkpoint(tmp_path, cell, monkeypatch):
    from decpomdp.cli import benchmark
    from decpomdp.io import run_folder

    out = tmp_path / "broadcast-search-0"
    asked = []
    monkeypatch.setattr(benchmark, "_said", lambda arguments: asked.append(arguments[:3]))
    run_folder.begin(out, ["learn", "broadcast"])
    benchmark.learned(cell.settings)
    assert asked == [["learn", "--resume", str(out)]]
    monkeypatch.setattr(benchmark, "_said", lambda arguments: f"{out}: another process is writing to this run")
    with pytest.raises(InputError, match="another process"):
        benchmark.learned(cell.settings)
    assert (out / "begun.json").exists()


def test_files_of_the_same_name_are_refused(tmp_path):
    plan = Plan(("a/my.dpomdp", "b/my.dpomdp"), ("search",), 1, None, 100, 1)
    with pytest.raises(InputError, match=r"different names, got a/my\.dpomdp and b/my\.dpomdp"):
        open_table(tmp_path / "t", plan)


@pytest.mark.parametrize("content", ["[]", "7", "{}", '{"problems": 1}', "[" * 100_000, '"x"', "\xff"])
def test_a_strange_plan_is_one_line(tmp_path, content):
    (tmp_path / "benchmark.json").write_text(content)
    with pytest.raises(InputError):
        open_table(tmp_path, PLAN)


def test_a_plan_with_more_in_it_is_another_plan(tmp_path, cell):
    told = json.loads((tmp_path / "benchmark.json").read_text())
    (tmp_path / "benchmark.json").write_text(json.dumps({**told, "more": 1}))
    with pytest.raises(InputError, match="more = 1"):
        open_table(tmp_path, PLAN)


@pytest.mark.parametrize(
    "content",
    ["{}", "[]", '{"value": null, "nodes": [1], "seconds": 1, "steps": 1}', '{"value": {"value": null}}'],
)
def test_a_strange_run_is_one_line(tmp_path, cell, content):
    (tmp_path / cell.place).write_text(content)
    with pytest.raises(InputError, match="expected a"):
        list(lines_of(tmp_path, PLAN))


def test_a_second_process_is_refused(tmp_path):
    from decpomdp.io.run_folder import locked

    open_table(tmp_path, PLAN)
    with locked(tmp_path), pytest.raises(InputError, match="another process is writing to this run"):
        run_table(tmp_path, PLAN, 1, "decpomdp.cli.benchmark:learned", lambda line: None)


def test_links_that_lead_out_are_refused(tmp_path, cell):
    (tmp_path / "elsewhere").mkdir()
    table = tmp_path / "table"
    open_table(table, PLAN)
    (table / "inside").symlink_to(table / "benchmark.json")
    open_table(table, PLAN)
    (table / "broadcast-search-0").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="got a link that leads out of its folder"):
        open_table(table, PLAN)
