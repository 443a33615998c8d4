"""Learning from what others did: ratios, their cap and normalisation, several behaviours, unknown ones, warnings."""

import dataclasses
import functools
import re
import warnings

import numpy as np
import pytest
from learners import data
from learners.logged import fitted, logged, quiet

import decpomdp as dp
from decpomdp.core import InputError, Team
from decpomdp.core.errors import LearningWarning
from decpomdp.filtering.filter import log_likelihood
from decpomdp.learners.behaviour import estimated, log_behaviour, log_mixture
from decpomdp.learners.sweep import evaluate
from decpomdp.learners.trace import weakest_step
from decpomdp.learners.weighing import steps_of, weigh


def test_effective_sample_size_cap_and_self_normalisation_by_definition():
    rng = np.random.default_rng(3)
    episodes = data.episodes(rng, 2, count=40, longest=5)
    steps = steps_of(episodes, log_behaviour(episodes))
    log_team = np.cumsum(rng.normal(-1, 1, episodes.steps))
    ratio = log_team - steps.log_behaviour
    times = episodes.times()
    for cap in (None, 2.0):
        used = np.exp(ratio) if cap is None else np.minimum(np.exp(ratio), cap)
        for normalise in (False, True):
            found = weigh(steps, log_team, cap, normalise)
            wanted = used.copy()
            for t in range(times.max() + 1):
                here = times == t
                size = used[here].sum() ** 2 / (used[here] ** 2).sum()
                assert found.sample_sizes[t] == pytest.approx(size, rel=1e-10)
                if normalise:
                    wanted[here] /= used[here].mean()
            terms = steps.gain * wanted
            assert found.nu == pytest.approx(terms / terms.sum() * episodes.count, rel=1e-10)
            assert np.exp(found.log_value) == pytest.approx(terms.sum() / episodes.count, rel=1e-10)
            assert found.value == pytest.approx((steps.discounted * wanted).sum() / episodes.count, rel=1e-10)


@quiet
@pytest.mark.parametrize("prior", ["stick-breaking", "fixed:3", "em:3"])
@pytest.mark.parametrize("options", [{}, {"cap": 3.0}, {"normalise": True}])
def test_the_value_in_the_trace_is_that_of_the_team(prior, options):
    """By definition, from what comes out: the team's probabilities over the recorded ones, times the rewards."""
    _, episodes = logged("recycling", 200, 5)
    fit = fitted(episodes, prior, settings=dict(sweeps=12, **options))
    ratios = np.exp(log_likelihood(episodes, fit.team) - log_behaviour(episodes))
    times = episodes.times()
    ratios = np.minimum(ratios, options.get("cap", np.inf))
    if "normalise" in options:
        ratios /= (np.bincount(times, ratios) / np.bincount(times))[times]
    earned = (ratios * episodes.rewards * episodes.discount**times).sum() / episodes.count
    best = max(fit.trace, key=lambda row: row["bound"])
    assert best["value"] == pytest.approx(earned, rel=1e-6)  # recorded probabilities are of single precision


def test_the_value_is_not_that_of_the_sub_normalised_controllers():
    """With little evidence exp(E ln ...) sums to much less than one; the value of what is returned does not."""
    _, episodes = logged("broadcast", 300, 3)
    settings = {"evidence": 1.0, "truncation": 2, "sweeps": 5}
    fit = fitted(episodes, settings=settings)
    work = data.task(episodes, evidence=1.0)
    below = evaluate(work, fit.posterior.agents).weighed.value
    assert fit.trace[-1]["value"] > 1.2 * below > 0


def test_ratios_beyond_every_float_do_not_overflow():
    rng = np.random.default_rng(3)
    episodes = data.episodes(rng, 2, count=10, longest=4)
    steps = steps_of(episodes, log_behaviour(episodes))
    log_team = steps.log_behaviour + np.where(np.arange(episodes.steps) % 2, 5000.0, -5000.0)
    found = weigh(steps, log_team)
    assert np.isfinite(found.log_value)
    assert found.nu.sum() == pytest.approx(episodes.count)


