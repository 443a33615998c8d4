"""`logs`: the choice between the methods that learn from episodes."""

import dataclasses

import numpy as np
import pytest
from worlds.logs import small_log

import decpomdp as dp
from decpomdp.api import taught
from decpomdp.core.run import Inputs, unlimited
from decpomdp.interaction.logs.choice import NAMES, preferred, reason
from decpomdp.interaction.logs.method import LogsMethod, LogsState, obstacle
from decpomdp.io.checkpoints import decode, encode
from decpomdp.learners.judging import Judged
from interaction.test_world import one_plan, paid_for_the_last_symbol

pytestmark = pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning")


def ran(episodes, resumed=False, look=lambda method, state: None):
    """The last state of a run without limits; `resumed` before every twentieth step. `look` is called before steps."""
    made = lambda: LogsMethod(episodes, dp.Logs(max_states=4), Inputs(seed=1))  # noqa: E731
    method, now, number = made(), unlimited(), 0
    state = method.init(now)
    while not state.stopped:
        number += 1
        if resumed and number % 20 == 0:
            method, state = made(), decode(encode(state), LogsState)
        look(method, state)
        state, _ = method.step(state, now)
    return method, state


@pytest.fixture(scope="module")
def finished():
    with pytest.MonkeyPatch.context() as patch:
        one_plan.__wrapped__(patch)
        yield ran(small_log(episodes=40))


def one_step(episodes):
    """The first step of every episode."""
    firsts = episodes.offsets[:-1]
    rows = {name: getattr(episodes, name)[firsts] for name in ("observations", "actions", "behaviour", "rewards")}
    return dataclasses.replace(episodes, offsets=np.arange(episodes.count + 1), **rows)


def drawn(state, best):
    """The state with drawn worlds in which the candidates of origin `best` earn most."""
    world = state.world
    values = tuple(100.0 * (candidate.origin == best) for candidate in world.candidates)
    return state._replace(world=world._replace(drawn=(values,) * len(world.drawn)))


def test_a_plan_is_chosen_where_the_behaviour_is_random():
    fit = dp.learn(paid_for_the_last_symbol(), seed=1)
    facts = fit.facts
    assert facts["chosen"] == "world"
    assert isinstance(fit, dp.WorldFit)
    assert fit.trace[-1]["value"] == facts["value"] == pytest.approx(9.5, abs=0.3)
    assert facts["why"].startswith("Chosen: a team planned with PeriEM in the likeliest world. ")
    assert "Dec-SBPR's team" in facts["why"]
    assert facts["value_world"] > facts["value_clone"]
    assert facts["trust"].startswith("Better than the behaviour: it earns more in ")


def test_a_resumed_run_gives_the_same_bytes_and_has_a_team_after_every_step(finished):
    seen = set()

    def look(method, state):
        if (state.phase, state.world and state.world.phase) not in seen:
            fit, _ = method.result(state)
            assert len(fit.team.controllers) == 2
            assert fit.facts["why"].endswith(".")
            assert fit.facts["trust"].endswith(".")
            seen.add((state.phase, state.world and state.world.phase))

    _, state = ran(small_log(episodes=40), resumed=True, look=look)
    assert encode(state) == encode(finished[1])
    assert {phase for phase, _ in seen} == {"sbpr", "clone", "world"}


def test_dec_sbpr_is_chosen_where_the_worlds_prefer_its_team(finished):
    method, state = finished
    fit, row = method.result(drawn(state, "sbpr"))
    assert isinstance(fit, dp.BayesFit)
    assert fit.team == method.sbpr.result(state.sbpr)[0].team
    assert fit.facts["chosen"] == "sbpr"
    assert fit.world is not None  # the page shows the world that judged the team
    assert fit.facts["why"].startswith("Chosen: Dec-SBPR's team. ")
    assert row["event"] == "chosen"


def test_the_cloned_behaviour_is_returned_where_nothing_is_better(finished):
    method, state = finished
    with pytest.warns(dp.LearningWarning, match="No team is better than the behaviour"):
        fit, _ = method.result(drawn(state, "clone"))
    assert fit.facts["chosen"] == "clone"
    assert fit.team == method.clone.result(state.clone)[0].team
    assert max(fit.team.controllers[0].action[0]) < 1  # the mean: it explores like the behaviour


