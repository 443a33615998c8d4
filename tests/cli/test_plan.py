"""`decpomdp plan`, and `decpomdp simulate --policy pbvi`."""

import json

import pyarrow.parquet as pq
import pytest

import decpomdp as dp
from decpomdp.planners.common import centralised


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
