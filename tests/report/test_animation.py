"""Animations: well-formed, harmless, in step with the episode, and small."""

import io
from xml.etree import ElementTree

import pytest

import decpomdp as dp
from decpomdp.core import InputError
from decpomdp.domains.traffic import Traffic
from decpomdp.report.animation import animated_gif, animated_svg
from report.making import NASTY, replay_on

SVG = "{http://www.w3.org/2000/svg}"


def streets(side=3, steps=10):
    grid = Traffic(side)
    return replay_on(grid, grid.policies()["heuristic"], steps, seed=2)


def grids(name="boxpushing"):
    model = dp.load(name)
    return replay_on(model, dp.Team.uniform(model), 40, seed=1)


def animations(root):
    return [one for one in root.iter() if one.tag in (f"{SVG}animate", f"{SVG}animateTransform")]


@pytest.mark.parametrize("made", [streets, grids, lambda: grids("marsrovers")])
def test_an_animation_is_well_formed_and_harmless(made):
    text = animated_svg(made(), NASTY)
    root = ElementTree.fromstring(text)
    assert root.find(f"{SVG}title").text == NASTY
    assert {one.tag for one in root.iter()} <= {
        SVG + name
        for name in ("svg", "title", "style", "g", "rect", "circle", "line", "polygon", "text", "animate",
                     "animateTransform")
    }  # fmt: skip
    assert len(text) < 60_000
    for one in animations(root):
        times = [float(time) for time in one.get("keyTimes").split(";")]
        assert times == sorted(times)
        assert times[0] == 0
        assert times[-1] <= 1
        assert (times[-1] == 1) == (one.get("calcMode") == "linear")
        assert len(one.get("values").split(";")) == len(times)
        assert one.get("repeatCount") == "indefinite"


def test_what_has_no_drawing_or_is_too_large_is_refused(monkeypatch):
    with pytest.raises(InputError, match="dectiger has no drawing"):
        animated_svg(grids("dectiger"), "dectiger")
    with pytest.raises(InputError, match="dectiger has no drawing"):
        animated_gif(grids("dectiger"), "dectiger")
    monkeypatch.setattr("decpomdp.report.animation.LARGEST", 1000)
    with pytest.raises(InputError, match="expected at most 1000 bytes"):
        animated_svg(streets(), "traffic:3")


def test_a_gif_has_a_frame_per_step():
    image = pytest.importorskip("PIL.Image")
    replay = streets(steps=6)
    left, top, width, _ = replay.film.box
    with image.open(io.BytesIO(animated_gif(replay, "traffic:3"))) as picture:
        assert picture.n_frames == 6
        assert picture.width <= 640
        for step in range(6):
            picture.seek(step)
            pixels = picture.convert("RGB")
            scale = pixels.width / width
            for n, action in enumerate(replay.content["episodes"][0]["actions"][step]):
                x, y = replay.film.parts[12 + n].at
                across = pixels.getpixel((round((x - left + 9) * scale), round((y - top) * scale)))
                assert (across[1] > 120 > across[0]) == (action == 0)  # green along the row
