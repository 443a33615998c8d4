"""EM for planning against dense algebra and brute force over controllers; monotone at every step."""

import itertools

import numpy as np
import pytest
from oracles import deterministic_controllers, em_by_algebra, making

import decpomdp as dp
from decpomdp.api import plan
from decpomdp.core import Controller, Team
from decpomdp.evaluation import exact_value
from decpomdp.planners.em.chain import LayeredChain, LayeredController, ShiftedModel, flattened, one_layer
from decpomdp.planners.em.method import (
    expected_counts,
    first_iterate,
    next_iterate,
    updated,
)

SHAPES = [
    ((2,), (3,), (2,)),
    ((2, 3), (2, 1), (2, 3)),
    ((2, 1, 3), (1, 2, 2), (2, 1, 2)),
]


def made(actions, observations, nodes, seed=0, sparse=False):
    rng = np.random.default_rng(seed)
    model = making.model(rng, 2, actions, observations, 0.8, sparse)
    return model, making.team(rng, model, nodes, sparse)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("actions", "observations", "nodes"), SHAPES)
def test_occupancy_and_value_equal_dense_algebra(actions, observations, nodes, sparse):
    model, team = made(actions, observations, nodes, sparse=sparse)
    f, v, _ = em_by_algebra.occupancy_and_value(model, making.tables(team))
    chain = LayeredChain(ShiftedModel.of(model), one_layer(team))
    assert chain.occupancies()[0] == pytest.approx(f, abs=1e-10)
    assert chain.values()[0] == pytest.approx(v, abs=1e-9)
    assert chain.value(chain.values()) == pytest.approx(exact_value(model, team).value, abs=1e-9)
    assert chain.values(v + 0.1)[0] == pytest.approx(v, abs=1e-9)  # from any guess
    assert chain.occupancies(f + 0.1)[0] == pytest.approx(f, abs=1e-10)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("actions", "observations", "nodes"), SHAPES)
def test_one_step_equals_dense_algebra(actions, observations, nodes, sparse):
    model, team = made(actions, observations, nodes, sparse=sparse)
    wanted = em_by_algebra.step(model, making.tables(team))
    chain = LayeredChain(ShiftedModel.of(model), one_layer(team))
    counts = expected_counts(chain, chain.occupancies(), chain.values())
    for old, count, (initial, action, move) in zip(chain.team, counts, wanted, strict=True):
        new = updated(old, count, 1.0)
        assert new.initial == pytest.approx(initial, abs=1e-9)
        assert new.action[0] == pytest.approx(action, abs=1e-9)
        assert new.move[0] == pytest.approx(move, abs=1e-9)
    assert em_by_algebra.value(model, wanted) > em_by_algebra.value(model, making.tables(team))


def assert_rises(values):
    for before, after in itertools.pairwise(values):
        assert after >= before - 1e-9 * max(1.0, abs(before)), (before, after)


@pytest.mark.parametrize("stride", [1.0, 1024.0])
@pytest.mark.parametrize(("actions", "observations", "nodes"), SHAPES)
def test_the_exact_value_never_falls(actions, observations, nodes, stride):
    model, team = made(actions, observations, nodes, seed=3)
    shifted = ShiftedModel.of(model)
    state, values = first_iterate(shifted, one_layer(team)), []
    for _ in range(15):
        values.append(exact_value(model, flattened(model, state.team)).value)
        assert values[-1] == pytest.approx(state.value, abs=1e-8)
        state = next_iterate(shifted, state, stride)
    assert_rises(values)
    assert values[-1] > values[0]


def layered(rng, model, layers, widths):
    return [
        LayeredController(
            making.rows(rng, w),
            making.rows(rng, layers, w, len(agent.actions)),
            making.rows(rng, layers, w, len(agent.actions), len(agent.observations), w),
        )
        for w, agent in zip(widths, model.agents, strict=True)
    ]


