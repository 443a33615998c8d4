"""Long tables written by hand: meaning of columns and cells; errors give the row and the column."""

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

import decpomdp as dp
from decpomdp.core import Agent, FormatError, InputError
from decpomdp.io.tables import read_table
from decpomdp.io.tables.write import long_table

from .made_episodes import same

HEADER = "episode,t,agent,observation,action,reward\n"
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
    def writing(content):
        path = tmp_path / "t.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return writing


def test_every_column_by_hand(write):
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
    with pytest.raises(InputError, match="columns: expected a different column for each name"):
        read_table(path, 0.5, columns={"observation": "action"})


def test_errors_give_the_place(write):
    for old, new, said in [
        ("a,1,x,2", "a,1,x,", "row 4, column observation: expected an observation (empty only at t = 0), got nothing"),
        ("a,0,y,,1", "a,0,y,,", "row 3, column action: expected a label or a whole number, got nothing"),
        ("a,0,y,,1", "a,0,y,,g\0o", "row 3, column action: expected a label without control characters, got 'g\\x00o'"),
        ("a,0,y,,1,1", "a,0,y,,1,2", "row 3, column reward: expected the same reward of the team on all rows"),
        ("a,0,y,,1,1", "a,0,y,,1,one", "row 3, column reward: expected a number, got 'one'"),
        ("0,0.5,false,true\n7,0,x", "0,1.5,false,true\n7,0,x", "row 6, column action_prob: expected a probability"),
        ("1,-2.5,1,", "1,-2.5,0,", "row 4, column action_prob: expected a probability above 0 and up to 1, got '0'"),
        ("a,0,x,", "a,0.5,x,", "row 2, column t: expected a whole number from 0, got '0.5'"),
        ("a,0,x,", "a,,x,", "row 2, column t: expected a whole number from 0, got nothing"),
        ("a,1,x,2", "a,2,x,2", "row 5, column t: expected one row per agent and step: x at t = 1, got y at t = 1 of"),
        ("7,0,y,,1,0,0.5,false,true\n", "", "step: y at t = 0, got the end of episode 7"),
        ("0,-2.5,0.25,true", "0,-2.5,0.25,false", "row 5, column terminated: expected the same for all agents"),
        ("0,x,,0,1,0.5,false", "0,x,,0,1,0.5,true", "row 2, column terminated: expected false before the last step"),
        ("0,0,0.5,false,true", "0,0,0.5,false,maybe", "row 7, column truncated: expected true or false, got 'maybe'"),
        (",t,", ",t,t,", "column t: expected one, got 2 of that name"),
        (",observation,", ",obs,", "column observation: expected one, got only 'episode', 't'"),
        ("a,1,x,2,1,-2.5,1,true,false", "a,1,x,2,1", "row 4: expected 9 cells, one per column, got 5"),
        (
            "a,1,x,2",
            "a,1,x,99999",
            "column observation: expected at most 32768 different observations of x, got 100000",
        ),
        ("a,0,y,,1,", "a,0,y,,go,", "row 5, column action: expected labels or whole numbers, not both"),
        ("a,0,y,,1,", "a,0,y,,007,", "row 3, column action: expected a label, or a whole number such as 12 (or"),
    ]:
        assert GOOD.count(old) >= 1
        with pytest.raises(FormatError) as caught:
            read_table(write(GOOD.replace(old, new, 1)), 0.5)
        assert said in str(caught.value)
        assert "\n" not in str(caught.value)


def test_an_unclosed_quotation_mark_does_not_swallow_rows(write):
    for end in ["\n", "\r\n", "\r"]:
        rows = [HEADER.strip() + ",note", "0,0,ann,,go,1,fine", "", '1,0,ann,,go,1,"oops', "2,0,ann,,go,1,fine"]
        with pytest.raises(FormatError, match=r"row 3, column note: expected no line break in a cell"):
            read_table(write(end.join([*rows, ""])), 0.9)
        rows[3] = '1,0,ann,,go,1,"oo""ps,"'
        assert read_table(write(end.join([*rows, ""])), 0.9).count == 3


# Labels and numbers


def logged(write, actions, **options):
    rows = [f"0,{t},x,{'' if t == 0 else 'o'},{a},1\n" for t, a in enumerate(actions)]
    return read_table(write(HEADER + "".join(rows)), 0.9, **options)


