"""Periodic plans against the exact evaluator, dense algebra and brute force; monotone at every sweep."""

import itertools

import numba
import numpy as np
import pytest
from oracles import deterministic_controllers, em_by_algebra, making

import decpomdp as dp
from decpomdp.api import RunSetup
from decpomdp.core.checks import freeze
from decpomdp.core.run import unlimited
from decpomdp.core.sparse import outcome_model
from decpomdp.evaluation import exact_value
from decpomdp.kernels import periodic
from decpomdp.kernels.periodic import survey
from decpomdp.kernels.periodic_climb import sweeps
from decpomdp.planners.em.chain import flattened
from decpomdp.planners.periodic.method import PlanSearch, with_climb
from decpomdp.planners.periodic.plans import (
    buffers_for,
    copied,
    enlarged,
    guide_of,
    random_plan,
    softened,
    team_of,
    trimmed,
)
from decpomdp.planners.periodic.settings import PeriEmTuning

MARGIN = 1e-9
NEVER = np.zeros(1, np.int64)  # nobody stops the sweeps
SHAPES = [
    ((2,), (3,), (2,), 3),
    ((2, 3), (2, 1), (2, 3), 2),
    ((3, 2), (2, 2), (2, 2), 1),
    ((2, 1, 3), (1, 2, 2), (2, 1, 2), 2),
]


@numba.njit
def at_start(game, plan, v):
    return periodic.at_start(game, plan, v)


@numba.njit
def values(game, plan, buffers, closed, target, tolerance, size, v):
    return periodic.values(game, plan, buffers, closed, target, tolerance, size, v)


@numba.njit
def occupancies(game, plan, buffers, closed, size):
    periodic.occupancies(game, plan, buffers, closed, 1e-13, size)


@numba.njit
def worth(game, plan, buffers, agent):
    periodic.worth(game, plan, buffers, 1, agent, 1, 2)


def made(actions, observations, widths, layers, seed=0, discount=0.8):
    rng = np.random.default_rng(seed)
    model = making.model(rng, 3, actions, observations, discount, sparse=True)
    game = outcome_model(model)
    plan = random_plan(game, layers, widths, rng)
    return model, game, plan, settled(game, plan, True)


def settled(game, plan, closed):
    """The plan's memory with values and occupancies solved."""
    buffers = buffers_for(game, plan, NEVER)
    size = survey(game, plan, buffers, closed)
    assert values(game, plan, buffers, closed, -np.inf, 1e-12, size, buffers.v)
    occupancies(game, plan, buffers, closed, size)
    return buffers


@pytest.mark.parametrize(("actions", "observations", "widths", "layers"), SHAPES)
def test_values_and_occupancies_equal_dense_algebra(actions, observations, widths, layers):
    model, game, plan, buffers = made(actions, observations, widths, layers)
    team = team_of(model, plan)
    assert at_start(game, plan, buffers.v) == pytest.approx(exact_value(model, team).value, abs=1e-9)
    f, v, _ = em_by_algebra.occupancy_and_value(model, making.tables(team))
    base = model.reward.min() / (1 - model.discount)
    for m in range(layers):
        for q, parts in enumerate(itertools.product(*(range(w) for w in widths))):
            flat = np.ravel_multi_index([m * w + i for w, i in zip(widths, parts, strict=True)], team.nodes)
            assert buffers.f[m, :, q] == pytest.approx(f[:, flat], abs=1e-9)
            met = buffers.mark[m, :, q]
            assert np.array_equal(met, f[:, flat] > 1e-13)
            assert buffers.v[m, met, q] == pytest.approx(v[met, flat] + base, abs=1e-9)


@pytest.mark.parametrize(("actions", "observations", "widths", "layers"), SHAPES)
def test_an_open_plan_has_the_value_of_its_horizon(actions, observations, widths, layers):
    model, game, plan, _ = made(actions, observations, widths, layers)
    buffers = settled(game, plan, False)
    assert at_start(game, plan, buffers.v) == pytest.approx(
        exact_value(model, team_of(model, plan), layers).value, abs=1e-10
    )


