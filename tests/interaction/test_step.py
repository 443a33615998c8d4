"""One step with many agents: gains per visit above the mean of their row, and the counts that follow."""

import numpy as np
import pytest

from decpomdp.interaction.sbpr.step import StepSize, advantage, improved, stepped
from decpomdp.learners.posterior import Counts


def test_advantages_are_zero_on_average():
    rng = np.random.default_rng(1)
    counts, visits, gains = rng.gamma(1.0, size=(3, 4, 5))
    found = advantage(counts, visits, gains, shrink=0.5)
    shares = counts / counts.sum(axis=-1, keepdims=True)
    assert (shares * found).sum(axis=-1) == pytest.approx(0, abs=1e-12)
    assert np.diff(found) == pytest.approx(np.diff(gains / (visits + 0.5)))


def test_a_small_step_is_the_papers_update_with_a_large_shift():
    """To first order: share * (shift + advantage), normalised."""
    rng = np.random.default_rng(2)
    counts, visits, gains = rng.uniform(1, 2, (3, 4)), rng.uniform(5, 9, (3, 4)), rng.normal(size=(3, 4))
    step = 1e-4
    found = advantage(counts, visits, gains, 0.0)
    after = stepped(counts, visits, step * found, 0.0)
    share = counts / counts.sum(axis=1, keepdims=True)
    paper = share * (1 / step + gains / visits)
    paper /= paper.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(after / after.sum(axis=1, keepdims=True), paper, atol=1e-7)
    np.testing.assert_allclose(after.sum(axis=1), visits.sum(axis=1))


def test_a_step_raises_what_gained_and_keeps_unvisited_rows():
    zero = np.zeros((1, 2))
    counts = Counts(zero, np.full((2, 2), 50.0), np.full((2, 2, 1, 2), 50.0))
    visits = Counts(zero, np.array([[100.0, 100.0], [0.0, 0.0]]), np.zeros((2, 2, 1, 2)))
    gains = Counts(zero, np.array([[10.0, -10.0], [0.0, 0.0]]), np.zeros((2, 2, 1, 2)))
    after = improved(counts, visits, gains, 1.0, StepSize(0.5, 10.0, 0.0, 0.9))
    assert after.visits[0, 0] / after.visits[0, 1] == pytest.approx(np.exp(2 * 0.5))
    np.testing.assert_allclose(after.visits[1], 45.0)
    np.testing.assert_allclose(after.moves, 45.0)
