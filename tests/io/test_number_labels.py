"""Labels that are numbers are found by name, however a tool wrote them, in CSV and in Parquet alike."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import decpomdp as dp

HEADER = "episode,t,agent,observation,action,reward\n"


def read(tmp_path, kind, agents, cells, first):
    """One agent that sees `cells`, after `first`, which may be nothing."""
    seen = [first, *cells]
    if kind == "csv":
        rows = [f"0,{t},ann,{'' if one is None else one},go,0\n" for t, one in enumerate(seen)]
        (tmp_path / "log.csv").write_text(HEADER + "".join(rows))
    else:
        n = len(seen)
        columns = {"episode": [0] * n, "t": range(n), "agent": ["ann"] * n, "action": ["go"] * n, "reward": [0.0] * n}
        pq.write_table(pa.table(columns | {"observation": pa.array(seen, pa.float64())}), tmp_path / "log.parquet")
    return dp.Episodes.load(tmp_path / f"log.{kind}", 0.9, agents).observations[1:, 0].tolist()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize(
    ("labels", "cells", "expected"),
    [
        (("1", "2", "3"), (1.0, 2.0), [0, 1]),
        (("1", "0"), (1.0, 0.0), [0, 1]),
        (("100000", "200000"), (100000.0, 200000.0), [0, 1]),
        (("1.0", "2.0"), (1.0, 2.0), [0, 1]),
        (("a", "b"), (1.0, 0.0), [1, 0]),
    ],
)
def test_names_come_before_numbers(tmp_path, kind, empty, labels, cells, expected):
    agents = [dp.Agent("ann", ("go",), labels)]
    assert read(tmp_path, kind, agents, cells, None if empty else cells[0]) == expected


def test_numbers_of_agents_are_names_first(tmp_path):
    agents = [dp.Agent("1", ("go", "wait"), ("a",)), dp.Agent("0", ("go", "wait"), ("a",))]
    (tmp_path / "log.csv").write_text(HEADER + "0,0,1.0,,go,0\n0,0,0.0,,wait,0\n")
    assert dp.Episodes.load(tmp_path / "log.csv", 0.9, agents).actions.tolist() == [[0, 1]]


def test_a_number_that_is_no_label_among_numbers_is_refused(tmp_path):
    with pytest.raises(dp.FormatError, match="expected an observation of ann"):
        read(tmp_path, "csv", [dp.Agent("ann", ("go",), ("1", "2", "3"))], (0, 1), None)


@pytest.mark.parametrize(
    ("labels", "cell"),
    [(("01", "02", "03"), 1), (("-1", "+0", "+1"), 1), (("-2", "-1"), 0), (("0.5", "1.5"), 1), (("1e3", "a"), 0)],
)
def test_labels_that_only_look_like_numbers_have_none_either(tmp_path, labels, cell):
    """A spreadsheet makes 1 of 01: that is not the second label."""
    with pytest.raises(dp.FormatError, match=f"row 1, column observation: expected an observation of ann .*'{cell}'"):
        read(tmp_path, "csv", [dp.Agent("ann", ("go",), labels)], (cell,), None)


@pytest.mark.parametrize("nothing", ["NaN", "nan", "-1", "-1.0"])
def test_nothing_seen_may_be_written_in_several_ways(tmp_path, nothing):
    path = tmp_path / "log.csv"
    path.write_text(HEADER + f"0,0,ann,{nothing},go,0\n0,1,ann,left,go,0\n")
    found = dp.Episodes.load(path, 0.9)
    assert (found.agents[0].observations, found.observations[:, 0].tolist()) == (("left",), [dp.NO_OBSERVATION, 0])
    known = dp.Episodes.load(path, 0.9, [dp.Agent("ann", ("go",), ("left", nothing))])
    assert known.observations[:, 0].tolist() == [1, 0]
    path.write_text(HEADER + f"0,0,ann,left,go,0\n0,1,ann,{nothing},go,0\n")
    with pytest.raises(dp.FormatError, match="row 1, column observation: expected an observation"):
        dp.Episodes.load(path, 0.9)


def test_an_action_that_is_not_there_is_no_action(tmp_path):
    (tmp_path / "log.csv").write_text(HEADER + "0,0,ann,,go,0\n0,1,ann,left,NaN,0\n")
    with pytest.raises(dp.FormatError, match="row 1, column action: expected a label or a whole number, got 'NaN'"):
        dp.Episodes.load(tmp_path / "log.csv", 0.9)


@pytest.mark.parametrize("reward", ["9007199254740992", "9100000000000000.0", "1e300", "18014398509481984", "0.1"])
def test_large_rewards_that_are_numbers_are_read(tmp_path, reward):
    (tmp_path / "log.csv").write_text(HEADER + f"0,0,ann,,go,{reward}\n")
    assert dp.Episodes.load(tmp_path / "log.csv", 0.9).rewards.tolist() == [float(reward)]


def test_ends_may_be_written_as_fractions_or_not_at_all(tmp_path):
    head = HEADER[:-1] + ",terminated,truncated\n"
    (tmp_path / "log.csv").write_text(head + "0,0,ann,,go,0,1.0,\n")
    assert dp.Episodes.load(tmp_path / "log.csv", 0.9).terminated.tolist() == [True]
    (tmp_path / "log.csv").write_text(head + "0,0,ann,,go,0,,\n")
    assert dp.Episodes.load(tmp_path / "log.csv", 0.9).terminated.tolist() == [False]
