"""A user's mistake is one line: expected, got, where. Nothing else, whatever was given."""

import msgspec
import numpy as np
import pytest
from learners import data
from learners.logged import fitted

import decpomdp as dp
from decpomdp.core import Agent, Controller, InputError, Team
from decpomdp.learners import ExpectationMaximisation, Fixed, Sbpr, StickBreaking, dirichlet_process, prior_named

NAN, INF = float("nan"), float("inf")
EPISODES = data.episodes(np.random.default_rng(0), 2)
OTHERS = Team.uniform(dp.load("marsrovers"))


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
    ("name", "values"),
    [
        ("sigma", [0.0, -1.0, NAN, INF, "1", None]),
        ("c", [0.0, -0.1, NAN, INF]),
        ("d", [0.0, -1e-6, NAN, INF, 1e-320, "x"]),
        ("rho", [0.0, -1.0, NAN, INF, "x"]),
        ("reading", ["speed", None, 3]),
        ("shared", ["yes", 1]),
    ],
)
def test_numbers_of_the_prior_out_of_range(name, values):
    for value in values:
        refused(lambda value=value: StickBreaking(**{name: value}), f"{name}: ", "got")


def test_other_priors_out_of_range():
    for nodes in (0, -2, 1.5, NAN, "3", 10**6, None):
        refused(lambda nodes=nodes: Fixed(nodes), "nodes: ", "from 1 to 1000", "got")
        refused(lambda nodes=nodes: ExpectationMaximisation(nodes), "nodes: ", "got")
    for weight in (0.0, -1.0, NAN, INF, None):
        refused(lambda weight=weight: Fixed(2, weight), "weight: ", "got")
    refused(lambda: StickBreaking(sigma=2.0, shared=True), "sigma: expected 1 with one shared concentration, got 2.0")
    refused(lambda: dirichlet_process(d=0.0), "d: ")
    refused(lambda: prior_named("em:5000"), "nodes: expected a whole number from 1 to 1000, got 5000")


@pytest.mark.parametrize("text", ["fixed:x", "fixed:-3", "em:", "", "sticks", "fixed", "dp:3", "Fixed:3", 3])
def test_names_of_priors(text):
    assert len(refused(lambda: prior_named(text), "prior: expected", f"got {text!r}")) < 120


def test_something_else_as_beginning():
    refused(lambda: Sbpr(start="x"), "start: expected best, random, got 'x'")
    for begin in (3, Team, Controller.uniform(2, 2)):
        refused(lambda begin=begin: dp.learn(EPISODES, "sbpr", begin=begin), "begin: expected a Team, got")
    refused(
        lambda: dp.learn(EPISODES, "sbpr", begin=Team.uniform(EPISODES), start="random"),
        "start: expected none with a team",
    )


def test_teams_of_others():
    refused(lambda: dp.learn(EPISODES, "sbpr", begin=OTHERS), "team does not fit problem")
    refused(lambda: dp.learn([EPISODES], "sbpr", alpha=0.5, behaviours=[OTHERS]), "team does not fit problem")
    large = Team.of(EPISODES, [Controller(np.ones(3) / 3, *_uniform(a, 3)) for a in EPISODES.agents])
    refused(
        lambda: dp.learn(EPISODES, "sbpr", prior="fixed:2", begin=large),
        "begin: expected a team of at most 2 nodes",
        "3",
    )


def _uniform(agent: Agent, nodes: int):
    a, o = len(agent.actions), len(agent.observations)
    return np.full((nodes, a), 1 / a), np.full((nodes, a, o, nodes), 1 / nodes)


def test_batches_of_different_agents():
    other = data.episodes(np.random.default_rng(0), 3)
    refused(lambda: dp.learn([EPISODES, other]), "same agents and discount")


def test_behaviours_that_cannot_have_acted():
    """All agents always take the first action; in the data one of them does not."""
    sure = [Controller(np.ones(1), np.eye(len(a.actions))[:1], *_uniform(a, 1)[1:]) for a in EPISODES.agents]
    team = Team.of(EPISODES, sure)
    row = int((EPISODES.actions != 0).any(axis=1).argmax())
    refused(
        lambda: dp.learn([EPISODES], "sbpr", alpha=0.5, behaviours=[team]), EPISODES.place(row), "behaviours", "got"
    )


def test_the_preset_as_printed():
    printed = Sbpr(preset="as-printed", truncation=5)
    assert (printed.alpha, printed.utility, printed.starts, printed.judge) == (1.0, "reward", 1, False)
    assert msgspec.json.decode(msgspec.json.encode(printed), type=Sbpr) == printed
    refused(lambda: Sbpr(preset="as-printed", alpha=0.5), "alpha: expected none with the preset as-printed, got 0.5")


def test_options_that_contradict_each_other():
    team = Team.uniform(EPISODES)
    refused(
        lambda: dp.learn([EPISODES], "sbpr", alpha=0.5, behaviours=[team], estimate_behaviour=True),
        "estimate_behaviour: expected False with behaviours, got True",
    )
    for given in ({"behaviours": [team]}, {"estimate_behaviour": True}):
        refused(lambda given=given: dp.learn([EPISODES], "sbpr", **given), "expected none with alpha 0")
    for prior in ("fixed:5", "em:5", Fixed(30)):
        wanted = "truncation: expected none with the prior", "got 30"
        refused(lambda prior=prior: Sbpr(prior=prior, truncation=30), *wanted)


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