def test_a_team_that_is_estimated_below_the_behaviour_is_no_candidate(finished):
    method, state = finished
    worse = Judged(1.0, 0.5, 1.5, 2.0, sure=False, support=1.0)
    below = state._replace(sbpr=state.sbpr._replace(judged=worse), clone=None)
    assert [origin for origin, _ in method._others(below)] == ["clone"]
    assert [origin for origin, _ in method._others(state)] == ["sbpr", "clone"]


def test_a_short_run_that_returns_the_clone_says_so(finished):
    method, state = finished
    clone = drawn(state, "clone")
    short = clone._replace(world=clone.world._replace(fits=clone.world.fits._replace(hurried=True)))
    trust = method.result(short)[0].facts["trust"]
    assert trust.startswith("The run was too short to tell whether a team is better than the behaviour: more time may")
    assert "No team is better" not in trust


def test_the_clone_is_returned_if_nothing_could_be_judged(finished):
    method, state = finished
    unplanned = state._replace(world=state.world._replace(candidates=()))
    judged = unplanned._replace(sbpr=state.sbpr._replace(judged=Judged(2.0, 1.5, 2.5, 1.0, sure=True, support=1.0)))
    assert method.result(judged)[0].facts["chosen"] == "sbpr"
    fit, _ = method.result(unplanned._replace(sbpr=state.sbpr._replace(judged=None)))
    assert fit.facts["chosen"] == "clone"
    assert fit.team == method.clone.result(state.clone)[0].team
    assert fit.facts["trust"].startswith("The run was too short to tell")


@pytest.mark.parametrize(
    ("draws", "said"),
    [
        (0, "no worlds were drawn"),
        (1, "only 3 worlds were drawn"),
        (2, "it earns more in 6 of these 6 worlds, too few"),
    ],
)
def test_the_draws_that_there_are_judge(finished, draws, said):
    method, state = finished
    plan = drawn(state, state.world.candidates[0].origin)
    fit, _ = method.result(plan._replace(world=plan.world._replace(drawn=plan.world.drawn[: 3 * draws])))
    assert fit.facts["trust"].startswith(f"Not proven better than the behaviour: {said}")
    assert ("6 worlds drawn from the posterior" in fit.facts["why"]) == (draws == 2)


@pytest.mark.parametrize(
    ("scores", "kept", "place", "said"),
    [
        ([3.0, 2.0, 1.0], [0, 1, 2], 0, "It earns most in the worse half of the worlds"),
        ([3.0, 2.0, 1.0], [1, 2], 1, "near-ties go to small teams and to FB-HSVI"),
        ([3.0, 2.0, 1.0], [0, 1, 2], 1, "The episodes prove its gain"),
        ([0.5, 0.4, 0.3], [0, 1, 2], 2, "The best plan is worth no more than the 0.5 that the behaviour earned"),
    ],
)
def test_the_rule_of_the_choice_is_said(scores, kept, place, said):
    assert said in reason(np.array(scores), kept, place, behaviour=0.5)


def test_gains_are_counted_over_the_cloned_behaviour(finished):
    method, state = finished
    plan = drawn(state, state.world.candidates[0].origin)
    floor = [candidate.origin for candidate in plan.world.candidates].index("clone")
    worlds = [list(values) for values in plan.world.drawn]
    worlds[0][floor] = 101.0
    fit, _ = method.result(plan._replace(world=plan.world._replace(drawn=tuple(map(tuple, worlds)))))
    assert f"it earns more in {len(worlds) - 1} of these {len(worlds)} worlds" in fit.facts["trust"]


def test_agents_that_act_together_are_not_proven_better(finished, monkeypatch):
    method, state = finished
    plan = drawn(state, state.world.candidates[0].origin)
    monkeypatch.setattr("decpomdp.interaction.logs.method.dependent", lambda episodes, clone: 0.3)
    fit, _ = method.result(plan)
    assert fit.facts["verdict"] == "not proven better than the behaviour"
    assert "correlated (0.3) beyond their own histories" in fit.facts["trust"]


