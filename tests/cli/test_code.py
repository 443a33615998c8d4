"""Problems from Python code: it runs when a person names it, and never because a file says so."""

import json
from pathlib import Path

import pytest

from decpomdp.core import InputError
from decpomdp.domains.load import load

CODE = """
from pathlib import Path

import decpomdp as dp
from neighbour import SIDES

with Path(__file__).with_name("ran").open("a") as ran:
    ran.write("x")


def build():
    return dp.from_rules(
        name="dectiger",
        states=SIDES,
        actions=SIDES,
        observations=SIDES,
        start="left",
        transition=lambda state: set(SIDES),
        observation=lambda agent, next_state: next_state,
        reward=lambda state, actions: 1 if actions == (state, state) else 0,
    )


def nothing():
    return 3


def wrong():
    return 1 / 0
"""
LEARN = ["learn", "mine.py:build", "--out", "run", "--steps", "20000", "--max-nodes", "2", "--quiet", "--no-report"]


@pytest.fixture
def folder(run, tmp_path):
    Path("mine.py").write_text(CODE)
    Path("unfinished.py").write_text("def build(:\n")
    Path("lonely.py").write_text("import nowhere\n")
    Path("neighbour.py").write_text('SIDES = ("left", "right")\n')
    return tmp_path


@pytest.fixture
def unfinished(run, folder):
    """The record of a run that was not finished."""
    run(*LEARN)
    record = Path("run/run.json")
    record.write_text(record.read_text().replace('"finished": true', '"finished": false'))
    return record


def times_run() -> int:
    place = Path("ran")
    return len(place.read_text()) if place.exists() else 0


def refused(run, *arguments: str) -> str:
    """The error of a command, which runs no code."""
    before = times_run()
    code, _, err = run(*arguments)
    assert (code, err.count("\n"), times_run()) == (2, 1, before), err
    return err.strip()


def test_code_is_a_problem_like_any_other(folder, run, as_json):
    assert "2 agents, 2 states, 4 joint actions" in run("info", "mine.py:build")[1]
    assert run("simulate", "mine.py:build", "--episodes", "10")[0] == 0
    assert run(*LEARN)[0] == 0
    assert run("plan", "mine.py:build", "--out", "plan", "--method", "pbvi", "--quiet")[0] == 0
    assert json.loads(Path("run/run.json").read_text())["source"] == "mine.py:build"
    assert as_json("evaluate", "run", "--problem", "mine.py:build")["value"] > 4


def test_evaluate_asks_for_the_name_again(folder, run):
    run(*LEARN)
    wanted = "learned from mine.py:build; code is run only when it is named: --problem mine.py:build"
    assert refused(run, "evaluate", "run") == f"error: run: {wanted}"
    assert refused(run, "evaluate", "run/team.json") == f"error: run/team.json: {wanted}"


def test_resume_asks_for_the_name_again(unfinished, run):
    told = refused(run, "learn", "--resume", "run")
    assert told.endswith("code is run only when it is named: decpomdp learn mine.py:build --resume run")
    assert "not allowed with --resume" in refused(run, "learn", "dectiger", "--resume", "run")
    assert run("learn", "mine.py:build", "--resume", "run", "--quiet", "--no-report")[0] == 0
    assert run("evaluate", "run", "--problem", "mine.py:build")[0] == 0
    assert run("report", "run", "--problem", "mine.py:build")[0] == 0
    assert "No replay" not in Path("run/report.html").read_text()
    assert json.loads(unfinished.read_text())["finished"]


