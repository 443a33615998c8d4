"""Alias tables say exactly the probabilities they were made from; the counter generator is uniform enough."""

import numpy as np
import pytest
from oracles import making

from decpomdp.core.sparse import alias_model
from decpomdp.kernels import sampling
from decpomdp.kernels.sampling import sampler


def said(table, row, outcomes):
    """The probabilities that an alias table gives to every outcome, exactly."""
    first, count = table.rows[row]
    result = np.zeros(outcomes)
    for own, other, cut, _ in table.entries[first : first + count]:
        share = 1.0 if own == other else cut / 2**32
        result[own] += share / count
        result[other] += (1 - share) / count if own != other else 0
    return result


def test_alias_tables_say_the_probabilities():
    for sparse in [False, True]:
        for width in [1, 2, 3, 7, 50]:
            rng = np.random.default_rng(width)
            tables = [making.rows(rng, 20, width, sparse=sparse), making.rows(rng, 5, width + 1, sparse=sparse)]
            found = sampler(tables)
            row = 0
            for table in tables:
                for wanted in table:
                    assert said(found, row, len(wanted)) == pytest.approx(wanted, abs=1e-8)
                    row += 1


def test_certain_outcomes_are_certain_and_impossible_ones_absent():
    found = sampler([np.array([[0.0, 1.0, 0.0], [0.5, 0.0, 0.5]])])
    assert said(found, 0, 3).tolist() == [0, 1, 0]
    assert said(found, 1, 3)[1] == 0


def test_one_draw_gives_state_and_observation():
    rng = np.random.default_rng(1)
    model = making.model(rng, 3, (2, 2), (2, 3), sparse=True)
    world = alias_model(model)
    shift = world.observation_bits
    for u in range(4):
        for s in range(3):
            wanted = np.zeros(3 << shift)
            for s1 in range(3):
                for y in range(6):
                    wanted[(s1 << shift) + y] = model.transition[u, s, s1] * model.observation[u, s1, y]
            assert said(world.outcomes, u * 3 + s, 3 << shift) == pytest.approx(wanted, abs=1e-8)


def test_numbers_by_position_are_uniform_and_uncorrelated():
    from decpomdp.kernels.compiled import kernel

    @kernel
    def numbers(seed, episodes, count, out):
        for k in range(episodes):
            key = sampling.stream(seed, k)
            for c in range(count):
                out[k, c] = (sampling.draw(key, c) >> np.uint64(11)) * 2.0**-53

    out = np.empty((2000, 200))
    numbers(np.uint64(3), 2000, 200, out)
    assert abs(out.mean() - 0.5) < 4 * np.sqrt(1 / 12 / out.size)
    assert abs(np.corrcoef(out[:, :-1].ravel(), out[:, 1:].ravel())[0, 1]) < 4 / np.sqrt(out.size)
    assert abs(np.corrcoef(out[:-1].ravel(), out[1:].ravel())[0, 1]) < 4 / np.sqrt(out.size)
    counts = np.histogram(out, bins=64, range=(0, 1))[0]
    expected = out.size / 64
    assert ((counts - expected) ** 2 / expected).sum() < 63 + 4 * np.sqrt(2 * 63)
