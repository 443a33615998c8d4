"""Few steps lead to a team that was learned: sizes shrink, and what was learned is tested before the steps are gone."""

import numpy as np
import pytest

import decpomdp as dp
from decpomdp.interaction.mcem import mcem
from decpomdp.interaction.sbpr import sbpr
from decpomdp.interaction.sbpr_scale import ROUNDS, STARTING, TEAMS, scaled, starting
from decpomdp.interaction.sbpr_settings import SbprSettings

SETTINGS = SbprSettings()


@pytest.mark.parametrize("steps", [3e4, 1e5, 1e6, 1e7])
def test_starts_take_a_third_and_rounds_fit_into_the_rest(steps):
    found = scaled(SETTINGS, steps, 29, 66)
    assert starting(found, 66) <= STARTING * steps
    a_round = max(found.race, found.round) * found.batch * 29 + TEAMS * found.tests * 66
    assert ROUNDS * a_round <= (1 - STARTING) * steps


def test_more_steps_are_never_less_of_anything():
    sizes = [scaled(SETTINGS, steps, 29, 66) for steps in np.geomspace(1e3, 1e8, 30)]
    for name in ("batch", "race", "round", "tests", "elites", "pool", "replays", "generations"):
        numbers = [getattr(size, name) for size in sizes]
        assert numbers == sorted(numbers)
        assert numbers[-1] == getattr(SETTINGS, name)


@pytest.mark.parametrize(
    ("learner", "steps"),
    [
        (sbpr, 20_000),
        pytest.param(sbpr, 100_000, marks=pytest.mark.slow),
        (mcem, 30_000),
        (mcem, 120_000),
    ],
)
def test_few_steps_are_enough_to_be_better_than_chance(learner, steps):
    model = dp.load("recycling")
    chance = dp.exact_value(model, dp.Team.uniform(model)).value
    fits = [learner(model, steps=steps, seed=seed) for seed in range(3)]
    assert min(dp.exact_value(model, fit.team).value for fit in fits) > chance + 5
    assert all(fit.trace[-1]["steps"] <= steps for fit in fits)


def test_what_is_not_counted_is_played_as_the_settings_have_it():
    model, few = dp.load("broadcast"), SbprSettings(random_episodes=1000, lengths=(3,), elites=2, generations=0)
    assert sbpr(model, iterations=1, settings=few).settings["tests"] == few.tests
    assert sbpr(model, time_limit=0.2, settings=few).settings["tests"] == few.tests
    assert sbpr(model, steps=20_000, settings=few).settings["tests"] < few.tests
