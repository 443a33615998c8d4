"""`world`: planning in worlds that were fitted to episodes."""

import dataclasses
import math

import numpy as np
import pytest
from worlds.logs import small_log

import decpomdp as dp
from decpomdp.core.run import Inputs, unlimited
from decpomdp.interaction.world import method as module
from decpomdp.interaction.world.choice import contenders, interval, small_enough, worse_mean
from decpomdp.interaction.world.method import Plan, WorldMethod, WorldState, planning_ends, toy_episodes
from decpomdp.interaction.world.trust import binned
from decpomdp.io.checkpoints import decode, encode

pytestmark = pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning")


@pytest.fixture(autouse=True)
def one_plan(monkeypatch):
    """Planning has its own tests."""
    monkeypatch.setattr(WorldMethod, "_plans", staticmethod(lambda worlds: [Plan(0, "periem")]))
    monkeypatch.setattr(module, "RESTARTS", 1)
    monkeypatch.setattr(module, "BOOTSTRAPS", 2)


def steps(episodes, resumed=False):
    method = WorldMethod(episodes, dp.World(max_states=4), Inputs(seed=1))
    state = method.init(unlimited())
    while not state.stopped:
        if resumed:
            method = WorldMethod(episodes, dp.World(max_states=4), Inputs(seed=1))
            state = decode(encode(state), WorldState)
        state, _ = method.step(state, unlimited())
    return state, method


def paid_for_the_last_symbol():
    """Agent x sees a fair coin and is paid for naming it; agent y has no influence."""
    rng = np.random.default_rng(0)
    coin = rng.integers(0, 2, (200, 10))
    did = rng.integers(0, 2, (200, 10, 2))
    seen = np.stack([coin, np.zeros_like(coin)], axis=-1)
    seen[:, 0] = -1
    rewards = (did[..., 0] == coin) * 1.0
    agents = (dp.Agent("x", ("0", "1"), ("0", "1")), dp.Agent("y", ("0", "1"), ("0",)))
    flat = (seen.reshape(-1, 2), did.reshape(-1, 2), np.full((2000, 2), np.nan), rewards.reshape(-1))
    return dp.Episodes(agents, np.arange(0, 2001, 10), *flat, discount=0.9)


@pytest.mark.parametrize(
    ("observations", "expected"), [(("x < 0.5", "x >= 0.5"), True), (("anything",), False), (("dark", "light"), False)]
)
def test_numbers_in_bins_are_detected(observations, expected):
    assert binned(dp.Agent("x", ("0", "1"), observations)) == expected


def test_bins_and_fits_that_were_cut_short_give_warnings():
    log = paid_for_the_last_symbol()
    agents = (dp.Agent("x", ("0", "1"), ("x < 0.5", "x >= 0.5")), log.agents[1])
    facts = dp.learn(dataclasses.replace(log, agents=agents), "world", iterations=5, seed=1).facts
    assert facts["low"] is None
    assert "so the value is unreliable" in facts["warnings"]
    assert "numbers in bins" in facts["warnings"]
    facts = dp.learn(log, "world", iterations=5, seed=1).facts
    assert "numbers in bins" not in facts["warnings"]


def test_a_team_is_planned_from_logs_without_behaviour_probabilities():
    fit = dp.learn(paid_for_the_last_symbol(), "world", iterations=10_000, seed=1)
    assert fit.stopped == "converged"
    assert fit.facts["value"] == pytest.approx(0.5 + 9.0, abs=0.3)  # a guess, then always right
    assert fit.facts["low"] is None or fit.facts["low"] <= 9.5 <= fit.facts["high"]
    assert fit.facts["outside"] < 0.01
    own = fit.team.controllers[0]
    assert own.nodes >= 2
    assert isinstance(fit.world, dp.DecPOMDP)
    assert dp.evaluate(fit.team, fit.world).value == pytest.approx(fit.facts["value"], abs=0.05)
    assert isinstance(fit.draw(3), dp.DecPOMDP)
    rows = [row for row in fit.trace if row["bound"] is not None]
    assert all(np.isfinite(row["heldout"]) and row["states"] >= 1 for row in rows)


def test_a_resumed_run_gives_the_same_bytes():
    log = small_log(episodes=40, first=True, ends=True)
    assert encode(steps(log)[0]) == encode(steps(log, resumed=True)[0])


