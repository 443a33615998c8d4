"""The text of a table: encodings, line ends, missing columns, and which cells are numbers and which labels."""

import pytest

import decpomdp as dp
from decpomdp.core import Agent, FormatError
from decpomdp.io.tables import read_table

HEADER = "episode,t,agent,observation,action,reward\n"


def said(tmp_path, content):
    path = tmp_path / "log.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(FormatError) as caught:
        read_table(path, 0.9)
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value).removeprefix(str(path)).removeprefix(": ")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", ":1: expected the names of columns in the first line, got none"),
        ("\n\n", ":1: expected the names of columns in the first line, got none"),
        (HEADER, "expected at least one row, got none"),
        (HEADER.strip(), "expected at least one row, got none"),
        (HEADER.strip() + "\r", "expected at least one row, got none"),
        (HEADER + "\n\r\n", "expected at least one row, got none"),
        (HEADER.encode("utf-16"), ":1: expected UTF-8 text, got another encoding"),
        (
            (HEADER + "0,0,x,,go,1\n0,1,x,a,go,1\n0,2,x,café,go,1\n").encode("latin-1"),
            ":4: expected UTF-8 text, got another encoding (byte 0xe9)",
        ),
        (
            (HEADER + "0,0,x,,go,1\n" + "0,1,x,a,go,1\n" * 20_000 + "0,2,x,café,go,1\n").encode("latin-1"),
            ":20003: expected UTF-8 text, got another encoding (byte 0xe9)",
        ),
        (
            HEADER + "0,0,x,,go,1\n0,1,x,a,g\0o,1\n",
            "row 1, column action: expected a label without control characters, got 'g\\x00o'",
        ),
        (HEADER + "0,0,x\x1b[2J,,go,1\n", "row 0, column agent: expected a label without control characters"),
        (HEADER.replace(",", ";") + "0;0;x;;go;1\n", "column episode: expected one, got only 'episode;t"),
        (HEADER.replace("action,", ""), "column action: expected one, got only 'episode', 't', 'agent', "),
        (HEADER.replace("action", "action,action"), "column action: expected one, got 2 of that name"),
        (HEADER + "0,0,x\n", "row 0: expected 6 cells, one per column, got 3"),
        (HEADER + "0,0.5,x,,go,1\n", "row 0, column t: expected a whole number, got '0.5'"),
    ],
)
def test_files_that_are_no_tables(tmp_path, content, expected):
    assert said(tmp_path, content).startswith(expected)


def test_a_table_that_is_not_there_is_not_called_one(tmp_path):
    with pytest.raises(FormatError, match=r"none\.csv: expected an episodes file, but there is no such file$"):
        dp.Episodes.load(tmp_path / "none.csv")


def test_what_may_help_is_said(tmp_path):
    assert said(tmp_path, HEADER.replace(",", ";")).endswith("(expected commas between columns)")
    assert "(under another name? --column action=THEIRS" in said(tmp_path, HEADER.replace("action", "did"))


@pytest.mark.parametrize(
    "change",
    [str, lambda text: "\ufeff" + text, lambda text: text.replace("\n", "\r\n"), lambda text: text[:-1]],
    ids=["plain", "mark", "returns", "no end"],
)
def test_ways_to_write_the_same_lines(tmp_path, change):
    path = tmp_path / "log.csv"
    path.write_bytes(change(HEADER + '0,0,"x\ny",,"go, now",1\n').encode())
    found = read_table(path, 0.9)
    assert found.agents[0].name == ("x\r\ny" if "\r" in change("\n") else "x\ny")
    assert (found.agents[0].actions, found.rewards.tolist()) == (("go, now",), [1.0])


def logged(tmp_path, actions, **options):
    path = tmp_path / "log.csv"
    path.write_text(HEADER + "".join(f"0,{t},x,{'' if t == 0 else 'o'},{a},1\n" for t, a in enumerate(actions)))
    return read_table(path, 0.9, **options)


@pytest.mark.parametrize(
    ("actions", "alphabet", "numbers"),
    [
        (("2", "0"), ("0", "1", "2"), [2, 0]),
        (("2.0", "0", "1.00"), ("0", "1", "2"), [2, 0, 1]),  # whole numbers beside an empty cell, as some tools write
        (("go", "1st", "v2"), ("1st", "go", "v2"), [1, 0, 2]),
    ],
)
def test_numbers_and_labels(tmp_path, actions, alphabet, numbers):
    found = logged(tmp_path, actions)
    assert found.agents[0].actions == alphabet
    assert found.actions[:, 0].tolist() == numbers


@pytest.mark.parametrize("odd", ["007", "+3", "1e3", "0.5", "-2", " 1", ".5", "1."])
def test_odd_numbers_are_refused(tmp_path, odd):
    with pytest.raises(FormatError, match=r"row 1, column action: expected a label, or a whole number such as 12 \(or"):
        logged(tmp_path, ("2", odd))
    with pytest.raises(FormatError, match="row 1, column action: expected labels or whole numbers, not both"):
        logged(tmp_path, ("go", odd))


def test_numbers_among_labels_are_refused_unless_the_labels_are_known(tmp_path):
    with pytest.raises(FormatError, match=r"row 1, column action: expected labels or whole numbers, not both.*got '1'"):
        logged(tmp_path, ("go", "1"))
    agents = [Agent("x", ("stay", "go", "bond"), ("o",))]
    assert logged(tmp_path, ("go", "0", "bond", "2.0"), agents=agents).actions[:, 0].tolist() == [1, 0, 2, 2]
    with pytest.raises(FormatError, match=r"row 0, column action: expected an action of x .*bond.*, got '01'"):
        logged(tmp_path, ("01",), agents=agents)
    agents = [Agent("x", ("stay", "go", "007"), ("o",))]
    assert logged(tmp_path, ("go", "007"), agents=agents).actions[:, 0].tolist() == [1, 2]
    with pytest.raises(FormatError, match=r"row 1, column action: expected an action of x \(stay, go, 007\), got '0'"):
        logged(tmp_path, ("go", "0"), agents=agents)


def test_wrong_symbols_of_two_agents_name_their_rows(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(HEADER + "0,0,x,,1,1\n0,0,y,,go,1\n0,1,x,a,1,1\n0,1,y,1e3,go,1\n")
    with pytest.raises(FormatError, match="row 3, column observation: expected a label"):
        read_table(path, 0.9)
