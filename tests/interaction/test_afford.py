"""Few steps lead to a learned team: sizes shrink, and it is tested before the steps are used up."""

import numpy as np
import pytest

import decpomdp as dp
from decpomdp.api import learn
from decpomdp.interaction.afford import ROUNDS, STARTING, TEAMS, LoopSizes, shrunk, starting_steps
from decpomdp.interaction.sbpr.settings import SbprTuning

TUNING = SbprTuning()
FULL = LoopSizes(
    *(200, TUNING.race, TUNING.round, 1000, TUNING.elites, TUNING.pool, TUNING.replays, TUNING.generations)
)


@pytest.mark.parametrize("steps", [3e4, 1e5, 1e6, 1e7])
def test_starts_take_a_third_and_rounds_fit_into_the_rest(steps):
    found = shrunk(FULL, TUNING.lengths, steps, 29, 66)
    assert starting_steps(found, TUNING.lengths, 66) <= STARTING * steps
    a_round = max(found.race, found.round) * found.batch * 29 + TEAMS * found.tests * 66
    assert ROUNDS * a_round <= (1 - STARTING) * steps


def test_more_steps_are_never_less_of_anything():
    sizes = [shrunk(FULL, TUNING.lengths, steps, 29, 66) for steps in np.geomspace(1e3, 1e8, 30)]
    for numbers in zip(*sizes, strict=True):
        assert list(numbers) == sorted(numbers)
    assert sizes[-1] == FULL


@pytest.mark.parametrize(
    ("method", "steps"),
    [
        ("sbpr", 20_000),
        pytest.param("sbpr", 100_000, marks=pytest.mark.slow),
        ("mcem", 30_000),
        ("mcem", 120_000),
    ],
)
def test_few_steps_are_enough_to_be_better_than_chance(method, steps):
    model = dp.load("recycling")
    chance = dp.exact_value(model, dp.Team.uniform(model)).value
    fits = [learn(model, method, steps=steps, seed=seed) for seed in range(3)]
    assert min(dp.exact_value(model, fit.team).value for fit in fits) > chance + 5
    assert all(fit.trace[-1]["steps"] <= steps for fit in fits)
