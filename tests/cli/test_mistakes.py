"""A mistake of any command is one line on standard error, exit code 2, and leaves no file behind."""

import os
from dataclasses import replace

import pytest

import decpomdp as dp
from decpomdp.cli.main import code_of
from decpomdp.io.tables import write_table

UNTOUCHED = ["e.parquet", "file", "long.csv", "one.dpomdp", "run", "team.json", "turned.json"]
LOG, JUDGE = ["--episodes", "e.parquet"], ["evaluate", "team.json"]
MISTAKES = [
    (["frobnicate"], "No such command"),
    (["info"], "Missing argument"),
    (["info", "dectigr"], "did you mean dectiger?"),
    (["info", "e.parquet"], "e.parquet: expected a problem, got recorded episodes"),
    (["info", "dectiger", "--discount", "1.5"], "expected a number from 0 to 1"),
    (["info", "traffic:1000"], "traffic"),
    (["simulate", "dectiger", "--episodes", "0"], "--episodes"),
    (["simulate", "dectiger", "--out", "no/such/e.parquet", "--episodes", "2"], "no/such"),
    (["simulate", "dectiger", "--horizon", "99999999999999999999"], "horizon: expected a whole number"),
    (["learn", "dectiger", "--method", "magic", "--out", "r"], "magic"),
    (["learn", "dectiger", "--prior", "dp", "--out", "r"], "--prior: not a setting of search"),
    (["learn", "dectiger", "--discount", "1", "--out", "r"], "discount"),
    (["plan", "nobody", "--out", "r"], "expected one of dectiger"),
    (["plan", "dectiger", "--method", "pbvi", "--horizon", "3", "--out", "r"], "--horizon: not a setting of pbvi"),
    (["plan", "dectiger", "--method", "pbvi", "--discount", "1", "--out", "r"], "needs a discount below 1"),
    (["plan", "dectiger", "--method", "em", "--out", "run"], "expected a new or empty folder"),
    ([*JUDGE, "--problem", "marsrovers"], "does not fit problem marsrovers"),
    ([*JUDGE, "--problem", "one.dpomdp", "--discount", "1"], "discount below 1"),
    (["evaluate", "turned.json"], "expected actions of agent1 listen, open-left, open-right, got open-right"),
    ([*JUDGE, *LOG, "--problem", "dectiger"], "cannot be combined with --problem or --test-episodes"),
    ([*JUDGE, "--confidence", "0.9"], "only with --episodes"),
    ([*JUDGE, *LOG, "--reward-range", "1", "2"], "reward range: expected the data's rewards"),
    ([*JUDGE, *LOG, "--horizon", "9"], "horizon: expected a whole number from 1 to 4"),
    (["data", "convert", "long.csv", "x.parquet"], "contains no discount; pass --discount or --like"),
    (["data", "convert", "e.parquet", "x.txt"], "expected a name that ends in .csv or .parquet"),
    (["data", "convert", "e.parquet", "x.csv", "--to", "episodes"], "episodes are Parquet files"),
    (["data", "convert", "e.parquet", "none/x.csv"], "the folder none does not exist"),
    (["data", "info", "e.parquet", "--bins", "5"], "agents, columns and bins are options for long tables"),
    (["data", "info", "long.csv", "--column", "obs"], "--column: expected NAME=COLUMN"),
    (["data", "validate", "."], "expected the folder of a Minari dataset"),
    (["report", "nowhere"], "nowhere: expected a run folder"),
    (["report", "run", "--out", "no/such/page.html"], "cannot write no/such/page.html"),
    (["report", "run", "--problem", "broadcast"], "does not fit problem broadcast"),
    (["report", "run", "--animate", "moving.png"], "expected a file that ends in .svg or .gif"),
    (["report", "run", "run", "--out", "x.html", "--animate", "x.svg"], "expected a single run, got 2"),
    (["report", "run", "--animate", "moving.svg"], "dectiger has no drawing"),
    (["export", "team.json"], "agent: expected one of agent1, agent2, got none"),
    (["export", "team.json", "--agent", "agent1", "--format", "rust"], "format: expected one of json, python, c"),
    (["reproduce", "figure9", "--out", "r"], "expected one of table2, figure1, figure2, appendix"),
    (["reproduce", "all", "--seeds", "0", "--out", "r"], "--seeds"),
    (["reproduce", "complexity", "--quick", "--out", "file"], "got a file"),
    (["runs", "nowhere"], "expected a folder, got none"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Good files: a run, a team, one with its actions in another order, episodes, a table, a problem."""
    place = tmp_path_factory.mktemp("mistakes")
    model = dp.load("dectiger")
    team, episodes = dp.Team.uniform(model), dp.simulate(model, episodes=20, horizon=4, seed=1)
    turned = tuple(dp.Agent(agent.name, agent.actions[::-1], agent.observations) for agent in model.agents)
    team.save(place / "team.json")
    replace(team, agents=turned).save(place / "turned.json")
    model.with_discount(1.0).save(place / "one.dpomdp")
    episodes.save(place / "e.parquet")
    write_table(episodes, place / "long.csv")
    (place / "file").write_text("a file")
    code_of(["plan", "dectiger", "--method", "em", "--time-limit", "0", "--out", str(place / "run"), "--quiet"])
    return place


@pytest.mark.parametrize(("arguments", "expected"), MISTAKES, ids=[" ".join(given) for given, _ in MISTAKES])
def test_a_mistake_is_one_line(run, folder, monkeypatch, arguments, expected):
    monkeypatch.chdir(folder)
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert expected in err
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert sorted(os.listdir()) == UNTOUCHED
