"""Fits of worlds: the number of states, the choice of the form, resume."""

import dataclasses
import itertools

import numpy as np
import pytest
from oracles.worlds import enumerate_paths
from worlds.logs import small_log

import decpomdp as dp
from decpomdp.io.checkpoints import decode, encode
from decpomdp.worlds.calibration import overconfidence, predictions, weighted_slope
from decpomdp.worlds.data import Form, alphabet_of, records_of
from decpomdp.worlds.growth import Grower, Growth
from decpomdp.worlds.learner import DONE, REFITS, Fits, Fitted, Worlds, clearly_better
from decpomdp.worlds.moves import copies, one_state
from decpomdp.worlds.posterior import posterior_of
from decpomdp.worlds.product import own_records, product_of
from decpomdp.worlds.sweep import Sweeps


def fitted(learner, state=None):
    state = learner.init() if state is None else state
    rows = []
    while state.phase != DONE:
        state, row = learner.step(state, hurry=len(rows) > 2)
        rows += [] if row is None else [row]
    return state, rows


@pytest.fixture(scope="module")
def tiger():
    learner = Worlds(dp.simulate("dectiger", "random", episodes=300, horizon=20, seed=1), seed=1, most=400)
    return learner, *fitted(learner)


def test_random_logs_of_dectiger_have_two_states(tiger):
    learner, state, rows = tiger
    assert learner.best(state).posterior.states == 2
    assert not learner.best(state).posterior.form.memory
    assert state.refitted[0].steps == 6000  # all episodes
    assert {"bound", "states", "heldout"} <= set(rows[0])


def test_the_best_world_predicts_held_out_episodes_better_than_one_state(tiger):
    learner, state, _ = tiger
    memory = next(fit for fit in state.finished if fit.posterior.form.memory)
    assert clearly_better(learner.best(state).heldout, memory.heldout, 2.0)


def test_clear_held_out_episodes_overrule_the_bound(tiger):
    learner, state, _ = tiger
    best = learner.best(state)
    rng = np.random.default_rng(0)
    lower = best.posterior._replace(bound=best.posterior.bound - 50)
    better = Fitted(lower, best.heldout + 1 + 0.1 * rng.normal(size=len(best.heldout)))
    noise = Fitted(lower, best.heldout + 5 * rng.normal(size=len(best.heldout)) * np.resize([1, -1], len(best.heldout)))
    assert learner.best(Fits(finished=(best, noise))) is best
    assert learner.best(Fits(finished=(noise, best, better))) is better
    assert learner.best(Fits(finished=(best, better._replace(over_complete=True)))) is best


def test_over_complete_worlds_are_without_caution(tiger):
    learner, state, _ = tiger
    best = learner.best(state)
    copy = Fitted(best.posterior._replace(bound=best.posterior.bound - 50), best.heldout, over_complete=True)
    state = Fits(phase=REFITS, finished=(best, copy))
    while state.phase != DONE:
        state, _ = learner.step(state, hurry=False)
    assert [posterior.trusted for posterior in state.refitted] == [False, True]


def test_worlds_are_weighted_by_held_out_episodes(tiger):
    learner, state, _ = tiger
    best = learner.best(state)
    rng, count = np.random.default_rng(0), len(best.heldout)

    def weight(noise, mean, over_complete=True, bound=-50):
        """Of a world whose bound differs from the best one's, and its log likelihoods by noise with this mean."""
        differences = noise * rng.normal(size=count)
        other = best.heldout + differences - differences.mean() + mean
        lower = best.posterior._replace(bound=best.posterior.bound + bound)
        fits = Fits(finished=(best, Fitted(lower, other, over_complete)), refitted=(best.posterior, lower))
        weights = learner.weights(fits)
        assert weights.sum() == pytest.approx(1)
        return weights[1]

    assert weight(0.0, 0.0) == pytest.approx(0.5)
    assert weight(0.1, -1 / count) == pytest.approx(1 / (1 + np.e), abs=0.05)  # one nat in all
    assert 0.4 < weight(1.0, 0.0) < 0.6
    assert 0.5 / (1 + np.e**3) < weight(0.5, -3 / count) < 0.35  # uncertain differences count for less
    assert weight(0.0, 0.0, over_complete=False, bound=-2) == pytest.approx(1 / (1 + np.e**2))
    assert learner.weights(state._replace(refitted=state.refitted[:1])) == pytest.approx([1.0])


