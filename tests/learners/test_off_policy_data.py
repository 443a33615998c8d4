"""Learning from what others did: utilities, ratios, several behaviours, unknown ones, warnings."""

import dataclasses

import numpy as np
import pytest
from learners import data
from learners.logged import fitted, logged, quiet

import decpomdp as dp
from decpomdp.core import InputError, Team
from decpomdp.core.errors import LearningWarning
from decpomdp.filtering.filter import log_likelihood
from decpomdp.learners.behaviour import estimated, log_behaviour, log_mixture
from decpomdp.learners.weighing import by_reward, sample_size, utilities, weigh


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_weights_and_effective_sample_size_by_definition(alpha):
    rng = np.random.default_rng(3)
    episodes = data.episodes(rng, 2, count=40, longest=5)
    steps = by_reward(episodes, log_behaviour(episodes))
    log_team = np.cumsum(rng.normal(-1, 1, episodes.steps))
    found = weigh(steps, log_team, alpha)
    terms = steps.gain * np.exp(alpha * (log_team - steps.log_behaviour))
    assert found.nu == pytest.approx(terms / terms.sum() * episodes.count, rel=1e-10)
    each = np.add.reduceat(terms, episodes.offsets[:-1])
    assert found.sample_size == pytest.approx(each.sum() ** 2 / (each**2).sum(), rel=1e-10)


def test_utilities_select_but_leave_a_fifth_of_the_episodes():
    rng = np.random.default_rng(0)
    for returns in (rng.normal(size=500), rng.exponential(size=500), np.append(np.zeros(499), 1e100)):
        found = utilities(returns)
        assert sample_size(found) >= 0.2 * 500 * (1 - 1e-9)
        assert found.max() == 1
        assert (np.diff(found[np.argsort(returns)]) >= 0).all()
    assert utilities(np.full(7, 3.0)).tolist() == [1.0] * 7
    mild = rng.uniform(size=500)
    assert utilities(mild) == pytest.approx(np.exp((mild - mild.max()) / mild.std()))


def test_mixture_denominator_is_the_mixture_of_products():
    from oracles import making

    model = dp.load("broadcast")
    rng = np.random.default_rng(6)
    teams = [making.team(rng, model, 2), Team.uniform(model)]
    batches = [
        dp.simulate(model, team, count, 5, seed=n) for n, (team, count) in enumerate(zip(teams, (30, 10), strict=True))
    ]
    together, found = log_mixture(batches, teams)
    assert together.count == 40
    shares = [0.75, 0.25]
    wanted = np.zeros(together.steps)
    for share, team in zip(shares, teams, strict=True):
        wanted += share * np.exp(log_likelihood(together, team))
    assert found == pytest.approx(np.log(wanted), rel=1e-12)
    own = log_likelihood(batches[0], teams[0])
    assert own == pytest.approx(log_behaviour(batches[0]), abs=1e-5)  # recorded in single precision
    with pytest.raises(InputError, match="expected one team for each of 2 batches, got 1"):
        log_mixture(batches, teams[:1])


def unknown(episodes):
    return dataclasses.replace(episodes, behaviour=np.full(episodes.behaviour.shape, np.nan))


@quiet
def test_unknown_behaviour_is_never_a_silent_one():
    _, episodes = logged(count=2000)
    hidden = unknown(episodes)
    with pytest.raises(InputError, match=r"episode 0, step 0, agent agent1: .*unknown.*estimate_behaviour"):
        fitted(hidden, settings={"alpha": 0.5})
    guessed = estimated(hidden)
    assert guessed.behaviour == pytest.approx(episodes.behaviour, abs=0.1)  # uniform: one half each
    assert "estimated" in guessed.facts["behaviour"]
    fit = fitted(hidden, settings={"alpha": 0.5, "estimate_behaviour": True, "sweeps": 3, "truncation": 4})
    assert "estimate" in fit.facts


def test_the_default_needs_no_probabilities():
    _, episodes = logged(count=100)
    small = {"truncation": 3, "starts": 2, "sweeps": 20}
    fit, same = fitted(unknown(episodes), settings=small), fitted(episodes, settings=small)
    assert fit.team == same.team
    assert fit.facts == same.facts
    assert "estimate" in fit.facts


def test_collapsed_weights_are_told():
    _, episodes = logged("dectiger", 300, 12)
    with pytest.warns(LearningWarning, match=r"the effective sample size is [12]\.\d of 300"):
        fitted(episodes, settings={"preset": "as-printed", "sweeps": 30})
