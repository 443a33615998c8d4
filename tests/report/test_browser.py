"""The page in a real browser: it opens quietly, the replay works, nothing sticks out."""

import json

import numpy as np
import pytest
from dectiger_horizon3 import controller

import decpomdp as dp
from decpomdp.domains.traffic import Traffic
from decpomdp.report.animation import animated_svg
from decpomdp.report.page import write_page
from decpomdp.report.performance import shown
from report.making import NASTY, NastyStreets, kept, kept_on, replay_on

pytestmark = pytest.mark.browser


@pytest.fixture
def visit(browser):
    pages = []

    def opened(path, width=1280, scheme="light"):
        said = []
        page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: said.append(request.url) if "file:" not in request.url else None)
        page.goto(path.resolve().as_uri())
        pages.append(page)
        page.said = said
        return page

    yield opened
    for page in pages:
        page.close()


@pytest.fixture(scope="module")
def paths(tiger, logged, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    made = {"tiger": tiger.folder / "report.html", "logged": logged.folder / "report.html"}
    for name, actions in (("boxpushing", [0, 2, 2, 1]), ("marsrovers", [4, 1, 5, 3]), ("gridsmall", [0, 4, 2, 4])):
        model = dp.load(name)
        moves = [[(i + o) % 4 for o in range(len(model.agents[0].observations))] for i in range(4)]
        one = dp.Controller.deterministic(actions, moves, len(model.agents[0].actions))
        kept(folder / name, model, dp.Team.of(model, [one] * 2))
        made[name] = folder / name / "report.html"
    rng = np.random.default_rng(3)
    large = dp.Controller.deterministic(rng.integers(3, size=24), rng.integers(24, size=(24, 2)), 3)
    model = dp.load("dectiger")
    made["large"] = kept(folder / "large", model, dp.Team.of(model, [large] * 2)).folder / "report.html"
    grid = Traffic(3)
    kept_on(folder / "streets", grid, grid.policies()["heuristic"])
    made["streets"] = folder / "streets" / "report.html"
    made["both"] = write_page([shown(tiger), shown(logged)], folder / "both.html")
    return made


NAMES = ("tiger", "logged", "boxpushing", "marsrovers", "gridsmall", "streets", "both")


@pytest.mark.parametrize(
    ("name", "width"),  # on a phone and in the dark all of them, at a desk and in daylight a team and a crowd
    [*((name, 390) for name in NAMES), ("tiger", 1280), ("streets", 1280)],
)
def test_it_opens_quietly_and_nothing_sticks_out(visit, paths, name, width):
    page = visit(paths[name], width, "dark" if width == 390 else "light")
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    labels = "Array.from(document.querySelectorAll('.chart .grid text'))"
    assert page.evaluate(f"{labels}.filter((one) => one.getBBox().x < 0).map((one) => one.textContent)") == []
    assert page.said == []


def replayed(page):
    return json.loads(page.locator("#replay-data").text_content())


def shown_facts(page, agent):
    card = page.locator(f".card[data-agent='{agent}']")
    return [card.locator(f"[data-what={what}]").text_content() for what in ("seen", "node", "action")]


def test_the_replay_follows_its_buttons(visit, paths):
    page = visit(paths["tiger"])
    told = replayed(page)
    first = told["episodes"][0]
    for step, button in enumerate(["", "on", "on", "on"]):
        if button:
            page.locator(f"[data-go={button}]").click()
        for n, agent in enumerate(told["agents"]):
            seen = first["seen"][step][n]
            assert shown_facts(page, n) == [
                "nothing yet" if seen < 0 else agent["observations"][seen],
                str(first["nodes"][step][n]),
                agent["actions"][first["actions"][step][n]],
            ]
            for graph in ("run", "small"):
                here = page.locator(f"#{graph}-agent{n} .node.here")
                assert here.get_attribute("data-node") == str(first["nodes"][step][n])
        assert page.locator(".plain b").text_content() == told["states"][str(first["states"][step])]
    page.locator("[data-go=back]").click()
    assert page.locator("#step").input_value() == "2"
    page.locator("[data-go=last]").click()
    assert page.locator("#now").text_content().startswith("step 39:")
    page.locator("[data-go=first]").click()
    assert page.locator("#step").input_value() == "0"
    total = sum(r * told["discount"] ** t for t, r in enumerate(told["episodes"][2]["rewards"]))
    page.locator("#episode").select_option("2")
    assert f"return {round(total, 2):g}" in page.locator("#episode option:checked").text_content()
    assert page.said == []


def test_the_replay_follows_the_keyboard_and_plays(visit, paths):
    page = visit(paths["boxpushing"])  # and nothing is clicked
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.locator("#step").input_value() == "2"
    page.keyboard.press("ArrowLeft")
    assert page.locator("#step").input_value() == "1"
    page.keyboard.press("End")
    assert page.locator("#step").input_value() == "39"
    page.keyboard.press("Home")
    page.keyboard.press(" ")
    for _ in range(50):  # the page's own policy forbids waiting by a script of ours
        page.wait_for_timeout(100)
        if int(page.locator("#step").input_value()) >= 2:
            break
    assert int(page.locator("#step").input_value()) >= 2
    page.keyboard.press(" ")
    paused = page.locator("#step").input_value()
    page.wait_for_timeout(900)
    assert page.locator("#step").input_value() == paused


def test_keys_are_left_to_what_has_a_use_for_them(visit, paths):
    page = visit(paths["tiger"])
    step, shape = page.locator("#step"), page.locator("[data-go=play] path")
    still = shape.get_attribute("d")
    page.locator("[data-go=on]").focus()
    page.keyboard.press(" ")  # presses the button, and does not play as well
    assert (step.input_value(), shape.get_attribute("d")) == ("1", still)
    page.keyboard.press("ArrowRight")
    assert step.input_value() == "2"
    page.locator("[data-go=play]").focus()
    page.keyboard.press(" ")
    assert shape.get_attribute("d") != still  # plays: played once, not played and paused
    page.keyboard.press(" ")
    assert shape.get_attribute("d") == still
    page.keyboard.press("Home")
    for taken in ("#episode", ".controller .view"):
        page.locator(taken).first.focus()
        for key in ("ArrowRight", "End", " "):
            page.keyboard.press(key)
            assert (step.input_value(), shape.get_attribute("d")) == ("0", still)
        page.keyboard.press("Escape")
    dark = page.locator("html").get_attribute("data-theme")
    page.locator("#theme").focus()
    page.keyboard.press(" ")
    assert page.locator("html").get_attribute("data-theme") != dark
    assert shape.get_attribute("d") == still
    step.focus()
    page.keyboard.press("ArrowRight")
    assert step.input_value() == "1"  # one step, though the slider knows the key too
    page.locator("#theme").focus()
    page.keyboard.press("Control+End")
    page.keyboard.press("Shift+ArrowRight")
    assert step.input_value() == "1"
    assert page.said == []


def test_a_page_without_a_replay_leaves_all_keys_alone(visit, paths):
    page = visit(paths["both"], 390)
    page.keyboard.press("End")
    for _ in range(30):
        page.wait_for_timeout(50)
        if page.evaluate("scrollY") > 0:
            break
    assert page.evaluate("scrollY") > 0
    assert page.said == []


def test_a_drawing_follows_the_state(visit, paths):
    page = visit(paths["boxpushing"])
    model = dp.load("boxpushing")
    for _ in range(8):
        state = model.states.index(page.locator("#caption").text_content().removeprefix("state "))
        drawn = [thing for thing in model.scene.things[state] if thing["kind"] == "agent"]
        assert page.locator("#moving .robot:visible").count() == len(drawn)
        for thing in drawn:
            body = page.locator(f"[data-part]:has(.robot.a{thing['label'] - 1})")
            place = body.evaluate("(part) => part.style.transform")
            beside = [other["column"] for other in drawn].count(thing["column"]) > 1
            assert place.startswith("translate(" if beside else f"translate({thing['column'] * 90 + 45}px")
            assert body.locator(".turning").get_attribute("transform") == f"rotate({thing['turn']})"
        boxes = page.locator("#moving .box:visible")
        assert boxes.count() == 3
        page.locator("[data-go=on]").click()


def lit(page, n):
    """What light n shows: the turn of its green bar, None when it is dark."""
    light = page.locator(f"#moving [data-agent='{n}']")
    if light.get_attribute("display") == "none":
        return None
    return light.locator(".turning").get_attribute("transform")


def test_the_streets_follow_the_buttons(visit, paths):
    page = visit(paths["streets"])
    told = replayed(page)
    first = told["episodes"][0]
    queues = page.locator("#moving .cars")
    assert queues.count() == 6
    before = None
    for step, button in enumerate(["", "on", "on", "on", "on"]):
        if button:
            page.locator(f"[data-go={button}]").click()
        assert [lit(page, n) for n in range(9)] == [f"rotate({90 * a})" for a in first["actions"][step]]
        words = page.locator("#caption").text_content()
        lengths = queues.evaluate_all(
            "(lines) => lines.map((line) => Math.abs(line.x2.baseVal.value - line.x1.baseVal.value)"
            " + Math.abs(line.y2.baseVal.value - line.y1.baseVal.value))"
        )
        cars = [round(length * 9 / 70) for length in lengths]  # 70 pixels hold nine
        assert words.startswith(f"{sum(cars)} cars wait, {sum(n == 9 for n in cars)} of 6 streets are full")
        assert words != before
        before = words
    page.locator("[data-go=first]").click()
    page.locator("#episode").select_option("1")
    assert [lit(page, n) for n in range(9)] == [f"rotate({90 * a})" for a in told["episodes"][1]["actions"][0]]
    assert page.said == []


def test_one_of_many_agents_is_chosen_by_its_light_or_its_name(visit, paths):
    page = visit(paths["streets"])
    told = replayed(page)
    assert page.locator(".card").count() == 1
    page.locator("#moving [data-agent='4']").click()
    assert page.locator("#agent").input_value() == "4"
    page.locator("[data-go=on]").click()
    first, agent = told["episodes"][0], told["agents"][4]
    assert shown_facts(page, 4) == [
        agent["observations"][first["seen"][1][4]], str(first["nodes"][1][4]), agent["actions"][first["actions"][1][4]],
    ]  # fmt: skip
    assert page.locator(".card .graph-of:visible").get_attribute("data-agent") == "4"
    page.locator("#agent").select_option("7")
    assert page.locator("#moving .chosen").get_attribute("data-agent") == "7"
    assert page.locator(".crowd .one").count() == 9
    page.locator(".crowd .one > summary").nth(4).click()
    nodes = page.locator("#run-agent4 .node")
    assert nodes.count() == 2
    assert all(nodes.nth(i).bounding_box()["width"] > 20 for i in range(2))
    assert page.said == []


def test_an_animation_plays_in_a_browser(visit, tmp_path):
    grid = Traffic(2)
    replay = replay_on(grid, grid.policies()["heuristic"], 10, seed=2)
    path = tmp_path / "streets.svg"
    path.write_text(animated_svg(replay, "traffic:2"))
    page = visit(path)
    page.evaluate("document.documentElement.pauseAnimations()")
    for step in (0, 3, 9):
        page.evaluate("(time) => document.documentElement.setCurrentTime(time)", 0.8 * (step + 0.7))
        tall = page.locator(".go").evaluate_all(
            "(bars) => bars.map((bar) => bar.getBoundingClientRect()).map((box) => box.height > box.width)"
        )
        assert tall == [action == 1 for action in replay.content["episodes"][0]["actions"][step]]
        ends = page.locator(".cars").evaluate_all(
            "(lines) => lines.map((one) => [one.x2.animVal.value, one.y2.animVal.value])"
        )
        for s, end in enumerate(ends):
            ((name, wanted),) = replay.film.parts[2 * s].values(step).items()
            assert end[("x2", "y2").index(name)] == pytest.approx(wanted, abs=0.06)
        shown = page.locator(".caption").evaluate_all(
            "(texts) => texts.filter((one) => getComputedStyle(one).display !== 'none').map((one) => one.textContent)"
        )
        assert [words.split(":")[0] for words in shown] == [f"step {step}"]
    assert page.said == []


def test_a_curve_that_never_changes_is_seen(visit, tmp_path):
    model = dp.load("dectiger")
    trace = tuple({"steps": 100 * r, "value": -2.0, "nodes": "6+6"} for r in range(30))
    run = kept(tmp_path / "flat", model, dp.Team.of(model, [controller()] * 2), trace)
    page = visit(run.folder / "report.html", 390)
    for chart, lines in enumerate([1, 2]):  # the value; the nodes of two agents, one upon the other
        figure = page.locator("figure .chart").nth(chart)
        figure.scroll_into_view_if_needed()
        frame, curves = figure.bounding_box(), figure.locator(".curve")
        assert curves.count() == lines
        box = curves.first.bounding_box()
        assert box["width"] > 0.6 * frame["width"]
        assert frame["y"] + 5 < box["y"] < frame["y"] + frame["height"] - 20
        met = page.evaluate(  # what is painted along the line
            """([left, wide, y]) => Array.from({ length: 60 }, (_, k) =>
                 document.elementFromPoint(left + (wide * (k + 0.5)) / 60, y)?.getAttribute('class') || '')""",
            [box["x"], box["width"], box["y"] + box["height"] / 2],
        )
        wanted = {"curve c0", "curve c1 dashed"} if lines == 2 else {"curve c0"}
        assert set(met) >= wanted, (met, box, frame)
    assert page.said == []


@pytest.mark.parametrize(("name", "fewest"), [("tiger", 20), ("boxpushing", 10), ("large", 50)])
def test_texts_of_a_graph_do_not_overlap(visit, paths, name, fewest):
    page = visit(paths[name])
    boxes = page.evaluate(
        """Array.from(document.querySelectorAll('#run-agent0 text, #small-agent0 text')).map((text) => {
             const box = text.getBoundingClientRect();
             return [box.left, box.top, box.right, box.bottom];
           })"""
    )
    assert len(boxes) > fewest
    for place, (a, b, c, d) in enumerate(boxes):
        for e, f, g, h in boxes[:place]:
            assert c <= e + 1 or g <= a + 1 or d <= f + 1 or h <= b + 1


def test_a_graph_wider_than_a_phone_scrolls_and_says_so(visit, tmp_path):
    model = dp.load("dectiger")
    moves = np.eye(8)[np.arange(48).reshape(8, 3, 2) * 5 % 8]
    wide = dp.Controller(np.full(8, 1 / 8), np.eye(3)[np.arange(8) % 3], moves)  # starts anywhere: one row
    page = visit(kept(tmp_path / "wide", model, dp.Team.of(model, [wide] * 2)).folder / "report.html", 390)
    view = page.locator(".controller .view").first
    assert view.evaluate("(view) => view.scrollWidth > view.clientWidth + 1")
    assert page.locator(".controller.wider").count() == 2
    told = page.locator(".controller.wider .bar").first
    assert "scroll" in told.evaluate("(bar) => getComputedStyle(bar, '::after').content")
    assert view.evaluate("(view) => { view.scrollLeft = 1e6; return view.scrollLeft; }") > 0
    for _ in range(8):
        page.locator(".controller [data-zoom='-1']").first.click()
    assert page.locator(".controller").first.evaluate("(one) => !one.classList.contains('wider')")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_curves_graphs_and_theme_react(visit, paths):
    page = visit(paths["tiger"])
    page.locator(".choice button[data-axis=seconds]").click()
    assert set(page.locator(".chart .axis").all_text_contents()) == {"seconds"}
    chart = page.locator(".chart").first
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert page.locator(".tip:visible").text_content().startswith("seconds")
    graph = page.locator(".controller .graph").first
    before = graph.bounding_box()["width"]
    page.locator("[data-zoom='1']").first.click()
    assert graph.bounding_box()["width"] == pytest.approx(1.25 * before, rel=0.02)
    page.locator("#run-agent0 .node").first.hover()
    assert page.locator("#run-agent0 .link.mine").count() >= 1
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.locator("#theme").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != paper
    assert page.said == []


def test_nasty_streets_do_nothing(visit, tmp_path):
    simulator = NastyStreets()
    run = kept_on(tmp_path / "nasty", simulator, dp.Team.uniform(simulator))
    page = visit(run.folder / "report.html", 390)
    page.locator("[data-go=on]").click()
    page.locator("#moving [data-agent='3']").click()
    assert page.locator("img").count() == 0
    assert shown_facts(page, 3)[2].startswith("</script><img")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.said == []
    path = tmp_path / "nasty.svg"
    path.write_text(animated_svg(replay_on(simulator, dp.Team.uniform(simulator), 5), NASTY))
    page = visit(path)
    assert page.locator("img").count() == 0
    assert page.said == []
