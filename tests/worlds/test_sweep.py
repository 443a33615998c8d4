"""The expectation step against enumeration; bounds that never fall; threads that do not matter."""

import dataclasses
import itertools

import numpy as np
import pytest
from oracles.worlds import enumerate_paths
from worlds.logs import small_log

from decpomdp.worlds import sweep
from decpomdp.worlds.data import LEVELS, Form, alphabet_of, records_of, reward_levels
from decpomdp.worlds.posterior import Tables, posterior_of, weak_prior
from decpomdp.worlds.sweep import PHASE, Sweeps, occupied

KINDS = [
    pytest.param({}, id="plain"),
    pytest.param({"first": True}, id="first observations"),
    pytest.param({"ends": True}, id="ends"),
    pytest.param({"first": True, "ends": True, "agents": ((2, 3), (2, 2), (1, 2))}, id="three agents"),
]
FORMS = [Form(memory, joint) for memory in (False, True) for joint in (False, True)]


def records(form, **kind):
    log = small_log(**kind)
    return records_of(log, alphabet_of(log), form)


def random_tables(records, states, seed=0):
    rng, inputs = np.random.default_rng(seed), records.inputs
    see = tuple(rng.dirichlet(np.ones(size), (inputs + 1, states)) for size in records.groups)
    pay = rng.dirichlet(np.ones(records.paid.shape[1]), (inputs, states))
    return Tables(rng.dirichlet(np.ones(states)), rng.dirichlet(np.ones(states), (inputs, states)), see, pay)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_likelihood_and_counts_are_those_of_all_state_paths(form, kind):
    data = records(form, **kind)
    tables = random_tables(data, 3)
    log = data.log
    see = np.concatenate(tables.see, axis=-1)
    expected, likelihoods = [0.0] * 4, []
    for low, high in itertools.pairwise(log.offsets):
        rows = (log.inputs[low:high], log.symbols[low:high], log.rewards[low:high])
        likelihood, counts = enumerate_paths(tables.start, tables.move, see, tables.pay, *rows)
        likelihoods.append(likelihood)
        expected = [total + each for total, each in zip(expected, counts, strict=True)]
    sweeps = Sweeps(data)
    np.testing.assert_allclose(sweeps.logs(tables, beam=0.0), np.log(likelihoods), rtol=1e-12)
    total, counts = sweeps.expected(tables, beam=0.0)
    assert total == pytest.approx(np.log(likelihoods).sum(), rel=1e-12)
    got = (counts.start, counts.move, np.concatenate(counts.see, axis=-1), counts.pay)
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(3))
def test_the_bound_never_falls_within_a_phase(form, seed):
    data = records(form, seed=seed, episodes=60, longest=8, first=seed == 1, ends=seed == 2)
    _, counts = Sweeps(data).expected(random_tables(data, 4, seed))
    trail = list(Sweeps(data).vb_sweeps(counts, 40, 0.0, beam=0.0))
    rises = 0
    for before, after in itertools.pairwise(trail):
        if before.prior is after.prior:  # the same phase
            assert after.bound >= before.bound - 1e-7 * abs(before.bound)
            rises += 1
    assert rises >= PHASE - 1


def test_em_never_lowers_its_objective_with_fixed_bases():
    data = records(Form(), episodes=60, longest=8)
    sweeps = Sweeps(data)
    _, counts = sweeps.expected(random_tables(data, 3))
    prior = posterior_of(data, counts, weak_prior(data.form))
    before = -np.inf
    for _ in range(20):
        mean = prior._replace(counts=counts).mean()
        log, counts = sweeps.expected(mean, beam=0.0)
        pairs = [(mean.start, prior.prior.start), (mean.move, prior.prior.move), (mean.pay, prior.prior.pay)]
        pairs += list(zip(mean.see, prior.prior.see, strict=True))
        objective = log + sum(float((p * np.log(m)).sum()) for m, p in pairs)
        assert objective >= before - 1e-9 * abs(objective)
        before = objective