@pytest.mark.parametrize("agent", [0, 1])
def test_what_a_choice_is_worth_is_what_it_changes(agent):
    model, game, plan, _ = made((2, 3), (2, 1), (2, 2), 3)
    buffers = settled(game, plan, False)
    value = at_start(game, plan, buffers.v)
    worth(game, plan, buffers, agent)

    def total(i, a, moves):
        return buffers.direct[i, a] + sum(buffers.score[i, a, o, j] for o, j in enumerate(moves))

    symbols = len(model.agents[agent].observations)
    for i, a in itertools.product(range(2), range(len(model.agents[agent].actions))):
        for moves in itertools.product(range(2), repeat=symbols):
            other = copied(plan)
            other.act[agent, 1, i] = a
            other.move[agent, 1, i, :symbols] = moves
            gain = total(i, a, moves) - total(i, plan.act[agent, 1, i], plan.move[agent, 1, i, :symbols])
            assert exact_value(model, team_of(model, other), 3).value == pytest.approx(value + gain, abs=1e-9)


def test_a_target_out_of_reach_is_refused_and_one_within_reach_is_not():
    _, game, plan, buffers = made((2, 3), (2, 1), (2, 3), 2)
    value = at_start(game, plan, buffers.v)
    for shift, accepted in ((-1e-6, True), (1e-6, False)):
        fresh, size = np.zeros_like(buffers.v), int(buffers.mark.sum())
        assert values(game, plan, buffers, True, value + shift, 1e-10, size, fresh) is accepted


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("actions", "observations", "widths", "layers"), SHAPES)
def test_no_sweep_lowers_the_exact_value(actions, observations, widths, layers, seed, closed):
    model, game, plan, buffers = made(actions, observations, widths, layers, seed)
    horizon = None if closed else layers
    before = exact_value(model, team_of(model, plan), horizon).value
    for number in range(6):
        told = sweeps(game, plan, buffers, closed, 1, 1, -np.inf, MARGIN, np.uint64(number))
        after = exact_value(model, team_of(model, plan), horizon).value
        assert told == pytest.approx(after, abs=1e-8)
        assert after >= before - 1e-8
        before = after


def test_the_guide_is_the_best_action_when_the_state_is_known():
    model = making.model(np.random.default_rng(1), 3, (2, 2), (1, 1), 0.7)
    guide = guide_of(model)
    found = []
    for policy in itertools.product(range(4), repeat=3):
        chain = np.array([model.transition[u, s] for s, u in enumerate(policy)])
        earned = np.array([model.reward[u, s] for s, u in enumerate(policy)])
        found.append((model.start @ np.linalg.solve(np.eye(3) - 0.7 * chain, earned), policy))
    assert tuple(guide) == max(found)[1]


@pytest.mark.parametrize(("times", "more"), [(1, 1), (2, 0), (3, 2)])
def test_a_larger_plan_is_worth_the_same(times, more):
    model, game, plan, buffers = made((2, 3), (2, 1), (2, 3), 2)
    larger = enlarged(game, plan, times, more, np.random.default_rng(0))
    team = team_of(model, larger)
    assert team.nodes == (2 * times * (2 + more), 2 * times * (3 + more))
    assert exact_value(model, team).value == pytest.approx(at_start(game, plan, buffers.v), abs=1e-9)
    other = plan._replace(first=np.ones_like(plan.first))  # starts in its second nodes
    assert enlarged(game, other, times, more, np.random.default_rng(0)).first.tolist() == [1, 1]


@pytest.mark.parametrize(("actions", "observations", "widths", "layers"), SHAPES)
def test_trimming_and_softening(actions, observations, widths, layers):
    model, game, plan, buffers = made(actions, observations, widths, layers)
    larger = enlarged(game, plan, 1, 2, np.random.default_rng(0))
    smaller = trimmed(larger, settled(game, larger, True).mark)
    value = at_start(game, plan, buffers.v)
    assert np.all(smaller.widths <= plan.widths)
    assert exact_value(model, team_of(model, smaller)).value == pytest.approx(value, abs=1e-9)
    assert exact_value(model, flattened(model, softened(model, smaller, 0.0))).value == pytest.approx(value, abs=1e-9)
    soft = flattened(model, softened(model, smaller, 0.1))
    assert all((c.action > 0).all() for c in soft.controllers)


@pytest.mark.parametrize("seed", range(3))
def test_finds_the_best_deterministic_controllers_of_tiny_problems(seed):
    model = making.model(np.random.default_rng(seed), 2, (2, 2), (2, 1), 0.8)
    highest, _ = deterministic_controllers.best(model, (2, 2))
    fit = dp.plan(model, "periem", layers=1, width=2, restarts=6, seed=seed)
    assert fit.facts["peri"] == pytest.approx(highest, abs=1e-6)
    assert fit.trace[-1]["value"] >= highest - 1e-6


QUICK = PeriEmTuning(patience=15, em_iterations=20)


