"""Starts whose states remember cues: beliefs, cues, counts, and a problem that is missed without them."""

import itertools

import numpy as np
import pytest
from worlds.logs import small_log

import decpomdp as dp
from decpomdp.worlds.belief import likeliest_states
from decpomdp.worlds.cues import cues_of, with_cues
from decpomdp.worlds.data import Form, alphabet_of, records_of
from decpomdp.worlds.growth import Grower
from decpomdp.worlds.moves import copies, one_state
from decpomdp.worlds.sweep import Sweeps


@pytest.fixture(scope="module")
def small():
    log = small_log(episodes=30, longest=6, agents=((2, 2), (2, 3)), first=True, ends=True)
    records = records_of(log, alphabet_of(log), Form())
    return records, copies(records, one_state(records), 3, np.random.default_rng(0), 1.0, 0, 0.0)


def test_the_likeliest_state_is_that_of_bayes_rule(small):
    records, tables = small
    log, found = records.log, likeliest_states(*small[::-1])
    see = np.concatenate(tables.see, axis=-1)
    for begin, end in itertools.pairwise(log.offsets):
        odds = tables.start
        for r in range(begin, end):
            before = records.inputs if r == begin else log.inputs[r - 1]
            odds = odds if r == begin else odds @ tables.move[before]
            odds = odds * np.prod([see[before, :, y] for y in log.symbols[r] if y >= 0], axis=0)
            odds = odds if log.inputs[r] < 0 else odds * tables.pay[log.inputs[r], :, log.rewards[r]]
            assert found[r] == odds.argmax()


def test_a_cue_is_the_last_observation_but_the_most_frequent_one(small):
    records, _ = small
    seen = records.log.symbols[:, 1] - records.groups[0]
    common = np.bincount(seen[seen >= 0]).argmax()
    found, expected = cues_of(records, 1), []
    for begin, end in itertools.pairwise(records.log.offsets):
        last = 0
        for o in seen[begin:end]:
            last = o + 1 if o >= 0 and o != common else last
            expected.append(last)
    assert found.tolist() == expected
    assert set(expected) > {0}


def test_a_word_that_matters_later_is_remembered():
    """Noisy copies of three states find three: the word is asked for two steps after it was seen."""
    log = dp.simulate("generated:relay,agents=2,size=3,seed=3", "random", episodes=500, horizon=20, seed=5)
    grower = Grower({Form(): records_of(log, alphabet_of(log), Form())}, seed=1, most=40)
    first = grower.begin(False, 0)
    while not first.over:
        first = grower.step(first)
    assert first.best.states == 3
    cued = grower.cued(first.best, 0)
    while not cued.over:
        cued = grower.step(cued)
    assert cued.best.states >= 9
    assert cued.best.bound > first.best.bound + 0.05 * first.best.steps
    assert grower.cued(first.best, 1).over  # the second agent sees no words


def test_cues_that_predict_nothing_are_not_remembered(small):
    records, tables = small
    assert with_cues(Sweeps(records), tables, 0) is None
