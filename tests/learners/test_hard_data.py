"""Hard data to learn from: equal rewards, costs until an end, cuts, episodes of one step, wrong actions."""

import numpy as np
import pytest
from learners.logged import fitted, quiet

from decpomdp.core import Agent, Episodes, InputError
from decpomdp.core.errors import LearningWarning
from decpomdp.learners.behaviour import log_behaviour
from decpomdp.learners.weighing import by_reward


def flat(rewards, offsets=(0, 2, 3), terminated=None):
    rows = offsets[-1]
    return Episodes(
        agents=(Agent("x", ("a", "b"), ("o", "p")),),
        offsets=offsets,
        observations=np.where(np.isin(np.arange(rows), offsets), -1, 0)[:, None],
        actions=np.arange(rows)[:, None] % 2,
        behaviour=np.full((rows, 1), 0.5),
        rewards=rewards,
        discount=0.9,
        terminated=terminated,
    )


@pytest.mark.parametrize("reward", [0.0, 3.5, -2.0])
def test_rewards_all_equal(reward):
    """By the paper there is nothing to learn from; by default the behaviour is cloned."""
    with pytest.raises(InputError, match=f"nothing to learn from: every reward is {reward:g}"):
        fitted(flat([reward] * 3), settings={"preset": "as-printed"})
    assert fitted(flat([reward] * 4, (0, 2, 4))).facts["carrying"] == 2.0


def going(discount, noise=0.5, cut=lambda rng: 8, count=1000):
    """Every step costs about 1; `go` ends the episode with probability 0.5, `wait` never: to go is better."""
    rng = np.random.default_rng(0)
    did, lengths, ended = [], [], []
    for _ in range(count):
        begun, end, longest = len(did), False, cut(rng)
        while not end and len(did) - begun < longest:
            did.append(rng.integers(0, 2))
            end = bool(did[-1] and rng.random() < 0.5)
        lengths.append(len(did) - begun)
        ended.append(end)
    offsets = np.append(0, np.cumsum(lengths))
    return Episodes(
        agents=(Agent("x", ("wait", "go"), ("o",)),),
        offsets=offsets,
        observations=np.where(np.isin(np.arange(offsets[-1]), offsets), -1, 0)[:, None],
        actions=np.array(did)[:, None],
        behaviour=np.full((offsets[-1], 1), 0.5),
        rewards=-1 - noise * rng.random(offsets[-1]),
        discount=discount,
        terminated=np.array(ended),
    )


@quiet  # as printed, few episodes carry the weight
@pytest.mark.parametrize("discount", [0.95, 1.0])
@pytest.mark.parametrize("noise", [0.0, 0.5])
@pytest.mark.parametrize("preset", ["default", "as-printed"])
def test_costly_episodes_that_end_by_themselves_are_to_be_short(discount, noise, preset):
    settings = {"preset": preset, "truncation": 3, "sweeps": 60}
    fit = fitted(going(discount, noise), settings=settings, threads=1)
    assert fit.team.controllers[0].action[:, 1].tolist() == [1.0]


def test_at_discount_one_all_rewards_are_shifted_alike():
    """An episode's gains sum to its return and a constant, the same for all."""
    episodes = going(1.0, count=200)
    gains = np.add.reduceat(by_reward(episodes, np.zeros(episodes.steps)).gain, episodes.offsets[:-1])
    returns = np.add.reduceat(episodes.rewards, episodes.offsets[:-1])
    assert gains - returns == pytest.approx(-8 * episodes.rewards.min())


def test_cuts_at_different_lengths_are_told_at_discount_one():
    told = (
        r"discount 1, rewards shifted by 1\.\d+ a step, and episodes that were cut off at different lengths \(2 steps, "
    )
    for discount in (0.95, 1.0):
        episodes = going(discount, cut=lambda rng: int(rng.integers(2, 9)), count=200)
        if discount == 1:
            with pytest.warns(LearningWarning, match=told):
                by_reward(episodes, np.zeros(episodes.steps))
        else:
            by_reward(episodes, np.zeros(episodes.steps))


def test_an_early_end_is_not_a_loss():
    """Rewards of -1 a step until the end: shifted by -1, a short episode must still weigh more than a long one."""
    episodes = flat([-1.0, -1.0, -1.0], (0, 2, 3), terminated=[True, True])
    steps = by_reward(episodes, log_behaviour(episodes))
    totals = np.add.reduceat(steps.gain, [0, 2])
    assert totals[1] - totals[0] == pytest.approx(episodes.returns()[1] - episodes.returns()[0])
    assert totals[1] > totals[0]
