"""The command as people and programs use it: results, JSON, mistakes in one line."""

import dataclasses
import json
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
from worlds.logs import small_log

import decpomdp as dp
from decpomdp.learners.judging import BETTER, UNPROVEN, WORSE
from interaction import test_world


@pytest.fixture
def team_file(tmp_path):
    from dectiger_horizon3 import controller

    model = dp.load("dectiger")
    dp.Team.of(model, [controller()] * 2).save(tmp_path / "team.json")
    return tmp_path / "team.json"


def test_info(run, as_json):
    told = as_json("info", "dectiger")
    assert told["name"] == "dectiger"
    assert told["discount"] == 0.9
    assert told["states"] == ["tiger-left", "tiger-right"]
    assert told["agents"][1] == {
        "name": "agent2",
        "actions": ["listen", "open-left", "open-right"],
        "observations": ["hear-left", "hear-right"],
    }
    assert as_json("info", "dectiger", "--discount", 0.5)["discount"] == 0.5
    assert "2 agents, 2 states, 9 joint actions" in run("info", "dectiger")[1]
    assert told["note"] is None
    assert "note: " not in run("info", "dectiger")[1]
    assert "searchbig recharges" in run("info", "recycling")[1].splitlines()[-1]


def test_simulate_writes_episodes(as_json):
    told = as_json("simulate", "recycling", "--episodes", 50, "--horizon", 7, "--seed", 3, "--out", "e.parquet")
    episodes = dp.Episodes.load("e.parquet")
    assert (episodes.count, episodes.steps, episodes.name) == (50, 350, "recycling")
    assert episodes.returns().mean() == pytest.approx(told["mean_return"])
    assert episodes.behaviour == pytest.approx(1 / 3)
    again = as_json("simulate", "recycling", "--episodes", 50, "--horizon", 7, "--seed", 3, "--out", "f.parquet")
    assert dp.Episodes.load("f.parquet") == episodes
    assert again["mean_return"] == told["mean_return"]
    as_json("simulate", "recycling", "--episodes", 50, "--horizon", 7, "--seed", 3, "--out", "e.csv")
    assert dp.Episodes.load("e.csv", 0.9).returns() == pytest.approx(episodes.returns())


def test_simulate_a_team_that_explores(run, team_file):
    run("simulate", "dectiger", "--policy", team_file, "--explore", 0.3, "--episodes", 20, "--out", "e.parquet")
    behaviour = dp.Episodes.load("e.parquet").behaviour
    assert np.unique(behaviour.round(6)).tolist() == pytest.approx([0.1, 0.8])


def test_evaluate(run, as_json, team_file):
    told = as_json("evaluate", team_file, "--problem", "dectiger")
    assert told["value"] == pytest.approx(13.4486, abs=1e-4)
    assert (told["method"], told["nodes"], told["horizon"]) == ("exact", [6, 6], None)
    assert as_json("evaluate", team_file)["value"] == told["value"]  # the team names its problem
    undiscounted = as_json("evaluate", team_file, "--horizon", 3, "--discount", 1)
    assert undiscounted["value"] == pytest.approx(5.1908125, abs=1e-6)
    sampled = as_json("evaluate", team_file, "--test-episodes", 2000, "--seed", 1)
    assert abs(sampled["value"] - told["value"]) < 4 * sampled["standard_error"]
    assert "13.448" in run("evaluate", team_file)[1]


def test_evaluate_a_run_of_a_file(run, as_json, tmp_path):
    """Also without a discount: then the value is that of the given horizon."""
    dp.load("broadcast", discount=1.0).save(tmp_path / "mine.dpomdp")
    learned = as_json("learn", "mine.dpomdp", "--horizon", 6, "--steps", 20_000, "--out", "run", "--no-report")
    assert learned["value"]["method"] == "exact, from the model, over 6 steps"
    told = as_json("evaluate", "run", "--horizon", 6)
    assert told["value"] == pytest.approx(learned["value"]["value"])
    (tmp_path / "run/run.json").unlink()
    code, _, err = run("evaluate", "run", "--horizon", 6)
    assert (code, err) == (2, "error: run is a team for mine, which is not built in; pass --problem\n")


@pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning")
def test_learn_from_episodes(run, as_json, tmp_path):
    run("simulate", "broadcast", "--episodes", 100, "--horizon", 6, "--out", "e.parquet")
    settings = ["--method", "sbpr", "--prior", "fixed:3", "--sweeps", "5", "--seed", "2"]
    command = ["learn", "e.parquet", *settings, "--quiet", "--out"]
    told = as_json(*command, "r")
    assert dp.Team.load(tmp_path / "r/team.json").problem == "broadcast"
    assert dp.Team.load(tmp_path / "r/team-mean.json").nodes <= (3, 3)
    trace = pq.read_table(tmp_path / "r/trace.parquet").to_pydict()
    assert trace["bound"] == sorted(trace["bound"])
    assert told["facts"]["verdict"] in (BETTER, UNPROVEN, WORSE)
    assert told["value"]["value"] == told["facts"]["estimate"]
    record = json.loads((tmp_path / "r/run.json").read_text())
    assert record["settings"]["prior"] == "fixed:3"
    assert record["stopped"] == told["stopped"] == "sweeps"
    code, _, err = run("learn", "e.parquet", "--out", "r")
    assert code == 2
    assert "expected a new or empty folder" in err
    again = as_json(*command, "s")
    assert again["bound"] == told["bound"]
    assert (tmp_path / "r/team.json").read_bytes() == (tmp_path / "s/team.json").read_bytes()


@pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning")
def test_learn_from_a_table(run, as_json):
    run("simulate", "broadcast", "--episodes", 50, "--horizon", 4, "--out", "e.parquet")
    run("data", "convert", "e.parquet", "e.csv")
    code, _, err = run("learn", "e.csv")
    missing = (
        "--out: expected the folder for the run, such as runs/first, got none; "
        "--discount: expected a number, such as 0.95, because e.csv contains none"
    )
    assert (code, err) == (2, f"error: {missing}\n")
    settings = ["--method", "sbpr", "--prior", "fixed:2", "--sweeps", 2, "--quiet"]
    table = as_json("learn", "e.csv", "--discount", 0.9, *settings, "--out", "r")
    assert table["bound"] == as_json("learn", "e.parquet", *settings, "--out", "s")["bound"]


def test_show(run, as_json, team_file):
    assert "node 1: listen; on hear-left go to 3, on hear-right go to 4" in run("show", team_file)[1]
    assert as_json("show", team_file)["agents"][0]["nodes"] == 6


