"""The page in a real browser: it opens quietly, the replay works, nothing sticks out."""

import json

import pytest
from dectiger_horizon3 import controller

import decpomdp as dp
from decpomdp.report.page import write_page
from decpomdp.report.sources import shown
from report.making import kept, nasty_model

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
    made["both"] = write_page([shown(tiger), shown(logged)], folder / "both.html")
    return made


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", ["tiger", "logged", "boxpushing", "marsrovers", "gridsmall", "both"])
def test_it_opens_quietly_and_nothing_sticks_out(visit, paths, name, width):
    page = visit(paths[name], width, "dark" if width == 390 else "light")
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
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
            here = page.locator(f"#run-agent{n} .node.here")
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
    page = visit(paths["boxpushing"])
    page.locator("#player").focus()
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


def test_a_drawing_follows_the_state(visit, paths):
    page = visit(paths["boxpushing"])
    told = replayed(page)
    states = told["episodes"][0]["states"]
    for step in range(5):
        drawn = [t for t in told["picture"]["states"][str(states[step])] if t["kind"] == "agent"]
        visible = page.locator(".robot:visible")
        assert visible.count() == len(drawn)
        for thing in drawn:
            place = page.locator(f".robot.a{thing['label'] - 1}").evaluate("(robot) => robot.style.transform")
            assert place.startswith(f"translate({thing['column'] * 90 + 45}px")
        assert page.locator("#scene .label").text_content() == "state " + told["states"][str(states[step])]
        page.locator("[data-go=on]").click()


def test_every_node_can_be_seen(visit, paths):
    page = visit(paths["tiger"])
    for n in range(2):
        nodes = page.locator(f"#run-agent{n} .node")
        assert nodes.count() == 6
        for i in range(6):
            box = nodes.nth(i).bounding_box()
            assert box["width"] > 20
            assert box["height"] > 20


@pytest.mark.parametrize("name", ["tiger", "boxpushing", "marsrovers"])
def test_texts_of_a_graph_do_not_overlap(visit, paths, name):
    page = visit(paths[name])
    boxes = page.evaluate(
        """Array.from(document.querySelectorAll('#run-agent0 text')).map((text) => {
             const box = text.getBoundingClientRect();
             return [box.left, box.top, box.right, box.bottom];
           })"""
    )
    assert len(boxes) > 4
    for place, (a, b, c, d) in enumerate(boxes):
        for e, f, g, h in boxes[:place]:
            assert c <= e + 1 or g <= a + 1 or d <= f + 1 or h <= b + 1


def test_curves_graphs_and_theme_react(visit, paths):
    page = visit(paths["tiger"])
    page.locator(".choice button[data-axis=seconds]").click()
    assert page.locator("figure[data-axis=steps]:visible").count() == 0
    chart = page.locator("figure[data-axis=seconds]:visible .chart").first
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


def test_nasty_labels_do_nothing(visit, tmp_path):
    model = nasty_model()
    run = kept(tmp_path / "nasty", model, dp.Team.of(model, [controller()] * 2))
    page = visit(run.folder / "report.html")
    for _ in range(3):
        page.locator("[data-go=on]").click()
    assert page.locator("img").count() == 0
    assert shown_facts(page, 0)[2].startswith("</script><img")
    assert page.said == []
