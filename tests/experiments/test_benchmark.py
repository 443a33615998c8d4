"""A table of runs: complete, resumable, summarised as it says."""

import json
import runpy
import shutil
import statistics
from contextlib import chdir
from pathlib import Path

import pytest

import decpomdp as dp
from decpomdp.cli.main import code_of
from decpomdp.core import InputError
from decpomdp.experiments.benchmark import Plan, cell_of, lines_of, open_table, run_table
from decpomdp.experiments.cells import finished

DOCS = Path(__file__).parents[2] / "docs"


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
        dp.evaluate(dp.Team.load(tmp_path / f"t/broadcast-search-{seed}/team.json"), dp.load("broadcast")).value
        for seed in (0, 1)
    ]
    assert (line["worst"], line["best"]) == (min(values), max(values))
    assert line["median"] == pytest.approx(sum(values) / 2)
    _check_documents(tmp_path, values)
    code, _, err = told(*base[:3], "--steps", 5, *base[5:])
    assert code == 2
    assert "steps = 300000" in err


def _check_documents(folder, values):
    """The table is put into the documents with the value of every seed."""
    maker = runpy.run_path(str(DOCS / "make_benchmark.py"))
    (folder / "benchmark.md").write_text(f"# Title\n\n{maker['BEGIN']}\nold\n{maker['END']}\n\nby hand\n")
    page, data = maker["put"]([folder / "t"], folder)
    text = page.read_text()
    assert text.startswith("# Title\n")
    assert text.endswith("by hand\n")
    assert "old" not in text
    assert "`decpomdp benchmark --problems broadcast --methods search --seeds 2 --steps 300000`" in text
    assert ", ".join(f"{value:.4f}" for value in values) in text
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
    assert dp.Team.load(tmp_path / "broadcast-search-0/team.json").agents


def test_a_table_says_where_nothing_was_learned(told, tmp_path):
    base = ["benchmark", "--problems", " broadcast ,", "--methods", "sbpr, mcem", "--seeds", 1, "--steps", 10]
    code, out, err = told(*base, "--out", tmp_path / "t", "--json")
    assert code == 0
    lines = json.loads(out)["lines"]
    assert [(line["problem"], line["method"], line["untaught"]) for line in lines] == [
        ("broadcast", "sbpr", 1),
        ("broadcast", "mcem", 1),
    ]
    assert "broadcast sbpr: in 1 of 1 runs nothing was learned" in err
    assert json.loads((tmp_path / "t/broadcast-sbpr-0/run.json").read_text())["learned"] is False
    code, _, err = told("benchmark", "--methods", ",", "--out", tmp_path / "u")
    assert (code, err) == (2, "error: methods: expected names among search, sbpr, mcem, got none\n")
    assert not (tmp_path / "u").exists()


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
    (out / "checkpoint-1.bin").write_bytes(b"a state")
    benchmark.learned(cell.settings)
    assert asked == [["learn", "--resume", str(out)]]
    monkeypatch.setattr(benchmark, "_said", lambda arguments: f"{out}: another process is writing to this run")
    with pytest.raises(InputError, match="another process"):
        benchmark.learned(cell.settings)
    assert (out / "begun.json").exists()


def full_disk(*_, **__):
    raise InputError("cannot write checkpoint-1.bin: No space left on device")


def no_memory(*_, **__):
    raise MemoryError


@pytest.mark.parametrize(
    ("failing", "words"), [(full_disk, "No space left on device"), (no_memory, "not enough memory")]
)
def test_what_can_be_continued_is_never_removed(tmp_path, cell, monkeypatch, failing, words):
    from decpomdp.cli import benchmark
    from decpomdp.io import run_folder

    out = tmp_path / "broadcast-search-0"
    run_folder.begin(out, ["learn", "broadcast", "--steps", "30000", "--threads", "1", "--out", str(out)])
    (out / "checkpoint-1.bin").write_bytes(b"a state")
    monkeypatch.setattr("decpomdp.interaction.front.learn", failing)
    with pytest.raises(InputError, match=words):
        benchmark.learned(cell.settings)
    assert (out / "checkpoint-1.bin").read_bytes() == b"a state"
    assert (out / "begun.json").exists()


