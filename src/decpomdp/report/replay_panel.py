"""The replay's place in the page: what the script fills in while one steps through an episode."""

from decpomdp.core import Team
from decpomdp.report.controllers import FEW
from decpomdp.report.drawing import inside
from decpomdp.report.graph import MOST_NODES
from decpomdp.report.markup import Markup, tag
from decpomdp.report.replay import Replay

LEGEND = (
    "Marks on a street: cars that wait. Red across it: it is full. Green at a light: who may go. Choose a light to see "
    "its agent."
)
BUTTONS = {
    "first": ("First step (Home)", "M4 3h2v10H4zM13 3v10L6.5 8z"),
    "back": ("One step back (left arrow)", "M11.5 3v10L5 8z"),
    "play": ("Play or pause (space)", "M4 2.5v11L13 8z"),
    "on": ("One step on (right arrow)", "M4.5 3v10L11 8z"),
    "last": ("Last step (End)", "M10 3h2v10h-2zM3 3v10l6.5-5z"),
}


def panel(team: Team, key: str, replay: Replay) -> Markup:
    """Controls, the scene, a card per agent and the rewards so far; the script fills them in."""
    buttons = [
        tag("button", _icon(shape), type="button", data_go=name, aria_label=said, title=said)
        for name, (said, shape) in BUTTONS.items()
    ]
    slider = tag("input", type="range", id="step", min="0", max="0", value="0", aria_label="Step")
    choice = tag("label", "Episode ", tag("select", id="episode"))
    controls = tag(
        "div", choice, tag("span", *buttons, class_="buttons"), slider, tag("output", id="now"), class_="bar"
    )
    bars = tag("svg", id="rewards", role="img", aria_label="Rewards of the episode")
    earned = tag("div", tag("p", id="range", class_="note"), bars, class_="earned")
    stage = tag("div", _scene(replay), tag("div", *_cards(team, key), class_="cards"), class_=_stage(replay))
    return tag(
        "div", controls, stage, earned, id="player", class_="player", tabindex="0", aria_label="Replay", role="group"
    )


def _stage(replay: Replay) -> str:
    if replay.film is not None:
        return "stage streets" if replay.film.of_streets else "stage"
    return "stage plainly" if "states" in replay.told else "stage alone"


def _scene(replay: Replay) -> Markup | None:
    """The drawing, or a place for the state's name; recorded episodes have neither."""
    if replay.film is not None:
        drawn = replay.film.drawing
        moving = tag("svg", *inside(drawn), id="moving", class_="moving", viewBox=drawn.box, role="img")
        legend = tag("p", LEGEND, class_="note") if replay.film.of_streets else None
        return tag("div", moving, tag("p", id="caption", class_="label"), legend, id="scene", class_="scene")
    if "states" in replay.told:
        return tag("div", tag("div", "state", tag("b", id="state"), class_="plain"), id="scene", class_="scene")
    return None


def _cards(team: Team, key: str) -> list[Markup]:
    """One per agent or, of many agents, one for the agent that is chosen."""
    if len(team.agents) <= FEW:
        return [_card(team, n, f"{key}-agent{n}", tag("h3", team.agents[n].name)) for n in range(len(team.agents))]
    options = [tag("option", agent.name, value=n) for n, agent in enumerate(team.agents)]
    choice = tag("label", "Agent ", tag("select", *options, id="agent"), class_="bar")
    return [_card(team, 0, f"{key}-agent0", choice)]


def _card(team: Team, n: int, key: str, title: Markup) -> Markup:
    facts = [
        tag("div", tag("dt", words), tag("dd", data_what=name))
        for name, words in (("seen", "saw"), ("node", "is in node"), ("action", "does"))
    ]
    small = None
    if team.controllers[n].nodes <= MOST_NODES:
        small = tag("svg", tag("use", href=f"#{key}"), class_="small", aria_hidden="true")
    return tag("article", title, tag("dl", *facts), small, class_="card", data_agent=n)


def _icon(shape: str) -> Markup:
    return tag("svg", tag("path", d=shape), viewBox="0 0 16 16", width=16, height=16, aria_hidden="true")
