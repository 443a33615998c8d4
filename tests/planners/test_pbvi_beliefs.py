"""Beliefs by Bayes' rule, the sawtooth, the belief set, the centralised problem."""

import numpy as np
import pytest
from oracles import beliefs as oracle
from oracles import making

import decpomdp as dp
from decpomdp.core.sparse import factored_model
from decpomdp.kernels.beliefs import (
    BeliefPoints,
    best_vector,
    foresee,
    furthest,
    hang,
    scratch_for,
    successor,
    upper_bound,
)
from decpomdp.planners.common import centralised
from decpomdp.planners.pbvi.bounds import BeliefSet, key_of


def dense(states, weights, size):
    table = np.zeros(size)
    table[states] = weights
    return table


@pytest.mark.parametrize("sparse", [False, True])
def test_successors_are_those_of_bayes(sparse):
    rng = np.random.default_rng(1)
    model = making.model(rng, states=4, actions=(2, 2), observations=(2, 3), sparse=sparse)
    dynamics = factored_model(model)
    scratch = scratch_for(4, dynamics.symbols, dynamics.widest)
    states, weights = np.empty(4, np.int64), np.empty(4)
    for belief in [*making.rows(rng, 3, 4), np.eye(4)[2]]:
        support = np.flatnonzero(belief)
        for u in range(model.joint_actions):
            seen = foresee(dynamics, u, support, belief[support], scratch)
            found = {int(scratch.seen[k]): k for k in range(seen)}
            for y in range(model.joint_observations):
                wanted, p = oracle.after(belief, u, y, model.transition, model.observation)
                assert (y in found) == (p > 0)
                if p > 0:
                    part = slice(scratch.first[found[y]], scratch.first[found[y] + 1])
                    assert scratch.weights[part].sum() == pytest.approx(p)
                    size = successor(scratch, found[y], states, weights)
                    assert dense(states[:size], weights[:size], 4) == pytest.approx(wanted)


def test_the_best_vector_and_the_first_one_that_is_good_enough():
    vectors = np.array([[1.0, 2.0, 3.0], [0.0, 2.0, 1.2]])  # [s, i]
    states, weights = np.array([0, 1]), np.array([0.5, 0.5])
    scores = np.empty(3)
    assert best_vector(vectors, 3, states, weights, 0.0, scores) == (2, pytest.approx(2.1))
    assert best_vector(vectors, 3, states, weights, 0.2, scores) == (1, pytest.approx(2.0))
    assert best_vector(vectors, 2, states, weights, 0.0, scores) == (1, pytest.approx(2.0))


def points(beliefs, values, corner):
    """Points with no informed bound to speak of."""
    chosen = BeliefSet.of(beliefs[0])
    chosen.add([(np.flatnonzero(b), b[b > 0]) for b in beliefs], [0] * len(beliefs))
    drop = np.array(values) - np.array(beliefs) @ corner
    made = BeliefPoints(
        chosen.offsets,
        chosen.states,
        chosen.weights,
        drop,
        np.empty(len(corner), np.int64),
        np.empty(len(values), np.int64),
        np.array(corner),
        np.full((len(corner), 1), 1e9),
    )
    hang(made)
    return made


def test_the_sawtooth():
    corner = np.array([4.0, 2.0, 0.0])
    beliefs = [np.array([0.5, 0.5, 0.0]), np.array([0.2, 0.3, 0.5]), np.array([0.0, 0.5, 0.5])]
    upper = points(beliefs, [2.0, 1.0, 0.5], corner)
    rng = np.random.default_rng(0)
    for belief in [*making.rows(rng, 20, 3), *np.eye(3), *beliefs]:
        by_hand = min(
            belief @ corner,
            *(
                belief @ corner + drop * min(belief[s] / b[s] for s in range(3) if b[s] > 0)
                for b, drop in zip(beliefs, upper.drop, strict=True)
            ),
        )
        states = np.flatnonzero(belief)
        assert upper_bound(upper, states, belief[states], np.zeros(3)) == pytest.approx(by_hand)
        assert upper_bound(upper, states, 0.3 * belief[states], np.zeros(3)) == pytest.approx(0.3 * by_hand)


def test_the_furthest_successor():
    model = dp.load("dectiger")
    upper = points([np.array([0.5, 0.5])], [0.0], np.zeros(2))
    states, weights = np.empty(2, np.int64), np.empty(2)
    size, distance = furthest(factored_model(model), upper, 0, np.zeros(9), states, weights)
    sure = 0.85**2 / (0.85**2 + 0.15**2)  # both heard the same; every other action forgets
    assert distance == pytest.approx(2 * (sure - 0.5))
    assert sorted(weights[:size]) == pytest.approx([1 - sure, sure])


def test_the_belief_set_knows_what_it_has():
    chosen = BeliefSet.of(np.array([0.5, 0.0, 0.5]))
    same = (np.array([2, 0]), np.array([0.5, 0.5 + 1e-13]))
    other = (np.array([2, 1]), np.array([0.25, 0.75]))
    assert chosen.add([same, other, other], [1, 2, 3]) == [0, 1, 1]
    assert chosen.count == 2
    assert chosen.depth.tolist() == [0, 2]
    states, weights = chosen.belief(1)
    assert (states.tolist(), weights.tolist()) == ([1, 2], [0.75, 0.25])
    assert [layer.tolist() for layer in chosen.layers()] == [[1], [0]]
    assert chosen.place(*other) == 1
    assert chosen.place(np.array([1]), np.array([1.0])) is None
    assert key_of(np.array([0, 1]), np.array([1.0, 1e-14])) == key_of(np.array([0]), np.array([1.0]))


def test_the_centralised_problem():
    model = dp.load("dectiger")
    one = centralised(model)
    assert one.agents[0].actions[1] == "listen+open-left"
    assert one.agents[0].observations == (
        "hear-left+hear-left",
        "hear-left+hear-right",
        "hear-right+hear-left",
        "hear-right+hear-right",
    )
    assert (one.name, one.discount) == ("centralised dectiger", 0.9)
    for table in ("start", "transition", "observation", "reward"):
        assert np.array_equal(getattr(one, table), getattr(model, table))
    uniform = dp.exact_value(model, dp.Team.uniform(model)).value
    assert dp.exact_value(one, dp.Team.uniform(one)).value == pytest.approx(uniform)
