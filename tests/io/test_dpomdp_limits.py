"""Hostile files are refused soon and with little memory; large honest ones are read."""

import gzip
import subprocess
import sys
import time

import pytest

from decpomdp.core import FormatError
from decpomdp.io.dpomdp.read import Limits, parse_dpomdp, read_dpomdp
from decpomdp.io.dpomdp.fields import SOME, Joint

HEAD = "agents: 2\ndiscount: 1\nvalues: reward\n"
SIZES = "states: {}\nstart:\nuniform\nactions:\n{}\n{}\nobservations:\n{}\n{}\n"
TABLES = "expected a model with tables of at most 2147483648 bytes"

# Runs in a process of its own: its address space is limited, so that asking for too much fails at once.
CHILD = """
import sys, time
from decpomdp.core import FormatError
from decpomdp.io.dpomdp.read import read_dpomdp
if sys.platform.startswith("linux"):  # elsewhere only the time and the words are tested
    import resource
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (500 << 20), used + (500 << 20)))
start = time.process_time()
try:
    read_dpomdp(sys.argv[1])
except FormatError as error:
    print(time.process_time() - start, error)
"""


def refused(path):
    """Seconds and complaint of reading `path` with 500 MB to spare."""
    done = subprocess.run([sys.executable, "-c", CHILD, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    seconds, message = done.stdout.split(" ", 1)
    return float(seconds), message


def long_line():
    return HEAD + "states: " + "a" * (100 << 20)


def bomb(piece):
    """A small gzip file that unpacks to many gigabytes: one packed member again and again."""
    member = gzip.compress(piece * (16 << 20), compresslevel=9)
    return member * 200


CASES = {
    "states": (lambda: HEAD + "states: 1000000000\n", f":4: {TABLES}"),
    "digits": (lambda: HEAD + "states: " + "9" * (7 << 20), f":4: {TABLES}"),
    "agents": (lambda: "agents: 1000000\n", ":1: expected at most 64 agents, found 1000000"),
    "actions": (lambda: HEAD + SIZES.format(2, 4294967296, 4294967296, 2, 2), f":8: {TABLES}"),
    "product": (lambda: HEAD + SIZES.format(2, 65536, 65536, 2, 2), f":9: {TABLES}"),
    "observations": (lambda: HEAD + SIZES.format(2, 2, 2, 65536, 65536), f":12: {TABLES}"),
    "long line": (long_line, ":4: expected lines of at most 8388608 characters"),
    "many names": (lambda: HEAD + "states: " + "a " * 4_000_000, f":4: {TABLES}"),
    "zeros": (lambda: bomb(b"\0"), ": expected at most 268435456 bytes (unpacked), found more"),
    "letters": (lambda: bomb(b"a"), ": expected at most 268435456 bytes (unpacked), found more"),
    "blank lines": (lambda: bomb(b"\n"), ": expected at most 16777216 lines, found more"),
}


@pytest.mark.parametrize("case", CASES)
def test_hostile_files_are_refused_soon_with_little_memory(tmp_path, case):
    make, expected = CASES[case]
    content = make()
    path = tmp_path / "hostile.dpomdp"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    seconds, message = refused(path)
    assert f"hostile.dpomdp{expected}" in message
    assert seconds < 2


def test_large_tables_of_which_nothing_is_said_are_not_touched():
    start = time.process_time()
    with pytest.raises(FormatError, match=r"state 0 sums to 0, expected 1"):
        parse_dpomdp(HEAD + SIZES.format(4000, 1, 1, 2, 2))
    assert time.process_time() - start < 1


def test_large_honest_model_is_read():
    got = parse_dpomdp(HEAD + SIZES.format(500, 4, 4, 3, 3) + "T: * : identity\nO: * : uniform\nR: * : 3 : 4 : * : 2\n")
    assert got.transition.shape == (16, 500, 500)
    assert not got.reward.any()  # state 3 never becomes 4


def test_limits_can_be_set():
    good = HEAD + SIZES.format(2, 2, 2, 1, 1) + "T: * : uniform\nO: * : uniform\n"
    need = 8 * 2 * (1 + 4 * (2 + 1 + 2))
    assert parse_dpomdp(good, limits=Limits(len(good), good.count("\n"), 14, need, 2)).joint_actions == 4
    for limits, words in (
        (Limits(file_bytes=len(good) - 1), "bytes"),
        (Limits(lines=good.count("\n") - 1), "lines, found more"),
        (Limits(line_length=13), r"text:3: expected lines of at most 13 characters"),
        (Limits(table_bytes=need - 1), "tables of at most"),
        (Limits(agents=1), "at most 1 agents, found 2"),
    ):
        with pytest.raises(FormatError, match=words):
            parse_dpomdp(good, limits=limits)


def test_too_little_memory_is_a_complaint_about_the_file(monkeypatch):
    def scarce(*_, **__):
        raise MemoryError

    monkeypatch.setattr("decpomdp.io.dpomdp.tables.np.zeros", scarce)
    with pytest.raises(FormatError, match="text: expected a model that fits into memory"):
        parse_dpomdp(HEAD + SIZES.format(2, 2, 2, 1, 1))


def test_limits_hold_for_files_too(tmp_path):
    path = tmp_path / "a.dpomdp"
    path.write_bytes(gzip.compress(HEAD.encode()))
    with pytest.raises(FormatError, match="expected at most 10 bytes"):
        read_dpomdp(path, limits=Limits(file_bytes=10))


def test_statements_count_for_the_entries_that_they_set():
    """As benchmark files have them: thousands of lines with a wildcard in one place, about a large table."""
    text = HEAD + SIZES.format(300, 4, 4, 2, 2) + "O: * : uniform\n"
    text += "".join(f"T: * : {s} : {(s + k) % 300} : 0.5\n" for s in range(300) for k in (0, 1)) * 4
    text += "".join(f"R: {u} : {s} : {s} : * : 1\n" for u in range(16) for s in range(100))
    got = parse_dpomdp(text)
    assert got.transition[15, 299, 0] == 0.5
    assert got.reward[15, 99] == 0.5


@pytest.mark.parametrize("wide", ["T: * : 3 : 4 : 0.5\n", "T: 3 * : * : 4 : 0.5\n", "T: * : uniform\n"])
def test_what_all_statements_set_is_bounded(monkeypatch, wide):
    monkeypatch.setattr("decpomdp.io.dpomdp.statements.PENDING", 10)  # the count goes on from one batch to the next
    monkeypatch.setattr("decpomdp.io.dpomdp.log.WORK", 100_000)
    text = HEAD + SIZES.format(20, 5, 5, 1, 1) + wide * 200
    with pytest.raises(FormatError, match="expected statements that set at most 100000 entries, found more"):
        parse_dpomdp(text)


def test_statements_cost_nothing_where_they_do_not_hold(monkeypatch):
    """With a block for every joint action, what holds for eight of 64 is looked at for eight, not for all of them."""
    looked = []
    select = Joint.select
    monkeypatch.setattr(Joint, "select", lambda own, code: looked.append(code) or select(own, code))
    monkeypatch.setattr("decpomdp.io.dpomdp.rewards.CELLS", 1)
    text = HEAD + SIZES.format(2, 8, 8, 1, 1) + "T: * : uniform\nO: * : uniform\n"
    parse_dpomdp(text + "".join(f"R: {k} * : 0 : 0 : * : {k}\nR: * {k} : 0 : 0 : * : 1\n" for k in range(8)))
    assert 16 * 8 <= sum(code <= SOME for code in looked) <= 16 * (8 + 2)


@pytest.mark.parametrize(("digits", "found"), [(30, "1.00e+30"), (2000, "1.00e+1000")])
def test_huge_counts_are_told_by_their_size(digits, found):
    with pytest.raises(FormatError, match=f"expected at most 64 agents, found {found}".replace("+", r"\+")):
        parse_dpomdp(f"agents: 1{'0' * digits}\n")
    with pytest.raises(FormatError, match=rf"{found} states".replace("+", r"\+")):
        parse_dpomdp(f"{HEAD}states: 1{'0' * digits}\n")


def test_counts_may_begin_with_zeros():
    good = HEAD + SIZES.format("0" * 40 + "2", 2, 2, 1, 1) + "T: * : uniform\nO: * : uniform\n"
    assert len(parse_dpomdp(good).states) == 2
