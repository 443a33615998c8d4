"""Work that is killed at any offer and continued from the bytes of its state ends as if nothing had happened."""

import json

import numpy as np
import pytest

import decpomdp as dp
from decpomdp.core.keeping import UNKEPT
from decpomdp.interaction.mcem import McemSettings
from decpomdp.interaction.sbpr_settings import SbprSettings
from decpomdp.interaction.search import Search
from decpomdp.io.snapshots import decode, encode
from decpomdp.planners.stopping import PlanClock


class KilledError(BaseException):
    """Nobody may catch it."""


class Killer:
    """Keeps the state in memory, and kills the work whenever it has offered `often` states since it began."""

    def __init__(self, often):
        self.often, self.offers, self.kills, self.data = often, 0, 0, None

    def restore(self, kind):
        self.offers, self.kind = 0, kind
        return None if self.data is None else decode(self.data, kind)

    def offer(self, state):
        self.offers += 1
        if self.offers == self.often:
            self.data = encode(state())
            self.kills += 1
            raise KilledError


def killed(work, often):
    """The result, and how often it was killed on the way."""
    killer = Killer(often)
    while True:
        try:
            return work(killer), killer.kills
        except KilledError:
            assert killer.kills < 1000, "it gets nowhere"


def timeless(fit):
    """The trace as a text, in which 2 is not 2.0."""
    return [json.dumps({key: cell for key, cell in row.items() if key != "seconds"}) for row in fit.trace]


def episodes():
    model = dp.load("dectiger")
    return dp.simulate(model, dp.Team.uniform(model), 150, 6, seed=3)


def from_episodes(prior, **more):
    data = episodes()
    settings = dp.LearnSettings(sweeps=14, cap=10.0, **more)
    return lambda keeper: dp.learn(data, prior=prior, settings=settings, seed=1, keeper=keeper)


def steady():
    """Sizes are offered and tried; nothing is cut."""
    data = episodes()
    settings = dp.LearnSettings(truncation=4, sweeps=25)
    return lambda keeper: dp.learn(data, settings=settings, begin="random", seed=1, keeper=keeper)


SMALL = {"random_episodes": 500, "tests": 50, "race": 4, "round": 5, "lengths": (2, 3), "elites": 4, "pool": 3}
WORKS = {
    "search": (2, lambda: lambda keeper: dp.learn("dectiger", steps=3_000_000, seed=2, keeper=keeper)),
    "search, poor": (2, lambda: lambda keeper: dp.learn("dectiger", steps=20_000, seed=2, keeper=keeper)),
    "sbpr": (
        5,
        lambda: (
            lambda keeper: dp.learn(
                "dectiger", "sbpr", iterations=36, seed=2, settings=SbprSettings(**SMALL), keeper=keeper
            )
        ),
    ),
    "sbpr, a crowd": (
        3,
        lambda: (
            lambda keeper: dp.learn(
                "dectiger",
                "sbpr",
                iterations=25,
                seed=2,
                settings=SbprSettings(**SMALL, crowd=0, crowd_batch=50, crowd_pause=2, crowd_patience=3),
                keeper=keeper,
            )
        ),
    ),
    "mcem": (
        4,
        lambda: (
            lambda keeper: dp.learn(
                "dectiger",
                "mcem",
                iterations=31,
                seed=2,
                settings=McemSettings(updates=7, random_episodes=300, tests=50, episodes=50),
                keeper=keeper,
            )
        ),
    ),
    "stick-breaking": (3, lambda: from_episodes("stick-breaking", truncation=6)),
    "stick-breaking, steady": (4, steady),
    "dp": (3, lambda: from_episodes("dp", truncation=6)),
    "fixed": (3, lambda: from_episodes("fixed:3")),
    "em": (3, lambda: from_episodes("em:3")),
    "single precision": (3, lambda: from_episodes("fixed:3", precision="single")),
    "planning by pbvi": (3, lambda: lambda keeper: dp.plan("dectiger", "pbvi", epsilon=1e-3, keeper=keeper)),
    "planning by fb-hsvi": (
        60,
        lambda: lambda keeper: dp.plan("broadcast", "fb-hsvi", iterations=2, epsilon=1e-6, keeper=keeper),
    ),
    "planning by fb-hsvi, a few steps": (
        5,
        lambda: lambda keeper: dp.plan("dectiger", "fb-hsvi", horizon=4, seed=2, keeper=keeper),
    ),
}


