"""The border of core: what passes comes out contiguous, read-only and nobody else's; what does not is named."""

import copy
import multiprocessing
from numbers import Integral

import numpy as np
import pytest

from decpomdp.core import FormatError, InputError, checks


def message(call, *arguments, **options):
    with pytest.raises(InputError) as caught:
        call(*arguments, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_views_of_writable_memory_are_copied_and_made_contiguous():
    for view in [lambda a: a[::-1], lambda a: a.T, lambda a: np.asfortranarray(a), lambda a: a[:]]:
        given = np.arange(4.0).reshape(2, 2)
        shown = view(given)
        shown.setflags(write=False)  # read-only, but its base is not
        held = checks.array("x", shown, "i, j", (2, 2), np.float64)
        assert held.flags.c_contiguous
        assert not held.flags.writeable
        assert not np.shares_memory(held, given)
        assert np.array_equal(held, shown)


def test_what_is_held_can_never_be_written_to():
    given = np.arange(3.0)
    given.setflags(write=False)
    held = checks.array("x", given, "i", (3,), np.float64)
    given.setflags(write=True)
    given[0] = 7
    assert held.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="WRITEABLE"):
        held.setflags(write=True)


def test_whole_numbers():
    for value in [1.5, True, "3", None, float("nan"), 0, 11, 10**400, [3]]:
        assert checks.whole("n", 3.0, 1, 10) == checks.whole("n", np.int16(3), 1, 10) == 3
        with pytest.raises(InputError, match="n: expected a whole number from 1 to 10, got"):
            checks.whole("n", value, 1, 10)


def test_what_does_not_fit_is_refused():
    for value, dtype, expected in [
        ([1, 2, 3], np.float64, "x[i]: expected shape (2), got (3,)"),
        ([[1, 2]], np.float64, "x[i]: expected shape (2), got (1, 2)"),
        ([1, np.nan], np.float64, "x[i=1] is nan, expected a finite number"),
        ([np.inf, 1], np.float64, "x[i=0] is inf, expected a finite number"),
        ([1, 0.5], np.int64, "x: expected whole numbers that fit int64, got other values"),
        ([1, np.nan], np.int64, "x: expected whole numbers that fit int64, got other values"),
        ([1, 40000], np.int16, "x: expected whole numbers that fit int16, got other values"),
        ([True, 0.5], np.bool_, "x: expected truth values, got other values"),
    ]:
        assert message(checks.array, "x", value, "i", (2,), dtype) == expected


def test_what_is_not_numbers_is_refused():
    for value in [
        "ab",
        ["1", "2"],
        [1j, 2],
        [[1], [1, 2]],
        [{}, 1],
        [10**30, 1],
        np.array(["2020", "2021"], dtype="datetime64[Y]"),
    ]:
        assert message(checks.array, "x", value, "i", (2,), np.int64).startswith(
            "x: expected numbers in an array [i], got"
        )


def test_a_row_off_by_little_is_renormalised():
    for off in [1e-7, -1e-7, 9e-7, -9e-7]:
        held = checks.probabilities("p", [[0.5, 0.5], [0.25, 0.75 + off]], "i, j", (2, 2))
        assert np.array_equal(held[0], [0.5, 0.5])  # a good row is left alone
        assert held[1, 0] == 0.25 / (0.25 + (0.75 + off))
        assert abs(held[1].sum() - 1) < 1e-15


def test_a_row_off_by_more_is_refused():
    for off in [1e-5, -1e-5, 1.1e-6, -1.1e-6, 1, -0.5]:
        found = message(checks.probabilities, "p", [[0.5, 0.5], [0.5, 0.5 + off]], "i, j", (2, 2))
        assert found == f"p[i=1] sums to {1 + off:.9g}, expected 1"


def test_what_is_no_distribution_is_refused():
    for value, expected in [
        ([1.5, -0.5], "p[i=1] is -0.5, expected a probability of at least 0"),
        ([0, -0.5], "p[i=1] is -0.5, expected a probability of at least 0"),
        ([1 + 1e-300, -1e-300], "p[i=1] is -1e-300, expected a probability of at least 0"),
        ([0, 0], "p sums to 0, expected 1"),
        ([1e308, 1e308], "p sums to inf, expected 1"),
        ([np.nan, 1], "p[i=0] is nan, expected a finite number"),
    ]:
        assert message(checks.probabilities, "p", value, "i", (2,)) == expected


def test_names_stay_on_one_line():
    for text in ["a\nb", "a\r", "\t", "\x00", "a\u2028b", "\x7f", "\x85"]:
        with pytest.raises(InputError, match="name: expected a text on one line, got"):
            checks.line("name", text)
        assert checks.line("name", "a b é") == "a b é"


def test_numbers():
    assert checks.number("x", np.float32(0.5), 0, 1) == 0.5
    for wrong in ("0.5", True, None, float("nan"), 2, np.array([0.5]), [0.5], 10**400):
        with pytest.raises(InputError, match="x: expected a number from 0 to 1, got"):
            checks.number("x", wrong, 0, 1)


def test_kinds_words_and_functions():
    assert checks.of_kind("x", 3, int) == 3
    with pytest.raises(InputError, match="x: expected an Integral, got 'a'; read it"):
        checks.of_kind("x", "a", Integral, "read it")
    with pytest.raises(InputError, match=r"x: expected an Integral, got the class int itself$"):
        checks.of_kind("x", int, Integral, "read it")
    with pytest.raises(InputError, match="x: expected one of a, b, got ndarray"):
        checks.one_of("x", np.zeros(2), ("a", "b"))
    with pytest.raises(InputError, match="x: expected True or False, got 1"):
        checks.truth("x", 1)
    with pytest.raises(InputError, match="x: expected a function, got 3"):
        checks.callback("x", 3)
    assert checks.threads(None) is None


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
