"""A user's mistake is one line: expected, got, where. Nothing else, whatever was given."""

from functools import partial

import msgspec
import numpy as np
import pytest
from learners import data
from learners.logged import fitted
from oracles import making

import decpomdp as dp
from decpomdp.core import Controller, InputError, Team
from decpomdp.learners import ExpectationMaximisation, Fixed, Sbpr, StickBreaking, dirichlet_process, prior_named

NAN, INF = float("nan"), float("inf")
EPISODES = data.episodes(np.random.default_rng(0), 2)
TEAM, OTHERS = Team.uniform(EPISODES), Team.uniform(dp.load("marsrovers"))
LARGE = making.team(np.random.default_rng(0), EPISODES, 3)
STILL = [Controller.deterministic([0], [[0] * len(a.observations)], len(a.actions)) for a in EPISODES.agents]
learn = partial(dp.learn, EPISODES, "sbpr")


def refused(act, *parts):
    """What `act` is refused with: one line that says what was expected, what was given, and all `parts`."""
    with pytest.raises(InputError) as told:
        act()
    text = str(told.value)
    assert "\n" not in text
    assert all(part in text for part in ("expected", *parts)), text
    return text


@pytest.mark.parametrize("prior", ["em:3", Fixed(3, 0.5), StickBreaking(sigma=2.0), dirichlet_process()])
def test_settings_are_the_same_after_json(prior):
    kept = Sbpr(prior=prior, sweeps=7, alpha=0.5)
    assert msgspec.json.decode(msgspec.json.encode(kept), type=Sbpr) == kept


@pytest.mark.parametrize(
    ("made", "name", "values"),
    [
        (StickBreaking, "sigma", [0.0, -1.0, NAN, INF, "1", None]),
        (StickBreaking, "c", [0.0, -0.1, NAN, INF]),
        (StickBreaking, "d", [0.0, -1e-6, NAN, INF, 1e-320, "x"]),
        (StickBreaking, "rho", [0.0, -1.0, NAN, INF, "x"]),
        (StickBreaking, "reading", ["speed", None, 3]),
        (StickBreaking, "shared", ["yes", 1]),
        (Fixed, "nodes", [0, -2, 1.5, NAN, "3", 10**6, None]),
        (ExpectationMaximisation, "nodes", [0, -2, 1.5, NAN, "3", 10**6, None]),
        (partial(Fixed, 2), "weight", [0.0, -1.0, NAN, INF, None]),
    ],
)
def test_numbers_of_a_prior_out_of_range(made, name, values):
    for value in values:
        refused(lambda value=value: made(**{name: value}), f"{name}: ", "got")


@pytest.mark.parametrize("text", ["fixed:x", "fixed:-3", "em:", "", "sticks", "fixed", "dp:3", "Fixed:3", 3])
def test_names_of_priors(text):
    assert len(refused(lambda: prior_named(text), "prior: expected", f"got {text!r}")) < 120


MISTAKES = [
    (lambda: StickBreaking(sigma=2.0, shared=True), "sigma: expected 1 with one shared concentration, got 2.0"),
    (lambda: prior_named("em:5000"), "nodes: expected a whole number from 1 to 1000, got 5000"),
    (lambda: Sbpr(start="x"), "start: expected best, random, got 'x'"),
    (lambda: Sbpr(preset="as-printed", alpha=0.5), "alpha: expected none with the preset as-printed, got 0.5"),
    (lambda: Sbpr(prior="fixed:5", truncation=30), "truncation: expected none with the prior"),
    (lambda: Sbpr(prior="em:5", truncation=30), "truncation: expected none with the prior"),
    (lambda: learn(begin=3), "begin: expected a Team, got"),
    (lambda: learn(begin=Team), "begin: expected a Team, got"),
    (lambda: learn(begin=TEAM, start="random"), "start: expected none with a team"),
    (lambda: learn(begin=OTHERS), "team does not fit problem"),
    (lambda: learn(begin=LARGE, prior="fixed:2"), "begin: expected a team of at most 2 nodes"),
    (lambda: learn(behaviours=[TEAM]), "expected none with alpha 0"),
    (lambda: learn(estimate_behaviour=True), "expected none with alpha 0"),
    (lambda: learn(alpha=0.5, behaviours=[OTHERS]), "team does not fit problem"),
    (
        lambda: learn(alpha=0.5, behaviours=[TEAM], estimate_behaviour=True),
        "estimate_behaviour: expected False with behaviours, got True",
    ),
    (lambda: dp.learn([EPISODES, data.episodes(np.random.default_rng(0), 3)]), "same agents and discount"),
]


@pytest.mark.parametrize(("act", "words"), MISTAKES, ids=[words for _, words in MISTAKES])
def test_options_that_do_not_fit(act, words):
    refused(act, words)


def test_behaviours_that_cannot_have_acted():
    """All agents always take the first action; in the data one of them does not."""
    row = int((EPISODES.actions != 0).any(axis=1).argmax())
    refused(lambda: learn(alpha=0.5, behaviours=[Team.of(EPISODES, STILL)]), EPISODES.place(row), "behaviours", "got")


def test_the_preset_as_printed():
    printed = Sbpr(preset="as-printed", truncation=5)
    assert (printed.alpha, printed.utility, printed.starts, printed.judge) == (1.0, "reward", 1, False)
    assert msgspec.json.decode(msgspec.json.encode(printed), type=Sbpr) == printed


@pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning")
@pytest.mark.parametrize(
    "furthest",
    [
        *({name: 1e-9} for name in ("sigma", "c", "d", "rho")),
        *({"sigma": 100.0}, {"c": 1e6}, {"d": 1e9}, {"rho": 1e9}),
        *({"sigma": 100.0, "c": 1e6, "d": 1e9}, {"sigma": 1e-9, "c": 1e6, "d": 1e9}, {"c": 1e6, "d": 1e9}),
    ],
    ids=str,
)
def test_the_furthest_numbers_of_a_prior_still_learn(furthest):
    fit = fitted(EPISODES, StickBreaking(**furthest), settings={"truncation": 3, "sweeps": 5})
    bounds = np.array([row["bound"] for row in fit.trace])
    assert np.isfinite(bounds).all()
    assert (np.diff(bounds) >= -1e-9 * np.maximum(1, np.abs(bounds[1:]))).all()
