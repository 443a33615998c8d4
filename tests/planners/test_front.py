"""`plan`: problems by name, file or model; methods by name."""

import decpomdp as dp
from decpomdp.api import plan
from decpomdp.planners.common import played_by


def test_a_problem_is_a_name_a_file_or_a_model(tmp_path):
    model = dp.load("broadcast")
    model.save(tmp_path / "my.dpomdp")
    teams = [plan(problem, "pbvi").team for problem in ("broadcast", tmp_path / "my.dpomdp", model)]
    assert teams[0].controllers == teams[1].controllers == teams[2].controllers
    assert [team.problem for team in teams] == ["centralised broadcast", "centralised my", "centralised broadcast"]


def test_another_discount():
    by_name, by_model = (plan(problem, "pbvi", discount=0.5) for problem in ("recycling", dp.load("recycling")))
    assert by_name.team.discount == by_model.team.discount == 0.5
    assert by_name.lower == by_model.lower < 10


def test_what_a_team_plays():
    model = dp.load("broadcast")
    assert played_by(model, dp.Team.uniform(model)) is model
    team = plan(model, "pbvi").team
    assert dp.evaluate(team, played_by(model, team)).value > 9.26
