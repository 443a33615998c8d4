"""Errors say where, and keep what they say on their way between processes."""

import copy
import multiprocessing

import pytest

from decpomdp.core import FormatError, InputError


@pytest.mark.parametrize(("line", "expected"), [(7, "a.txt:7: expected x"), (None, "a.txt: expected x")])
def test_a_format_error_names_file_and_line(line, expected):
    error = FormatError("a.txt", line, "expected x")
    assert str(error) == expected
    assert isinstance(error, InputError)
    assert isinstance(error, ValueError)


@pytest.mark.parametrize("error", [FormatError("a.txt", 7, "expected x"), InputError("expected x")])
def test_errors_travel(error):
    here, there = multiprocessing.Pipe()
    with here, there:
        there.send(error)
        arrived = here.recv()
    for same in (arrived, copy.copy(error)):
        assert type(same) is type(error)
        assert str(same) == str(error)
        assert vars(same) == vars(error)
