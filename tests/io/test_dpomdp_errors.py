"""Every kind of wrong `.dpomdp` file is refused in one line that says where, what was expected and what was there."""

import gzip

import pytest

from decpomdp.core import FormatError
from decpomdp.io.dpomdp.read import parse_dpomdp, read_dpomdp

GOOD = """agents: 2
discount: 0.9
values: reward
states: left right
start:
uniform
actions:
listen open
3
observations:
low high
1
T: * :
uniform
T: listen * : left :
0.25 0.75
O: * : * : low 0 : 0.25
O: * : * : high * : 0.75
O: open 2 :
0.5 0.5
1 0
R: listen 1 : left : * : * : -2
R: open * : right : left :
1 2
R: 4 : left
1 2
3 4
"""  # 27 lines
LINES = GOOD.splitlines()


def complaint(text, **options):
    with pytest.raises(FormatError) as caught:
        parse_dpomdp(text, "my.dpomdp", **options)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 500
    assert message.startswith("my.dpomdp:")
    return message


def changed(line, *new):
    """GOOD with line number `line` replaced by the lines `new`."""
    return "\n".join([*LINES[: line - 1], *new, *LINES[line:]]) + "\n"


HEADER = [
    (1, "agents: ann ann", "my.dpomdp:1: expected distinct names of agents, got 'ann' twice"),
    (2, "discount: 1.5", "my.dpomdp:2: expected a discount from 0 to 1, got '1.5'"),
    (3, "values: rewards", "my.dpomdp:3: expected 'reward' or 'cost', got 'rewards'"),
    (5, "start: middle", "my.dpomdp:5: expected a state, by name or index from 0 to 1, got 'middle'"),
    (5, "start include:", "my.dpomdp:5: expected the states to include, got nothing"),
    (6, "0.5 0.5001", "my.dpomdp:6: start sums to 1.0001, expected 1"),
    (9, "observations:", "my.dpomdp:9: expected the number of actions of agent2 or their names, got 'observations:'"),
    (12, "1 2", "my.dpomdp:12: expected names of observations of agent2 (no numbers, * or quotation marks), got '1'"),
]


STATEMENTS = [
    (13, "states: 2", "my.dpomdp:13: expected a statement T:, O:, R:, got 'states: 2'"),
    (13, "T: listen :", "my.dpomdp:13: expected a joint action: *, an index from 0 to 5 or 2 words, got 'listen'"),
    (13, "T: listen 3 :", "my.dpomdp:13: expected an action of agent2, by name or index from 0 to 2, got '3'"),
    (13, "T: * : up : 0 : 1", "my.dpomdp:13: expected a state, by name or index from 0 to 1, got 'up'"),
    (13, "T: * : 0 : 1 : nan", "my.dpomdp:13: expected a probability from 0 to 1, got 'nan'"),
    (14, "unifrom", "my.dpomdp:14: expected 2 numbers, got 'unifrom'"),
    (16, "0.25 0.5 0.25", "my.dpomdp:16: expected 2 numbers, got 3"),
    (21, "", "my.dpomdp:22: expected 2 numbers, got 'R: listen 1 : left : * : * : -2'"),
    (22, "R: * : * : * : * : inf", "my.dpomdp:22: expected a number up to 1e+40, got 'inf'"),
]


def test_wrong_lines():
    for table in [HEADER, STATEMENTS]:
        for line, new, expected in table:
            assert complaint(changed(line, new)).startswith(expected)


def test_identity_needs_a_square_matrix():
    text = changed(12, "2").replace("O: open 2 :\n0.5 0.5\n1 0\n", "O: open 2 : identity\n")
    assert "my.dpomdp:19: expected uniform or a row of 4 numbers, got 'identity'" in complaint(text)


ENDS = [
    (5, "my.dpomdp:5: expected uniform or 2 probabilities, got the end of the file"),
    (8, "my.dpomdp:8: expected the actions of agent2, got the end of the file"),
    (13, "my.dpomdp:13: expected uniform or identity or a row of 2 numbers, got the end of the file"),
    (20, "my.dpomdp:20: expected row 2 of 2 of a matrix, got the end of the file"),
]


def test_files_that_end_too_early():
    for kept, expected in ENDS:
        text = "\n".join(LINES[:kept])
        assert complaint(text) == expected
        assert complaint(text + "\n") == expected


def test_empty_files():
    for text in ["", "\n", " \n\n", "# only a comment\n"]:
        assert "expected 'agents:', got the end of the file" in complaint(text)


