"""Raw observations to symbols."""

import numpy as np
import pytest

from decpomdp import Discretiser, InputError


def test_bins_are_numbered_like_digits_and_named():
    found = Discretiser.binned([[0.0], [], [-1.0, 1.0]])
    assert found.count == 6
    values = [[-1, 9, -2], [-1, 9, 0], [-1, 9, 1], [0, 9, -2], [0, 9, 0.5], [0, 9, 7]]  # an edge belongs above
    assert [found.symbol("x", np.array(value)) for value in values] == [0, 1, 2, 3, 4, 5]
    assert found.labels[1] == "[0] < 0, -1 <= [2] < 1"
    assert found.labels[5] == "[0] >= 0, [2] >= 1"
    assert Discretiser.binned([[], []]).labels == ("anything",)
    assert Discretiser.binned([[0.0], []], names=("x", "y")).labels == ("x < 0", "x >= 0")
    for names in (("x",), ("x", "y, z")):
        with pytest.raises(InputError, match="names: expected 2 names"):
            Discretiser.binned([[0.0], []], names=names)


def test_every_symbol_of_random_bins_is_what_counting_edges_says():
    rng = np.random.default_rng(0)
    edges = [np.sort(rng.normal(size=size)) for size in (2, 0, 3, 1)]
    found = Discretiser.binned(edges)
    for value in rng.normal(size=(200, 4)):
        digits = [int((value[i] >= edges[i]).sum()) for i in (0, 2, 3)]
        assert found.symbol("x", value) == (digits[0] * 4 + digits[1]) * 2 + digits[2]


def test_mistakes_are_named():
    with pytest.raises(InputError, match="edges\\[1\\]: expected increasing numbers"):
        Discretiser.binned([[0.0], [1.0, 1.0]])
    with pytest.raises(InputError, match="observation: expected 2 numbers, one per list of edges, got 3"):
        Discretiser.binned([[0.0], [1.0]]).symbol("x", np.zeros(3))
    with pytest.raises(InputError, match="expected a function from observations to symbols, got 3"):
        Discretiser(2, 3)
    with pytest.raises(InputError, match="symbols of the discretiser"):
        Discretiser(0, int)
    with pytest.raises(InputError, match="'a' twice"):
        Discretiser(("a", "a"), int)
    with pytest.raises(InputError, match="agent x: result of the discretiser: expected a whole number from 0 to 1"):
        Discretiser(2, lambda seen: 2).symbol("x", None)
    with pytest.raises(InputError, match="result of the discretiser"):
        Discretiser(2, lambda seen: 0.5).symbol("x", None)


def test_a_reading_that_fails_is_told_in_one_line():
    with pytest.raises(
        InputError, match=r"agent x: the discretiser failed on ndarray: IndexError: index 7 is out"
    ) as told:
        Discretiser(2, lambda seen: seen[7]).symbol("x", np.zeros(3))
    assert isinstance(told.value.__cause__, IndexError)
