"""`decpomdp data info|validate|convert`."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import decpomdp as dp
from decpomdp.io.tables import write_table


@pytest.fixture
def run(run):
    return partial(run, "data")


@pytest.fixture
def tiger(tmp_path):
    """200 random episodes of four steps, as our file and as long tables."""
    model = dp.load("dectiger")
    episodes = dp.simulate(model, dp.Team.uniform(model), 200, 4, seed=1)
    episodes.save(tmp_path / "e.parquet")
    write_table(episodes, tmp_path / "long.csv")
    write_table(episodes, tmp_path / "long.parquet")
    return episodes


def test_info_in_json(run, tiger):
    code, out, err = run("info", "e.parquet", "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert (told["name"], told["episodes"], told["steps"], told["discount"]) == ("dectiger", 200, 800, 0.9)
    assert told["returns"]["mean"] == pytest.approx(tiger.returns().mean())
    assert told["returns"]["min"] == tiger.returns().min()
    assert told["rewards"]["max"] == tiger.rewards.max()
    agent = told["agents"][1]
    assert agent["actions"] == {
        label: int((tiger.actions[:, 1] == a).sum()) for a, label in enumerate(tiger.agents[1].actions)
    }
    assert sum(agent["observations"].values()) == 600
    assert agent["nothing_seen"] == 200
    assert told["behaviour"] == {
        "known": 1600,
        "of": 1600,
        "min": pytest.approx(1 / 3),
        "max": pytest.approx(1 / 3),
        "supported_steps": 1,
    }
    assert told["joint_actions"] == {"seen": 9, "possible": 9}
    assert told["truncated"] == 200


def test_info_in_words(run, tiger):
    code, out, _ = run("info", "e.parquet")
    assert code == 0
    assert "dectiger: 200 episodes, 800 steps, 2 agents, discount 0.9" in out
    assert "behaviour probabilities: known, 0.3333 to 0.3333" in out
    assert (
        "off-policy estimates of a deterministic team: reliable over about 1 steps" in out
    )  # 200 / 9 = 22 after one, 2.5 after two
    assert "no observation before the first action: 200" in out
    code, out, _ = run("info", "long.csv")
    assert code == 0
    assert "discount 1 (assumed: the file contains none)" in out
    assert "imported from: long.csv" in out


def test_info_says_what_is_unknown_and_what_never_occurs(run, tiger, tmp_path):
    listening = dp.Controller.deterministic([0], [[0, 0]], 3)
    episodes = dp.simulate(dp.load("dectiger"), dp.Team.of(tiger, [listening] * 2), 5, 3)
    replace(episodes, behaviour=np.full((15, 2), np.nan)).save(tmp_path / "u.parquet")
    out = run("info", "u.parquet")[1]
    assert "never: open-left open-right" in out
    assert "behaviour probabilities: unknown; learning does not need them" in out
    some = np.ones((15, 2))
    some[3, 1] = np.nan
    replace(episodes, behaviour=some).save(tmp_path / "u.parquet")
    assert "known for 29 of 30 actions" in run("info", "u.parquet")[1]


@pytest.mark.parametrize("file", ["e.parquet", "long.csv", "long.parquet"])
def test_validate_says_ok(run, tiger, file):
    code, out, _ = run("validate", file)
    assert (code, out) == (0, f"OK: {file}: 200 episodes, 800 steps, agents agent1, agent2\n")


def test_validate_names_a_problem_of_every_column_of_a_table(run, tiger, tmp_path):
    lines = [line.split(",") for line in (tmp_path / "long.csv").read_text().splitlines()]
    lines[3][1], lines[8][5], lines[9][7] = "soon", "much", "perhaps"
    (tmp_path / "bad.csv").write_text("\n".join(",".join(line) for line in lines) + "\n")
    code, _, err = run("validate", "bad.csv")
    assert code == 2
    assert err.splitlines() == [
        "error: bad.csv: row 4, column t: expected a number, got 'soon'",
        "error: bad.csv: row 9, column reward: expected a number, got 'much'",
        "error: bad.csv: row 10, column terminated: expected true or false, got 'perhaps'",
    ]


def test_convert_there_and_back(run, tiger, tmp_path):
    dp.Team.uniform(dp.load("dectiger")).save(tmp_path / "team.json")
    assert run("convert", "e.parquet", "a.csv")[0] == 0
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "long.csv").read_bytes()
    for like in ("dectiger", "team.json", "e.parquet"):
        code, out, _ = run("convert", "a.csv", "b.parquet", "--like", like, "--overwrite")
        assert code == 0
        assert "200 episodes, 800 steps" in out
        again = dp.Episodes.load("b.parquet")
        assert replace(again, facts={}) == replace(tiger, facts={})
    assert run("convert", "e.parquet", "c.parquet", "--to", "long")[0] == 0
    assert run("convert", "c.parquet", "d.parquet", "--discount", 0.9)[0] == 0
    assert dp.Episodes.load("d.parquet").rewards.tolist() == tiger.rewards.tolist()
    assert run("convert", "c.parquet", "d.csv")[0] == 0  # a long table needs no discount
    assert run("convert", "a.csv", "e2.parquet", "--like", "dectiger", "--discount", 0.5)[0] == 0
    assert dp.Episodes.load("e2.parquet").discount == 0.5


def test_convert_replaces_nothing_unasked(run, tiger, tmp_path):
    (tmp_path / "mine.csv").write_text("precious")
    code, _, err = run("convert", "e.parquet", "mine.csv")
    assert (code, err) == (
        2,
        "error: mine.csv: expected a new file, got an existing one; --overwrite replaces it\n",
    )
    assert (tmp_path / "mine.csv").read_text() == "precious"
    assert run("convert", "e.parquet", "mine.csv", "--overwrite")[0] == 0
    assert (tmp_path / "mine.csv").read_bytes() == (tmp_path / "long.csv").read_bytes()


def test_tables_are_read_wherever_episodes_are(run, tiger):
    command = run.func  # without `data`
    dp.Team.uniform(dp.load("dectiger")).save("team.json")
    for name in ("long.csv", "long.parquet"):
        code, out, _ = command("evaluate", "team.json", "--episodes", name)  # with the discount of the team
        assert (code, out) == command("evaluate", "team.json", "--episodes", name, "--discount", 0.9)[:2]
        assert code == 0
    code, _, err = command("info", "e.parquet")
    assert (code, err) == (2, "error: e.parquet: expected a problem, got recorded episodes\n")
    assert run("convert", "long.csv", "long-episodes.parquet", "--discount", 0.9)[0] == 0
    assert command("evaluate", "team.json", "--episodes", "long-episodes.parquet")[0] == 0
