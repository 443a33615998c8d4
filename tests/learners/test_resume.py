"""A fit that goes on from the bytes of its state, after every step, ends as if nothing had happened."""

import functools
import json

import numpy as np
import pytest
from learners.logged import quiet

import decpomdp as dp
from decpomdp.core.run import Inputs, unlimited
from decpomdp.io.checkpoints import decode, encode
from decpomdp.learners import Sbpr
from decpomdp.learners.method import SbprMethod

SETTINGS = {
    "stick-breaking": Sbpr(truncation=3, sweeps=10),
    "capped": Sbpr(truncation=6, sweeps=14, cap=10.0),
    "dp, random": Sbpr(prior="dp", truncation=4, sweeps=6, start="random"),
    "fixed": Sbpr(prior="fixed:3", sweeps=6),
    "em": Sbpr(prior="em:3", sweeps=6),
    "single": Sbpr(truncation=3, sweeps=10, precision="single"),
}


@functools.cache
def episodes():
    return dp.simulate("dectiger", "random", episodes=150, horizon=6, seed=3)


def ended(settings, every=None):
    """The result and the rows; with a new method object and a decoded state every so many steps."""
    made = functools.partial(SbprMethod, episodes(), settings, Inputs(seed=1))
    method, rows, seen = made(), [], set()
    state = method.init(unlimited())
    steps = 0
    while not state.stopped:
        state, row = method.step(state, unlimited())
        rows += [row] if row else []
        steps += 1
        seen |= {name for name in ("trial", "afresh") if getattr(state, name) is not None}
        if every and steps % every == 0:
            method, state = made(), decode(encode(state), method.state)
    fit, last = method.result(state)
    return fit, [json.dumps(row) for row in [*rows, *([last] if last else [])]], seen


@quiet
@pytest.mark.parametrize("name", SETTINGS)
def test_the_same_after_a_resume(name):
    fit, rows, seen = ended(SETTINGS[name])
    for every in (1, 7):
        again, others, _ = ended(SETTINGS[name], every)
        assert (again.team, others) == (fit.team, rows)
        for one, other in zip(again.posterior.agents, fit.posterior.agents, strict=True):
            np.testing.assert_array_equal(one.counts.moves, other.counts.moves)
            np.testing.assert_array_equal(one.move.mean(), other.move.mean())
    if name in ("stick-breaking", "single"):
        assert seen == {"trial", "afresh"}


@quiet
def test_the_best_of_a_sweep_that_was_cut_off_closes_the_trace():
    method = SbprMethod(episodes(), SETTINGS["stick-breaking"], Inputs(seed=1))
    state = method.init(unlimited())
    while state.ahead is None or state.ahead.bound <= (state.best or state.now).bound:
        state, _ = method.step(state, unlimited())
    fit, row = method.result(state)
    assert row["bound"] == state.ahead.bound
    assert row["sweep"] == state.sweep
    assert [agent.nodes for agent in fit.posterior.agents] == [agent.nodes for agent in state.ahead.posterior]