def test_first_observations_are_read_by_the_team():
    state, method = steps(small_log(episodes=40, first=True))
    fit, _ = method.result(state)
    assert fit.team.controllers[0].initial_given is not None
    assert method._end(state, unlimited()) == "converged"
    short = state._replace(fits=state.fits._replace(hurried=True))
    assert method._end(short, unlimited()._replace(seconds=1.0)) == "time limit"
    assert method._end(short, unlimited()._replace(iterations=1)) == "iterations"


def test_a_run_that_is_stopped_early_has_a_team():
    method = WorldMethod(toy_episodes(), dp.World(), Inputs())
    state = method.init(unlimited())
    assert method.result(state)[0].team.nodes == (1, 1)
    state, _ = method.step(state, unlimited())
    assert method.result(state)[0].world is not None


def test_a_score_is_the_mean_over_the_worse_half_of_the_worlds():
    values = np.array([[[1.0, 5.0], [9.0, 5.0]], [[2.0, 5.0], [7.0, 6.0]]])  # [k, w, c]
    assert worse_mean(values, np.array([0.5, 0.5])) == pytest.approx([1.5, 5.0])
    # world 0 has 0.1 in each of its draws, so that 0.3 of the half are the 7 of world 1
    assert worse_mean(values, np.array([0.2, 0.8])) == pytest.approx([(0.1 * 1 + 0.1 * 2 + 0.3 * 7) / 0.5, 5.0])
    assert worse_mean(values[:1, :1], np.ones(1)) == pytest.approx([1.0, 5.0])


def test_a_world_that_predicts_worse_does_not_veto_a_plan():
    plan, safe = (0.4, 1.5, -37.0), (-20.0, -20.0, -20.0)
    scores = worse_mean(np.array([[plan, safe]]).transpose(0, 2, 1), np.array([0.55, 0.4, 0.05]))
    assert scores[0] > scores[1]


def test_another_planner_must_be_clearly_better():
    held, near, clear = [5.0, 5.1, 5.0, 5.1], [4.9, 5.6, 4.8, 5.7], [6.0, 6.4, 5.9, 6.3]  # in four draws of one world
    drawn = np.array([held, near, clear, near]).T[:, None]
    origins = ["fb-hsvi in world 0", "periem in world 0", "search in world 0", "clone"]
    assert contenders(drawn, np.ones(1), origins) == [0, 2, 3]
    assert contenders(drawn[:, :, 1:], np.ones(1), origins[1:]) == [0, 1, 2]


def test_a_very_large_team_must_be_clearly_better():
    nodes = [(4, 250), (6, 8), (1, 1)]
    assert small_enough(np.array([12.0, 11.9, 2.0]), nodes, behaviour=2.0) == [1, 2]
    assert small_enough(np.array([12.0, 11.7, 2.0]), nodes, behaviour=2.0) == [0, 1, 2]
    assert small_enough(np.array([12.0]), nodes[:1], behaviour=2.0) == [0]


def test_the_interval_is_a_union_over_the_worlds_and_the_refit_without_priors():
    drawn = np.array([[1.0, 10.0], [3.0, 14.0]])  # variances 2 and 8; the bootstrap has 2
    low, high = interval((2.0, 12.0), drawn, (0.0, 2.0), 5.0)
    assert low == pytest.approx(2 - 4)
    assert high == pytest.approx(12 + 2 * 10**0.5)
    assert interval((2.0, 12.0), drawn, (0.0, 2.0), 50.0)[1] == pytest.approx(50 + 4)


def test_a_discount_of_one_is_refused():
    with pytest.raises(dp.InputError, match="discount below 1"):
        dp.learn(dataclasses.replace(toy_episodes(), discount=1.0), "world")


def test_planning_takes_twice_as_long_as_the_fits_or_half_a_minute():
    def now(progress, seconds):
        return unlimited()._replace(progress=progress, seconds=seconds)

    assert planning_ends(0.1, now(0.1, 900.0)) == pytest.approx(0.3)  # 100 s of 1000
    assert planning_ends(0.01, now(0.01, 99.0)) == pytest.approx(0.31)  # 1 s of 100
    assert planning_ends(0.5, now(0.5, 60.0)) == pytest.approx(0.88)
    assert planning_ends(0.1, now(0.2, math.inf)) == pytest.approx(0.88)
