"""Settings check themselves: every field of every method, with wrong values, is refused in one line that names it."""

import math

import msgspec
import numpy as np
import pytest

import decpomdp as dp
from decpomdp.api import LOGGED, PLANNING, PLAYING
from decpomdp.core.settings import Settings, about, expected, settings_of

KINDS = [*PLAYING.values(), *LOGGED.values(), *PLANNING.values()]
FIELDS = [(kind, field) for kind in KINDS for field in msgspec.structs.fields(kind)]
WRONG = [math.nan, math.inf, -1e300, "nonsense", object(), [None]]


def test_wrong_values_are_refused_in_one_line():
    for kind, field in FIELDS:
        for value in WRONG:
            with pytest.raises(dp.InputError, match=field.name) as caught:
                kind(**{field.name: value})
            assert "\n" not in str(caught.value)


def test_settings_come_back_from_json():
    for kind in KINDS:
        settings = kind()
        union = msgspec.json.decode(msgspec.json.encode(settings), type=kind)
        assert union == settings
        assert settings.method == kind.__struct_config__.tag


def test_every_field_has_a_sentence():
    for _, field in FIELDS:
        if not isinstance(field.default, msgspec.Struct):
            words = about(field.type).description
            assert words[:1].isupper()
            assert words.endswith(".")


def test_settings_are_frozen_and_misspelt_fields_refused():
    with pytest.raises(AttributeError):
        dp.Search().max_nodes = 3
    with pytest.raises(TypeError, match="max_node"):
        dp.Search(max_node=3)
    with pytest.raises(dp.InputError, match="batch: not a setting of search, which has max_nodes, horizon, tuning"):
        settings_of(dp.Search, {"batch": 3})


def test_numbers_of_numpy_are_numbers():
    assert dp.Search(max_nodes=np.int64(4)) == dp.Search(max_nodes=4)
    assert type(dp.Search(max_nodes=np.int64(4)).max_nodes) is int
    with pytest.raises(dp.InputError, match=r"max_nodes: expected a whole number from 1 to .* or None, got True"):
        dp.Search(max_nodes=True)


def test_expected_values_in_words():
    class Example(Settings, frozen=True, tag="example"):
        nodes: int | tuple[int, ...] = 3

    (field,) = msgspec.structs.fields(Example)
    assert expected(field.type) == "a whole number or a list of: a whole number"