def test_tuples_of_the_agents_own_states_are_their_product():
    log = small_log(episodes=12, first=True, agents=((2, 2), (3, 2), (2, 3)))
    log = dataclasses.replace(log, rewards=np.zeros(log.steps))
    records = records_of(log, alphabet_of(log), Form())
    worlds, logs = [], np.zeros(log.count)
    for n in range(3):
        own = own_records(records, n)
        alone = dataclasses.replace(
            log, agents=log.agents[n : n + 1], observations=log.observations[:, n : n + 1],
            actions=log.actions[:, n : n + 1], behaviour=log.behaviour[:, n : n + 1],
        )  # fmt: skip
        expected = records_of(alone, alphabet_of(alone), Form())
        assert all(np.array_equal(a, b) for a, b in zip(own.log, expected.log, strict=True))
        assert np.array_equal(own.parts, expected.parts)
        world = copies(own, one_state(own), 2, np.random.default_rng(n), 1.0, 0, 0.0)
        worlds.append(world._replace(start=np.array([0.2, 0.8])))
        logs += Sweeps(own).logs(worlds[-1], beam=0.0)
    product = product_of(records, worlds)
    assert product.states == 8
    np.testing.assert_allclose(Sweeps(records).logs(product, beam=0.0), logs, rtol=1e-12)


def test_agents_with_places_of_their_own_have_tuples_of_places():
    log = dp.simulate("generated:positions,agents=2,size=2,seed=1", "random", episodes=300, horizon=20, seed=3)
    learner = Worlds(log, seed=1, most=400)
    state = learner.init()
    while not state.finished:
        state, _ = learner.step(state, hurry=False)
    assert state.finished[0].extra
    assert state.finished[0].posterior.states == 4


@pytest.mark.parametrize("equal", [False, True])
def test_observations_are_joint_if_that_raises_the_bound(equal):
    log = small_log(episodes=300, agents=((2, 3), (2, 3)))
    noise = np.random.default_rng(0).random(log.observations.shape) < 0.2
    seen = np.where((log.observations < 0) | noise, log.observations, np.roll(log.actions, 1, axis=0))
    log = dataclasses.replace(log, observations=seen[:, [0, 0]] if equal else seen)  # both see the same, or their own
    records = {form: records_of(log, alphabet_of(log), form) for form in (Form(), Form(joint=True))}
    grower = Grower(records, seed=1, most=4)
    plain = grower.sweeps[Form()]
    trial = plain.vb(plain.expected(one_state(plain.records))[1], 6, 1e-4)
    before = trial._replace(bound=-np.inf)
    growth = grower.step(Growth(Form(), 1, before, stage="merge", trial=trial))
    assert growth.best.form.joint == equal
    assert (growth.best.bound > trial.bound) == equal


@pytest.mark.parametrize("quick_steps", [6000, 40])
def test_a_resumed_fit_ends_with_the_same_bytes(quick_steps, monkeypatch):
    monkeypatch.setattr("decpomdp.worlds.learner.QUICK_STEPS", quick_steps)

    def learner():
        return Worlds(small_log(episodes=60, longest=6), seed=3, most=6)

    whole, _ = fitted(learner())
    assert (whole.finished[0].posterior.steps, whole.finished[0].extra) == (
        learner().grower.sweeps[Form()].records.steps,
        True,
    )
    state = learner().init()
    while state.phase != DONE:  # killed after every step
        state, _ = learner().step(decode(encode(state), Fits), hurry=len(state.finished) > 2)
    assert encode(state) == encode(whole)


