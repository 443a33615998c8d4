"""How curves are laid out in a panel."""

import pytest

from decpomdp.experiments.draw import _aside, draw
from decpomdp.experiments.experiment import Curve, Panel, Picture

PLACES = (1e-6, 1e-3, 1.0)


def curves(count):
    return tuple(Curve(f"c = {place}", PLACES, (1.0, 2.0, 3.0), (0.1, 0.1, 0.1)) for place in range(count))


@pytest.mark.parametrize("count", [1, 2, 5])
def test_points_of_one_place_stand_side_by_side_around_it(count):
    found = _aside(curves(count))
    for spot, place in enumerate(PLACES):
        beside = [curve.x[spot] for curve in found]
        assert beside == sorted(set(beside))
        assert beside[0] * beside[-1] == pytest.approx(place**2)
        assert beside[-1] / beside[0] < 1000**0.5  # all nearer to their own place than to the next
    assert [curve.y for curve in found] == [curve.y for curve in curves(count)]


def test_one_place_alone_needs_no_room():
    alone = (Curve("c = 1", (0.1,), (1.0,)), Curve("c = 2", (0.1,), (1.0,)))
    assert [curve.x for curve in _aside(alone)] == [(0.1,), (0.1,)]


def test_ticks_stay_at_the_places(tmp_path):
    panel = Panel("", "d", "value", curves(3), across_logarithmic=True, beside=True)
    files = [draw(Picture("figure", "", ((each,),)), tmp_path)[1].read_text() for each in (panel, panel)]
    assert files[0] == files[1]
    told = draw(Picture("plain", "", ((Panel("", "d", "value", curves(3), across_logarithmic=True),),)), tmp_path)[1]
    ticks = [line for line in files[0].splitlines() if 'id="xtick_' in line]
    assert len(ticks) == len(PLACES) == told.read_text().count('id="xtick_')