@pytest.mark.parametrize("left", [{}, {"begun.json": "{"}, {"begun.json": "{", "checkpoint-0.bin": "a state"}])
def test_what_cannot_be_continued_begins_again(tmp_path, cell, left):
    from decpomdp.cli import benchmark

    out = tmp_path / "broadcast-search-0"
    for name, content in {"team.json": "half", **left}.items():
        (out / name).write_text(content)
    benchmark.learned(cell.settings)
    assert finished(tmp_path, cell)
    assert dp.Run.load(out).record.stopped == "steps"


def test_one_that_another_process_has_just_begun_is_left_alone(tmp_path, cell):
    from decpomdp.cli import benchmark
    from decpomdp.io.run_folder import begin, locked

    out = tmp_path / "broadcast-search-0"
    begin(out, ["learn", "broadcast"])
    with locked(out), pytest.raises(InputError, match="another process is writing to this run"):
        benchmark.learned(cell.settings)
    assert (out / "begun.json").exists()


def test_a_run_that_was_cut_off_here_is_finished_elsewhere(tmp_path, cell):
    """The files of a worker take the place of what was begun on this machine."""
    from decpomdp.experiments.crew import Crew
    from decpomdp.experiments.elsewhere import keep_files, worked
    from decpomdp.io.run_folder import begin

    out = tmp_path / "broadcast-search-0"
    begin(out, ["learn", "broadcast"])
    for name in ("run.json", "checkpoint-0.bin", ".decpomdp-0123456789abcdef.part"):
        (out / name).write_text("half")
    with Crew() as crew:
        _, files = worked(cell, crew.one, str(tmp_path))
    keep_files(tmp_path / cell.place, files)
    assert finished(tmp_path, cell)
    assert sorted(path.name for path in out.iterdir()) == sorted(files)
    assert [line.seeds for line in lines_of(tmp_path, PLAN)] == [1]


def own_table():
    """One run, of a problem in a file."""
    plan = Plan(("own.dpomdp",), ("search",), 1, None, 3000, 1)
    run_table(Path("t"), plan, 1, "decpomdp.cli.benchmark:learned", lambda line: None)


@pytest.fixture(scope="module")
def finished_table(tmp_path_factory):
    """Its folder, for all tests that need one, which copy it."""
    folder = tmp_path_factory.mktemp("table")
    with chdir(folder):
        dp.load("broadcast").save("own.dpomdp")
        own_table()
    return folder


@pytest.fixture
def table(finished_table, tmp_path, monkeypatch):
    """A finished table in this folder, and what runs it again."""
    shutil.copytree(finished_table, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    own_table()  # nothing has changed: nothing is done
    return own_table


def test_runs_of_a_problem_that_has_changed_are_refused(table):
    dp.load("dectiger").save("own.dpomdp")
    with pytest.raises(InputError, match=r"own-search-0/run\.json: expected a run with digest .*choose another --out"):
        table()
    dp.load("broadcast", 0.5).save("own.dpomdp")
    with pytest.raises(InputError, match=r"expected a run with discount 0\.5, as now, got 0\.9; choose another --out"):
        table()


@pytest.mark.parametrize(("versions", "got"), [({"decpomdp": "0.0.1"}, r"0\.0\.1"), ({"numba": None}, "none")])
def test_runs_of_other_versions_are_refused(table, versions, got):
    place = Path("t/own-search-0/run.json")
    told = json.loads(place.read_text())
    place.write_text(json.dumps({**told, "versions": {**told["versions"], **versions}}))
    with pytest.raises(InputError, match=f"with {next(iter(versions))} .*, as now, got {got}; choose another --out"):
        table()


def test_a_run_that_was_cut_off_with_another_problem_is_refused(table):
    from decpomdp.io.run_folder import begin

    begin(Path("t/own-search-0"), ["learn", "own.dpomdp"])
    Path("t/own-search-0/checkpoint-0.bin").write_bytes(b"a state")
    dp.load("dectiger").save("own.dpomdp")
    with pytest.raises(InputError, match=r"the file has changed since the run began.*choose another --out"):
        table()
    assert Path("t/own-search-0/checkpoint-0.bin").exists()


def test_killed_while_the_plan_was_written(tmp_path):
    (tmp_path / ".decpomdp-0123456789abcdef.part").write_text("half")
    open_table(tmp_path, PLAN)
    assert [path.name for path in tmp_path.iterdir()] == ["benchmark.json"]


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
    with pytest.raises(InputError, match=r"expected (a|what a run)"):
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
