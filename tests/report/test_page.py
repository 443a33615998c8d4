"""The page as a file: whole, harmless, small, the same every time."""

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from msgspec import structs

import decpomdp as dp
from decpomdp.core import InputError
from decpomdp.domains.traffic import Traffic
from decpomdp.report.page import page, write_page
from decpomdp.report.performance import shown
from report.making import kept, kept_on

VOID = {"br", "col", "input", "link", "meta"}


class Elements(HTMLParser):
    """All elements, each checked to be closed in order."""

    def __init__(self, content):
        super().__init__(convert_charrefs=True)
        self.open, self.found, self.words = [], [], []
        self.feed(content)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    def tags(self, name):
        return [attributes for tag, attributes in self.found if tag == name]


@pytest.fixture(scope="module")
def tiger_page(tiger):
    return (tiger.folder / "report.html").read_text()


def test_a_run_has_its_page(tiger_page):
    found = Elements(tiger_page)
    assert [attributes["id"] for attributes in found.tags("section")] == [
        "controllers",
        "replay",
        "curves",
        "details",
    ]
    words = " ".join(found.words)
    for said in ("dectiger", "13.449", "exact, from the model", "39,000", "stopped: steps", "listen"):
        assert said in words
    nodes = [attributes["data-node"] for attributes in found.tags("g") if attributes.get("class") == "node"]
    assert nodes == [str(i) for i in range(6)] * 4  # of two agents, and again small in the replay


def test_it_stands_alone_is_small_and_runs_only_our_script(tiger, tiger_page):
    found = Elements(tiger_page)
    assert len(tiger_page) < 150_000
    for _, attributes in found.found:
        assert not {"src", "onclick", "onload"} & set(attributes)
        assert attributes.get("href", "#").startswith("#")
    style, script = (re.search(rf"<{name}>(.*?)</{name}>", tiger_page, re.S).group(1) for name in ("style", "script"))
    assert "url(" not in style
    assert "@import" not in style
    assert set(re.findall(r"https?://[^\"' )]*", tiger_page)) == {"http://www.w3.org/2000/svg"}
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = next(a["content"] for a in found.tags("meta") if "http-equiv" in a)
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    assert page([shown(tiger)]) == tiger_page  # made again


def test_a_missing_or_changed_source_is_named(tiger):
    def with_record(**changes):
        return shown(replace(tiger, record=structs.replace(tiger.record, **changes)))

    found = with_record(source="gone.dpomdp")
    assert found.missing == "gone.dpomdp no longer exists"
    words = " ".join(Elements(page([found])).words)
    assert "No replay: gone.dpomdp no longer exists." in words
    assert "Shares of time are unknown" in words
    assert with_record(digest="0" * 64).missing == "dectiger has changed: it is not the same problem"


def test_learned_from_episodes(logged):
    content = (logged.folder / "report.html").read_text()
    words = " ".join(Elements(content).words)
    assert (
        "there is no model or simulator to play the learned team on, so actions are those of the recorded behaviour"
        in words
    )
    assert "Uncertainty of the learner" in words
    assert "Effective sample size" in words
    assert page([shown(logged)]) == content
    assert "The team, played on the model." in page([shown(logged, "broadcast")])
    with pytest.raises(InputError, match="does not fit problem dectiger"):
        shown(logged, "dectiger")


def test_several_runs_on_one_page(tiger, logged, tmp_path):
    target = write_page([shown(tiger), shown(logged)], tmp_path / "both.html")
    found = Elements(target.read_text())
    assert "2 runs compared" in found.words
    assert len(found.tags("svg")) >= 4
    ids = [attributes["id"] for _, attributes in found.found if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert found.words.count("tiger") == 1  # in the legend of the only common chart


def test_a_large_team_is_told_in_words(tmp_path):
    model = dp.load("broadcast")
    rng = np.random.default_rng(0)
    large = dp.Controller.deterministic(rng.integers(2, size=70), rng.integers(70, size=(70, 2)), 2)
    run = kept(tmp_path / "large", model, dp.Team.of(model, [large, dp.Controller.uniform(2, 2)]), learned=False)
    found = Elements(page([shown(run)]))
    words = " ".join(found.words)
    assert "Nothing was learned within the limits: this is the initial team." in words
    assert "More than 50 nodes: described in words only." in words
    assert "node 69: " in words


def test_a_simulator_is_played_anew(tmp_path):
    grid = Traffic(3)
    run = kept_on(tmp_path / "streets", grid, grid.policies()["heuristic"])
    content = (run.folder / "report.html").read_text()
    assert page([shown(run)]) == content
    found = Elements(content)
    words = " ".join(found.words)
    assert "New episodes of the learned team on traffic:3." in words
    assert "come from 1000 episodes played on the simulator" in words
    assert "ecorded episodes" not in words
    lights = [a for a in found.tags("g") if a.get("data-agent") is not None and "data-part" in a]
    assert len(lights) == 9
    assert len(found.tags("article")) == 1  # one card, to be chosen
    assert page([shown(run), shown(run)]).count("come from 1000 episodes") == 1  # said once for both
    assert "traffic:3" in page([shown(run, "traffic:3")])
    with pytest.raises(InputError, match="does not fit problem traffic:2"):
        shown(run, "traffic:2")


def test_the_page_of_a_crowd_stays_small(tmp_path):
    grid = Traffic(20)
    run = kept_on(tmp_path / "crowd", grid, grid.policies()["heuristic"])
    content = (run.folder / "report.html").read_text()
    assert len(content) < 1_600_000
    assert "Only the first 150 of 400 agents are drawn" in content
    assert "2 \u00d7 400" in content
