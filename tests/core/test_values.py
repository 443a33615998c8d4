"""Model, controller, team, episodes: a bad one cannot exist, and a good one cannot change."""

from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest
from oracles import making

from decpomdp.core import NO_OBSERVATION, Agent, Controller, Episodes, InputError


def model(seed=0):
    return making.model(np.random.default_rng(seed), 4, (2, 3), (3, 2))


def controller(seed=0):
    return making.controller(np.random.default_rng(seed), 3, 2, 4, first=True)


def team(seed=0):
    return making.team(np.random.default_rng(seed), model(), 2)


def episodes(seed=0):
    """Lengths 3, 1 and 4; the last behaviour is unknown."""
    rng, offsets = np.random.default_rng(seed), [0, 3, 4, 8]
    observations, behaviour = rng.integers(0, 3, (8, 2)), rng.uniform(0.1, 1, (8, 2))
    observations[[0, 3, 4]] = NO_OBSERVATION
    behaviour[-1] = np.nan
    agents = [Agent(f"agent{n}", ["x", "y"], ["p", "q", "r"]) for n in range(2)]
    actions, rewards, ended = rng.integers(0, 2, (8, 2)), rng.normal(size=8), np.arange(3) != seed
    return Episodes(agents, offsets, observations, actions, behaviour, rewards, 0.9, ended, "test", {"a": "b"})


OTHER_AGENTS = {
    made: tuple(Agent(f"{agent.name}!", agent.actions, agent.observations) for agent in made().agents)
    for made in (model, team, episodes)
}
OTHER = {  # another value for every field whose value does not follow from another seed
    model: {"agents": OTHER_AGENTS[model], "states": tuple("abcd"), "discount": 0.5, "name": "other"},
    controller: {},
    team: {"agents": OTHER_AGENTS[team], "discount": 0.1, "problem": "other"},
    episodes: {
        "agents": OTHER_AGENTS[episodes],
        "offsets": [0, 3, 4, 7, 8],
        "terminated": None,
        "discount": 0.5,
        "name": "other",
        "facts": {},
    },
}
ARRAYS = [
    (made, field.name)
    for made in (model, controller, episodes)
    for field in fields(made())
    if isinstance(getattr(made(), field.name), np.ndarray)
]


@pytest.mark.parametrize(("made", "name"), ARRAYS)
def test_arrays_are_contiguous_read_only_and_not_shared(made, name):
    given = np.asfortranarray(getattr(made(), name).copy())
    value = replace(made(), **{name: given})
    held = getattr(value, name)
    assert held.flags.c_contiguous
    assert not held.flags.writeable
    assert not np.shares_memory(held, given)
    with pytest.raises(FrozenInstanceError):
        setattr(value, name, given)


@pytest.mark.parametrize("made", OTHER)
def test_equality_sees_every_field(made):
    value = made()
    assert value == made()  # also where a behaviour is unknown: NaN
    assert value != "a text"
    for field in fields(value):
        if field.compare:
            if field.name == "offsets":
                changed = replace(value, offsets=OTHER[made]["offsets"], terminated=[False] * 4)
            else:
                changed = replace(value, **{field.name: OTHER[made].get(field.name, getattr(made(1), field.name))})
            assert changed != value, field.name


def test_facts_are_a_read_only_copy():
    facts = {"a": "b"}
    held = replace(episodes(), facts=facts)
    facts["a"] = "c"
    assert held.facts == {"a": "b"}
    with pytest.raises(TypeError):
        held.facts["a"] = "d"


PROBABILITY = "expected a behaviour probability above 0 and up to 1 (or NaN: unknown), got"


@pytest.mark.parametrize(
    ("made", "name", "place", "value", "expected"),
    [
        (model, "start", (1,), -0.25, "start[s=1] is -0.25, expected a probability of at least 0"),
        (model, "transition", (1, 3, 2), np.nan, "transition[u=1, s=3, s1=2] is nan, expected a finite number"),
        (model, "reward", (2, 1), np.inf, "reward[u=2, s=1] is inf, expected a finite number"),
        (controller, "transition", (2, 1, 3, 0), 1.5, "transition[i=2, a=1, o=3] sums to "),
        (episodes, "actions", (5, 1), 2, "episode 2, step 1, agent agent1: expected an action from 0 to 1, got 2"),
        (episodes, "observations", (6, 1), -1, "episode 2, step 2, agent agent1: expected an observation from 0 to 2"),
        (episodes, "behaviour", (2, 1), 0, f"episode 0, step 2, agent agent1: {PROBABILITY} 0.0"),
        (episodes, "offsets", 2, 3, "episode 1: expected at least one step, got 0"),
        (episodes, "offsets", 0, 1, "offsets: expected 0 followed by the end of every episode, got [1 3 4"),
    ],
)
def test_a_bad_number_is_refused_with_its_place(made, name, place, value, expected):
    table = getattr(made(), name).copy()
    table[place] = value
    with pytest.raises(InputError) as caught:
        replace(made(), **{name: table})
    assert str(caught.value).startswith(expected)


@pytest.mark.parametrize(
    ("made", "name", "value", "expected"),
    [
        (model, "reward", np.zeros(6), "reward[u, s]: expected shape (6, 4), got (6,)"),
        (model, "states", tuple("abca"), "states: expected distinct labels, got 'a' twice (again at 3)"),
        (model, "name", "two\nlines", "name: expected a text on one line, got 'two\\nlines'"),
        (controller, "initial_given", np.ones((3, 3)), "initial_given[o, i]: expected shape (4, 3), got (3, 3)"),
        (team, "controllers", (Controller.uniform(2, 3),), "team: expected 2 controllers, got 1"),
        (
            *(team, "controllers", (Controller.uniform(2, 3), Controller.uniform(2, 2))),
            "controller of agent2: expected 3 actions and 2 observations, got 2 and 2",
        ),
        (episodes, "offsets", [0, 3, 4, 7], "observations[r, n]: expected shape (7, 2), got (8, 2)"),
        (episodes, "actions", np.full((8, 2), 65536), "actions: expected whole numbers that fit int16, got other"),
        (episodes, "facts", {"seed": 3}, "facts['seed']: expected a text, got 3"),
    ],
)
def test_a_bad_field_is_refused(made, name, value, expected):
    with pytest.raises(InputError) as caught:
        replace(made(), **{name: value})
    assert str(caught.value).startswith(expected)
