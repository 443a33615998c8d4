"""`learn`: what goes in, and what is said when nothing comes out."""

import pytest

import decpomdp as dp
from decpomdp.interaction.front import method_for
from decpomdp.interaction.sbpr_settings import SbprSettings


@pytest.mark.parametrize(("method", "limits"), [("search", {"time_limit": 0.0}), ("sbpr", {"steps": 10})])
def test_nothing_learned_is_said(method, limits):
    with pytest.warns(dp.LearningWarning, match="nothing was learned"):
        dp.learn("broadcast", method, **limits)


def test_unknown_options_and_contradictions_are_refused():
    with pytest.raises(dp.InputError, match=r"search: expected options among .*, got nodes"):
        dp.learn("broadcast", nodes=3)
    episodes = dp.simulate("broadcast", episodes=5, horizon=3)
    with pytest.raises(dp.InputError, match="method: expected none for learning from episodes"):
        dp.learn(episodes, "sbpr")
    with pytest.raises(dp.InputError, match="settings: expected a SearchSettings, got LearnSettings"):
        dp.learn("broadcast", settings=dp.LearnSettings())


@pytest.mark.parametrize("method", ["search", "mcem"])
@pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning")
def test_a_simulator_without_discount_says_how_long_its_episodes_are(corridor, method):
    class Short(corridor):
        discount = 1.0

    with pytest.raises(dp.InputError, match="horizon: expected a number of steps, because the discount is 1"):
        dp.learn(Short(), method, steps=2000)
    Short.horizon = 7
    fit = dp.learn(Short(), method, steps=2000)
    assert fit.settings["horizon"] == 7
    assert dp.learn(Short(), method, steps=2000, horizon=3).settings["horizon"] == 3


@pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning")
def test_another_discount_for_episodes():
    episodes = dp.simulate("broadcast", episodes=20, horizon=3)
    settings = dp.LearnSettings(sweeps=1, truncation=2)
    assert dp.learn(episodes, discount=0.5, settings=settings).team.discount == 0.5
    with pytest.raises(dp.InputError, match="discount: expected none beside several batches"):
        dp.learn([episodes, episodes], discount=0.5)


def test_a_crowd_is_learned_by_the_papers_loop_unless_said_otherwise():
    assert method_for(dp.load("traffic:2")) == method_for(dp.load("broadcast")) == "search"
    assert method_for(dp.load("traffic:3")) == "sbpr"
    fit = dp.learn("traffic:3", iterations=1, settings=SbprSettings(crowd_batch=5, tests=5))
    assert fit.settings["method"] == "sbpr"
    with pytest.warns(dp.LearningWarning, match="nothing was learned"):  # one iteration, but no test of it
        dp.learn("traffic:3", steps=29 * 6, settings=SbprSettings(crowd_batch=5, tests=5))
    with pytest.raises(dp.InputError, match="method: expected"):
        dp.learn("traffic:3", "nonsense")
