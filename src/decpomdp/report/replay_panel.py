"""The replay's place in the page: what the script fills in while one steps through an episode."""

from decpomdp.core import Team
from decpomdp.report.graph import MOST_NODES
from decpomdp.report.markup import Markup, tag

BUTTONS = {
    "first": ("First step (Home)", "M4 3h2v10H4zM13 3v10L6.5 8z"),
    "back": ("One step back (left arrow)", "M11.5 3v10L5 8z"),
    "play": ("Play or pause (space)", "M4 2.5v11L13 8z"),
    "on": ("One step on (right arrow)", "M4.5 3v10L11 8z"),
    "last": ("Last step (End)", "M10 3h2v10h-2zM3 3v10l6.5-5z"),
}


def panel(team: Team, key: str) -> Markup:
    """Controls, the scene, a card per agent and the rewards so far; empty until the script comes."""
    buttons = [
        tag("button", _icon(shape), type="button", data_go=name, aria_label=said, title=said)
        for name, (said, shape) in BUTTONS.items()
    ]
    slider = tag("input", type="range", id="step", min="0", max="0", value="0", aria_label="Step")
    choice = tag("label", "Episode ", tag("select", id="episode"))
    controls = tag(
        "div", choice, tag("span", *buttons, class_="buttons"), slider, tag("output", id="now"), class_="bar"
    )
    scene = tag("div", id="scene", class_="scene")
    cards = [_card(team, n, f"{key}-agent{n}") for n in range(len(team.agents))]
    bars = tag("svg", id="rewards", role="img", aria_label="Rewards of the episode")
    earned = tag("div", tag("p", id="range", class_="note"), bars, class_="earned")
    stage = tag("div", scene, tag("div", *cards, class_="cards"), class_="stage")
    return tag(
        "div", controls, stage, earned, id="player", class_="player", tabindex="0", aria_label="Replay", role="group"
    )


def _card(team: Team, n: int, key: str) -> Markup:
    facts = [
        tag("div", tag("dt", words), tag("dd", data_what=name))
        for name, words in (("seen", "saw"), ("node", "is in node"), ("action", "does"))
    ]
    small = None
    if team.controllers[n].nodes <= MOST_NODES:
        small = tag("svg", tag("use", href=f"#{key}"), class_="small", aria_hidden="true")
    return tag("article", tag("h3", team.agents[n].name), tag("dl", *facts), small, class_="card", data_agent=n)


def _icon(shape: str) -> Markup:
    return tag("svg", tag("path", d=shape), viewBox="0 0 16 16", width=16, height=16, aria_hidden="true")
