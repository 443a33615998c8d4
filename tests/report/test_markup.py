"""Every text is escaped where it becomes markup."""

import json

import pytest

from decpomdp.report.markup import data, light, number, tag, text

NASTY = "</script><img src=x onerror=alert(1)>\"'&\u2028"


def test_content_and_attributes_are_escaped():
    made = tag("b", NASTY, title=NASTY)
    assert made.count("<") == 2
    assert made.count('"') == 2
    assert "onerror" in made  # as text
    assert tag("p", made) == f"<p>{made}</p>"  # markup stays as it is


def test_attributes_that_say_nothing_are_left_out():
    made = tag("input", hidden=True, value=None, checked=False, data_node=0, class_="a", x=1.0)
    assert made == '<input hidden data-node="0" class="a" x="1">'


def test_control_characters_cannot_be_written():
    assert text("a\x00b\x1b") == "a\ufffdb\ufffd"
    assert text("a\nb\tc") == "a\nb\tc"


def test_data_cannot_end_its_element_and_comes_back():
    given = {"labels": [NASTY, "<!--", "]]>"], "numbers": [1, 2.5, None]}
    made = data("x", given)
    body = made.removeprefix('<script type="application/json" id="x">').removesuffix("</script>")
    assert not set("<>&\u2028") & set(body)
    assert json.loads(body) == given
    with pytest.raises(ValueError, match="JSON"):
        data("x", [float("nan")])


@pytest.mark.parametrize(("value", "said"), [(1.0, "1"), (-0.04, "0"), (2.25, "2.2"), (-3.16, "-3.2"), (0.06, "0.1")])
def test_coordinates_are_short(value, said):
    assert number(value) == said


def test_files_of_their_own_have_the_light_colours():
    assert light("a { fill: var(--ink); stroke: var(--c0); }") == "a { fill: #1d2126; stroke: #0b6e75; }"