SLOW = ("planning by fb-hsvi", "planning by em")


@pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in WORKS]
)
def test_nothing_changes(name):
    often, made = WORKS[name]
    work = made()
    expected = work(UNKEPT)
    fit, kills = killed(work, often)
    assert kills >= 1
    assert fit.team == expected.team
    assert fit.stopped == expected.stopped
    assert timeless(fit) == timeless(expected)
    assert fit.settings == expected.settings


def test_the_posterior_is_the_same():
    work = from_episodes("stick-breaking", truncation=6)
    expected, (fit, kills) = work(UNKEPT), killed(work, 2)
    assert kills > 10
    for one, other in zip(fit.posterior.agents, expected.posterior.agents, strict=True):
        np.testing.assert_array_equal(one.counts.moves, other.counts.moves)
        np.testing.assert_array_equal(one.move.eta.mean, other.move.eta.mean)


class KillerOfSizes(Killer):
    """Kills only while a sweep tries other sizes; notes whether a fit of another size was under way."""

    def __init__(self, often):
        super().__init__(often)
        self.fresh = []

    def offer(self, state):
        now = state()
        if now.own.ahead is not None:
            if self.offers + 1 == self.often:
                self.fresh.append(now.fresh is not None)
            super().offer(state)


@pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning")
@pytest.mark.parametrize("precision", ["double", "single"])
def test_killed_while_other_sizes_are_tried(precision):
    data = episodes()
    settings = dp.LearnSettings(truncation=3, sweeps=10, precision=precision)
    expected = dp.learn(data, settings=settings, seed=1)
    killer = KillerOfSizes(3)
    while True:
        try:
            fit = dp.learn(data, settings=settings, seed=1, keeper=killer)
            break
        except KilledError:
            assert killer.kills < 1000, "it gets nowhere"
    assert killer.fresh.count(True) > 3
    assert killer.fresh.count(False) > 0
    assert (fit.team, fit.stopped, timeless(fit)) == (expected.team, expected.stopped, timeless(expected))
    for one, other in zip(fit.posterior.agents, expected.posterior.agents, strict=True):
        np.testing.assert_array_equal(one.counts.moves, other.counts.moves)


def test_the_comparison_can_fail():
    seeds = [dp.learn("dectiger", steps=300_000, seed=seed) for seed in (2, 3)]
    assert timeless(seeds[0]) != timeless(seeds[1])


INTERRUPTED = [
    *("search", "planning by pbvi"),
    pytest.param("planning by fb-hsvi", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("name", INTERRUPTED)
def test_what_was_found_before_the_kill_survives_an_interrupt_while_preparing(name, monkeypatch):
    often, made = WORKS[name]
    killer, work = Killer(often), made()
    trace = []
    while not trace:  # a first state may come before the first row
        with pytest.raises(KilledError):
            work(killer)
        state = decode(killer.data, killer.kind)
        trace = getattr(state, "run", state).trace
    kept = trace[-1]

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(PlanClock, "rehearse", interrupted)
    monkeypatch.setattr(Search, "_rehearse", interrupted)
    fit = work(killer)
    assert fit.stopped == "interrupted"
    found, before = (row.get("lower", row.get("value")) for row in (fit.trace[-1], kept))
    assert found == pytest.approx(before, rel=1e-9)  # a team is made minimal and valued again


def test_time_that_was_used_is_not_given_twice():
    def work(keeper):
        return dp.learn("dectiger", time_limit=4.0, seed=2, keeper=keeper)

    fit, kills = killed(work, 3)
    assert kills >= 1
    assert fit.stopped == "time limit"
    assert 4 <= fit.seconds < 8  # not what several took together
    seconds = [row["seconds"] for row in fit.trace]
    assert seconds == sorted(seconds)
