"""Hidden states that are tuples with one part per agent: tables, merges, and logs whose parts only rewards show."""

import itertools

import numpy as np
from worlds.logs import small_log

import decpomdp as dp
from decpomdp.worlds.data import Form, alphabet_of, records_of
from decpomdp.worlds.growth import TUPLES, Grower
from decpomdp.worlds.moves import one_state
from decpomdp.worlds.parts import SMOOTHING, base, factored
from decpomdp.worlds.posterior import strong_prior
from decpomdp.worlds.product import own_records, random_product
from decpomdp.worlds.sweep import Sweeps
from decpomdp.worlds.tuples import merged_part, similar_values

ACTIONS = np.array(list(itertools.product(range(2), range(3))))  # [v, n]
TUPLES_OF_TWO = np.array([[0, 0], [0, 1], [0, 2], [1, 0], [1, 2]])  # (1, 1) was dropped


def some_counts(seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(size=5), rng.uniform(0, 4, (6, 5, 5))


def own(move, n, v, z, j, without=None):
    """Counts of agent n alone: its part of z to its part of j, over all rows with its action in v but one."""
    total = 0.0
    for w, x, y in np.ndindex(move.shape):
        same = ACTIONS[w, n] == ACTIONS[v, n] and TUPLES_OF_TWO[x, n] == TUPLES_OF_TWO[z, n]
        if same and TUPLES_OF_TWO[y, n] == TUPLES_OF_TWO[j, n] and (w, x) != without:
            total += move[w, x, y]
    return total


def test_parts_move_independently():
    start, move = some_counts()
    new_start, new_move = factored(start, move, ACTIONS, TUPLES_OF_TWO)
    values = TUPLES_OF_TWO.max(0) + 1
    for v, z in np.ndindex(6, 5):
        row = [
            np.prod([own(move, n, v, z, j) + SMOOTHING / values[n] for n in range(2)])
            / np.prod([sum(own(move, n, v, z, k) for k in first) + SMOOTHING for n, first in enumerate(firsts())])
            for j in range(5)
        ]
        np.testing.assert_allclose(new_move[v, z], np.array(row) / sum(row), rtol=1e-12)
    begin = [
        np.prod([start[TUPLES_OF_TWO[:, n] == z[n]].sum() + SMOOTHING / values[n] for n in range(2)])
        for z in TUPLES_OF_TWO
    ]
    np.testing.assert_allclose(new_start, np.array(begin) / sum(begin), rtol=1e-12)


def firsts():
    """For each agent, one tuple of every value of its part."""
    return [np.unique(TUPLES_OF_TWO[:, n], return_index=True)[1] for n in range(2)]


def test_the_base_of_a_row_is_the_product_of_what_other_rows_predict():
    _, move = some_counts(1)
    result = base(move, ACTIONS, TUPLES_OF_TWO)
    for v, z in [(0, 0), (3, 2), (5, 4)]:
        row = np.ones(5)
        for n, first in enumerate(firsts()):
            overall = np.array([move[:, :, TUPLES_OF_TWO[:, n] == TUPLES_OF_TWO[k, n]].sum() for k in first])
            overall = (overall + SMOOTHING) / (overall + SMOOTHING).sum()
            others = [own(move, n, v, z, k, without=(v, z)) for k in first]
            row *= (others + SMOOTHING * overall)[TUPLES_OF_TWO[:, n]]
        np.testing.assert_allclose(result[v, z], row / row.sum(), rtol=1e-9)


def test_em_can_keep_the_parts_independent():
    log = small_log(episodes=60, longest=8)
    records = records_of(log, alphabet_of(log), Form())
    sweeps, worlds = Sweeps(records), [one_state(own_records(records, n)) for n in range(2)]
    start = random_product(records, worlds, 2, np.random.default_rng(0))
    assert start.states == 4
    counts = sweeps.em(start, strong_prior(records, 4), 5, 0.0, prune=False, tied=True)
    mean = sweeps.mean(counts, strong_prior(records, 4), tied=True)
    move = mean.move.reshape(-1, 4, 2, 2)
    np.testing.assert_allclose(move, move.sum(3)[..., None] * move.sum(2)[..., None, :], rtol=1e-9)
    assert sweeps.logs(mean).sum() > sweeps.logs(start).sum()


def test_merged_values_add_their_counts():
    log = small_log(episodes=60, longest=8)
    records = records_of(log, alphabet_of(log), Form())
    worlds = [one_state(own_records(records, n)) for n in range(2)]
    _, counts = Sweeps(records).expected(random_product(records, worlds, 3, np.random.default_rng(0)))
    merged = merged_part(counts, 1, 0, 2)
    assert merged.tuples.tolist() == [[x, y] for x in range(3) for y in range(2)]
    np.testing.assert_allclose(merged.pay[:, 0], counts.pay[:, 0] + counts.pay[:, 2])
    np.testing.assert_allclose(merged.move[:, 0, 2], counts.move[:, [0, 2]][:, :, [3, 5]].sum((1, 2)))
    np.testing.assert_allclose(merged.move.sum(), counts.move.sum())


def test_equal_values_are_the_most_similar_ones():
    log = small_log(episodes=60, longest=8)
    records = records_of(log, alphabet_of(log), Form())
    worlds = [one_state(own_records(records, n)) for n in range(2)]
    start = random_product(records, worlds, 3, np.random.default_rng(0))
    pay = start.pay.copy()
    pay[:, 6:] = pay[:, 3:6]  # values 1 and 2 of the first part
    posterior = Sweeps(records).vb(Sweeps(records).expected(start._replace(pay=pay))[1], 1, 0.0)
    assert similar_values(posterior)[0] == [0, 1, 2]


def test_two_hidden_buffers_are_found():
    """In Broadcast an agent's buffer shows in rewards alone; growth by splits often ends with three of four states."""
    log = dp.simulate("broadcast", "random", episodes=1000, horizon=20, seed=7)
    alphabet = alphabet_of(log)
    records = {form: records_of(log, alphabet, form) for form in (Form(), Form(joint=True))}
    grower = Grower(records, seed=1, most=400)
    fit = grower.begin(False, TUPLES)
    while not fit.over:
        fit = grower.step(fit)
    assert fit.best.states == 4
    assert sorted(map(tuple, fit.best.counts.tuples)) == [(0, 0), (0, 1), (1, 0), (1, 1)]
