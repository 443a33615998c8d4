"""The whole search: good teams, repeatable, within its limits, on whatever can be played."""

import numpy as np
import pytest
from oracles import making

import decpomdp as dp
from decpomdp.api import learn
from decpomdp.core import Step
from decpomdp.core.run import Budget, Inputs, run, unlimited
from decpomdp.evaluation import exact_value, sampled_value
from decpomdp.interaction.episode_player import EmptySimulator
from decpomdp.interaction.search.islands import Island
from decpomdp.interaction.search.machines import constant
from decpomdp.interaction.search.method import SearchMethod, SearchState, _Round
from decpomdp.interaction.search.settings import Search
from decpomdp.interaction.search.trial import ReturnSums
from decpomdp.io.checkpoints import decode, encode
from decpomdp.io.team import team_to_json
from simulators import Uncompiled

KEYS = ["seconds", "steps", "phase", "event", "value", "error", "nodes", "hops", "accepted"]


def test_dectiger_reaches_the_planners():
    fit = learn(dp.load("dectiger"), steps=60_000_000, seed=1)
    assert exact_value(dp.load("dectiger"), fit.team).value == pytest.approx(13.4486, abs=1e-3)
    assert max(fit.team.nodes) <= 12
    assert fit.stopped == "steps"
    assert 0.9 * 60_000_000 < fit.trace[-1]["steps"] <= 60_000_000
    assert all(list(row) == KEYS for row in fit.trace)
    assert fit.trace[-1]["nodes"] == "6+6"


@pytest.mark.parametrize("actions", [(3,), (2, 3), (2, 2, 3), (2, 1, 2, 2)])
def test_the_same_for_any_number_of_threads(actions):
    model = making.model(np.random.default_rng(0), 3, actions, actions[::-1])
    one, two = (learn(model, steps=1_500_000, seed=3, threads=threads) for threads in (1, 2))
    assert one.team == two.team
    assert [dict(row, seconds=0) for row in one.trace] == [dict(row, seconds=0) for row in two.trace]
    assert exact_value(model, one.team).value > exact_value(model, dp.Team.uniform(model)).value


@pytest.mark.parametrize(
    "kind", [{}, {"repeatable": False, "noise": 2.0}, {"first": False}, {"agents": 1}, {"agents": 3}]
)
def test_any_simulator(corridor, kind):
    simulator = corridor(**kind)
    fit = learn(simulator, steps=60_000, seed=0)
    # everybody goes right: the last one decides when it is over
    reached = sampled_value(corridor(**kind), fit.team, 2000, 30, seed=9).value
    alone = np.array([10 * 0.9**k - sum(0.9**t for t in range(k)) for k in range(3)])
    latest = np.diff((np.arange(4) / 3) ** len(fit.team.agents))  # probability that the last one needs k + 1 steps
    assert reached > latest @ alone - 0.5


def test_a_first_observation_is_used(echo):
    fit = learn(echo, steps=200_000, seed=0)
    assert all(controller.initial_given is not None for controller in fit.team.controllers)
    assert sampled_value(echo, fit.team, 500).value > 1.9  # 2: all three are right from the first step on


def driven(make, limit, resumed):
    """Result and rows of a run with a limit of steps; `resumed`: every step is done by a new object from bytes."""
    method = make()
    state, rows = method.init(unlimited()), []
    while not state.stopped:
        if resumed:
            method, state = make(), decode(encode(state), SearchState)
        now = unlimited()._replace(progress=min(1.0, state.steps / limit), steps=limit - state.steps)
        state, news = method.step(state, now)
        rows += news
    assert state.iterations >= 3
    fit, last = method.result(state)
    return team_to_json(fit.team), [*rows, last]


@pytest.mark.parametrize("steps", [20_000, 3_000_000])
def test_a_run_goes_on_from_the_bytes_of_its_state(steps):
    def make():
        return SearchMethod(dp.load("dectiger"), Search(), Inputs(seed=2))

    assert driven(make, steps, resumed=True) == driven(make, steps, resumed=False)


def test_pieces_that_were_finished_before_a_cut_count():
    """The flag is set while the third of four starts of the portfolio is tried."""
    method = SearchMethod(dp.load("dectiger"), Search(), Inputs(seed=1, threads=1))
    now = unlimited()._replace(steps=10**7)
    begun = method._begin(method.init(now), now)
    starts = method.starts(method.sizes(begun.affordable))

    def cut(player, rng):
        now.stop[0] = 1
        player.spend(1)

    starts[2] = (starts[2][0], cut)
    state, rows = method.step(begun, now)
    assert (state.tried, rows, state.stopped) == (0, [], "")  # they can no longer be scored
    assert state.steps > 0
    assert method.result(state)[0].team.nodes == (1, 1)


@pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning")  # a second may be too short
def test_a_warm_up_does_not_keep_a_simulator_busy():
    simulator = Uncompiled()
    run(SearchMethod(simulator, Search(), Inputs()).toy(), Budget(iterations=2))
    assert simulator.played == 0
    fit = learn(simulator, time_limit=1.0)
    assert fit.stopped == "time limit"
    assert fit.trace[-1]["steps"] > 0


def test_a_toy_plays_hardly_anything():
    toy = SearchMethod(dp.load("dectiger"), Search(), Inputs()).toy()
    assert run(toy, Budget(iterations=2)).spent.steps < 40_000
    simulator = EmptySimulator(Uncompiled())
    assert simulator.reset(3, 0).tolist() == [[0, 0]] * 3
    first, second = (simulator.step(np.ones((3, 2), np.int64)) for _ in range(2))
    assert isinstance(first, Step)
    assert second.rewards.tolist() == [2.0, 3.0, 4.0]


@pytest.mark.parametrize(("problem", "least"), [("recycling", 12.0), ("broadcast", 7.0), ("boxpushing", 20.0)])
def test_something_is_learned_from_very_few_steps(problem, least):
    model = dp.load(problem)
    values = [exact_value(model, learn(model, steps=10_000, seed=seed).team).value for seed in range(3)]
    assert sorted(values)[1] > least


def test_a_lucky_score_does_not_cost_the_best_team():
    """A challenger that only seems better is met in a trial; the team that was polished stays."""
    model = dp.load("dectiger")
    method = SearchMethod(model, Search(), Inputs(threads=1))
    listening, opening = constant(model, [0, 0]), constant(model, [1, 1])

    def crowned(*islands):
        state = SearchState([Island(plan, score, ReturnSums()) for plan, score in islands], affordable=1e8)
        work = _Round(method, state, unlimited())
        work._crown()
        return work.islands.all

    best, other = crowned((listening, -20.0), (opening, 5.0))
    assert best.plan is listening
    assert other.score < -20.0
    assert crowned((opening, -400.0), (listening, -20.0))[0].plan is listening
