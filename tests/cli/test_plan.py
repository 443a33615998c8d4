"""`decpomdp plan`, and `decpomdp simulate --policy pbvi`."""

import json
import signal
import subprocess
import sys
import time

import pyarrow.parquet as pq
import pytest

import decpomdp as dp
from decpomdp.planners.centralised import centralised


def test_a_run_folder(as_json, tmp_path):
    told = as_json("plan", "dectiger", "--method", "pbvi", "--epsilon", 0.05, "--seed", 2, "--out", "r", "--quiet")
    team, model = dp.Team.load(tmp_path / "r/team.json"), dp.load("dectiger")
    assert told["value"]["value"] == dp.exact_value(centralised(model), team).value
    assert told["value"]["method"] == "exact, from the model"
    assert told["value"]["value"] <= told["upper_bound"] <= told["value"]["value"] + 0.05
    record = json.loads((tmp_path / "r/run.json").read_text())
    assert record["digest"] == model.digest()
    assert (record["method"], record["problem"], record["seed"]) == ("pbvi", "centralised dectiger", 2)
    assert (record["stopped"], record["settings"]["epsilon"]) == ("converged", 0.05)
    assert record["upper_bound"] == told["upper_bound"]
    trace = pq.read_table(tmp_path / "r/trace.parquet").to_pydict()
    assert trace["upper"] == sorted(trace["upper"], reverse=True)
    assert trace["lower"] == sorted(trace["lower"])


def test_in_words(run):
    code, out, err = run("plan", "broadcast", "--method", "pbvi", "--out", "r")
    assert code == 0
    assert "(exact, from the model), nodes" in out
    assert "upper bound 9.2" in out
    assert "written to r" in out
    assert "iteration 0  lower bound 9.1000  upper bound 9.3840" in err  # agent 1 sends for ever
    assert "nodes 1" in err
    assert run("plan", "broadcast", "--method", "pbvi", "--out", "s", "--quiet")[2] == ""


def test_the_same_again(as_json, tmp_path):
    for folder in ("r", "s"):
        as_json(
            "plan", "broadcast", "--method", "pbvi", "--nodes", 5, "--threads", len(folder), "--out", folder, "--quiet"
        )
    assert (tmp_path / "r/team.json").read_bytes() == (tmp_path / "s/team.json").read_bytes()


def test_a_decentralised_team(as_json, tmp_path):
    told = as_json("plan", "broadcast", "--method", "fb-hsvi", "--epsilon", 0.5, "--out", "r", "--quiet")
    team = dp.Team.load(tmp_path / "r/team.json")
    assert told["value"]["value"] == dp.exact_value(dp.load("broadcast"), team).value
    assert told["value"]["value"] > 8
    assert told["upper_bound"] >= told["value"]["value"]


def test_a_finite_horizon(as_json):
    told = as_json("plan", "dectiger", "--horizon", 3, "--discount", 1, "--time-limit", 20, "--out", "r", "--quiet")
    assert told["value"]["value"] == pytest.approx(5.190812, abs=1e-4)
    assert told["value"]["method"] == "exact, from the model, over 3 steps"


def test_an_interrupt_keeps_the_best_so_far(tmp_path):
    command = [sys.executable, "-m", "decpomdp.cli.main", "plan", "gridsmall", "--method", "pbvi", "--epsilon", "1e-9"]
    process = subprocess.Popen(
        [*command, "--out", "r", "--json"], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tmp_path
    )
    process.stderr.readline()  # the first line of progress: planning has begun
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    told = json.loads(out)
    assert told["stopped"] == "interrupted"
    assert told["value"]["value"] > 3  # chance has 2.2; how far it comes in two seconds depends on the machine
    assert dp.Team.load(tmp_path / "r/team.json").problem == "centralised gridsmall"


@pytest.mark.parametrize("method", ["em", "periem", "fb-hsvi", "pbvi"])
def test_no_time_gives_the_first_team(as_json, tmp_path, method):
    told = as_json("plan", "dectiger", "--method", method, "--time-limit", 0, "--out", "r", "--quiet")
    assert (told["stopped"], told["nodes"]) == ("time limit", [1] * (1 if method == "pbvi" else 2))
    assert told["value"]["value"] == pytest.approx(-20)  # everybody listens for ever


def test_a_mistake_is_one_line_and_code_two(run, tmp_path):
    for arguments, words in [
        (["nobody"], "expected one of dectiger"),
        (["dectiger", "--method", "magic"], "method: expected one of fb-hsvi, periem, em, pbvi, got 'magic'"),
        (["dectiger", "--method", "pbvi", "--horizon", "3"], "--horizon: not a setting of pbvi"),
        (["dectiger", "--method", "em", "--epsilon", "1"], "--epsilon: not a setting of em"),
        (["dectiger", "--method", "pbvi", "--epsilon", "0"], "epsilon"),
        (["dectiger", "--method", "pbvi", "--discount", "1"], "needs a discount below 1"),
    ]:
        code, out, err = run("plan", *arguments, "--out", "r")
        assert (code, out) == (2, "")
        assert words in err
        assert err.count("\n") == 1
        assert list(tmp_path.iterdir()) == []


def test_a_folder_with_contents_is_refused(run, tmp_path):
    (tmp_path / "r").mkdir()
    (tmp_path / "r/mine.txt").write_text("mine")
    code, _, err = run("plan", "dectiger", "--method", "pbvi", "--out", "r")
    assert code == 2
    assert "expected a new or empty folder" in err


def test_semi_random_data(run, tmp_path):
    arguments = ["simulate", "broadcast", "--policy", "pbvi", "--explore", 0.7, "--episodes", 60, "--horizon", 9]
    code, out, _ = run(*arguments, "--out", "e.parquet", "--json")
    assert code == 0
    episodes = dp.Episodes.load(tmp_path / "e.parquet")
    assert sorted(set(episodes.behaviour.ravel().round(5).tolist())) == pytest.approx([0.35, 0.65])
    assert episodes.returns().mean() == pytest.approx(json.loads(out)["mean_return"])
    assert (episodes.facts["policy"], episodes.facts["explore"]) == ("pbvi", "0.7")
    run(*arguments, "--out", "f.parquet")
    assert dp.Episodes.load(tmp_path / "f.parquet") == episodes