def test_threads_do_not_change_the_fit():
    log = small_log(episodes=60, longest=6)
    one, _ = fitted(Worlds(log, seed=3, most=6, threads=1))
    two, _ = fitted(Worlds(log, seed=3, most=6, threads=2))
    assert encode(one) == encode(two)


def test_few_episodes_are_not_held_out():
    state, rows = fitted(Worlds(small_log(episodes=5), seed=0, most=4))
    assert rows[0]["heldout"] is None
    assert np.isfinite(state.refitted[0].bound)


@pytest.mark.parametrize("memory", [False, True])
def test_predicted_rewards_of_held_out_steps_are_those_of_all_state_paths(memory):
    log = small_log(episodes=12, longest=4, first=True, ends=True)
    alphabet = alphabet_of(log)
    records = records_of(log, alphabet, Form(memory))
    sweeps = Sweeps(records)
    one = copies(records, one_state(records), 3, np.random.default_rng(0), 1.0, 0, 0.0)
    posterior = posterior_of(records, sweeps.expected(one)[1])
    predicted, paid, rare, logs, _ = predictions(posterior, records)
    tables, see, place = posterior.mean(), np.concatenate(posterior.mean().see, axis=-1), 0
    lengths = [int(np.sum(records.log.inputs[a:b] >= 0)) for a, b in itertools.pairwise(records.log.offsets)]
    for t in range(max(lengths)):
        for begin, length in zip(records.log.offsets, lengths, strict=False):
            if t < length:
                rows = slice(begin, begin + t + 1)
                seen = records.log.inputs[rows], records.log.symbols[rows]
                before = records.log.rewards[begin : begin + t]
                odds = []
                for reward in range(alphabet.values.shape[1]):
                    rewards = np.append(before, reward)
                    odds.append(enumerate_paths(tables.start, tables.move, see, tables.pay, *seen, rewards)[0])
                assert predicted[place] == pytest.approx(np.average(alphabet.values[0], weights=odds), rel=1e-9)
                assert paid[place] == alphabet.values[0, records.log.rewards[begin + t]]
                place += 1
    assert place == len(rare)
    np.testing.assert_allclose(logs, sweeps.logs(posterior.mean(), beam=0.0), rtol=1e-9)
    assert np.all((rare >= 0) & (rare <= 1 + 1e-12))


def test_the_slope_tells_good_from_bad_predictions():
    rng = np.random.default_rng(1)
    x, weights = rng.normal(size=400), rng.uniform(size=400)
    y = 2.0 + x + 0.1 * rng.normal(size=400)
    slope, error = weighted_slope(x, y, weights)
    assert slope == pytest.approx(1.0, abs=0.05)
    design = np.stack([np.ones(400), x], axis=1)  # the sandwich estimator of White (1980), by matrices
    inverse = np.linalg.inv((design.T * weights) @ design)
    residual = y - design @ (inverse @ (design.T @ (weights * y)))
    middle = (design.T * (weights * residual) ** 2) @ design
    assert error == pytest.approx(np.sqrt((inverse @ middle @ inverse)[1, 1]), rel=1e-9)
    assert abs(weighted_slope(x, rng.normal(size=400), weights)[0]) < 0.2
    assert weighted_slope(np.ones(400), x, weights) == (0.0, 0.0)


def test_a_world_that_is_too_sure_of_itself_is_noticed(tiger):
    learner, state, _ = tiger
    best = learner.best(state).posterior
    heldout = learner.records(best.form, learner.held)
    nats, errors = overconfidence(best, heldout)
    assert abs(nats) < 0.01
    assert abs(errors) < 3
    sure = best._replace(counts=best.counts.mapped(lambda rows: rows**2))
    nats, errors = overconfidence(sure, heldout)
    assert nats > 0.01
    assert errors > 3
