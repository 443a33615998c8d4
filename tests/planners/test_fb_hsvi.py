"""FB-HSVI against brute force, against the literature's optima, and its promises about bounds and stopping."""

import functools
import itertools
from contextlib import suppress

import numpy as np
import pytest
from oracles import making
from oracles.policy_trees import best_value, central_value

from decpomdp.api import plan
from decpomdp.core.run import Cut, Inputs, unlimited
from decpomdp.domains.load import load
from decpomdp.evaluation import exact_value
from decpomdp.planners.fb_hsvi.method import ROUNDS, FbHsviMethod
from decpomdp.planners.fb_hsvi.settings import FbHsvi


def bounded(problem, **options):
    """A run of FB-HSVI."""
    return plan(problem, "fb-hsvi", **options)


SHAPES = [
    (3, (2, 2), (2, 1), 3),
    (2, (2, 3), (1, 2), 3),
    (2, (3, 3), (2, 2), 2),
    (2, (3, 2), (2, 3), 2),
    (2, (2, 2, 2), (2, 1, 2), 2),
    (3, (2, 1, 3), (2, 2, 2), 2),
]


def optimum(model, horizon):
    sizes = [(len(agent.actions), len(agent.observations)) for agent in model.agents]
    return best_value(
        model.start, model.transition, model.observation, model.reward, model.discount,
        [a for a, _ in sizes], [o for _, o in sizes], horizon,
    )  # fmt: skip


@pytest.mark.parametrize(("states", "actions", "observations", "horizon"), SHAPES)
@pytest.mark.parametrize("seed", [0, 1])
def test_finds_the_optimum_of_random_problems(states, actions, observations, horizon, seed):
    rng = np.random.default_rng(seed)
    model = making.model(rng, states, actions, observations, discount=[1.0, 0.7][seed], sparse=bool(seed))
    fit = bounded(model, horizon=horizon, epsilon=1e-9)
    best = optimum(model, horizon)
    assert fit.stopped == "converged"
    assert fit.trace[-1]["lower"] == pytest.approx(best, abs=1e-9)
    assert fit.trace[-1]["upper"] == pytest.approx(best, abs=1e-8)
    assert exact_value(model, fit.team, horizon=horizon).value == pytest.approx(fit.trace[-1]["lower"], abs=1e-10)


OPTIMA = [
    ("dectiger", 2, -4.0),
    ("dectiger", 3, 5.190812),
    ("dectiger", 4, 4.802755),
    ("broadcast", 2, 2.0),
    ("broadcast", 3, 2.99),
    ("broadcast", 4, 3.89),
    ("broadcast", 5, 4.79),
    ("broadcast", 6, 5.69),
    ("gridsmall", 2, 0.91),
    ("gridsmall", 3, 1.550444),
    ("boxpushing", 2, 17.6),
    ("boxpushing", 3, 66.081),
    ("boxpushing", 4, 98.593613),
    ("recycling", 2, 7.0),
    ("recycling", 3, 10.660125),
    ("recycling", 4, 13.38),
    ("recycling", 5, 16.486),
    ("marsrovers", 2, 5.8),
    ("marsrovers", 3, 9.38),
    ("marsrovers", 4, 10.1808),
]
LONGER = [("dectiger", 5, 7.026451), ("gridsmall", 4, 2.241577), ("gridsmall", 5, 2.970496)]


@pytest.mark.parametrize(
    ("name", "horizon", "value"), OPTIMA + [pytest.param(*row, marks=pytest.mark.slow) for row in LONGER]
)
def test_optima_of_the_literature(name, horizon, value):
    model = load(name, 1.0)
    fit = bounded(model, horizon=horizon, epsilon=1e-6)
    assert fit.stopped == "converged"
    assert fit.trace[-1]["lower"] == pytest.approx(value, abs=2e-6)
    assert exact_value(model, fit.team, horizon=horizon).value == pytest.approx(fit.trace[-1]["lower"], abs=1e-9)


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("dectiger", 13.4485),
        pytest.param("recycling", 31.9291, marks=pytest.mark.slow),
        ("broadcast", 9.2695),
    ],
)
def test_first_rounds_for_ever(name, least):
    model = load(name, 0.9)
    fit = bounded(model, iterations=2)
    assert fit.trace[-1]["lower"] >= least
    assert exact_value(model, fit.team).value == pytest.approx(fit.trace[-1]["lower"], abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "least", "published"), [("boxpushing", 224.43, 1715), ("marsrovers", 26.94, 75)])
def test_large_problems_for_ever_reach_the_published_bounds_in_the_published_seconds(name, least, published):
    model = load(name, 0.9)
    fit = bounded(model, time_limit=published, watch=lambda row: row["lower"] >= least)
    assert fit.stopped == "callback"
    assert fit.trace[-1]["lower"] >= least
    assert exact_value(model, fit.team).value == pytest.approx(fit.trace[-1]["lower"], abs=1e-6)


def never_falls(numbers, slack=1e-9):
    return all(later >= earlier - slack for earlier, later in itertools.pairwise(numbers))


