"""Kernels of learning with many agents."""

import numpy as np

from decpomdp.kernels import expectation, sampling


def test_own_ratios_are_products_along_an_episode():
    rng = np.random.default_rng(0)
    logs, behaviour = np.log(rng.random((7, 1))), rng.random(7).astype(np.float32)
    out, offsets = np.empty(7), np.array([0, 3, 7])
    expectation.own_ratios(logs, behaviour, offsets, np.log(4.0), out)
    each = np.exp(logs[:, 0]) / behaviour
    expected = np.minimum(np.concatenate([np.cumprod(each[:3]), np.cumprod(each[3:])]), 4.0)
    np.testing.assert_allclose(out, expected, rtol=1e-6)


def test_a_sketch_adds_one_sign_per_agent_and_symbol():
    rng = np.random.default_rng(1)
    seen = rng.integers(-1, 3, (200, 5)).astype(np.int16)
    out = np.empty((200, 64))
    sampling.sketch(seen, np.uint64(3), out)
    table = np.empty((5, 4, 64))
    for n in range(5):
        for symbol in range(-1, 3):
            one, two = np.zeros((1, 5), np.int16), np.empty((1, 64))
            one[0, n] = symbol
            sampling.sketch(one, np.uint64(3), two)
            table[n, symbol + 1] = two[0]
    base = np.empty((1, 64))
    sampling.sketch(np.zeros((1, 5), np.int16), np.uint64(3), base)
    expected = base + sum(table[n, seen[:, n] + 1] - base for n in range(5))
    np.testing.assert_array_equal(out, expected)
    assert set(np.unique(out)) <= {-5.0, -3.0, -1.0, 1.0, 3.0, 5.0}
