"""Agents, labels and joint indices."""

import numpy as np
import pytest

from decpomdp.core import Agent, InputError
from decpomdp.core.agent import joint_numbers, joint_parts, strides_of, team_of_agents


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


def test_the_last_agent_changes_fastest():
    sizes = (2, 3, 4)
    parts = np.unravel_index(np.arange(24), sizes)
    assert joint_numbers(parts, sizes).tolist() == list(range(24))
    assert strides_of(sizes).tolist() == [12, 4, 1]
    assert [part.tolist() for part in joint_parts(np.arange(24), sizes)] == [part.tolist() for part in parts]


def test_as_many_agents_and_as_large_numbers_as_64_bits_hold():
    for sizes in ((1,) * 100, (2,) * 62, (200,) * 8):
        top = [size - 1 for size in sizes]
        joint = joint_numbers([np.array([part]) for part in top], sizes)
        assert joint.tolist() == [int(np.prod(sizes, dtype=object)) - 1]
        assert [int(part[0]) for part in joint_parts(joint, sizes)] == top


def test_joint_numbers_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match=r"joint indices: expected at most 9\.22e"):
        joint_numbers([0] * 10, (200,) * 10)
