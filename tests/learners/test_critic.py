"""The critic: gains that add up, forecasts that help, and nothing taken from the expected gradient."""

import numpy as np

from decpomdp.core import Agent, Episodes
from decpomdp.domains.traffic import Traffic
from decpomdp.learners.critic import SUMS, features, judge, visit_weights
from decpomdp.rollouts import simulate


def made(rng, count, lengths, reward):
    """Episodes of three agents with two symbols; reward(observations[r, n]) -> [r]."""
    agents = tuple(Agent(f"agent{n}", ("a", "b"), ("x", "y")) for n in range(3))
    sizes = rng.integers(*lengths, count)
    rows = int(sizes.sum())
    seen = rng.integers(0, 2, (rows, 3))
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    actions, behaviour = rng.integers(0, 2, (rows, 3)), np.full((rows, 3), 0.5)
    return Episodes(agents, offsets, seen, actions, behaviour, reward(seen), 0.8, np.zeros(count, bool), "made")


def onward(episodes, k):
    rewards = episodes.rewards[episodes.offsets[k] : episodes.offsets[k + 1]]
    return np.array([rewards[t:] @ 0.8 ** np.arange(len(rewards) - t) for t in range(len(rewards))])


def test_gains_add_up_to_returns_above_the_forecast():
    """The sum from t on is discount^t (return - forecast), so that a forecast of nothing would give the returns."""
    rng = np.random.default_rng(0)
    data = made(rng, 40, (2, 6), lambda seen: rng.normal(size=len(seen)))
    gains = judge([data], [features(data)]).gains[0]
    total, returns = np.zeros(data.steps), np.zeros(data.steps)
    for k in range(data.count):
        place = slice(data.offsets[k], data.offsets[k + 1])
        part = gains[place]
        total[place] = np.cumsum(part[::-1])[::-1] / 0.8 ** np.arange(len(part))
        returns[place] = onward(data, k)
    forecast = returns - total
    known = features(data)
    times = data.times()
    centred = known - np.array([known[times == t].mean(axis=0) for t in range(times.max() + 1)])[times]
    usual = np.array([returns[times == t].mean() for t in range(times.max() + 1)])[times]
    slope, *_ = np.linalg.lstsq(centred, forecast - usual, rcond=None)
    np.testing.assert_allclose(centred @ slope, forecast - usual, atol=1e-8)  # linear in what was known before
    means = [total[times == t].mean() for t in range(times.max() + 1)]
    np.testing.assert_allclose(means, 0.0, atol=1e-9)


def test_what_was_seen_foretells_what_depends_on_it():
    rng = np.random.default_rng(1)
    data = made(rng, 500, (4, 5), lambda seen: 5.0 * seen[:, 0] - 2.0 * seen[:, 2])
    judged = judge([data], [features(data)])
    blind = made(rng, 500, (4, 5), lambda seen: rng.normal(size=len(seen)))
    now = data.returns().std()
    assert judged.explained > 0.5
    assert judged.spread < 0.85 * now  # three later steps of four cannot be predicted: 0.753
    assert judge([blind], [features(blind)]).explained < 0.15


def test_only_the_past_is_known():
    """Features of a step do not change with what happens at it or after it."""
    grid = Traffic(3)
    data = simulate(grid, grid.policies()["random"], 5, 6, 0)
    later = np.array(data.rewards)
    later[data.times() >= 3] += 100.0
    changed = Episodes(data.agents, data.offsets, data.observations, data.actions, data.behaviour, later, 0.9)
    early = data.times() <= 3
    np.testing.assert_array_equal(features(data)[early], features(changed)[early])
    assert not np.array_equal(features(data)[~early], features(changed)[~early])
    assert features(data).shape[1] == SUMS + 2


def test_visit_weights_sum_to_the_discount_of_every_step():
    data = made(np.random.default_rng(1), 5, (1, 6), lambda seen: seen.sum(axis=1).astype(float))
    visit = visit_weights(data)
    for k in range(data.count):
        rows = visit[data.offsets[k] : data.offsets[k + 1]]
        np.testing.assert_allclose(np.cumsum(rows[::-1])[::-1], 0.8 ** np.arange(len(rows)))
