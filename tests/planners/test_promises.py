"""What every planner promises: a valid team at any moment, values by the evaluator, limits kept, mistakes named."""

import os
import signal
import threading
import time
from functools import cache

import numpy as np
import pytest
from oracles import making

import decpomdp as dp
from decpomdp.api import PLANNING, plan
from decpomdp.planners.centralised import played_by

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


@cache
def compiled(method):
    """All that it needs: the compiler itself does not bear an interrupt."""
    plan("gridsmall", method, **({"beliefs": 20} if method == "pbvi" else {"time_limit": 1}))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a file that a library had just opened
@pytest.mark.parametrize("method", METHODS)
def test_an_interrupt_leaves_a_team(method):
    model = dp.load("gridsmall")
    compiled(method)
    begun = threading.Event()

    def interrupt():
        begun.wait(50)
        time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Thread(target=interrupt)
    timer.start()
    options = {"epsilon": 1e-9} if method == "pbvi" else {}
    fit = plan(model, method, time_limit=60, watch=lambda row: begun.set(), **options)
    timer.join()
    assert fit.stopped == "interrupted"
    assert fit.trace[-1]["lower"] == value_of(model, fit)


@pytest.mark.parametrize("method", METHODS)
def test_a_callback_ends_the_run_by_returning_true(method):
    fit = plan("dectiger", method, watch=lambda row: True)
    assert fit.stopped == "callback"
    assert fit.trace[-1]["lower"] == value_of("dectiger", fit)


def test_three_agents():
    model = making.model(np.random.default_rng(7), 4, (2, 3, 2), (2, 2, 3), 0.85)
    for method in METHODS:
        fit = plan(model, method, time_limit=0.3)
        assert fit.trace[-1]["lower"] == value_of(model, fit)
        assert fit.trace[-1]["lower"] > dp.exact_value(model, dp.Team.uniform(model)).value


def test_arguments_of_all_methods_are_checked():
    for options, words in [
        ({"seed": -1}, "seed: expected a whole number of at least 0, got -1"),
        ({"time_limit": "soon"}, "time_limit: expected a number"),
        ({"threads": 1.5}, "threads: expected a whole number"),
        ({"watch": 3}, "watch: expected a function, got 3"),
        ({"discount": 2}, "discount"),
    ]:
        for method in METHODS:
            with pytest.raises(dp.InputError, match=words):
                plan("dectiger", method, **options)
