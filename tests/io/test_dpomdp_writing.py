"""What is written reads back equal, and is written completely or not at all."""

import os
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decpomdp.core import Agent, DecPOMDP, InputError
from decpomdp.io.dpomdp.read import parse_dpomdp, read_dpomdp
from decpomdp.io.dpomdp.writer import format_dpomdp, write_dpomdp

NUMBERS = "0123456789+-.eE"
WORDS = st.text(st.characters(exclude_categories=["Cs", "Z", "Cc"], exclude_characters=':#*"' + NUMBERS), min_size=1)
NAMES = st.one_of(WORDS, st.sampled_from(["uniform", "identity", "nan", "T", "5x", "a1", "1e", "-", "agents"]))
NAMES = NAMES.filter(lambda name: name.split() == [name])
SIZES = st.integers(1, 3)


@st.composite
def labels(draw, count):
    if draw(st.booleans()):
        return tuple(map(str, range(count)))
    return tuple(draw(st.lists(NAMES, min_size=count, max_size=count, unique=True)))


@st.composite
def models(draw):
    n, s = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    names = tuple(f"agent{i + 1}" for i in range(n))
    if draw(st.booleans()):
        names = tuple(draw(st.lists(NAMES, min_size=n, max_size=n, unique=True)))
    agents = tuple(Agent(name, draw(labels(draw(SIZES))), draw(labels(draw(SIZES)))) for name in names)
    u = int(np.prod([len(agent.actions) for agent in agents]))
    y = int(np.prod([len(agent.observations) for agent in agents]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    alpha = draw(st.sampled_from([0.001, 0.1, 1.0]))  # mostly zeros and tiny numbers, or dense
    reward = rng.normal(size=(u, s)) * 10.0 ** rng.integers(-300, 38, size=(u, s)) * rng.integers(0, 2, size=(u, s))
    return DecPOMDP(
        agents,
        draw(labels(s)),
        rng.dirichlet(np.full(s, alpha)),
        rng.dirichlet(np.full(s, alpha), size=(u, s)),
        rng.dirichlet(np.full(y, alpha), size=(u, s)),
        reward,
        draw(st.floats(0, 1)),
    )


@settings(max_examples=60, deadline=None)
@given(models())
def test_text_reads_back_equal(model):
    assert parse_dpomdp(format_dpomdp(model)) == model


@pytest.fixture
def model():
    agents = (Agent("ann", ("listen", "open"), ("0", "1")), Agent("bob", ("0", "1", "2"), ("low", "high")))
    rng = np.random.default_rng(3)
    tables = rng.dirichlet(np.ones(3), size=(6, 3)), rng.dirichlet(np.ones(4), size=(6, 3))
    return DecPOMDP(agents, ("x", "y", "z"), np.array([1.0, 0, 0]), *tables, rng.normal(size=(6, 3)), 0.9, "problem")


@pytest.mark.parametrize("name", ["problem", "problem.dpomdp", "problem.dpomdp.gz"])
def test_files_read_back_equal(tmp_path, model, name):
    write_dpomdp(model, tmp_path / name)
    write_dpomdp(model, str(tmp_path / name))  # over itself
    assert read_dpomdp(tmp_path / name) == model
    assert os.listdir(tmp_path) == [name]
    assert ((tmp_path / name).read_bytes()[:2] == b"\x1f\x8b") == name.endswith(".gz")


def test_text_of_a_small_model():
    one = Agent("agent1", ("stay", "go"), ("0", "1"))
    transition = np.array([np.eye(2), [[0, 1], [0.75, 0.25]]])
    observation = np.broadcast_to([[1.0, 0.0], [0.1, 0.9]], (2, 2, 2))
    model = DecPOMDP(
        (one,), ("0", "1"), np.array([0.5, 0.5]), transition, observation, np.array([[0, -2], [1e-7, 0]]), 1
    )
    assert format_dpomdp(model).splitlines() == [
        "agents: 1", "discount: 1.0", "values: reward", "states: 2", "start:", "0.5 0.5",
        "actions:", "stay go", "observations:", "2",
        "T: stay : 0 : 0 : 1.0", "T: stay : 1 : 1 : 1.0",
        "T: go : 0 : 1 : 1.0", "T: go : 1 : 0 : 0.75", "T: go : 1 : 1 : 0.25",
        "O: stay : 0 : 0 : 1.0", "O: stay : 1 : 0 : 0.1", "O: stay : 1 : 1 : 0.9",
        "O: go : 0 : 0 : 1.0", "O: go : 1 : 0 : 0.1", "O: go : 1 : 1 : 0.9",
        "R: stay : 1 : * : * : -2.0", "R: go : 0 : * : * : 1e-07",
    ]  # fmt: skip


def test_labels_that_no_file_can_hold(tmp_path, model):
    ann, bob = model.agents
    for bad in ("two words", '"a"', "a:b", "a#", "*", "-1e3", "a\0b"):
        wrong = {
            "states": {"states": ("x", bad, "z")},
            "actions of bob": {"agents": (ann, replace(bob, actions=("a", "b", bad)))},
        }
        for where, changes in wrong.items():
            with pytest.raises(InputError) as caught:
                write_dpomdp(replace(model, **changes), tmp_path / "a.dpomdp")
            assert str(caught.value).startswith(f"{where}: expected names that a .dpomdp file can hold")
            assert repr(bad) in str(caught.value)
            assert not os.listdir(tmp_path)
