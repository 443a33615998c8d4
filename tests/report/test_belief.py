"""How sure the learner is, in a few numbers."""

import pytest

import decpomdp as dp
from decpomdp.report.belief import belief, belief_summary

pytestmark = pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning")


def fitted(episodes, prior=None):
    return dp.learn(
        episodes,
        dp.Sbpr(prior=prior or "stick-breaking", truncation=None if prior else 4, sweeps=15, starts=2, judge=False),
    )


@pytest.fixture(scope="module")
def data():
    model = dp.load("broadcast")
    return model, dp.simulate(model, dp.Team.uniform(model), 100, 5, seed=1)


def widths(summary):
    return [high - low for agent in summary.agents for node in agent.nodes for _, _, low, high in node.actions]


def test_intervals_hold_the_mean_and_shrink_with_data(data):
    model, few = data
    many = dp.simulate(model, dp.Team.uniform(model), 3000, 5, seed=1)
    loose, tight = (belief_summary(fit.posterior, fit.team, None, 0) for fit in (fitted(few), fitted(many)))
    for summary in (loose, tight):
        for node in (node for agent in summary.agents for node in agent.nodes):
            assert node.time is None
            assert sum(mean for _, mean, _, _ in node.actions) == pytest.approx(1, abs=0.01)
            assert all(0 <= low <= high <= 1 for _, _, low, high in node.actions)
    assert max(widths(tight)) < max(widths(loose))


def test_shares_of_time_from_a_model_and_from_episodes(data):
    fit = fitted(data[1])
    for source in data:
        summary = belief_summary(fit.posterior, fit.team, source, 0)
        for agent in summary.agents:
            assert sum(node.time[1] for node in agent.nodes) == pytest.approx(1, abs=0.1)
            assert all(0 <= node.time[0] <= node.time[1] <= node.time[2] <= 1 for node in agent.nodes)
            assert sum(node.visits for node in agent.nodes) <= 1.001


def test_the_section_names_actions_and_escapes_them(data):
    fit = fitted(data[1])
    summary = belief_summary(fit.posterior, fit.team, None, 0)
    drawn = belief(fit.team, summary)
    assert "send" in drawn
    nasty = dp.Agent("<s>", ("<i>", "<u>"), ("a", "b"))
    team = dp.Team((nasty, fit.team.agents[1]), fit.team.controllers, 0.9)
    drawn = belief(team, summary)
    assert not any(word in drawn for word in ("<s>", "<i>", "<u>"))
    assert "&lt;u&gt;" in drawn
