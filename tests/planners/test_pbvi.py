"""PBVI: bounds that hold on problems solved by brute force and on those of the literature."""

import numpy as np
import pytest
from oracles import beliefs as oracle
from oracles import making

import decpomdp as dp
from decpomdp.api import plan
from decpomdp.core.run import Cut, Inputs, unlimited
from decpomdp.core.sparse import factored_model
from decpomdp.kernels.beliefs import upper_bound
from decpomdp.planners.common import centralised, played_by
from decpomdp.planners.pbvi.bounds import Bounds, first_bounds
from decpomdp.planners.pbvi.method import PbviMethod
from decpomdp.planners.pbvi.settings import Pbvi

HORIZON = 7


def pbvi(model, **options):
    return plan(model, "pbvi", **options)


def tables(model):
    return model.transition, model.observation, model.reward, model.discount


def tiny(seed, discount=0.35, **sizes):
    sizes = {"states": 3, "actions": (2, 1), "observations": (1, 2), "sparse": bool(seed % 2)} | sizes
    return making.model(np.random.default_rng(seed), discount=discount, **sizes)


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 8))])
def test_the_optimum_lies_between_the_bounds(seed):
    model = tiny(seed)
    fit = pbvi(model, epsilon=1e-3)
    least, most = oracle.between(model.start, *tables(model), HORIZON)
    assert fit.stopped == "converged"
    assert fit.upper - fit.lower <= 1e-3
    assert fit.lower <= most
    assert fit.upper >= least
    assert dp.exact_value(centralised(model), fit.team).value == pytest.approx(fit.lower, abs=1e-8)


@pytest.mark.parametrize("seed", [*range(2), *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3))])
def test_both_bounds_hold_at_every_belief(seed):
    model = tiny(seed)
    method = PbviMethod(model, Pbvi(epsilon=1e-3, beliefs=200, nodes=50), Inputs(threads=1))
    state = method.init(unlimited())
    while not state.stopped:
        state, _ = method.step(state, unlimited())
    policy, bounds = method.result(state)[0].policy, Bounds(method.dynamics, state.bounds, 1, unlimited())
    rng = np.random.default_rng(seed)
    for belief in [np.eye(3)[seed % 3], *making.rows(rng, 3, 3)]:
        least, most = oracle.between(belief, *tables(model), HORIZON)
        assert (policy.vectors @ belief).max() <= most
        states = np.flatnonzero(belief)
        assert upper_bound(bounds.points, states, belief[states], np.zeros(3)) >= least


@pytest.mark.parametrize(
    "sizes", [{"actions": (2, 1, 2), "observations": (1, 2, 1)}, {"actions": (3,), "observations": (2,)}]
)
def test_any_number_of_agents(sizes):
    model = tiny(5, **sizes)
    fit = pbvi(model, epsilon=1e-3)
    least, most = oracle.between(model.start, *tables(model), 5)
    assert fit.upper - fit.lower <= 1e-3
    assert least - 1e-9 <= fit.upper
    assert fit.lower <= most + 1e-9


def test_the_bracket_is_narrow_enough_to_catch_a_wrong_bound():
    model = tiny(0)
    least, most = oracle.between(model.start, *tables(model), HORIZON)
    fit = pbvi(model, epsilon=1e-3)
    assert fit.upper - 0.02 < least
    assert fit.lower + 0.02 > most


@pytest.mark.parametrize(
    ("problem", "best", "informed", "options"),
    [
        ("dectiger", 13.4486, 84.22, {}),
        ("broadcast", 9.27, 9.385, {}),
        ("recycling", 31.929, 33.85, {}),
        ("gridsmall", 7.0, 8.52, {"beliefs": 100}),
        ("boxpushing", 224.83, 231.42, {}),
        ("marsrovers", 26.94, 29.17, {}),
    ],
)
def test_problems_of_the_literature(problem, best, informed, options):
    """Above the best decentralised value known, below the fast informed bound."""
    model = dp.load(problem)
    fit = pbvi(model, **options)
    value = dp.exact_value(centralised(model), fit.team).value
    assert best <= value <= fit.upper <= informed
    assert value == pytest.approx(fit.lower, abs=1e-6)
    assert fit.trace[0]["upper"] == pytest.approx(informed, rel=2e-3)
    if not options:
        assert fit.stopped == "converged"
        assert fit.upper - value <= 0.01


def test_first_bounds_are_valid_when_the_run_is_ending():
    """One step of value iteration, shifted, is above or below the limit."""
    model = factored_model(tiny(3, discount=0.9))
    ending = unlimited()
    ending.stop[0] = 1
    start = np.array([1.0, 0.0, 0.0])
    rough, fine = first_bounds(model, start, ending), first_bounds(model, start, unlimited())
    assert np.all(rough.informed > fine.informed)
    assert np.all(rough.vectors <= fine.vectors + 1e-9)
    assert not np.allclose(rough.vectors, fine.vectors)


def test_the_trace():
    seen = []
    fit = pbvi(dp.load("gridsmall"), beliefs=120, watch=seen.append)
    assert tuple(seen) == fit.trace
    assert all(list(row) == list(fit.trace[0]) for row in seen)
    assert {"seconds", "iteration", "lower", "upper", "gap", "nodes", "points"} <= set(fit.trace[0])
    for before, later in zip(fit.trace, fit.trace[1:], strict=False):
        assert later["lower"] >= before["lower"]
        assert later["upper"] <= before["upper"]
    assert fit.trace[-1]["points"] == 120
    assert fit.trace[-1]["nodes"] == fit.team.nodes
    assert fit.stopped == "beliefs"


def test_the_same_for_any_number_of_threads():
    model = dp.load("gridsmall")
    one, three = (pbvi(model, beliefs=60, seed=3, threads=threads) for threads in (1, 3))
    assert one.team == three.team
    assert np.array_equal(one.policy.vectors, three.policy.vectors)
    assert [{**row, "seconds": 0} for row in one.trace] == [{**row, "seconds": 0} for row in three.trace]


def test_a_step_that_is_cut_leaves_a_valid_result():
    method, now = PbviMethod(dp.load("gridsmall"), Pbvi(beliefs=100), Inputs()), unlimited()
    state = method.init(now)
    while state.iterations < 2:
        state, _ = method.step(state, now)
    before = method.result(state)[0]
    stop = now._replace(stop=CountDown(30))
    with pytest.raises(Cut):
        method.step(state, stop)
    after = method.result(state)[0]
    assert (after.team, after.lower, after.upper) == (before.team, before.lower, before.upper)
    assert np.array_equal(after.policy.vectors, before.policy.vectors)


class CountDown:
    """A stop flag that is set after so many looks."""

    def __init__(self, looks):
        self.looks = looks

    def __getitem__(self, place):
        self.looks -= 1
        return self.looks < 0


def test_what_a_team_plays():
    model = dp.load("broadcast")
    assert played_by(model, dp.Team.uniform(model)) is model
    team = plan(model, "pbvi").team
    assert dp.evaluate(team, played_by(model, team)).value > 9.26
