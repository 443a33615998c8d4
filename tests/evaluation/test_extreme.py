"""Off-policy estimates where ratios are e^2000 or e^-2000: against sixty digits."""

from decimal import Decimal

import numpy as np
import pytest
from oracles import decimals

from decpomdp.core import Agent, Controller, Episodes, Team
from decpomdp.evaluation import offpolicy_value
from decpomdp.evaluation.offpolicy.estimates import weighted

AGENTS = (Agent("x", ("a", "b"), ("o",)),)


def logged(rewards, steps):
    """Episodes of `steps` steps each."""
    rows, count = len(rewards), len(rewards) // steps
    seen = np.zeros((rows, 1), int)
    seen[::steps] = -1
    did, chances = np.zeros((rows, 1), int), np.full((rows, 1), 0.5)
    return Episodes(AGENTS, np.arange(count + 1) * steps, seen, did, chances, np.asarray(rewards, float), 0.9)


def test_self_normalised_estimates_and_sample_sizes():
    for sizes in [0, 39]:
        for spread in [1.0, 2000.0]:
            for middle in [-2000.0, 2000.0]:
                rng = np.random.default_rng(int(spread))
                rewards = rng.normal(size=18) * 10.0 ** rng.uniform(-sizes, sizes, 18)
                logs = middle + rng.uniform(-spread, spread, 18)
                episodes = logged(rewards, 3)
                with np.errstate(
                    over="ignore", invalid="ignore"
                ):  # the other two estimates may be too large for a number
                    shares = weighted(episodes, logs, 3, episodes.discount)
                    estimates = shares.estimates(np.ones((1, 6)))
                sizes_found, wanted = shares.sample_sizes(), Decimal(0)
                for t in range(3):
                    at = slice(t, None, 3)
                    mean, size = decimals.self_normalised(
                        [Decimal(float(r)) for r in rewards[at]], [Decimal(float(x)) for x in logs[at]]
                    )
                    with decimals.localcontext(decimals.DIGITS):
                        wanted += mean * Decimal(episodes.discount) ** t
                    assert sizes_found[t] == pytest.approx(float(size), rel=1e-11)
                assert estimates[0, 2] == pytest.approx(float(wanted), rel=1e-10)
                assert np.isfinite(shares.ratios).all()


@pytest.mark.parametrize("size", [1e-30, pytest.param(1.0, marks=pytest.mark.slow), 1e40])
def test_ten_thousand_steps_of_a_team_far_away(size):
    """Numbers or a refusal, never nonsense: estimates within what the rewards allow, warned of."""
    rng = np.random.default_rng(0)
    episodes = logged(size * rng.random(40_000), 10_000)
    rare = Controller(np.ones(1), np.array([[1e-3, 0.999]]), np.ones((1, 2, 1, 1)))
    told = offpolicy_value(episodes, Team.of(episodes, [rare]), resamples=100)
    assert told.sample_size == pytest.approx(4.0)  # equally unlikely, all of them
    assert told.self_normalised.value == pytest.approx(episodes.returns().mean(), rel=1e-9)
    assert told.ordinary.value == 0
    low, high = told.guaranteed
    assert low <= told.self_normalised.value <= high
    assert told.warnings
