"""Long tables written by hand: columns, agents and labels, and what is wrong is named by row and column."""

import numpy as np
import pytest

from decpomdp.core import Agent, FormatError, InputError
from decpomdp.io.tables import read_table

from .made_tables import same

GOOD = """episode,t,agent,observation,action,reward,action_prob,terminated,truncated
a,0,x,,0,1,0.5,false,false
a,0,y,,1,1,,false,false
a,1,x,2,1,-2.5,1,true,false
a,1,y,0,0,-2.5,0.25,true,false
7,0,y,,1,0,0.5,false,true
7,0,x,,0,0,0.5,false,true
"""


@pytest.fixture
def write(tmp_path):
    def writing(text):
        path = tmp_path / "t.csv"
        path.write_text(text)
        return path

    return writing


def test_numbers_and_a_first_table_by_hand(write):
    read = read_table(write(GOOD), 0.5)
    assert [agent.name for agent in read.agents] == ["x", "y"]
    assert read.agents[0].observations == ("0", "1", "2")
    assert read.agents[1].observations == ("0",)
    assert read.offsets.tolist() == [0, 2, 3]
    assert read.actions.tolist() == [[0, 1], [1, 0], [0, 1]]
    assert read.observations.tolist() == [[-1, -1], [2, 0], [-1, -1]]
    assert read.rewards.tolist() == [1, -2.5, 0]
    assert read.terminated.tolist() == [True, False]
    assert np.isnan(read.behaviour).tolist() == [[False, True], [False, False], [False, False]]
    windows = write("\ufeff" + GOOD.replace("\n", "\r\n").replace("a,0,x,,", "a,0,x,-1,"))
    assert same(read_table(windows, 0.5), read)


def test_optional_columns_may_be_missing(write):
    lines = [line.split(",") for line in GOOD.split()]
    few = "\n".join(",".join(line[:6]) for line in lines) + "\n"
    read = read_table(write(few), 1.0)
    assert np.isnan(read.behaviour).all()
    assert not read.terminated.any()
    cut = "\n".join(",".join([*line[:6], line[8]]) for line in lines) + "\n"
    assert read_table(write(cut), 1.0).terminated.tolist() == [True, False]


def test_other_names_of_columns(write):
    path = write(GOOD.replace("observation", "obs", 1).replace("action,", "act,", 1))
    again = read_table(path, 0.5, columns={"observation": "obs", "action": "act"})
    assert same(again, read_table(write(GOOD), 0.5))
    with pytest.raises(InputError, match="columns: expected names among"):
        read_table(path, 0.5, columns={"obs": "observation"})
    path = write(GOOD.replace("observation", "obs", 1))
    with pytest.raises(FormatError, match="column observation: expected one, got only 'episode', 't'"):
        read_table(path, 0.5)


def test_known_agents_by_name_or_number(write):
    agents = (Agent("y", ["no", "yes"], ["l", "m", "n"]), Agent("x", ["no", "yes"], ["l", "m", "n"]))
    read = read_table(write(GOOD), 0.5, agents)
    assert read.agents == agents
    assert read.actions.tolist() == [[1, 0], [0, 1], [1, 0]]  # columns in the order of the agents given
    numbered = GOOD.replace(",x,", ",1,").replace(",y,", ",0,")
    assert same(read_table(write(numbered), 0.5, agents), read)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("a,1,x,2", "a,1,x,", "row 2, column observation: expected an observation (empty only at t = 0), got nothing"),
        ("a,0,y,,1", "a,0,y,,", "row 1, column action: expected a label or a whole number, got nothing"),
        ("a,0,y,,1,1", "a,0,y,,1,2", "row 1, column reward: expected the team's reward 1, as on another row"),
        ("a,0,y,,1,1", "a,0,y,,1,one", "row 1, column reward: expected a number, got 'one'"),
        ("a,0,y,,1,1", "a,0,y,,1,inf", "row 1, column reward: expected a finite number, got 'inf'"),
        ("0,0.5,false,true\n7,0,x", "0,1.5,false,true\n7,0,x", "row 4, column action_prob: expected a probability"),
        ("1,-2.5,1,", "1,-2.5,0,", "row 2, column action_prob: expected a probability above 0 and up to 1, got '0'"),
        ("a,0,x,", "a,0.5,x,", "row 0, column t: expected a whole number, got '0.5'"),
        ("a,0,x,", "a,-1,x,", "row 0, column t: expected a whole number from 0, got '-1'"),
        ("a,1,x,2", "a,2,x,2", "row 3, column t: expected a row of x at t = 1 before that of y at t = 1 of episode a"),
        ("a,0,y", "a,0,x", "row 1, column agent: expected one row per agent and step, got a second one of x at t = 0"),
        ("7,0,x,,0,0,0.5,false,true\n", "", "row 4, column t: expected a row of x at t = 0 before that of y at t = 0"),
        ("7,0,y,,1,0,0.5,false,true\n", "", "row 4, column agent: expected a row of y beside that of x at t = 0"),
        ("0,-2.5,0.25,true", "0,-2.5,0.25,false", "row 3, column terminated: expected the same for all agents"),
        ("0,x,,0,1,0.5,false", "0,x,,0,1,0.5,true", "row 0, column terminated: expected false before the last step"),
        ("0,0,0.5,false,true", "0,0,0.5,false,maybe", "row 5, column truncated: expected true or false, got 'maybe'"),
        (",t,", ",t,t,", "column t: expected one, got 2 of that name"),
        ("a,1,x,2,1,-2.5,1,true,false", "a,1,x,2,1", "row 2: expected 9 cells, one per column, got 5"),
    ],
)
def test_what_is_wrong_is_named(write, old, new, said):
    assert GOOD.count(old) >= 1
    with pytest.raises(FormatError) as caught:
        read_table(write(GOOD.replace(old, new, 1)), 0.5)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_labels_outside_known_alphabets_are_refused(write):
    agents = (Agent("x", ["0"], ["0", "1", "2"]), Agent("y", ["0", "1"], ["0"]))
    with pytest.raises(FormatError, match=r"row 2, column action: expected an action of x \(0\), got '1'"):
        read_table(write(GOOD), 0.5, agents)
    with pytest.raises(FormatError, match="row 1, column agent: expected one of x, z, got 'y'"):
        read_table(write(GOOD), 0.5, (agents[0], Agent("z", ["0"], ["0"])))
    many = GOOD.replace("a,1,x,2", "a,1,x,99999")
    with pytest.raises(FormatError, match="row 2, column observation: expected numbers from 0 to 32767, got '99999'"):
        read_table(write(many), 0.5)
    with pytest.raises(FormatError, match="discount: expected a number from 0 to 1"):
        read_table(write(GOOD), 1.5)


@pytest.mark.parametrize("row", [0, 5, 11])
def test_a_name_that_occurs_once_is_a_slip(tmp_path, row):
    lines = [f"{k},{t},{who},,go,0" for k in range(3) for t in range(2) for who in ("ann", "bob")]
    lines = [line.replace(",,", ",seen,") for line in lines]
    lines[row] = lines[row].replace("ann", "anm").replace("bob", "bbo")
    (tmp_path / "log.csv").write_text("\n".join(["episode,t,agent,observation,action,reward", *lines]))
    with pytest.raises(FormatError) as caught:
        read_table(tmp_path / "log.csv", 0.9)
    slip = lines[row].split(",")[2]
    expected = f"row {row}, column agent: expected a name that occurs at every step (ann, bob), got '{slip}'"
    assert str(caught.value).removeprefix(f"{tmp_path / 'log.csv'}: ").replace("(bob, ann)", "(ann, bob)") == expected
