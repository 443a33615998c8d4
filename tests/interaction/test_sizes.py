"""Sizes follow what can be afforded, and horizons the discount."""

import numpy as np
import pytest

from decpomdp.core.run import unlimited
from decpomdp.interaction.search.players import player_of
from decpomdp.interaction.search.settings import Search
from decpomdp.interaction.search.sizes import affordable, horizons, reduced, sizes_for

SETTINGS = Search()


@pytest.mark.parametrize(
    ("discount", "wanted"), [(0.9, (44, 66)), (0.0, (1, 1)), (0.5, (7, 10)), (0.999, (1000, 1000))]
)
def test_horizons_reach_to_where_the_discount_leaves_little(discount, wanted):
    assert horizons(SETTINGS, discount) == wanted
    assert horizons(Search(horizon=7), discount) == (7, 7)


@pytest.mark.parametrize("steps", [1e6, 1e7, 1e8])
def test_a_portfolio_leaves_most_of_the_steps(steps):
    sizes = sizes_for(SETTINGS, 0.9, steps)
    cost = sizes.full.updates * sizes.full.episodes * sizes.learning
    assert cost <= max(steps / 100, 25 * 20 * 44)
    last = sizes.stages.first * 4 ** (sizes.stages.looks - 1) * sizes.testing
    assert last <= max(steps / 12, 50 * 66)


def test_time_is_worth_what_the_simulator_can_play_in_it(corridor):
    player, settings, now = player_of(corridor()), Search(horizon=10), unlimited()
    steps, used = affordable(player, settings, now._replace(seconds=5.0), 2)
    assert 1e4 < steps < 5e8
    assert used > 0
    assert affordable(player, settings, now._replace(seconds=500.0, steps=100_000), 2)[0] == 100_000
    assert affordable(player, settings, now._replace(steps=1234), 2) == (1234, 0)


def test_a_long_search_begins_with_few_nodes_and_looks_closer():
    long = sizes_for(SETTINGS, 0.9, 2e10)
    assert [long.at(progress).max_nodes for progress in (0.0, 0.3, 0.4, 1.0)] == [12, 12, 24, 24]
    given = sizes_for(Search(max_nodes=20), 0.9, 1e10)
    assert given.at(0.0).max_nodes == 20  # who asks for it gets it at once
    usual = sizes_for(SETTINGS, 0.9, 2.9e9)
    assert (long.stages.looks, usual.stages.looks) == (7, 5)
    assert long.stages.smallest < usual.stages.smallest
    assert long.bold.episodes > usual.bold.episodes
    assert long.full == usual.full
    boundless = sizes_for(SETTINGS, 0.9, np.inf)
    assert boundless.bold.episodes == 4 * usual.bold.episodes


def test_neighbours_are_looked_at_in_long_searches_only():
    """In a short one the hops that it would cost bring more."""
    assert [sizes_for(SETTINGS, 0.9, steps).contest > 0 for steps in (1e6, 2.9e9, 5e9, 1e10)] == [
        False,
        False,
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("progress", "seconds", "expected"),
    [
        (0.25, 4.0, 4e5),  # 1e5 steps in a quarter of the time: the measured speed was too high
        (0.04, 4.0, 1e7),  # too early to tell
        (0.25, np.inf, 1e7),  # with a limit of steps nothing depends on the speed
    ],
)
def test_a_slow_run_reduces_the_affordable_steps(progress, seconds, expected):
    now = unlimited()._replace(progress=progress, seconds=seconds)
    assert reduced(1e7, 100_000, now) == expected
