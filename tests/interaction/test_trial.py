"""Trials: gains are found, losses and luck are refused, with and without common random numbers."""

import numpy as np
import pytest

from decpomdp.interaction.search.trial import ReturnSums, Stages, TrialResult, hopeless, trial

STAGES = Stages(first=1000, looks=4, horizon=1, certain=3.0, smallest=1e-4)


class Coin:
    """A player whose plans are (mean, nodes): returns are mean + luck, the luck common to all plans if repeatable."""

    def __init__(self, repeatable, seed=0):
        self.repeatable, self.played, self.rng = repeatable, 0, np.random.default_rng(seed)

    def returns(self, plan, episodes, horizon, seed, first=0):
        self.played += episodes
        luck = np.random.default_rng([seed, first]) if self.repeatable else self.rng
        return plan[0].mean + 10 * luck.normal(size=episodes)


class Fake:
    def __init__(self, mean, nodes=3):
        self.mean, self.nodes = mean, nodes


def decide(repeatable, mean, nodes=3, seed=0):
    player = Coin(repeatable, seed)
    return trial(player, (Fake(0.0),), (Fake(mean, nodes),), STAGES, seed), player.played


def test_common_chance_sees_a_small_gain_at_once():
    verdict, played = decide(True, 0.01)
    assert verdict.accepted
    assert verdict.gain == pytest.approx(0.01)
    assert played == 2000


def test_a_gain_too_small_to_matter_is_refused():
    assert not decide(True, 0.0005)[0].accepted


def test_equal_play_is_refused_at_once():
    verdict, played = decide(True, 0.0)
    assert not verdict.accepted
    assert played == 2000


def test_equal_play_with_fewer_nodes_is_welcome():
    assert decide(True, 0.0, nodes=2)[0].accepted
    assert not decide(True, -0.001, nodes=2)[0].accepted


def test_without_common_chance_a_large_gain_is_found_and_luck_is_not():
    assert decide(False, 2.0)[0].accepted
    lucky = sum(decide(False, 0.0, seed=seed)[0].accepted for seed in range(200))
    assert lucky <= 10  # one in forty expected: two standard errors after the last look


def test_every_look_must_promise_more():
    old = np.random.default_rng(0).normal(size=1000)
    half = TrialResult(False, gain=0.5, error=1.0, old=ReturnSums(), new=ReturnSums())
    assert [hopeless(half, old, STAGES, look, smaller=False) for look in range(4)] == [False, False, True, True]
