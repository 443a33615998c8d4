"""What every learner promises: a valid team at any moment, limits kept."""

import pytest

import decpomdp as dp
from decpomdp.domains.load import load

MODEL = dp.load("broadcast")
EPISODES = dp.simulate(MODEL, episodes=100, horizon=5, seed=1)
METHODS = {
    "search": (MODEL, dp.Search()),
    "sbpr": (MODEL, dp.SbprLoop(batch=50, tests=50)),
    "mcem": (MODEL, dp.Mcem(tests=50)),
    "many agents": (load("traffic:3"), dp.SbprLoop(batch=5, tests=5)),
    "episodes": (EPISODES, dp.Sbpr(truncation=3)),
    "world": (EPISODES, dp.World(max_states=2)),
}
pytestmark = [
    pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning"),
    pytest.mark.parametrize(("source", "settings"), METHODS.values(), ids=METHODS),
]


def test_no_time_gives_a_team(source, settings):
    fit = dp.learn(source, settings, time_limit=0)
    assert fit.stopped == "time limit"
    assert fit.team.agents == source.agents
    assert fit.seconds < 3


def test_a_callback_ends_the_run_with_the_best_so_far(source, settings):
    rows = []
    fit = dp.learn(source, settings, seed=1, time_limit=60, watch=lambda row: rows.append(row) is None)
    assert fit.stopped == "callback"
    assert fit.trace[: len(rows)] == tuple(rows[: len(fit.trace)])
    assert fit.team.agents == source.agents


def test_limits_of_steps_are_kept(source, settings):
    if source is EPISODES:
        with pytest.raises(dp.InputError, match="steps: not a limit of"):
            dp.learn(source, settings, steps=5)
        return
    fit = dp.learn(source, settings, seed=1, steps=20_000)
    assert fit.stopped in ("steps", "converged")
    assert 0 < fit.trace[-1]["steps"] <= 20_000
    assert dp.learn(source, settings, steps=1).stopped == "steps"
