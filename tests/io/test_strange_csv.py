"""CSV files that were read as something else than they say."""

import pytest

import decpomdp as dp
from decpomdp.core import Agent, FormatError

HEADER = b"episode,t,agent,observation,action,reward\r\n"


@pytest.mark.parametrize(("label", "cell"), [("-1", "-1"), ("-1.0", "-1.0"), ("-1.0", "-1"), ("-1", "-1.0")])
def test_minus_one_may_be_a_label(tmp_path, label, cell):
    path = tmp_path / "log.csv"
    path.write_bytes(HEADER + b"0,0,x,%s,go,0\r\n0,1,x,0.5,go,0\r\n1,0,x,0.5,go,0\r\n" % cell.encode())
    agents = [Agent("x", ("go",), (label, "0.5"))]
    assert dp.Episodes.load(path, 0.9, agents=agents).observations.ravel().tolist() == [0, 1, 1]


@pytest.mark.parametrize("cell", ["0x0", "0X1"])
def test_times_are_decimal(tmp_path, cell):
    path = tmp_path / "log.csv"
    path.write_bytes(HEADER + b"0,0,x,,go,1\r\n1,%s,x,,go,1\r\n" % cell.encode())
    with pytest.raises(FormatError, match=f"row 1, column t: expected a whole number, got '{cell}'"):
        dp.Episodes.load(path, 0.9)


@pytest.mark.parametrize("name", ["log.tsv", "log.txt"])
def test_a_table_under_another_name_is_told_which_to_have(tmp_path, name):
    (tmp_path / name).write_bytes(HEADER + b"0,0,x,,go,1\r\n")
    with pytest.raises(FormatError, match=r"got another kind of file \(CSV needs a name that ends in"):
        dp.Episodes.load(tmp_path / name, 0.9)
