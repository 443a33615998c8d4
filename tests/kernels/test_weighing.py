"""Importance ratios of one agent, against plain products."""

import numpy as np
import pytest

from decpomdp.kernels.expectation import own_ratios


def test_ratios_are_products_within_an_episode_up_to_a_cap():
    rng = np.random.default_rng(1)
    chances, behaviour, offsets = rng.uniform(0.2, 1, (7, 1)), rng.uniform(0.2, 1, 7), np.array([0, 3, 7])
    found = np.empty(7)
    own_ratios(np.log(chances), behaviour.astype(np.float32), offsets, np.log(1.5), found)
    steps = chances[:, 0] / behaviour.astype(np.float32)
    wanted = np.concatenate([np.cumprod(steps[:3]), np.cumprod(steps[3:])])
    assert wanted.max() > 1.5
    assert found == pytest.approx(np.minimum(wanted, 1.5), rel=1e-12)
