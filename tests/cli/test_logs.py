"""`decpomdp learn` on a table of episodes."""

import dataclasses
import json

import numpy as np
import pytest
from worlds.logs import small_log

pytestmark = pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning")


def test_a_table_is_learned_from_without_options(run, tmp_path):
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


def test_an_option_of_another_method_names_it(run, tmp_path):
    small_log(episodes=40).save(tmp_path / "log.csv")
    code, _, err = run("learn", "log.csv", "--discount", 0.9, "--alpha", 0.5, "--out", "run")
    assert code == 2
    assert "--alpha: not a setting of logs; choose method sbpr to use it" in err
