"""A problem that can only be played, from the command line."""

import decpomdp as dp
from decpomdp.domains.traffic import Traffic


def test_it_is_listed_and_described(run, as_json):
    assert "traffic" in run("list")[1]
    told = as_json("info", "traffic:3")
    assert (told["name"], told["states"], len(told["agents"]), told["model"]) == ("traffic:3", 10**6, 9, False)
    words = run("info", "traffic")[1]
    assert "100 agents, 1e+20 states" in words
    assert "a reconstruction" in words
    assert len(words.splitlines()) < 10


def test_a_team_is_evaluated_by_fresh_episodes(run, as_json, tmp_path):
    grid = Traffic(3)
    grid.policies()["heuristic"].save(tmp_path / "team.json")
    told = as_json("evaluate", "team.json")
    assert told["method"] == "sampled"
    assert told["test_episodes"] == 1000
    assert told["standard_error"] > 0
    fewer = as_json("evaluate", "team.json", "--test-episodes", 60, "--problem", "traffic:3", "--horizon", 20)
    assert fewer["value"] < told["value"]
    assert "on average" in run("evaluate", "team.json", "--test-episodes", 20)[1]


def test_learning_leaves_a_run_with_a_page(run, as_json, tmp_path):
    told = as_json("learn", "traffic:3", "--iterations", 1, "--out", "run", "--quiet")  # a crowd: by sbpr
    assert told["method"] == "sbpr-loop"
    assert told["value"]["standard_error"] > 0
    assert "fresh episodes" in told["value"]["method"]
    assert told["problem"] == "traffic:3"
    assert " +- " in run("learn", "traffic:2", "--method", "search", "--steps", 50_000, "--out", "other", "--quiet")[1]
    page = (tmp_path / "run" / "report.html").read_text()
    assert "r1c1" in page
    (tmp_path / "run" / "report.html").unlink()
    assert run("report", "run")[0] == 0
    assert "New episodes of the learned team on traffic:3" in (tmp_path / "run" / "report.html").read_text()
    assert dp.Team.load(tmp_path / "run" / "team.json").problem == "traffic:3"


def test_a_behaviour_to_begin_with(run, as_json):
    told = as_json(
        *("learn", "traffic:3", "--method", "sbpr", "--iterations", 1, "--begin", "heuristic"),
        *("--out", "run", "--quiet"),
    )
    assert told["value"]["value"] > 75  # chance: 60; the heuristic: 86
    for wrong in ("search", "mcem"):
        code, _, said = run("learn", "traffic:3", "--method", wrong, "--begin", "heuristic", "--out", "other")
        assert (code, "begin: not an input of" in said) == (2, True)
    code, _, said = run("learn", "traffic:2", "--begin", "heuristic", "--out", "other")  # few agents: search
    assert (code, "begin: not an input of" in said) == (2, True)
    assert run("learn", "traffic:3", "--method", "sbpr", "--begin", "nobody", "--out", "other")[0] == 2
