"""What every planner promises: a valid team at any moment, values by the evaluator, limits kept, mistakes named."""

import time

import numpy as np
import pytest
from oracles import making

import decpomdp as dp
from decpomdp.api import PLANNING, RunSetup, plan
from decpomdp.core.run import Inputs, unlimited
from decpomdp.io.checkpoints import decode, encode
from decpomdp.planners.common import played_by
from decpomdp.planners.periodic.settings import PeriEmTuning

METHODS = tuple(PLANNING)
PROBLEMS = ["dectiger", "marsrovers"]


def value_of(problem, fit):
    model = dp.load(problem) if isinstance(problem, str) else problem
    return dp.exact_value(played_by(model, fit.team), fit.team).value


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("problem", PROBLEMS)
def test_no_time_gives_the_first_team_at_once(method, problem):
    model = dp.load(problem)
    began = time.monotonic()
    fit = plan(model, method, time_limit=0)
    assert time.monotonic() - began < 5
    assert fit.stopped == "time limit"
    assert fit.team.nodes == (1,) * len(fit.team.agents)
    assert len(fit.trace) == 1
    assert fit.trace[0]["lower"] == value_of(problem, fit)
    upper = fit.trace[0]["upper"]
    assert upper is None or fit.trace[0]["lower"] <= upper < np.inf


@pytest.mark.parametrize("method", METHODS)
def test_a_time_limit_is_kept(method):
    problem = "boxpushing"
    plan(problem, method, time_limit=0.05)  # whatever is loaded or compiled once
    began = time.process_time()
    fit = plan(problem, method, time_limit=0.3, **({"epsilon": 1e-9} if method == "pbvi" else {}))
    used = time.process_time() - began  # of two threads; a busy machine makes it less, not more
    assert fit.trace[-1]["lower"] == value_of(problem, fit)
    assert fit.stopped == "time limit" or fit.seconds < 0.3
    assert used < 2 * (0.3 + 1.0) + 3  # and loading


@pytest.mark.parametrize("method", METHODS)
def test_every_lower_bound_is_the_evaluators(method, monkeypatch):
    said = []

    def evaluator(*arguments):
        said.append(dp.exact_value(*arguments))
        return said[-1]

    monkeypatch.setattr("decpomdp.planners.common.exact_value", evaluator)
    rows = []
    options = {
        "fb-hsvi": {"iterations": 2},
        "periem": {"restarts": 2, "layers": 2, "width": 3},
        "em": {"restarts": 3, "iterations_per_start": 12},
        "pbvi": {"beliefs": 50},
    }[method]
    fit = plan("recycling", method, watch=rows.append, **options)
    assert {row["lower"] for row in (*rows, *fit.trace)} <= {one.value for one in said}
    assert fit.trace[-1]["lower"] == value_of("recycling", fit)
    assert fit.trace[-1]["lower"] > 23  # far better than the first team


@pytest.mark.parametrize("method", METHODS)
def test_a_callback_ends_the_run_by_returning_true(method):
    fit = plan("dectiger", method, watch=lambda row: True)
    assert fit.stopped == "callback"
    assert fit.trace[-1]["lower"] == value_of("dectiger", fit)


@pytest.mark.parametrize(
    ("problem", "settings"),
    [
        ("dectiger", dp.Em(nodes=2, restarts=6, iterations_per_start=30)),
        ("recycling", dp.PeriEm(restarts=6, tuning=PeriEmTuning(patience=5, em_iterations=12))),
        ("dectiger", dp.Pbvi(epsilon=1e-3)),
        ("dectiger", dp.FbHsvi(horizon=4, epsilon=0.01)),
        ("dectiger", dp.FbHsvi()),
    ],
    ids=lambda given: given if isinstance(given, str) else given.method,
)
def test_a_state_saved_and_read_at_every_step_gives_the_same_result(problem, settings):
    """Every step by a method that knows nothing of the steps before."""
    outcomes = []
    for resumed in (False, True):
        method = RunSetup(dp.load(problem), settings, Inputs(seed=2)).method()
        state, rows = method.init(unlimited()), []
        while not state.stopped and len(rows) < 15:
            if resumed:
                method = RunSetup(dp.load(problem), settings, Inputs(seed=2)).method()
                state = decode(encode(state), method.state)
            state, row = method.step(state, unlimited())
            rows.append(row)
        outcomes.append((method.result(state)[0].team, encode(state), rows))
    assert len(rows) > 4
    assert outcomes[0] == outcomes[1]


def test_three_agents():
    model = making.model(np.random.default_rng(7), 4, (2, 3, 2), (2, 2, 3), 0.85)
    for method in METHODS:
        fit = plan(model, method, time_limit=0.3)
        assert fit.trace[-1]["lower"] == value_of(model, fit)
        assert fit.trace[-1]["lower"] > dp.exact_value(model, dp.Team.uniform(model)).value


@pytest.mark.parametrize("method", METHODS)
def test_an_infinite_horizon_needs_a_discount_below_one(method):
    with pytest.raises(dp.InputError, match="discount below 1"):
        plan("dectiger", method, discount=1.0)


@pytest.mark.parametrize(
    ("method", "options", "words"),
    [
        ("em", {"nodes": (2, "x")}, "nodes: expected a whole number"),
        ("em", {"nodes": (2, 2, 2)}, "nodes: expected one number for each of 2 agents, got 3"),
        ("em", {"begin": 3}, "begin: expected a Team, got 3"),
        ("periem", {"width": (2, 2, 2)}, "width: expected one number for each of 2 agents, got 3"),
        ("periem", {"layers": 5000, "width": 1000}, "layers and width: expected at most"),
    ],
)
def test_settings_must_fit_the_problem(method, options, words):
    with pytest.raises(dp.InputError, match=words):
        plan("dectiger", method, **options)
