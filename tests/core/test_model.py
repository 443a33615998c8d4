"""A bad model cannot exist, and a good one cannot become bad."""

from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest
from oracles import making

from decpomdp.core import Agent, DecPOMDP, InputError

SIZES = [((2,), (3,)), ((2, 3), (3, 2)), ((2, 1, 2), (1, 2, 2)), ((2, 1, 2, 1, 2), (1, 2, 1, 2, 2))]


def model(actions=(2, 3), observations=(3, 2), seed=0):
    return making.model(np.random.default_rng(seed), 4, actions, observations)


def test_sizes_and_tables_for_any_number_of_agents():
    for actions, observations in SIZES:
        problem = model(actions, observations)
        assert problem.joint_actions == len(problem.action_table()) == np.prod(actions)
        assert problem.joint_observations == len(problem.observation_table()) == np.prod(observations)
        joint = 0
        for part, size in zip(problem.action_table()[-2], actions, strict=True):
            joint = joint * size + part
        assert joint == problem.joint_actions - 2


def test_tables_are_read_only_and_nobody_elses():
    for name in ["start", "transition", "observation", "reward"]:
        given = getattr(model(), name).copy()
        problem = replace(model(), **{name: given})
        held = getattr(problem, name)
        assert held.flags.c_contiguous
        assert not held.flags.writeable
        assert not np.shares_memory(held, given)
        with pytest.raises(FrozenInstanceError):
            setattr(problem, name, given)


def test_bad_numbers_are_refused_with_their_place():
    for name, place, value, expected in [
        ("start", (0,), 2.0, "start sums to "),
        ("start", (1,), -0.25, "start[s=1] is -0.25, expected a probability of at least 0"),
        ("transition", (1, 3, 0), 3.0, "transition[u=1, s=3] sums to "),
        ("transition", (1, 3, 2), np.nan, "transition[u=1, s=3, s1=2] is nan, expected a finite number"),
        ("observation", (5, 0, 4), 1.5, "observation[u=5, s1=0] sums to "),
        ("observation", (5, 0, 4), -1, "observation[u=5, s1=0, y=4] is -1, expected a probability of at least 0"),
        ("reward", (2, 1), np.inf, "reward[u=2, s=1] is inf, expected a finite number"),
    ]:
        table = getattr(model(), name).copy()
        table[place] = value
        with pytest.raises(InputError) as caught:
            replace(model(), **{name: table})
        assert str(caught.value).startswith(expected)


def test_wrong_shapes_are_refused():
    for name, shape, expected in [
        ("start", (3,), "start[s]: expected shape (4), got (3,)"),
        ("transition", (6, 4, 3), "transition[u, s, s1]: expected shape (6, 4, 4), got (6, 4, 3)"),
        ("observation", (4, 6, 6), "observation[u, s1, y]: expected shape (6, 4, 6), got (4, 6, 6)"),
        ("reward", (6,), "reward[u, s]: expected shape (6, 4), got (6,)"),
    ]:
        with pytest.raises(InputError) as caught:
            replace(model(), **{name: np.zeros(shape)})
        assert str(caught.value) == expected


def test_bad_fields_are_refused():
    for changes, expected in [
        ({"agents": ()}, "agents: expected at least one label, got none"),
        ({"states": ("s0", "s1", "s0", "s3")}, "states: expected distinct labels, got 's0' twice (again at 2)"),
        ({"states": "abcd"}, "states: expected a list of labels, got 'abcd'"),
        ({"discount": 1.1}, "discount: expected a number from 0 to 1, got 1.1"),
        ({"discount": -0.1}, "discount: expected a number from 0 to 1, got -0.1"),
        ({"discount": float("nan")}, "discount: expected a number from 0 to 1, got nan"),
        ({"discount": None}, "discount: expected a number from 0 to 1, got None"),
        ({"name": None}, "name: expected a text, got None"),
    ]:
        with pytest.raises(InputError) as caught:
            replace(model(), **changes)
        assert str(caught.value) == expected


def test_rows_off_by_little_are_renormalised_and_by_more_refused():
    table = model().transition.copy()
    table[2, 1] *= 1 + 1e-7
    assert abs(replace(model(), transition=table).transition[2, 1].sum() - 1) < 1e-15
    table[2, 1] *= 1 + 1e-5
    with pytest.raises(InputError, match=r"^transition\[u=2, s=1\] sums to 1\.0000101, expected 1$"):
        replace(model(), transition=table)


def test_equality_sees_every_field():
    problem = model()
    assert problem == model()
    assert problem != "model"
    other = model(seed=1)
    renamed = tuple(Agent(f"{agent.name}!", agent.actions, agent.observations) for agent in problem.agents)
    changes = {field.name: getattr(other, field.name) for field in fields(DecPOMDP) if field.compare}
    changes |= {"agents": renamed, "states": tuple("abcd"), "discount": 0.5, "name": "other"}
    for name, value in changes.items():
        assert replace(problem, **{name: value}) != problem, name


def test_the_digest_is_of_the_numbers_alone():
    problem = model()
    renamed = tuple(Agent(f"{agent.name}!", agent.actions, agent.observations) for agent in problem.agents)
    same = replace(problem, agents=renamed, states=tuple("abcd"), discount=0.1, name="other")
    assert same.digest() == problem.digest()
    for name in ("start", "transition", "observation", "reward"):
        assert replace(problem, **{name: getattr(model(seed=1), name)}).digest() != problem.digest(), name


def test_the_digest_does_not_see_the_sign_of_zero():
    rewards = np.zeros((6, 4))
    assert replace(model(), reward=rewards).digest() == replace(model(), reward=-rewards).digest()


def test_the_digest_sees_how_joint_actions_divide():
    one = model((2, 3), (3, 2))
    swapped = tuple(Agent(a.name, b.actions, b.observations) for a, b in zip(one.agents, one.agents[::-1], strict=True))
    assert replace(one, agents=swapped).digest() != one.digest()


def test_another_discount():
    problem = model().with_discount(0.5)
    assert problem.discount == 0.5
    assert replace(problem, discount=model().discount) == model()