def test_numbers_and_labels(write):
    for actions, alphabet, numbers in [
        (("2", "0"), ("0", "1", "2"), [2, 0]),
        (("2.0", "0", "1.00"), ("0", "1", "2"), [2, 0, 1]),
        (("go", "1st", "v2"), ("1st", "go", "v2"), [1, 0, 2]),
    ]:
        read = logged(write, actions)
        assert read.agents[0].actions == alphabet
        assert read.actions[:, 0].tolist() == numbers


def test_known_agents_by_name_or_number(write):
    agents = (Agent("y", ["no", "yes"], ["l", "m", "n"]), Agent("x", ["no", "yes"], ["l", "m", "n"]))
    read = read_table(write(GOOD), 0.5, agents)
    assert read.agents == agents
    assert read.actions.tolist() == [[1, 0], [0, 1], [1, 0]]  # columns in the order of the given agents
    numbers = GOOD.replace(",x,", ",1,").replace(",y,", ",0,")
    assert same(read_table(write(numbers), 0.5, agents), read)
    with pytest.raises(FormatError, match="row 2, column agent: expected one of y, z, got 'x'"):
        read_table(write(GOOD), 0.5, (agents[0], Agent("z", ["0"], ["0"])))


@pytest.mark.parametrize(
    ("labels", "cells", "expected"),
    [
        (("stay", "go", "bond"), ("go", "0", "bond", "2.0"), [1, 0, 2, 2]),
        (("1", "2", "3"), ("1", "2.0"), [0, 1]),  # names come before numbers
        (("stay", "go", "007"), ("go", "007"), [1, 2]),
        (("stay", "go", "007"), ("go", "0"), "row 3, column action: expected an action of x (stay, go, 007), got '0'"),
        (("stay", "go"), ("01",), "row 2, column action: expected an action of x (stay, go), got '01'"),
        (("01", "02"), ("1",), "row 2, column action: expected an action of x (01, 02), got '1'"),  # by a spreadsheet
    ],
)
def test_cells_of_known_alphabets(write, labels, cells, expected):
    agents = [Agent("x", labels, ("o",))]
    if isinstance(expected, list):
        assert logged(write, cells, agents=agents).actions[:, 0].tolist() == expected
        return
    with pytest.raises(FormatError) as caught:
        logged(write, cells, agents=agents)
    assert expected in str(caught.value)


def test_no_observation_may_be_written_in_several_ways(write):
    for empty in ["NaN", "nan", "-1", "-1.0"]:
        path = write(HEADER + f"0,0,ann,{empty},go,0\n0,1,ann,left,go,0\n")
        read = read_table(path, 0.9)
        assert (read.agents[0].observations, read.observations[:, 0].tolist()) == (
            ("left",),
            [dp.core.NO_OBSERVATION, 0],
        )
        known = read_table(path, 0.9, [Agent("ann", ("go",), ("left", empty))])
        assert known.observations[:, 0].tolist() == [1, 0]
        with pytest.raises(FormatError, match="row 3, column observation: expected an observation"):
            read_table(write(HEADER + f"0,0,ann,left,go,0\n0,1,ann,{empty},go,0\n"), 0.9)


# Columns without a type


def emptied(folder, ending, name, steps=2):
    """A long table whose column `name` has no cells, and so no type."""
    table = long_table(dp.simulate("dectiger", episodes=3, horizon=steps, seed=1))
    table = table.set_column(table.schema.get_field_index(name), name, pa.nulls(len(table)))
    path = folder / f"log.{ending}"
    (pc.write_csv if ending == "csv" else pq.write_table)(table, path)
    return path


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_empty_columns(tmp_path, ending):
    for name, row in {"episode": 0, "t": 0, "agent": 0, "observation": 2, "action": 0, "reward": 0}.items():
        with pytest.raises(
            FormatError, match=rf"row {row + 2 * (ending == 'csv')}, column {name}: expected .*, got nothing"
        ):
            read_table(emptied(tmp_path, ending, name), 0.9)
    assert np.isnan(read_table(emptied(tmp_path, ending, "action_prob"), 0.9).behaviour).all()
    observed = read_table(emptied(tmp_path, ending, "observation", steps=1), 0.9).observations
    assert (observed == dp.core.NO_OBSERVATION).all()
