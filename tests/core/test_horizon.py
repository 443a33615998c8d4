"""The number of steps that matter under a discount."""

from decpomdp.core.model import horizon_of


def test_the_first_power_that_is_small_enough():
    for tail in [1e-4, 0.01, 0.05]:
        for discount in [0.001, 0.1, 0.3, 0.5, 0.9, 0.95, 0.99, 0.9999]:
            steps = horizon_of(discount, tail, 10**9)
            assert steps >= 1
            assert discount**steps <= tail * (1 + 1e-12)
            assert steps == 1 or discount ** (steps - 1) > tail * (1 - 1e-12)
            assert horizon_of(discount, tail, 3) == min(steps, 3)


def test_the_ends():
    assert horizon_of(0.0, 0.01, 100) == 1
    assert horizon_of(1.0, 0.01, 100) == 100
