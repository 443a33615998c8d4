"""A latent world as a Dec-POMDP: it predicts the same observations and rewards."""

import itertools

import numpy as np
import pytest
from oracles.worlds import enumerate_paths
from worlds.logs import small_log

import decpomdp as dp
from decpomdp.worlds.data import Form, alphabet_of, records_of
from decpomdp.worlds.flat import FIRST_STEP, UNKNOWN, after_first_step, before_first_step, rounded, world_of
from decpomdp.worlds.posterior import Posterior, Tables

FORMS = [Form(memory, joint) for memory in (False, True) for joint in (False, True)]
KINDS = [{}, {"first": True}, {"ends": True}, {"first": True, "ends": True}]


def posterior(records, states=2, seed=0):
    """Even rows, so that nothing is cut."""
    rng, inputs = np.random.default_rng(seed), records.inputs

    def rows(*shape):
        return 1000 * rng.dirichlet(np.full(shape[-1], 20.0), shape[:-1])

    see = tuple(rows(inputs + 1, states, size) for size in records.groups)
    counts = Tables(rows(states), rows(inputs, states, states), see, rows(inputs, states, records.paid.shape[1]))
    return Posterior(records.form, counts, counts.mapped(np.zeros_like), 0.0, steps=1000)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_world_predicts_the_observations_and_rewards_of_its_tables(form, kind):
    log = small_log(agents=((2, 2), (1, 2)), episodes=200, **kind)
    alphabet = alphabet_of(log)
    records = records_of(log, alphabet, form)
    fitted = posterior(records)
    tables, world = fitted.mean(), world_of(alphabet, fitted)
    joint = len(alphabet.seen)
    assert joint == 4
    see, groups = np.concatenate(tables.see, axis=-1), np.concatenate([[0], np.cumsum(records.groups)])
    parts = list(itertools.product(range(2), range(2)))
    for ys in itertools.product(range(joint), repeat=2):  # first observation, or nothing, then two more
        shown, actions = list(ys) if alphabet.first else [None, *ys], (1, 0, 1)
        symbols, inputs = [], []
        for t, y in enumerate(shown):
            own = [-1] * len(records.groups)
            if y is not None:
                own[: 1 if form.joint else 2] = [y] if form.joint else [groups[n] + o for n, o in enumerate(parts[y])]
            if alphabet.ends and t > 0:
                own[-1] = groups[-2]  # goes on
            symbols.append(own)
            memory = (joint if y is None else y) * 2 if form.memory else 0
            inputs.append(memory + actions[t])
        nothing, rewards = np.ones_like(tables.pay), np.zeros(len(shown), int)
        likelihood, _ = enumerate_paths(tables.start, tables.move, see, nothing, inputs, symbols, rewards)
        belief, got = world.start, 1.0
        if alphabet.first:
            assert world.states[-1 - alphabet.ends] == FIRST_STEP
            belief = (belief @ world.transition[0]) * world.observation[0, :, shown[0]]
            got, belief = belief.sum(), belief / belief.sum()
        for u, y in zip(actions, shown[1:], strict=False):
            belief = (belief @ world.transition[u]) * world.observation[u, :, y]
            if alphabet.ends:
                belief[-1] = 0  # the end shows a symbol too
            got, belief = got * belief.sum(), belief / belief.sum()
        assert got == pytest.approx(likelihood, rel=1e-9)


def test_rewards_are_expected_values():
    log = small_log(agents=((2, 2), (1, 2)), episodes=200)
    alphabet = alphabet_of(log)
    fitted = posterior(records_of(log, alphabet, Form()))
    np.testing.assert_allclose(world_of(alphabet, fitted).reward, fitted.mean().pay @ alphabet.values[0])


def test_an_ended_episode_earns_nothing():
    log = small_log(ends=True, episodes=200)
    alphabet = alphabet_of(log)
    world = world_of(alphabet, posterior(records_of(log, alphabet, Form())))
    assert world.states[-1] == "end"
    assert np.all(world.transition[:, -1, -1] == 1)
    assert np.all(world.reward[:, -1] == 0)
    assert np.all(world.transition[:, :-1, -1] > 0)


def test_a_team_for_a_world_with_a_first_step_sees_its_first_observation():
    log = small_log(first=True, episodes=200)
    alphabet = alphabet_of(log)
    world = world_of(alphabet, posterior(records_of(log, alphabet, Form())))
    moves = [[0, 1], [1, 0]]
    team = dp.Team.of(
        world, [dp.Controller.deterministic([0, 1], moves, 2), dp.Controller.deterministic([2, 1], moves, 3)]
    )
    first = after_first_step(team).controllers[0].initial_given
    np.testing.assert_array_equal(first, [[1, 0], [0, 1]])
    value = dp.exact_value(world, team).value
    assert dp.exact_value(world, before_first_step(after_first_step(team))).value == pytest.approx(value)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_in_a_cautious_world_unknown_steps_lead_nowhere(form, kind):
    log = small_log(agents=((2, 2), (1, 2)), episodes=200, **kind)
    alphabet = alphabet_of(log)
    fitted = posterior(records_of(log, alphabet, form))
    pay = fitted.counts.pay.copy()
    pay[0::2] *= 5e-4  # half a visit of the first joint action in every state, a thousand of the second
    fitted = fitted._replace(counts=fitted.counts._replace(pay=pay))
    world, plain = world_of(alphabet, fitted, cautious=True), world_of(alphabet, fitted)
    nowhere, count = world.states.index(UNKNOWN), len(plain.states) - alphabet.first - alphabet.ends
    np.testing.assert_allclose(world.transition[0, :count, nowhere], 0.5, atol=0.1)
    np.testing.assert_array_equal(world.transition[1, :count, nowhere], 0)
    np.testing.assert_allclose(world.transition[1, :count, :count], plain.transition[1, :count, :count])
    assert world.transition[0, nowhere, nowhere] == 1
    mean = fitted.counts.pay.sum((0, 1)) @ alphabet.values[0] / fitted.counts.pay.sum()
    assert world.reward[1, nowhere] == pytest.approx(mean)


def test_rounding_keeps_a_world_valid():
    log = small_log(episodes=200)
    alphabet = alphabet_of(log)
    world = rounded(world_of(alphabet, posterior(records_of(log, alphabet, Form()), states=3)))
    np.testing.assert_allclose(world.transition.sum(-1), 1)


@pytest.mark.parametrize("form", FORMS)
def test_a_world_can_be_saved_and_loaded(form, tmp_path):
    log = small_log(first=True, ends=True, episodes=200)
    alphabet = alphabet_of(log)
    world = world_of(alphabet, posterior(records_of(log, alphabet, form)), cautious=True)
    world.save(tmp_path / "world.dpomdp")
    assert dp.load(tmp_path / "world.dpomdp").digest() == world.digest()
