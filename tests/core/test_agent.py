"""Agents, labels and joint indices."""

import pytest

from decpomdp.core import Agent, InputError
from decpomdp.core.agent import team_of_agents


def test_labels_become_tuples():
    agent = Agent("a", ["left", "right"], iter(["near"]))
    assert agent.actions == ("left", "right")
    assert agent.observations == ("near",)
    assert agent == Agent("a", ("left", "right"), ("near",))
    assert agent != Agent("b", ("left", "right"), ("near",))


def test_a_bad_agent_cannot_be_made():
    for arguments, expected in [
        (("", ["x"], ["y"]), "agent name: expected a non-empty text, got an empty one"),
        (("a", "xy", ["y"]), "actions of a: expected a list of labels, got 'xy'"),
        (("a", [], ["y"]), "actions of a: expected at least one label, got none"),
        (("a", ["x", "z", "x"], ["y"]), "actions of a: expected distinct labels, got 'x' twice (again at 2)"),
        (("a", ["x", ""], ["y"]), "actions of a: expected non-empty texts, got an empty one at 1"),
        (("a", ["x"], [None]), "observations of a[0]: expected a text, got None"),
    ]:
        with pytest.raises(InputError) as caught:
            Agent(*arguments)
        assert str(caught.value) == expected


def test_a_bad_team_of_agents_cannot_be_made():
    for agents, expected in [
        ([], "agents: expected at least one label, got none"),
        (["a"], "agents: expected Agent objects, got str at 0"),
        ([Agent("a", ["x"], ["y"])] * 2, "agents: expected distinct labels, got 'a' twice (again at 1)"),
    ]:
        with pytest.raises(InputError) as caught:
            team_of_agents(agents)
        assert str(caught.value) == expected