def test_help_needs_neither_numpy_nor_the_compiler():
    """What `--help` waits for: numpy alone is a third of its time."""
    code = (
        "import sys; from decpomdp.cli.main import code_of; code_of(['--help']); "
        "print(sorted(m for m in ('numpy', 'numba', 'pyarrow') if m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_full_disk_under_the_output_is_one_line():
    command = f'"{sys.executable}" -m decpomdp.cli.main info dectiger --json > /dev/full'
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("error: standard output: ")


def test_a_reader_that_leaves_is_no_error():
    command = f'"{sys.executable}" -m decpomdp.cli.main info marsrovers --json | head -c 10'
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_labels_that_the_terminal_cannot_show(tmp_path):
    replace(dp.load("dectiger"), states=("tigré", "☃")).save(tmp_path / "snow.dpomdp")
    command = [sys.executable, "-m", "decpomdp.cli.main", "info", tmp_path / "snow.dpomdp"]
    subprocess.run(command, check=True, env={"PYTHONIOENCODING": "ascii", "PATH": ""})


def test_a_polite_kill_leaves_nothing_half_written(tmp_path):
    command = [sys.executable, "-m", "decpomdp.cli.main", "simulate", "dectiger", "--episodes", "3000000"]
    process = subprocess.Popen([*command, "--out", "e.parquet"], cwd=tmp_path, stderr=subprocess.DEVNULL)
    while not list(tmp_path.iterdir()) and process.poll() is None:
        time.sleep(0.05)
    process.terminate()
    process.wait(timeout=120)  # what is being compiled when the kill comes is compiled to the end
    assert process.returncode == 143
    assert list(tmp_path.iterdir()) == []


def test_help_shows_flags_without_a_type_and_the_ranges_of_settings(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    code, out, _ = run("learn", "--help")
    rows = {line.split()[1]: line for line in out.splitlines() if line.startswith("│ --")}
    assert code == 0
    assert "bool" not in rows["--quiet"] + rows["--estimate-behaviour"] + rows["--value"]
    assert "INT 1..1000" in rows["--max-nodes"]
    assert "FLOAT 0..1" in rows["--exploration"]


pytestmark = pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning")


def test_a_table_is_learned_from_without_options(run, tmp_path, monkeypatch):
    test_world.one_plan.__wrapped__(monkeypatch)  # planning has its own tests
    log = small_log(episodes=40)
    known = np.full(log.behaviour.shape, 0.5)
    dataclasses.replace(log, behaviour=known).save(tmp_path / "log.csv")
    code, _, err = run("learn", "log.csv", "--out", "no")
    assert code == 2
    assert "discount" in err
    code, out, err = run("learn", "log.csv", "--discount", 0.9, "--iterations", 25, "--out", "run", "--no-report")
    assert code == 0, err
    lines = out.splitlines()
    assert lines[0].startswith("value ")
    assert lines[1].startswith("Chosen: ")
    assert "the behaviour" in lines[2]
    assert (tmp_path / "run" / "team.json").exists()
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["method"] == "logs"
    assert record["facts"]["why"] == lines[1]


def test_numbers_in_a_table_are_binned(run, tmp_path):
    rng = np.random.default_rng(0)
    rows = [
        f"{k},{t},robot,{rng.normal():.3f},{rng.choice(['go', 'stop'])},{t % 2}" for k in range(10) for t in range(4)
    ]
    (tmp_path / "log.csv").write_text("\n".join(["episode,t,agent,observation,action,reward", *rows]))
    code, _, err = run("learn", "log.csv", "--discount", 0.9, "--bins", 3, "--out", "run", "--no-report")
    assert code == 0, err
    assert "numbers in bins, symbols per agent: robot 3" in err
    assert json.loads((tmp_path / "run" / "run.json").read_text())["bins"] == 3
    code, _, err = run("learn", "dectiger", "--bins", 3, "--out", "no")
    assert code == 2
    assert "bins: expected a long table, got 'dectiger'" in err


@pytest.fixture
def logged_files(tmp_path):
    """A team for the recycling problem, and what a more random one left."""
    model = dp.load("recycling")
    listen = dp.Controller.deterministic([0, 1], [[0, 1], [0, 1]], 3)
    team = dp.Team.of(model, [listen, listen]).exploring(0.6)
    team.save(tmp_path / "team.json")
    dp.simulate(model, team.exploring(0.5), 300, 3, seed=1).save(tmp_path / "e.parquet")
    return dp.exact_value(model, team, 3).value


def test_value_from_logged_episodes(run, logged_files):
    code, out, err = run("evaluate", "team.json", "--episodes", "e.parquet", "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert told["method"] == "off-policy"
    assert told["guaranteed"][0] < logged_files < told["guaranteed"][1]
    assert told["value"] == told["self_normalised"]["value"]
    assert told["self_normalised"]["low"] < told["value"] < told["self_normalised"]["high"]
    assert (told["horizon"], len(told["sample_sizes"]), told["range_from_data"]) == (3, 3, True)
    expected = dp.offpolicy_value(dp.Episodes.load("e.parquet"), dp.Team.load("team.json"))
    assert told["per_decision"]["value"] == expected.per_decision.value


def test_words_for_people(run, logged_files):
    options = ("--reward-range", -10, 10, "--confidence", 0.8, "--horizon", 2, "--discount", 0.5)
    code, out, _ = run("evaluate", "team.json", "--episodes", "e.parquet", *options)
    assert code == 0
    assert "value over 2 steps from 300 episodes of e.parquet" in out
    assert "(discount 0.5)" in out
    assert "bootstrap 80 %" in out
    assert "if all rewards are within -10 and 10\n" in out
    assert "effective sample size" in out
    assert "\n  guaranteed  " in out


def test_a_range_from_the_file_guarantees_nothing_by_itself(run, logged_files):
    code, out, _ = run("evaluate", "team.json", "--episodes", "e.parquet")
    assert code == 0
    assert "\n  guaranteed  " not in out
    rewards = dp.Episodes.load("e.parquet").rewards
    assert (
        f"guaranteed only if no reward can be outside {rewards.min():g} to {rewards.max():g}, the range in the file"
        in out
    )


def test_no_support_at_all_is_said_first_and_prints_no_number(run, tmp_path):
    model = dp.load("dectiger")
    listen, left = (dp.Team.of(model, [dp.Controller.deterministic([a], [[0, 0]], 3)] * 2) for a in (0, 1))
    left.save(tmp_path / "left.json")
    dp.simulate(model, listen, 50, 2, seed=1).save(tmp_path / "listen.parquet")
    code, out, err = run("evaluate", "left.json", "--episodes", "listen.parquet", "--reward-range", -101, 20)
    assert code == 0
    assert out.count(" -   bootstrap 95 %: -") == 3
    assert "0.0000 " not in out
    assert err.startswith("warning: no episode of the data is possible under the team")
