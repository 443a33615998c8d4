"""`learn` and `plan`: one front for nine methods, chosen by a settings object or by a name and fields."""

import warnings

import pytest

import decpomdp as dp
from decpomdp.api import PLANNING, PLAYING, RunSetup, chosen, methods_for, source_of
from decpomdp.domains.load import load

pytestmark = pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning")
MODEL = dp.load("broadcast")
EPISODES = dp.simulate(MODEL, episodes=50, horizon=4, seed=1)


def test_settings_and_fields_mean_the_same():
    one = dp.learn(MODEL, dp.Search(max_nodes=2), steps=100_000, seed=1)
    two = dp.learn(MODEL, max_nodes=2, steps=100_000, seed=1)
    three = dp.learn("broadcast", "search", max_nodes=2, steps=100_000, seed=1)
    assert one.team == two.team == three.team
    assert one.settings == two.settings == dp.Search(max_nodes=2)
    assert max(one.team.nodes) <= 2


def test_sbpr_is_the_loop_on_a_problem_and_the_batch_learner_on_episodes():
    assert PLAYING["sbpr"] is dp.SbprLoop
    fit = dp.learn(EPISODES, "sbpr", sweeps=2, truncation=2)
    assert fit.settings == dp.Sbpr(sweeps=2, truncation=2)
    with pytest.raises(dp.InputError, match="method: expected settings among Logs, Sbpr, World, got SbprLoop"):
        dp.learn(EPISODES, dp.SbprLoop())
    with pytest.raises(dp.InputError, match="method: expected settings among Search, SbprLoop, Mcem, got Sbpr"):
        dp.learn(MODEL, dp.Sbpr())


def test_the_default_method():
    assert methods_for("learn", MODEL)[1] == "search"
    assert methods_for("learn", load("traffic:2"))[1] == "search"
    assert methods_for("learn", load("traffic:3"))[1] == "sbpr"
    assert methods_for("learn", EPISODES)[1] == "logs"


def test_a_folder_does_not_hide_a_problem_of_the_same_name(tmp_path, monkeypatch):
    """As after `decpomdp learn broadcast --out broadcast`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broadcast").mkdir()
    assert source_of("broadcast", None) == MODEL
    assert source_of("broadcast:mabc", None).name == "broadcast:mabc"


def test_a_mistake_is_one_line():
    for call, words in [
        (lambda: dp.learn(MODEL, sweeps=3), "sweeps: not a setting of search, which has max_nodes, horizon, tuning"),
        (lambda: dp.learn(MODEL, "magic"), "method: expected one of search, sbpr, mcem, got 'magic'"),
        (lambda: dp.learn(MODEL, dp.Search(), max_nodes=3), r"max_nodes: set it in Search\(...\)"),
        (lambda: dp.learn(MODEL, iterations=3), "iterations: not a limit of search, which has time_limit, steps"),
        (lambda: dp.learn(EPISODES, steps=3), "steps: not a limit of logs, which has time_limit, iterations"),
        (lambda: dp.learn(MODEL, begin=dp.Team.uniform(MODEL)), "begin: not an input of search"),
        (lambda: dp.plan(MODEL, "em", iterations=3), "iterations: not a limit of em, which has time_limit"),
        (lambda: dp.plan(load("traffic:2")), "expected one with a model"),
        (lambda: dp.learn(MODEL, time_limit=-1), "time_limit: expected"),
        (lambda: dp.learn(MODEL, steps=0), "steps: expected a whole number"),
        (lambda: dp.learn(MODEL, seed=-1), "seed: expected"),
    ]:
        with pytest.raises(dp.InputError, match=words) as caught:
            call()
        assert "\n" not in str(caught.value)


def test_what_was_not_learned_is_said():
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        fit = dp.learn(MODEL, steps=1, seed=1)
    assert [str(one.message) for one in said] == [
        "nothing was learned within the limits: the team is the initial one; allow more time or steps"
    ]
    assert fit.stopped == "steps"


def test_a_checkpoint_folder_resumes_the_same_call(tmp_path):
    whole = dp.learn(MODEL, steps=2_000_000, seed=3)

    class Killed(Exception):
        pass

    def kill(row):
        raise Killed

    with pytest.raises(Killed):
        dp.learn(MODEL, steps=2_000_000, seed=3, checkpoint=tmp_path, watch=kill)
    again = dp.learn(MODEL, steps=2_000_000, seed=3, checkpoint=tmp_path)
    assert again.team == whole.team
    with pytest.raises(dp.InputError, match="belongs to a different run"):
        dp.learn(MODEL, steps=2_000_000, seed=4, checkpoint=_saved(tmp_path))


def _saved(folder):
    """A folder that holds a checkpoint of seed 3."""
    from decpomdp.core.run import Budget, Inputs, Spent, unlimited
    from decpomdp.io.checkpoints import CheckpointFolder

    setup = RunSetup(MODEL, dp.Search(), Inputs(seed=3), Budget(steps=2_000_000))
    CheckpointFolder(folder, setup.checksum()).save(setup.method().init(unlimited()), Spent(), [])
    return folder


def test_every_planner_is_named_by_its_settings():
    for name, kind in PLANNING.items():
        assert chosen(PLANNING, "em", kind(), {}) == kind()
        assert kind().method == name
