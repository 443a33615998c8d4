"""`decpomdp evaluate TEAM.json --episodes FILE`."""

import json

import pytest

import decpomdp as dp


@pytest.fixture
def files(tmp_path):
    """A team for the recycling problem, and what a more random one left."""
    model = dp.load("recycling")
    listen = dp.Controller.deterministic([0, 1], [[0, 1], [0, 1]], 3)
    team = dp.Team.of(model, [listen, listen]).exploring(0.6)
    team.save(tmp_path / "team.json")
    dp.simulate(model, team.exploring(0.5), 300, 3, seed=1).save(tmp_path / "e.parquet")
    return dp.exact_value(model, team, 3).value


def test_value_from_logged_episodes(run, files):
    code, out, err = run("evaluate", "team.json", "--episodes", "e.parquet", "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert told["method"] == "off-policy"
    assert told["guaranteed"][0] < files < told["guaranteed"][1]
    assert told["value"] == told["self_normalised"]["value"]
    assert told["self_normalised"]["low"] < told["value"] < told["self_normalised"]["high"]
    assert (told["horizon"], len(told["sample_sizes"]), told["range_from_data"]) == (3, 3, True)
    expected = dp.offpolicy_value(dp.Episodes.load("e.parquet"), dp.Team.load("team.json"))
    assert told["per_decision"]["value"] == expected.per_decision.value


def test_words_for_people(run, files):
    options = ("--reward-range", -10, 10, "--confidence", 0.8, "--horizon", 2, "--discount", 0.5)
    code, out, _ = run("evaluate", "team.json", "--episodes", "e.parquet", *options)
    assert code == 0
    assert "value over 2 steps from 300 episodes of e.parquet" in out
    assert "(discount 0.5)" in out
    assert "bootstrap 80 %" in out
    assert "if all rewards are within -10 and 10\n" in out
    assert "effective sample size" in out
    assert "\n  guaranteed  " in out


def test_a_range_from_the_file_guarantees_nothing_by_itself(run, files):
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
