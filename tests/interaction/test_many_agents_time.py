"""A time limit holds however many agents there are: batches and tests are cut, sizes follow what iterations took.

The clock of these tests counts joint steps, so that nothing depends on how busy the machine is.
"""

import dataclasses

import numpy as np
import pytest

from decpomdp.core import Team
from decpomdp.domains.traffic import Traffic
from decpomdp.interaction import sbpr_play
from decpomdp.interaction.mcem import McemSettings, mcem
from decpomdp.interaction.sbpr import sbpr
from decpomdp.interaction.sbpr_crowd_scale import LEAST, Spent, affordable, afforded_batch
from decpomdp.interaction.sbpr_play import GRACE, Finished, Ground, contested
from decpomdp.interaction.sbpr_settings import SbprSettings

STEP = 0.001  # seconds of a joint step
PIECE = 10  # episodes
BRIEF = SbprSettings(crowd_batch=100, crowd_pause=3, crowd_patience=2, crowd_rounds=1, settling=5, tests=60)


class Slow(Traffic):
    """A grid of which a few episodes are played at a time."""

    piece = PIECE


@pytest.fixture
def clock(monkeypatch):
    monkeypatch.setattr(Ground, "seconds", lambda ground: STEP * ground.steps)


def ground_of(time_limit=None):
    return Ground(Slow(3), time_limit, None, 0, 1)


@pytest.mark.usefixtures("clock")
def test_a_batch_is_cut_when_the_time_is_up():
    ground = ground_of(1.0)
    with pytest.raises(Finished, match="time limit"):
        ground.play(Team.uniform(ground.simulator), 500, 10)
    assert ground.steps == 1.0 / STEP
    whole = ground_of(5.0)
    assert whole.play(Team.uniform(whole.simulator), 500, 10).count == 500  # just in time


def test_a_contest_is_the_same_test_for_all():
    teams = list(ground_of().simulator.policies().values())
    found = contested(ground_of(), teams, 35, 20, 7)
    for team, told in zip(teams, found, strict=True):
        alone = sbpr_play.tested(ground_of(), team, 35, 20, 7)
        assert (told.team, told.value, told.error) == (team, alone.value, alone.error)


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize(("before", "pieces"), [(0, 5), (7990, 2), (9000, 2)])
def test_a_contest_is_decided_by_what_was_played_in_time(before, pieces):
    """An eighth of the time at most; a twentieth is always left, however late it is."""
    ground = ground_of(8.0)
    ground.steps = before
    teams = [ground.simulator.policies()[name] for name in ("random", "heuristic")]
    found = contested(ground, teams, 500, 10, 7)
    assert ground.steps == before + 2 * pieces * PIECE * 10
    alone = sbpr_play.tested(ground_of(), teams[1], pieces * PIECE, 10, 7)
    assert found[1].value == alone.value > found[0].value


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("limit", [10.0, 20.0, 40.0])
@pytest.mark.parametrize("method", ["sbpr", "mcem"])
def test_a_run_ends_in_time_with_what_it_has_learned(method, limit):
    """Also where iterations are counted, and so nothing is made smaller beforehand."""
    grid = Slow(3)
    if method == "sbpr":
        fit = sbpr(grid, iterations=50, time_limit=limit, seed=0, settings=BRIEF)
    else:
        few = McemSettings(episodes=30, tests=60, random_episodes=100, elites=1, updates=20)
        fit = mcem(grid, iterations=50, time_limit=limit, seed=0, settings=few)
    assert fit.stopped == "time limit"
    latest = 5 * PIECE * 66 * STEP  # a piece of every team of a test
    assert fit.seconds <= (1 + GRACE) * limit + latest
    assert np.isfinite(fit.trace[-1]["value"])
    chance, learned = (sbpr_play.tested(ground_of(), team, 300, 66, 9).value for team in (Team.uniform(grid), fit.team))
    assert learned > chance


def test_nothing_is_learned_in_no_time():
    for learn in (sbpr, mcem):
        fit = learn(Slow(3), time_limit=0.0)
        assert fit.stopped == "time limit"
        assert fit.team == Team.uniform(Slow(3))


@pytest.mark.usefixtures("clock")
def test_batches_follow_what_iterations_took_where_time_is_the_only_limit():
    fit = sbpr(Slow(3), time_limit=40.0, seed=0, settings=BRIEF)
    sizes = [row["episodes"] for row in fit.trace]
    share = 40.0 / 2 / (4 * BRIEF.crowd_pause)
    assert sizes[0] == BRIEF.crowd_batch
    assert sizes[1:] == [round(share / (29 * STEP))] * (len(sizes) - 1)
    assert len(sizes) > 5
    counted = sbpr(Slow(3), time_limit=40.0, iterations=4, seed=0, settings=BRIEF)
    assert {row["episodes"] for row in counted.trace} == {BRIEF.crowd_batch}


def test_the_next_batch():
    assert afforded_batch(SbprSettings(), Spent(500, 0.1, 0.1), 1000.0) == 500
    assert afforded_batch(SbprSettings(), Spent(500, 1000.0, 0.1), 1.0) == LEAST
    assert afforded_batch(SbprSettings(), Spent(20, 10.0, 10.0), 1.0) == 20  # as long as all the rest


def test_a_quick_simulator_is_measured_too():
    found = affordable(Ground(Traffic(3), 4.0, None, 0, None), None, 50, 10)
    assert 0 < found < 4.0 * 1e9


@pytest.mark.parametrize("learn", [sbpr, mcem])
def test_whoever_looks_on_is_told_that_it_goes_on(learn, monkeypatch):
    monkeypatch.setattr(sbpr_play, "PAUSE", 0.0)
    rows = []
    settings = dataclasses.replace(BRIEF, tests=10) if learn is sbpr else McemSettings(tests=10, elites=1)
    fit = learn(Slow(3), iterations=1, seed=0, settings=settings, watch=rows.append)
    working = [row for row in rows if row.get("phase") == "working"]
    assert len(working) > 2
    assert [row for row in rows if "phase" not in row][-1]["iteration"] == 1
    assert len(fit.trace) == 1
