"""A fit that goes on from the bytes of its state, after every step, ends as if nothing had happened."""

import functools
import json

import numpy as np
import pytest
from learners.logged import quiet

import decpomdp as dp
from decpomdp.core.run import Inputs, unlimited
from decpomdp.io.checkpoints import decode, encode
from decpomdp.learners import Sbpr, method
from decpomdp.learners.judging import Judged
from decpomdp.learners.method import CLONED, FIT, MERGING, STARTING, WHOLE, SbprMethod

SETTINGS = {
    "default": Sbpr(truncation=4, starts=3, sweeps=8),
    "as printed": Sbpr(preset="as-printed", truncation=6, sweeps=8),
    "dp, random": Sbpr(prior="dp", truncation=4, starts=2, sweeps=6, start="random", alpha=0.1),
    "fixed": Sbpr(prior="fixed:3", starts=2, sweeps=6),
    "em": Sbpr(prior="em:3", starts=2, sweeps=6, judge=False),
    "single": Sbpr(truncation=3, starts=2, sweeps=6, precision="single"),
}


@functools.cache
def episodes():
    return dp.simulate("dectiger", "random", episodes=150, horizon=6, seed=3)


def below(_episodes, _team):
    """A verdict for which the behaviour is cloned."""
    return Judged(0.0, 0.0, 0.0, 1.0, sure=False)


def ended(settings, every=None):
    """The result and the rows; with a new method object and a decoded state every so many steps."""
    made = functools.partial(SbprMethod, episodes(), settings, Inputs(seed=1))
    learner, rows, seen = made(), [], set()
    state = learner.init(unlimited())
    steps = 0
    while not state.stopped:
        state, new = learner.step(state, unlimited())
        rows += new
        steps += 1
        seen.add((state.part, state.phase))
        if every and steps % every == 0:
            learner, state = made(), decode(encode(state), learner.state)
    fit, last = learner.result(state)
    return fit, [json.dumps(row) for row in [*rows, *([last] if last else [])]], seen


@quiet
@pytest.mark.parametrize("name", SETTINGS)
def test_the_same_after_a_resume(name, monkeypatch):
    if name == "default":
        monkeypatch.setattr(method, "judge", below)
    fit, rows, seen = ended(SETTINGS[name])
    for every in (1, 7) if name == "default" else (3,):
        again, others, _ = ended(SETTINGS[name], every)
        assert (again.team, others) == (fit.team, rows)
        for one, other in zip(again.posterior.agents, fit.posterior.agents, strict=True):
            np.testing.assert_array_equal(one.counts.moves, other.counts.moves)
            np.testing.assert_array_equal(one.move.mean(), other.move.mean())
    if name == "default":
        assert {(part, phase) for part in (FIT, CLONED) for phase in (STARTING, MERGING, WHOLE)} <= seen


@quiet
def test_an_unfinished_fit_has_a_result(monkeypatch):
    """After every step: in the starts, in the merges, in the sweeps over all, and while the behaviour is cloned."""
    monkeypatch.setattr(method, "judge", below)
    learner = SbprMethod(episodes(), SETTINGS["default"], Inputs(seed=1))
    state = learner.init(unlimited())
    finished = None
    while not state.stopped:
        fit, _ = learner.result(state)
        assert len(fit.team.controllers) == 2
        if state.part != FIT:
            finished = finished or fit.team
            assert fit.team == finished
        state, _ = learner.step(state, unlimited())
