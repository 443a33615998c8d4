"""One update of the core step, against the formulas written out in numpy."""

import numpy as np
import pytest

from decpomdp.kernels import advantage
from decpomdp.kernels.machines import PlayedBatch, decide


def played_episodes(rng, lengths, agents=2, nodes=3, actions=2, symbols=3):
    shape = (len(lengths), max(lengths), agents)
    seen = rng.integers(0, symbols, shape).astype(np.int16)
    seen[:, 0] = -1
    return PlayedBatch(
        seen,
        rng.integers(0, actions, shape).astype(np.int16),
        rng.integers(1, nodes + 1, shape).astype(np.int16),
        rng.normal(size=shape[:2]) * 10 + 5,
        np.array(lengths),
    )


def gathered(played, discount, free=True, nodes=3, actions=2, symbols=3):
    agents = played.actions.shape[2]
    act = [np.full((agents, nodes + 1, actions), 7.0) for _ in range(2)]
    hop = [np.full((agents, nodes + 1, symbols + 1, nodes + 1), 7.0) for _ in range(2)]
    advantage.gather(played, discount, free, np.empty(played.rewards.shape), *act, *hop)
    return (*act, *hop)


def test_sums_of_returns_to_go_above_their_mean():
    rng, discount = np.random.default_rng(0), 0.8
    lengths = [4, 2, 4, 1, 3]
    played = played_episodes(rng, lengths)
    togo = np.full((5, 4), np.nan)
    for k, length in enumerate(lengths):
        for t in range(length):
            togo[k, t] = sum(discount ** (s - t) * played.rewards[k, s] for s in range(t, length))
    above = togo - np.nanmean(togo, axis=0)
    wanted = [np.zeros_like(table) for table in gathered(played, discount)]
    for k, length in enumerate(lengths):
        for n in range(2):
            before = 0
            for t in range(length):
                i, a, o = played.nodes[k, t, n], played.actions[k, t, n], played.observations[k, t, n]
                for table, amount in zip(wanted, (above[k, t], 1.0) * 2, strict=True):
                    place = (n, i, a) if table.ndim == 3 else (n, before, o, i)
                    table[place] += discount**t * amount
                before = i
    for found, table in zip(gathered(played, discount), wanted, strict=True):
        assert found == pytest.approx(table, abs=1e-9)


def test_given_memory_leaves_moves_alone():
    found = gathered(played_episodes(np.random.default_rng(1), [3, 3]), 0.9, free=False)
    assert (found[2] == 7.0).all()


def nudged(sums, weights, logits, first=0, rate=0.2):
    logits = logits.copy()
    advantage.nudge(sums.copy(), weights.copy(), logits, first, logits.shape[1], rate)
    return logits


def test_an_update_is_the_formula():
    rng = np.random.default_rng(2)
    weights = rng.uniform(0, 50, (4, 3))
    weights[2] = 0.0
    sums = rng.normal(size=(4, 3)) * weights
    logits = rng.normal(size=(4, 3))
    chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    seen = weights.sum(axis=1, keepdims=True)
    mean = np.where(seen > 0, sums.sum(axis=1, keepdims=True) / np.where(seen > 0, seen, 1), 0)
    gain = (sums - mean * weights) / (weights + advantage.PRIOR)
    gain = np.where(seen > 0, gain - (chances * gain).sum(axis=1, keepdims=True), 0)
    gain /= np.sqrt((weights * gain**2).sum() / weights.sum())
    assert nudged(sums, weights, logits) == pytest.approx(logits + np.clip(0.2 * gain, -1, 1))


@pytest.mark.parametrize(("scale", "shift"), [(1e-6, 0.0), (1e6, 0.0), (1.0, 1e4)])
def test_the_scale_of_rewards_does_not_matter(scale, shift):
    played = played_episodes(np.random.default_rng(3), [5] * 40)
    other = played._replace(rewards=scale * played.rewards + shift)
    logits = np.zeros((4, 2))
    results = [nudged(s[0], w[0], logits) for s, w, *_ in (gathered(p, 0.9, False) for p in (played, other))]
    assert results[0] == pytest.approx(results[1], abs=1e-6)


def test_softened_tables_say_the_probabilities():
    rng = np.random.default_rng(4)
    logits, first, exploration = rng.normal(size=(6, 5)) * 2, 1, 0.1
    tables = np.zeros((6, 5), np.int64)
    advantage.soften(logits, first, 5, exploration, tables)
    for row in range(6):
        said = np.zeros(5)
        for entry in tables[row, :4]:
            cut = entry >> 32
            said[entry & 0xFFFF] += cut / 65536 / 4
            said[(entry >> 16) & 0xFFFF] += (65536 - cut) / 65536 / 4
            assert decide.py_func(entry, cut) == (entry >> 16) & 0xFFFF
            assert decide.py_func(entry, cut - 1) == entry & 0xFFFF
        wanted = np.exp(logits[row, 1:]) / np.exp(logits[row, 1:]).sum()
        assert said[0] == 0
        assert said[1:] == pytest.approx(0.9 * wanted + 0.1 / 4, abs=2**-15)
