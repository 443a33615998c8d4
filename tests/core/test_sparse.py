"""The sparse forms of a model against its dense tables."""

import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest

import decpomdp as dp
from decpomdp.core.sparse import alias_model, factored_model, outcome_model


@pytest.mark.parametrize("name", ["dectiger", "recycling", "gridsmall"])
def test_every_form_holds_the_same_entries(name):
    model = dp.load(name)
    dense = model.transition[..., None] * model.observation[:, None]  # [u, s, s1, y]
    outcomes, factored = outcome_model(model), factored_model(model)
    row, s1, y = np.nonzero(dense.reshape(-1, *dense.shape[2:]))
    assert np.array_equal(np.repeat(np.arange(len(outcomes.offsets) - 1), np.diff(outcomes.offsets)), row)
    assert np.array_equal(outcomes.next_state, s1)
    assert np.array_equal(outcomes.observation, y)
    assert np.array_equal(outcomes.chance, dense[dense > 0])
    for rows, table in ((factored.transition, model.transition), (factored.observation, model.observation)):
        assert np.array_equal(rows.values, table[table > 0])
        assert np.array_equal(np.diff(rows.offsets), np.count_nonzero(table, axis=-1).ravel())
    assert factored.widest == max(np.count_nonzero(model.observation, axis=(1, 2)))
    assert np.array_equal(alias_model(model).outcomes.rows[:, 1], np.diff(outcomes.offsets))


def test_built_once_and_freed_with_the_model():
    model = replace(dp.load("dectiger"), name="another")
    assert outcome_model(model) is outcome_model(model)
    assert outcome_model(replace(model, discount=0.5)) is not outcome_model(model)
    with pytest.raises(ValueError, match="read-only"):
        outcome_model(model).chance[0] = 0.0
    chance = weakref.ref(outcome_model(model).chance)
    del model
    gc.collect()
    assert chance() is None
