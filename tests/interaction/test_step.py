"""One step of sbpr: gains per visit above the mean of their row."""

import numpy as np
import pytest

from decpomdp.interaction.sbpr.step import advantage


def test_advantages_are_zero_on_average():
    rng = np.random.default_rng(1)
    counts, visits, gains = rng.gamma(1.0, size=(3, 4, 5))
    found = advantage(counts, visits, gains, shrink=0.5)
    shares = counts / counts.sum(axis=-1, keepdims=True)
    assert (shares * found).sum(axis=-1) == pytest.approx(0, abs=1e-12)
    assert np.diff(found) == pytest.approx(np.diff(gains / (visits + 0.5)))
