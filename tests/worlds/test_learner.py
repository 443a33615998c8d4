"""Fits of worlds: the number of states, the choice of the form, resume."""

import numpy as np
import pytest
from worlds.logs import small_log

import decpomdp as dp
from decpomdp.io.checkpoints import decode, encode
from decpomdp.worlds.learner import DONE, Fits, Worlds, clearly_better


def fitted(learner, state=None):
    state = learner.init() if state is None else state
    rows = []
    while state.phase != DONE:
        state, row = learner.step(state, hurry=len(rows) > 2)
        rows += [] if row is None else [row]
    return state, rows


@pytest.fixture(scope="module")
def tiger():
    learner = Worlds(dp.simulate("dectiger", "random", episodes=300, horizon=20, seed=1), seed=1, most=400)
    return learner, *fitted(learner)


def test_random_logs_of_dectiger_have_two_states(tiger):
    learner, state, rows = tiger
    assert learner.best(state).posterior.states == 2
    assert not learner.best(state).posterior.form.memory
    assert state.refitted[0].steps == 6000  # all episodes
    assert {"bound", "states", "heldout"} <= set(rows[0])


def test_the_best_world_predicts_held_out_episodes_better_than_one_state(tiger):
    learner, state, _ = tiger
    memory = next(fit for fit in state.finished if fit.posterior.form.memory)
    assert clearly_better(learner.best(state).heldout, memory.heldout, 2.0)


def test_a_resumed_fit_ends_with_the_same_bytes():
    def learner():
        return Worlds(small_log(episodes=60, longest=6), seed=3, most=6)

    whole, _ = fitted(learner())
    state = learner().init()
    while state.phase != DONE:  # killed after every step
        state, _ = learner().step(decode(encode(state), Fits), hurry=len(state.finished) > 2)
    assert encode(state) == encode(whole)


def test_threads_do_not_change_the_fit():
    log = small_log(episodes=60, longest=6)
    one, _ = fitted(Worlds(log, seed=3, most=6, threads=1))
    two, _ = fitted(Worlds(log, seed=3, most=6, threads=2))
    assert encode(one) == encode(two)


def test_few_episodes_are_not_held_out():
    state, rows = fitted(Worlds(small_log(episodes=5), seed=0, most=4))
    assert rows[0]["heldout"] is None
    assert np.isfinite(state.refitted[0].bound)