def test_with_cut_ratios_the_best_is_kept_and_a_fall_is_told():
    model = dp.load("dectiger")
    data = dp.simulate(model, dp.Team.uniform(model), 1000, 10, seed=2)
    settings = {"cap": 2.0, "sweeps": 40}
    with pytest.warns(LearningWarning) as told:
        fit = fitted(data, "em:4", settings=settings)
    bounds = [row["bound"] for row in fit.trace]
    assert any("the bound fell" in str(warning.message) for warning in told)
    assert max(bounds) > bounds[-1]
    best = bounds.index(max(bounds))
    with pytest.warns(LearningWarning):
        shorter = fitted(data, "em:4", settings={"cap": 2.0, "sweeps": max(1, best)})
    assert shorter.team == fit.team


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


@quiet
def test_several_batches_in_one_fit():
    model = dp.load("broadcast")
    from oracles import making

    teams = [making.team(np.random.default_rng(1), model, 2), Team.uniform(model)]
    batches = [dp.simulate(model, team, 100, 6, seed=n) for n, team in enumerate(teams)]
    settings = {"truncation": 4, "sweeps": 5}
    mixed = fitted(batches, behaviours=teams, settings=settings)
    plain = fitted(batches, settings=settings)
    assert mixed.trace[-1]["sample_size"] != plain.trace[-1]["sample_size"]


def unknown(episodes):
    return dataclasses.replace(episodes, behaviour=np.full(episodes.behaviour.shape, np.nan))


@quiet
def test_unknown_behaviour_is_never_a_silent_one():
    _, episodes = logged(count=2000)
    hidden = unknown(episodes)
    with pytest.raises(InputError, match=r"episode 0, step 0, agent agent1: .*unknown.*estimate_behaviour"):
        fitted(hidden)
    guessed = estimated(hidden)
    assert guessed.behaviour == pytest.approx(episodes.behaviour, abs=0.1)  # uniform: one half each
    assert "estimated" in guessed.facts["behaviour"]
    fit = fitted(hidden, settings={"estimate_behaviour": True, "sweeps": 3, "truncation": 4})
    assert fit.settings.estimate_behaviour is True


@functools.cache
def collapsed():
    """A fit of weights that collapse, and what it warns of."""
    _, episodes = logged("dectiger", 300, 12)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        fit = fitted(episodes, settings={"truncation": 12, "sweeps": 10})
    return fit, [str(one.message) for one in told if issubclass(one.category, LearningWarning)]


def test_collapsed_weights_are_told():
    _, told = collapsed()
    assert any(re.search(r"at step \d+ the effective sample size is 1\.\d of 300", text) for text in told)


def test_warning_and_trace_speak_of_the_same_step():
    """Equal numbers; what was said of another step, or of steps that hardly count, was misleading."""
    fit, told = collapsed()
    text = next(text for text in told if "few episodes" in text)
    step, size = re.search(r"at step (\d+) the effective sample size is ([\d.]+) of 300", text).groups()
    best = max(fit.trace, key=lambda row: row["bound"])
    assert f"{best['sample_size']:.1f}" == size
    assert best["sample_size"] == best["sample_sizes"][int(step)] == min(best["sample_sizes"])


def test_the_weakest_step_is_one_that_counts():
    sizes, running = np.array([900.0, 400.0, 3.0, 2.0, 1.0]), np.array([1000, 800, 600, 60, 1])
    assert weakest_step(sizes, running, 0.9) == 2  # 3 of 600; later ones are rarely reached
    assert weakest_step(sizes, np.array([1000, 800, 600, 100, 2]), 0.9) == 3  # 2 of 100, now often enough
    assert weakest_step(sizes, running, 0.05) == 0  # nothing after the first step is worth anything
    assert weakest_step(np.array([50.0, 7.0, 9.0]), np.array([50, 7, 40]), 1.0) == 2  # 7 of 7 have not collapsed
    assert weakest_step(np.array([50.0, 30.0]), np.array([50, 40]), 1.0) == 1  # none has: the smallest