def test_the_hint_after_an_interrupt_names_the_code(folder, run, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("decpomdp.api.execute", interrupt)
    monkeypatch.setattr("decpomdp.io.run_folder.can_resume", lambda folder: True)
    code, _, err = run(*LEARN)
    assert code == 130
    assert "to resume: decpomdp learn mine.py:build --resume run\n" in err


def test_a_resumed_run_must_be_of_the_same_problem(unfinished, run):
    Path("mine.py").write_text(CODE.replace("1 if", "2 if"))
    code, _, err = run("learn", "mine.py:build", "--resume", "run", "--quiet")
    assert code == 2
    assert "changed since the run started" in err


def test_report_asks_for_the_name_again(folder, run):
    run(*LEARN)
    before = times_run()
    code, _, err = run("report", "run")
    assert code == 0
    assert "code, which is run only when it is named: --problem mine.py:build" in err
    assert "No replay" in Path("run/report.html").read_text()
    assert times_run() == before
    assert run("report", "run", "--problem", "mine.py:build")[0] == 0
    assert "No replay" not in Path("run/report.html").read_text()


@pytest.mark.parametrize("field", ["source", "problem"])
def test_a_forged_record_runs_nothing(folder, run, field):
    run("learn", "dectiger", *LEARN[2:])
    for name in ("run.json", "team.json"):
        place = Path("run", name)
        content = json.loads(place.read_text())
        if field in content:
            content[field] = str(folder / "mine.py:build")
        place.write_text(json.dumps(content).replace('"finished": true', '"finished": false'))
    for command in (
        ["evaluate", "run"],
        ["learn", "--resume", "run"],
        ["report", "run"],
        ["show", "run"],
        ["runs", "."],
    ):
        run(*command)
    assert times_run() == 0


def test_python_refuses_names_of_code(folder):
    for name in ("mine.py:build", "mine.py", str(folder / "mine.py:build")):
        with pytest.raises(InputError, match="code is run only when it is named on the command line"):
            load(name)
    assert times_run() == 0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("other.py:build", "error: other.py: no such file"),
        ("mine.py:bild", "error: mine.py: expected a function bild, got none"),
        ("mine.py", "error: mine.py: expected the function that builds the problem, such as mine.py:build"),
        ("mine.py:nothing", "error: mine.py:nothing: expected a DecPOMDP or a Simulator, got 3"),
        ("mine.py:wrong", "error: mine.py:29: ZeroDivisionError: division by zero"),
        ("unfinished.py:build", "error: unfinished.py:1: SyntaxError: invalid syntax"),
        ("lonely.py:build", "error: lonely.py:1: ModuleNotFoundError: No module named 'nowhere'"),
    ],
)
def test_mistakes_are_one_line(folder, run, name, message):
    code, _, err = run("info", name)
    assert (code, err.strip()) == (2, message)


SIMULATOR = """
import numpy as np

import decpomdp as dp

class Sim:
    name, discount, repeatable, steps = "sim", 0.9, True, 0
    agents = tuple(dp.Agent(name, ("a", "b"), ("o",)) for name in "xy")

    def reset(self, episodes, seed):
        pass

    def step(self, actions):
        Sim.steps += 1
        if Sim.steps > LIMIT:
            np.ones(2) + np.ones(3)
        return dp.Step(0 * actions, actions[:, 0] * 1.0, np.zeros(len(actions), bool))

def build():
    return Sim()
"""


def test_a_member_that_a_simulator_lacks_is_named(run, tmp_path):
    Path("mine.py").write_text(SIMULATOR.replace("repeatable, steps = ", "steps = ").replace("0.9, True, 0", "0.9, 0"))
    code, _, err = run("learn", "mine.py:build", "--out", "run")
    assert (code, err) == (2, "error: simulator Sim: expected the member repeatable\n")


@pytest.mark.parametrize("method", ["search", "sbpr", "mcem"])
def test_an_error_of_a_simulator_is_one_line(run, tmp_path, method):
    learn = ["learn", "mine.py:build", "--out", "run", "--steps", "20000", "--method", method, "--quiet"]
    Path("mine.py").write_text(SIMULATOR.replace("LIMIT", "3"))
    code, _, err = run(*learn)
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith("error: mine.py:16: simulator sim: step failed: ValueError: operands could not be broadcast")


def test_a_run_that_its_simulator_ended_can_be_resumed(run, tmp_path):
    limits = ["--steps", "20000", "--checkpoint-every", "0", "--quiet", "--no-report"]
    Path("mine.py").write_text(SIMULATOR.replace("LIMIT", "300"))
    code, _, err = run("learn", "mine.py:build", "--out", "run", "--max-nodes", "2", *limits)
    assert (code, err.count("\n")) == (2, 2)
    assert "to resume: decpomdp learn mine.py:build --resume run\n" in err
    Path("mine.py").write_text(SIMULATOR.replace("LIMIT", "1e9"))
    assert run("learn", "mine.py:build", "--resume", "run", "--quiet", "--no-report")[0] == 0
    assert run("evaluate", "run", "--problem", "mine.py:build")[0] == 0
    assert run("report", "run", "--problem", "mine.py:build")[0] == 0
    assert "No replay" not in Path("run/report.html").read_text()