def test_rows_that_do_not_sum_to_one_are_named_with_the_last_line_that_touched_them():
    message = complaint(changed(16, "0.25 0.73"))
    assert message == "my.dpomdp:15: T for joint action (listen, 0), state left sums to 0.98, expected 1"
    message = complaint(GOOD + "O: open 1 : right : 1 : 0.5\n")
    assert message == "my.dpomdp:28: O for joint action (open, 1), state right sums to 0.75, expected 1"
    message = complaint(GOOD + "T: open 1 : * : 1 : 0.6\n\nT: * 1 : right :\n0.5 0.5\n")
    assert message == "my.dpomdp:28: T for joint action (open, 1), state left sums to 1.1, expected 1"


def test_rows_never_mentioned_are_named():
    text = "\n".join([*LINES[:12], *LINES[14:]])
    message = complaint(text)
    expected = "T for joint action (listen, 0), state right sums to 0, expected 1 (no statement about it)"
    assert message == f"my.dpomdp: {expected}"


def test_long_words_are_cut_in_complaints():
    assert "..." in complaint(changed(13, "T: " + "x" * 100_000 + " 0 :"))
    names = changed(4, "states: left " + "r" * 100_000).replace(": right", ": 1")
    assert "..." in complaint(names + "T: 0 : 1 : 1 : 0.3\n")


def read_complaint(path):
    with pytest.raises(FormatError) as caught:
        read_dpomdp(path)
    assert "\n" not in str(caught.value)
    return caught.value


def test_wrong_bytes(tmp_path):
    for data, line, words in [
        (b"agents: 2\n\ndiscount: \xff\n", 3, "expected UTF-8 text, got byte 0xff"),
        (b"agents: 2\n\0\0\0", 2, "expected text, got a NUL character"),
        (b"\x1f\x8b\x08 this is not gzip at all", None, "expected a complete gzip file"),
        (gzip.compress(GOOD.encode(), mtime=0)[:-9], None, "expected a complete gzip file"),
        (gzip.compress(b"agents: 2\nbye", mtime=0), 2, "expected 'discount:'"),
    ]:
        (tmp_path / "a.dpomdp").write_bytes(data)
        error = read_complaint(tmp_path / "a.dpomdp")
        assert error.path == str(tmp_path / "a.dpomdp")
        assert error.line == line
        assert words in error.message


def test_a_carriage_return_that_ends_no_line_is_refused():
    assert parse_dpomdp(GOOD.replace("\n", "\r\n")) == parse_dpomdp(GOOD)
    line = GOOD.count("\n") + 1
    message = complaint(GOOD + "# pay\rR: * : * : * : * : 5\n")
    assert message == f"my.dpomdp:{line}: expected a new line after a carriage return, got none"


HEAD = "agents: 2\ndiscount: 1\nvalues: reward\n"
SIZES = "states: {}\nstart:\nuniform\nactions:\n{}\n{}\nobservations:\n{}\n{}\n"
TABLES = "expected a model with tables of at most 2147483648 bytes, got one that needs"


def test_announced_sizes_are_bounded_before_memory_is_allocated():
    for text, expected in [
        (HEAD + "states: 1000000000\n", f":4: {TABLES}"),
        (HEAD + "states: " + "9" * 5000, ":4: expected a number of states of at least 1, got '9999"),
        ("agents: 1000000\n", ":1: expected at most 64 agents, got 1000000"),
        (HEAD + SIZES.format(2, 65536, 65536, 2, 2), f":9: {TABLES}"),
        (HEAD + SIZES.format(2, 2, 2, 65536, 65536), f":12: {TABLES}"),
    ]:
        assert complaint(text).startswith(f"my.dpomdp{expected}")


@pytest.mark.parametrize("packed", [False, True])
def test_the_size_of_files_is_bounded(tmp_path, monkeypatch, packed):
    monkeypatch.setattr("decpomdp.io.dpomdp.text.FILE_BYTES", 1000)
    data = b"#" * 1001
    (tmp_path / "a.dpomdp").write_bytes(gzip.compress(data) if packed else data)
    assert "expected at most 1000 bytes" in str(read_complaint(tmp_path / "a.dpomdp"))


def test_a_large_model_is_read():
    got = parse_dpomdp(HEAD + SIZES.format(500, 4, 4, 3, 3) + "T: * : identity\nO: * : uniform\nR: * : 3 : 4 : * : 2\n")
    assert got.transition.shape == (16, 500, 500)
    assert not got.reward.any()  # state 3 never becomes 4