def test_bounds_only_get_better():
    rows = []
    fit = bounded(load("recycling", 0.9), iterations=2, watch=rows.append)
    assert rows == list(fit.trace)
    assert {tuple(row) for row in rows} == {("seconds", "iteration", "lower", "upper", "gap", "nodes", "points")}
    assert never_falls([row["lower"] for row in rows])
    assert never_falls([-row["upper"] for row in rows])
    assert all(row["upper"] >= row["lower"] - 1e-9 for row in rows)
    assert rows[-1]["upper"] < rows[0]["upper"] - 0.1  # it did get better
    assert not never_falls([2.0, 1.0])  # the helper can fail


def test_upper_bound_is_below_one_mind_and_above_the_optimum():
    rng = np.random.default_rng(5)
    model = making.model(rng, 3, (2, 2), (2, 1), discount=1.0)
    central = central_value(model.start, model.transition, model.observation, model.reward, 1.0, 3)
    best = optimum(model, 3)
    fit = bounded(model, horizon=3, epsilon=0.0, iterations=1)
    assert best - 1e-9 <= fit.trace[-1]["upper"] <= central + 1e-9


@functools.cache
def small(seed):
    """A problem and its optimum."""
    model = making.model(np.random.default_rng(seed), 2, (2, 2), (2, 1), discount=1.0)
    return model, optimum(model, 3)


@pytest.mark.parametrize("tolerance", [0.01, 0.2])
def test_lossy_compression_keeps_both_bounds_true(tolerance):
    for seed in range(4):
        model, best = small(seed)
        fit = bounded(model, horizon=3, epsilon=1e-9, tolerance=tolerance, iterations=3)
        assert fit.trace[-1]["upper"] >= best - 1e-9
        assert fit.trace[-1]["lower"] <= best + 1e-9
        value = exact_value(model, fit.team, horizon=3).value
        assert value == pytest.approx(fit.trace[-1]["lower"], abs=1e-9)


def test_lossy_compression_keeps_the_lower_bound_of_the_start_true():
    """Before a policy is evaluated: the price of compression is subtracted."""
    for seed in range(4):
        model, best = small(seed)
        settings = FbHsvi(horizon=3, epsilon=1e-9, tolerance=0.2)
        method = FbHsviMethod(model, settings, Inputs())
        state = method.init(unlimited())
        for _ in range(8):
            state, _ = (state, None) if state.stopped else method.step(state, unlimited())
        assert state.points[0].lower <= best + 1e-9 <= state.points[0].upper + 2e-9


def test_same_seed_same_team_for_any_threads():
    model = load("broadcast", 0.9)
    one = bounded(model, iterations=1, seed=4, threads=1)
    two = bounded(model, iterations=1, seed=4, threads=2)
    assert one.team == two.team
    assert [row["lower"] for row in one.trace] == [row["lower"] for row in two.trace]
    assert [row["upper"] for row in one.trace] == [row["upper"] for row in two.trace]


def method_on(model, seed=0, threads=None, **options):
    return FbHsviMethod(model, FbHsvi(**options), Inputs(seed=seed, threads=threads))


def test_a_cut_step_leaves_a_valid_result():
    model = load("gridsmall", 0.9)
    method = method_on(model)
    state = method.init(unlimited())
    for step in range(4):
        now = unlimited()
        now.stop[0] = step == 3
        with suppress(Cut):
            state, _ = method.step(state, now)
    fit, row = method.result(state)
    assert row["lower"] == exact_value(model, fit.team).value
    assert row["upper"] >= row["lower"]


def test_sketches_that_are_cut_still_count():
    method = method_on(load("dectiger", 0.9))
    state = method.init(unlimited())
    now = unlimited()
    sketcher = method._sketcher()

    class StopsSoon(type(sketcher)):
        def attempt(self, plan, rng, prefix, report):
            def last(graph):
                report(graph)
                now.stop[0] = 1

            return super().attempt(plan, rng, prefix, last)

    fields = {name: getattr(sketcher, name) for name in sketcher.__dataclass_fields__}
    method.sketcher = StopsSoon(**fields)
    after, row = method.step(state, now)
    assert row["lower"] > method.result(state)[1]["lower"]
    assert after.round == 1


def test_without_limits_there_are_a_hundred_rounds():
    method = method_on(load("dectiger", 0.9))
    state, _ = method.step(method.init(unlimited()), unlimited())
    last = state._replace(round=ROUNDS, most_points=0)
    assert method.step(last, unlimited())[0].stopped == "iterations"
    assert method.step(last, unlimited()._replace(seconds=5.0))[0].stopped == ""
    assert method.step(last._replace(round=1), unlimited())[0].stopped == ""


def test_discount_of_zero_and_one_step():
    model = load("dectiger", 0.0)
    assert bounded(model).trace[-1]["lower"] == pytest.approx(-2.0)
    assert bounded(model.with_discount(1.0), horizon=1, epsilon=1e-9).trace[-1]["lower"] == pytest.approx(-2.0)
