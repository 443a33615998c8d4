"""Numbers at the edge: rewards that are huge or tiny, discounts of 0, nearly 1 and 1, sums that are nearly 1.

Every command answers with a finite number, or refuses in one line with exit code 2: where the theory needs a discount
below 1, and where sums of rewards would leave the range of floating point.
"""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import decpomdp as dp
from decpomdp.cli.main import code_of
from decpomdp.core import InputError
from decpomdp.io.dpomdp.read import parse_dpomdp

TEXT = """agents: 2
discount: {discount}
values: reward
states: 2
start:
{start}
actions:
2
2
observations:
2
1
T: * :
uniform
O: * :
uniform
R: 0 0 : 0 : * : * : {high}
R: 1 1 : 1 : * : * : {low}
"""
REWARDS = {
    "plain": (1, -1),
    "large": (1e300, -1e300),
    "tiny": (5e-324, -5e-324),
    "both": (1e300, 1e-300),
    "none": (0, 0),
}
QUIET = ("--quiet", "--json")


def problem(high=1.0, low=-1.0, discount="0.9", start="uniform"):
    return TEXT.format(discount=discount, start=start, high=repr(float(high)), low=repr(float(low)))


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        code = code_of([str(argument) for argument in arguments])
        said = capsys.readouterr()
        if code == 0:
            return json.loads(said.out) if "--json" in arguments else said.out
        assert code == 2, said.err
        assert said.err.startswith("error: "), said.err
        assert len(said.err.splitlines()) == 1
        return said.err

    return call


def finite(told):
    """All numbers of an answer; what is too large for JSON is null there, and no value may be that."""
    value = told["value"]["value"] if isinstance(told["value"], dict) else told["value"]
    return value is not None and math.isfinite(value)


# -- probabilities -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("off", [0, 1e-7, -1e-7, 9e-7, -9e-7])
def test_sums_within_a_millionth_of_one_are_accepted_and_made_one(off):
    model = parse_dpomdp(problem(start=f"0.5 {0.5 + off!r}"))
    assert abs(model.start.sum() - 1) < 1e-15
    np.testing.assert_allclose(model.start, np.array([0.5, 0.5 + off]) / (1 + off), rtol=1e-15)


@pytest.mark.parametrize(
    "start", ["0.5 0.500002", "0.5 0.499998", "nan 1", "inf 0", "-1e-9 1.000000001", "1e999 0", "0 0"]
)
def test_other_sums_and_what_is_no_number_are_refused(start):
    with pytest.raises(InputError, match="expected"):
        parse_dpomdp(problem(start=start))


def test_denormal_probabilities_are_kept():
    model = parse_dpomdp(problem(start="5e-324 1"))
    assert model.start.tolist() == [5e-324, 1.0]
    team = dp.Team.uniform(model)
    assert math.isfinite(dp.evaluate(team, model).value)
    assert dp.simulate(model, team, 10, 2, seed=1).steps == 20


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_models_teams_and_episodes_hold_finite_numbers_only(number):
    model = dp.load("dectiger")
    wrong = model.reward.copy()
    wrong[0, 0] = number
    with pytest.raises(InputError, match="expected a finite number"):
        replace(model, reward=wrong)
    with pytest.raises(InputError, match="expected a finite number"):
        dp.Controller([number], [[1.0]], [[[[1.0]]]])
    episodes = dp.simulate(model, episodes=2, horizon=2)
    with pytest.raises(InputError, match="expected a finite number"):
        replace(episodes, rewards=np.full(4, number))
    with pytest.raises(InputError, match="discount: expected a number from 0 to 1"):
        model.with_discount(number)


# -- rewards and discounts ---------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning")
@pytest.mark.parametrize(
    ("rewards", "discount"),
    [("large", "0.999999"), ("large", "1"), ("tiny", "0.999999"), ("both", "0"), ("none", "1"), ("plain", "0")],
)
def test_playing_valuing_and_learning_from_episodes(run, tmp_path, rewards, discount):
    (tmp_path / "p.dpomdp").write_text(problem(*REWARDS[rewards], discount))
    assert "2 agents" in run("info", "p.dpomdp")
    run("simulate", "p.dpomdp", "--episodes", 20, "--horizon", 3, "--out", "e.parquet")
    told = run("learn", "e.parquet", "--sweeps", 3, "--prior", "fixed:2", "--out", "run", *QUIET)
    if rewards in ("large", "both"):
        assert "expected a reward from -1e+250 to 1e+250" in told
    elif rewards == "none":
        assert "nothing to learn from" in told
    else:
        assert finite(told)
    dp.write_team(dp.Team.uniform(dp.load("p.dpomdp")), "team.json")
    assert finite(run("evaluate", "team.json", "--problem", "p.dpomdp", "--horizon", 3, "--json"))
    told = run("evaluate", "team.json", "--problem", "p.dpomdp", "--json")
    assert "needs a discount below 1" in told if discount == "1" else finite(told)


PLANS = {
    "fb-hsvi": ("--method", "fb-hsvi", "--horizon", 2),
    "em": ("--method", "em", "--nodes", 1),
}


@pytest.mark.parametrize(
    ("rewards", "discount"), [("large", "0.9"), ("tiny", "0"), ("none", "0.999999"), ("plain", "1")]
)
@pytest.mark.parametrize("method", PLANS)
def test_planning(run, tmp_path, method, rewards, discount):
    (tmp_path / "p.dpomdp").write_text(problem(*REWARDS[rewards], discount))
    told = run("plan", "p.dpomdp", *PLANS[method], "--time-limit", 0.3, "--out", "run", *QUIET)
    if isinstance(told, str):
        assert "discount below 1" in told
        assert discount == "1"
        assert method != "fb-hsvi"
    else:
        assert finite(told)
        assert run("report", "run")


@pytest.mark.parametrize("unit", [5e-324, 1e-310, 1.0, 1e200])
def test_off_policy_estimates_have_no_unit(unit):
    """Nothing is divided by what was rounded to nothing; a power of two changes no digit."""
    model = dp.load("recycling")
    data = dp.simulate(model, episodes=50, horizon=3, seed=1)
    team = dp.Team.of(model, [dp.Controller.deterministic([0], [[0, 0]], 3)] * 2).exploring(0.5)
    told = dp.offpolicy_value(replace(data, rewards=data.rewards * unit), team)
    assert told.guaranteed[0] <= told.guaranteed[1]
    twice = dp.offpolicy_value(replace(data, rewards=data.rewards * unit * 2), team)
    if unit >= 1e-200:
        assert twice.guaranteed == (2 * told.guaranteed[0], 2 * told.guaranteed[1])
