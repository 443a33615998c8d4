"""The semi-random behaviour: what it records is what it did, and learners may rely on it."""

import numpy as np
import pytest
from oracles import beliefs as oracle
from oracles import making

import decpomdp as dp
from decpomdp.api import plan
from decpomdp.filtering.filter import log_likelihood
from decpomdp.learners.behaviour import log_behaviour
from decpomdp.planners.pbvi import semi_random as module
from decpomdp.planners.pbvi.method import AlphaPolicy


def semi_random(*arguments, **options):
    return dp.Episodes.concatenate(list(module.semi_random(*arguments, **options)))


def made(seed=0, sparse=True):
    """A random problem and a random policy on its beliefs."""
    rng = np.random.default_rng(seed)
    model = making.model(rng, states=3, actions=(2, 3), observations=(2, 2), sparse=sparse)
    return model, AlphaPolicy(rng.normal(size=(5, 3)), rng.integers(6, size=5))


@pytest.mark.parametrize("sparse", [False, True])
def test_recorded_probabilities_by_brute_force(sparse):
    model, policy = made(sparse=sparse)
    episodes = semi_random(model, policy, 0.3, episodes=20, steps=8, seed=1)
    parts, following = model.action_table(), []
    for k in range(episodes.count):
        belief = model.start
        for row in range(episodes.offsets[k], episodes.offsets[k + 1]):
            if row > episodes.offsets[k]:
                y = int(episodes.observations[row] @ [2, 1])
                belief, p = oracle.after(belief, u, y, model.transition, model.observation)  # noqa: F821
                assert p > 0
            advised = parts[policy.actions[(policy.vectors @ belief).argmax()]]
            taken = episodes.actions[row]
            expected = 0.3 * (taken == advised) + 0.7 / np.array([2, 3])
            assert episodes.behaviour[row] == pytest.approx(expected)
            following.append(taken == advised)
            u = int(taken @ [3, 1])  # noqa: F841 - the next row's
    share = np.mean(following, axis=0)
    assert share == pytest.approx([0.3 + 0.7 / 2, 0.3 + 0.7 / 3], abs=0.15)


def test_followed_to_the_letter_it_is_worth_what_the_plan_says():
    model = dp.load("broadcast")
    fit = plan(model, "pbvi")
    returns = semi_random(model, fit.policy, 1.0, episodes=4000, steps=80, seed=2).returns()
    error = returns.std() / np.sqrt(len(returns))
    assert returns.mean() >= fit.lower - 4 * error - 10 * 0.9**80
    assert returns.mean() <= fit.upper + 4 * error


def test_only_the_seed_matters(monkeypatch):
    model, policy = made()
    options = {"episodes": 30, "steps": 7, "seed": 4}
    one, three = (semi_random(model, policy, 0.4, threads=threads, **options) for threads in (1, 3))
    assert one == three
    assert semi_random(model, policy, 0.4, **(options | {"seed": 5})) != one
    monkeypatch.setattr(module, "CHUNK", 100)
    pieces = list(module.semi_random(model, policy, 0.4, **options))
    assert [piece.count for piece in pieces] == [7, 7, 7, 7, 2]
    assert dp.Episodes.concatenate(pieces) == one


def test_importance_weights_are_unbiased():
    """Ratios to the recorded probabilities turn the data into the value of a team that never saw the joint history."""
    rng = np.random.default_rng(3)
    model, policy = made(3, sparse=False)
    team = making.team(rng, model, 2)
    episodes = semi_random(model, policy, 0.3, episodes=40_000, steps=4, seed=6)
    weights = np.exp(log_likelihood(episodes, team) - log_behaviour(episodes))
    weighted = weights * episodes.rewards * model.discount ** episodes.times()
    sums = np.add.reduceat(weighted, episodes.offsets[:-1])
    error = sums.std() / np.sqrt(len(sums))
    exact = dp.exact_value(model, team, 4).value
    assert error < 0.05
    assert abs(sums.mean() - exact) < 4 * error
    forgotten = np.exp(log_likelihood(episodes, team)) * 6.0 ** (episodes.times() + 1)  # as if it had been uniform
    wrong = np.add.reduceat(forgotten * episodes.rewards * model.discount ** episodes.times(), episodes.offsets[:-1])
    assert abs(wrong.mean() - exact) > 4 * wrong.std() / np.sqrt(len(wrong))  # the test would notice


def test_a_policy_for_another_problem():
    model, policy = made()
    with pytest.raises(dp.InputError, match="policy: expected vectors over 2 states"):
        semi_random(dp.load("dectiger"), policy, 0.3, episodes=1, steps=1)
    with pytest.raises(dp.InputError, match="an action 6"):
        semi_random(model, AlphaPolicy(np.zeros((1, 3)), np.array([6])), 0.3, episodes=1, steps=1)
    with pytest.raises(dp.InputError, match="an action -1"):
        semi_random(model, AlphaPolicy(np.zeros((1, 3)), np.array([-1])), 0.3, episodes=1, steps=1)