def test_both_values_are_told_and_the_better_team_returned():
    model = dp.load("dectiger")
    fit = dp.plan(model, "periem", layers=3, width=4, restarts=4, seed=0)
    assert fit.stopped == "converged"
    assert fit.trace[-1]["value"] == exact_value(model, fit.team).value
    assert fit.trace[-1]["value"] == pytest.approx(max(fit.facts["peri"], fit.facts["periem"]), abs=1e-6)
    assert fit.facts["peri"] == pytest.approx(13.448554, abs=1e-5)  # the horizon-3 optimum, for ever
    assert fit.facts["periem"] > 9.42
    assert {tuple(row) for row in fit.trace} == {("seconds", "iteration", "phase", "value", "lower", "upper", "nodes")}
    assert {row["phase"] for row in fit.trace} == {"peri", "periem", "result"}
    assert fit.team.nodes == (6, 6)  # minimal


def test_reaches_the_best_known_value_of_recycling():
    fit = dp.plan("recycling", "periem", restarts=4, seed=1, tuning=QUICK)
    assert fit.trace[-1]["value"] == pytest.approx(31.92913, abs=1e-4)


def test_beats_the_published_value_of_box_pushing():
    fit = dp.plan("boxpushing", "periem", layers=1, width=5, restarts=1, seed=0, tuning=PeriEmTuning(patience=15))
    assert fit.trace[-1]["value"] > 148.7


def test_seed_fixes_the_result_and_threads_do_not_change_it():
    model = dp.load("broadcast")
    fits = [dp.plan(model, "periem", restarts=14, seed=3, threads=t, tuning=QUICK) for t in (1, 2)]
    assert fits[0].team == fits[1].team
    assert [row["value"] for row in fits[0].trace] == [row["value"] for row in fits[1].trace]


def test_later_climbs_go_on_from_the_best_or_start_afresh():
    model = dp.load("broadcast")
    search = PlanSearch(outcome_model(model), guide_of(model), None, None, 0, QUICK)
    best = []
    for number in range(len(search.sizes)):
        climb = search.climb(number, best)
        assert climb.fresh
        best = with_climb(best, search.advanced(climb, NEVER))
    odd, even = (search.climb(number, best) for number in (2 * len(search.sizes) + 1, 2 * len(search.sizes)))
    assert even.fresh
    assert not odd.fresh
    assert search.advanced(odd, NEVER).value >= min(entry.value for entry in best)


def test_a_plan_that_earns_nothing_ends_its_sweeps():
    _, game, plan, buffers = made((2, 2), (2, 2), (2, 2), 1, discount=0.9)
    silent = game._replace(reward=freeze(np.zeros_like(game.reward)))
    buffers.v[:] = 5.0  # decays to the smallest floats there are, and must not be followed down to them
    assert sweeps(silent, plan, buffers, True, 3, 1, -np.inf, MARGIN, np.uint64(0)) == pytest.approx(0, abs=1e-7)


def test_fixed_sizes_are_kept_and_large_ones_left_out():
    game, guide = outcome_model(dp.load("dectiger")), guide_of(dp.load("dectiger"))
    fixed = PlanSearch(game, guide, 4, (2, 3), 0, QUICK)
    assert fixed.sizes == [(4, (2, 3))]
    model = making.model(np.random.default_rng(0), 2, (2,) * 8, (1,) * 8)
    many = PlanSearch(outcome_model(model), guide_of(model), None, None, 0, QUICK)
    assert many.sizes
    assert all(layers * np.prod(widths) * 3 <= 3_000_000 for layers, widths in many.sizes)


def test_the_last_part_of_the_time_is_for_em():
    method = RunSetup(dp.load("recycling"), dp.PeriEm(tuning=QUICK)).method()
    state, _ = method.step(method.init(unlimited()), unlimited())
    assert state.em is None
    state, _ = method.step(state, unlimited()._replace(progress=0.9, seconds=1.0))
    assert state.em is not None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "peri", "soft"),
    [("dectiger", 13.448, 9.42), ("recycling", 31.9, 31.80), ("boxpushing", 148, 106.68), ("marsrovers", 24.1, 18.13)],
)
def test_peri_and_periem_reach_the_published_values(name, peri, soft):
    """Within a minute each; published: up to two hours."""
    model = dp.load(name)
    fit = dp.plan(model, "periem", time_limit=60)
    assert fit.facts["peri"] >= peri
    assert fit.facts["periem"] >= soft
    assert exact_value(model, fit.team).value >= max(peri, soft)
