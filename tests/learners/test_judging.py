"""The verdict on a learned team: estimates from held-out episodes, compared with the behaviour."""

import numpy as np
import pytest
from learners.logged import alternating

import decpomdp as dp
from decpomdp.core import Controller, Team
from decpomdp.filtering.filter import log_likelihood
from decpomdp.learners import judging
from decpomdp.learners.behaviour import log_behaviour
from decpomdp.learners.judging import BETTER, UNPROVEN, WORSE, Judged, judge


def judged(episodes, team):
    return judge(episodes, log_behaviour(episodes), team, 0, 1)


def turning(first, episodes):
    """Takes the two actions in turn."""
    return Team.of(episodes, [Controller.deterministic([first, 1 - first], [[1], [0]], 2)])


def test_a_good_team_is_better_and_a_bad_one_is_not():
    """Rewarded is a, b, a, b."""
    episodes = alternating()
    right, wrong = (judged(episodes, turning(first, episodes)) for first in (0, 1))
    assert right.verdict == BETTER
    assert wrong.verdict == WORSE
    assert right.low < right.value < right.high
    assert right.behaviour == wrong.behaviour == pytest.approx(episodes.returns().mean())
    most = sum(0.9**t for t in range(4))
    assert right.behaviour < right.value < most  # shrunk to the behaviour
    assert Judged(1.0, 0.5, 1.5, 0.9, False).verdict == UNPROVEN
    assert Judged(1.0, 0.95, 1.5, 0.9, True, 0.4).verdict == UNPROVEN  # too little of it is the team's own
    assert Judged(0.8, 0.5, 0.85, 0.9, False, 0.4).verdict == UNPROVEN  # too little of it is the team's own
    assert min(right.support, wrong.support) > 0.8


def test_the_behaviour_itself_has_its_own_value():
    model = dp.load("recycling")
    episodes = dp.simulate(model, "random", 300, 6, seed=1)
    found = judged(episodes, Team.uniform(model))
    assert found.value == pytest.approx(episodes.returns().mean(), rel=1e-6)
    assert not found.sure


def test_after_its_end_an_episode_earns_nothing():
    """Of 2 and of 5 steps: the last reward is not repeated."""
    model = dp.load("recycling")
    parts = [dp.simulate(model, "random", 50, length, seed=length) for length in (2, 5)]
    found = judged(dp.Episodes.concatenate(parts), Team.uniform(model))
    assert found.behaviour == pytest.approx(np.mean([part.returns().mean() for part in parts]))


def test_without_shrinkage_it_is_the_self_normalised_estimate(monkeypatch):
    monkeypatch.setattr(judging, "SHRINK", 0.0)
    model = dp.load("recycling")
    episodes = dp.simulate(model, "random", 500, 3, seed=1)
    careful = Team.of(model, [Controller.deterministic([0], [[0, 0]], 3)] * 2).exploring(0.5)
    ratios = np.exp((log_likelihood(episodes, careful) - log_behaviour(episodes)).reshape(500, 3))
    rewards = episodes.rewards.reshape(500, 3) * 0.9 ** np.arange(3)
    wanted = ((ratios * rewards).sum(axis=0) / ratios.sum(axis=0)).sum()
    assert judged(episodes, careful).value == pytest.approx(wanted, rel=1e-9)
    assert dp.offpolicy_value(episodes, careful).value == pytest.approx(wanted, rel=1e-6)


def test_a_team_that_no_episode_agrees_with_counts_as_the_behaviour():
    episodes = alternating(count=30)
    never = episodes.chosen(np.flatnonzero(episodes.actions[episodes.offsets[:-1], 0] == 0))
    found = judged(never, turning(1, episodes))
    assert found.value == pytest.approx(found.behaviour)
    assert not found.sure


def test_the_interval_covers_what_no_episode_tells():
    """The team earns 1 a step, but only the first step is seen often: the estimate falls back to the behaviour."""
    episodes = alternating(count=40)
    found = judged(episodes, turning(0, episodes))
    assert found.low < found.behaviour < found.value
    assert found.high > sum(0.9**t for t in range(4)) > found.value