def test_nothing_is_learned_without_a_step():
    fit = dp.learn(small_log(episodes=40), time_limit=0, seed=1)
    assert fit.facts["why"] == "Nothing was learned: the team is the initial one."
    assert not taught(fit)


@pytest.mark.parametrize("cut", ["draws", "fits"])
def test_a_team_is_not_proven_better_if_time_was_short(finished, cut):
    method, state = finished
    plan = drawn(state, state.world.candidates[0].origin)
    assert method.result(plan)[0].facts["verdict"] == "better than the behaviour"
    short = {"draws": {"drawn": plan.world.drawn[:3]}, "fits": {"fits": plan.world.fits._replace(hurried=True)}}
    fit, _ = method.result(plan._replace(world=plan.world._replace(**short[cut])))
    assert fit.facts["verdict"] == "not proven better than the behaviour"
    assert fit.facts["trust"].startswith("Not proven better than the behaviour: ")


def test_a_plan_that_strays_does_not_replace_a_proven_team(finished, monkeypatch):
    method, state = finished
    proven = Judged(2.0, 1.5, 2.5, 1.0, sure=True, support=1.0)
    plan = drawn(state, state.world.candidates[0].origin)
    plan = plan._replace(sbpr=plan.sbpr._replace(judged=proven))
    assert method.result(plan)[0].facts["chosen"] == "world"
    monkeypatch.setattr("decpomdp.interaction.logs.method.visits_outside", lambda *_: 0.3)
    fit, _ = method.result(plan)
    assert fit.facts["chosen"] == "sbpr"
    assert "no plan within the logged situations" in fit.facts["why"]


def test_a_proven_team_is_replaced_for_a_clear_gain_only():
    origins = ["periem in world 0", "sbpr", "clone"]
    little, much = np.array([10.9, 10.0, 0.0]), np.array([11.1, 10.0, 0.0])
    assert preferred(little, origins, proven=False) == 0
    assert preferred(little, origins, proven=True) == 1
    assert preferred(much, origins, proven=True) == 0
    assert preferred(np.array([1.0, 2.0, 3.0]), origins, proven=True) == 2


def test_a_plan_that_is_worth_no_more_than_the_behaviour_earned_is_not_chosen():
    origins, scores = ["periem in world 0", "sbpr", "clone"], np.array([2.0, 0.5, 1.5])
    assert preferred(scores, origins, proven=False, behaviour=1.9) == 0
    assert preferred(scores, origins, proven=False, behaviour=2.0) == 2


@pytest.mark.parametrize(
    ("episodes", "why"),
    [
        (dataclasses.replace(small_log(episodes=40), discount=1.0), "worlds need a discount below 1"),
        (small_log(episodes=19), "worlds need at least 20 episodes"),
        (one_step(small_log(episodes=40)), "worlds need episodes of at least two steps"),
        (small_log(episodes=20, agents=((12, 12),) * 3, longest=2), "worlds are for fewer joint actions"),
    ],
)
def test_without_a_world_the_team_is_that_of_dec_sbpr(episodes, why):
    assert why in obstacle(episodes)
    fit = dp.learn(episodes, seed=1)
    below = fit.facts["chosen"] == "clone"
    assert fit.facts["why"].startswith(f"Chosen: {'the cloned behaviour' if below else NAMES['sbpr']}, because {why}")
    judged = "it is estimated to earn " if episodes.count >= 20 else "it was not judged."
    assert fit.facts["trust"].split(": ")[1].startswith(judged)
    assert below == ("not better" in fit.facts["trust"])
    assert fit.team == dp.learn(episodes, "sbpr", seed=1).team
    assert np.isfinite(fit.trace[0]["bound"])


def test_settings_of_other_methods_are_refused():
    with pytest.raises(dp.InputError, match="alpha: not a setting of logs; choose method sbpr to use it"):
        dp.learn(small_log(), alpha=0.5)
    with pytest.raises(dp.InputError, match="begin: not an input of logs"):
        dp.learn(small_log(), begin=dp.Team.uniform(small_log()))