def test_a_layered_step_is_the_step_of_the_flat_team():
    rng = np.random.default_rng(2)
    model = making.model(rng, 2, (2, 3), (2, 1), 0.8)
    team = layered(rng, model, 2, (2, 1))
    flat = flattened(model, team)
    assert flat.nodes == (4, 2)
    shifted = ShiftedModel.of(model)
    chain = LayeredChain(shifted, team)
    assert chain.value(chain.values()) == pytest.approx(exact_value(model, flat).value, abs=1e-9)
    counts = expected_counts(chain, chain.occupancies(), chain.values())
    new = flattened(model, [updated(old, count, 1.0) for old, count in zip(team, counts, strict=True)])
    wanted = em_by_algebra.step(model, making.tables(flat))
    for controller, (initial, action, move) in zip(new.controllers, wanted, strict=True):
        assert controller.initial == pytest.approx(initial, abs=1e-9)
        assert controller.action == pytest.approx(action, abs=1e-9)
        assert controller.transition == pytest.approx(move, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_reaches_the_best_deterministic_controllers_of_tiny_problems(seed):
    rng = np.random.default_rng(seed)
    model = making.model(rng, 2, (2, 2), (2, 1), 0.7)
    highest, team = deterministic_controllers.best(model, (2, 1))
    assert exact_value(model, team).value == pytest.approx(highest, abs=1e-9)
    fit = plan(model, "em", nodes=(2, 1), restarts=8, seed=seed, iterations_per_start=300)
    assert fit.trace[-1]["value"] >= highest - 1e-3


def test_seed_fixes_the_result_and_threads_do_not_change_it():
    model = dp.load("recycling")
    fits = [plan(model, "em", nodes=2, iterations_per_start=12, restarts=5, seed=4, threads=t) for t in (1, 2)]
    assert fits[0].team == fits[1].team
    assert [r["value"] for r in fits[0].trace] == [r["value"] for r in fits[1].trace]
    assert plan(model, "em", nodes=2, iterations_per_start=12, restarts=5, seed=5).team != fits[0].team


def test_starts_from_a_given_team():
    model = dp.load("dectiger")
    listening = Team.of(model, [Controller.deterministic([0], [[0, 0]], 3)] * 2)
    fit = plan(model, "em", begin=listening, iterations_per_start=30)
    assert fit.trace[-1]["value"] == pytest.approx(-20, abs=1e-9)  # what has probability 0 keeps it
    assert fit.team.nodes == (1, 1)
    model = dp.load("recycling")  # where acting by chance is better than always doing the first thing
    assert plan(model, "em", begin=Team.uniform(model), iterations_per_start=0).trace[-1]["value"] == pytest.approx(
        exact_value(model, Team.uniform(model)).value
    )


def test_stops_for_the_reason_it_says():
    model = dp.load("broadcast")
    assert plan(model, "em", nodes=1, restarts=2, iterations_per_start=5000).stopped == "converged"
    assert plan(model, "em", restarts=1, iterations_per_start=1).stopped == "iterations"
    assert plan(model, "em", nodes=1, iterations_per_start=3).facts["starts"] == 10  # neither given: bounded
    fit = plan(model, "em", nodes=1, iterations_per_start=3, time_limit=1.5)  # as many restarts as the time allows
    assert fit.facts["starts"] > 10
    assert len(fit.trace) > 12
    assert fit.stopped == "time limit"
    assert fit.seconds < 10
    assert {tuple(row) for row in fit.trace} == {("seconds", "iteration", "phase", "value", "lower", "upper", "nodes")}


def test_rounding_below_nothing_is_nothing():
    old = LayeredController(np.array([0.5, 0.5]), np.full((1, 2, 2), 0.5), np.full((1, 2, 2, 1, 2), 0.5))
    counts = LayeredController(np.array([1.0, -1e-17]), np.full((1, 2, 2), 1.0), np.full((1, 2, 2, 1, 2), 0.0))
    new = updated(old, counts, 1.5)
    assert new.initial.tolist() == [1.0, 0.0]
    assert np.array_equal(new.move, old.move)  # never counted: stays