def test_over_relaxed_em_gains_more_in_as_many_sweeps(monkeypatch):
    data = records(Form(), episodes=200, longest=9)
    tables, sweeps, prior = random_tables(data, 4), Sweeps(data), weak_prior(data.form)

    def gained():
        counts = sweeps.em(tables, prior, 30, 0.0)
        return sweeps.expected(posterior_of(data, counts, prior).mean(), beam=0.0)[0]

    fast = gained()
    monkeypatch.setattr(sweep, "FASTEST", 1.0)
    assert fast > gained() > sweeps.expected(tables, beam=0.0)[0]


def test_threads_do_not_change_a_bit():
    data = records(Form(), episodes=6000, longest=9)
    tables = random_tables(data, 5)
    one, two = Sweeps(data, threads=1), Sweeps(data, threads=2)
    assert len(one.cuts) > 2
    log, counts = one.expected(tables)
    again, same = two.expected(tables)
    assert log == again
    assert all(np.array_equal(a, b) for a, b in zip(counts.see, same.see, strict=True))
    assert np.array_equal(counts.move, same.move)


def test_the_beam_changes_little():
    data = records(Form(), episodes=200, longest=9)
    tables = random_tables(data, 5)
    sweeps = Sweeps(data)
    assert sweeps.expected(tables)[0] == pytest.approx(sweeps.expected(tables, beam=0.0)[0], abs=1e-2)


def test_continuous_rewards_are_put_into_levels_whose_mean_is_kept():
    log = small_log(episodes=300)
    noisy = dataclasses.replace(log, rewards=log.rewards + np.random.default_rng(0).normal(size=log.steps))
    alphabet = alphabet_of(noisy)
    data = records_of(noisy, alphabet, Form())
    assert alphabet.values.shape == (6, LEVELS)
    levels = alphabet.values[data.log.inputs, data.log.rewards]
    assert levels.mean() == pytest.approx(noisy.rewards.mean())
    assert (noisy.rewards - levels).std() < 0.25 * noisy.rewards.std()
    pay = np.random.default_rng(1).dirichlet(np.ones(LEVELS), (12, 3))
    expected = [[pay[v, z] @ alphabet.values[v % 6] for z in range(3)] for v in range(12)]
    np.testing.assert_allclose(alphabet.expected(pay), expected)


def test_noise_around_a_few_rewards_gives_them_back():
    rng = np.random.default_rng(0)
    acts = rng.integers(0, 3, 6000)
    means = np.array([[-50.0, 20.0], [-101.0, 9.0], [-2.0, -2.0]])[acts, rng.integers(0, 2, 6000)]
    values, edges = reward_levels(means + rng.normal(size=6000), acts, 4)
    np.testing.assert_allclose(values[:2], [[-50, 20], [-101, 9]], atol=0.2)
    assert values[2, 0] == pytest.approx(-2, abs=0.2)
    assert np.all(np.abs(edges[:2, 0] + [15, 46]) < 5)
    assert np.all(edges[2:] == np.inf)  # one level; the last action never occurs


def test_a_rare_reward_has_its_own_level_and_does_not_blur_the_others():
    rewards = np.random.default_rng(0).uniform(size=5000)
    rewards[7] = -1000.0
    values, edges = reward_levels(rewards, np.zeros(5000, np.int64), 1)
    assert values[0, 0] == -1000
    assert edges.shape == (1, LEVELS - 1)
    assert np.diff(edges[0, 1:]).max() < 0.3


def test_states_that_are_hardly_visited_are_dropped():
    tables = random_tables(records(FORMS[0]), 3)
    visits = np.array([4.0, 0.4, 2.0]) / len(tables.pay)
    counts = tables._replace(pay=tables.pay * visits[None, :, None])
    found = occupied(counts)
    assert np.array_equal(found.start, counts.start[[0, 2]])
    assert np.array_equal(found.move, counts.move[:, [0, 2]][:, :, [0, 2]])
    assert occupied(tables) is tables  # all are visited
