"""A few episodes to step through: plain data for the page's script, the drawing that it moves, and the controls.

Problems without a drawing show the names of their states; recorded episodes have neither.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from decpomdp.core import DecPOMDP, Episodes, InputError, Team
from decpomdp.core.scene import OnStreets
from decpomdp.report.controllers import FEW
from decpomdp.report.drawing import Film, for_page, for_script
from decpomdp.report.graph import MOST_NODES
from decpomdp.report.markup import Markup, data, tag
from decpomdp.report.performance import Trajectories, performance_of
from decpomdp.report.scenes import grid_film, street_film
from decpomdp.report.sources import ShownRun, Source

LEGEND = (
    "Dashes on a street: waiting cars. Red bar: the street is full. Green bar at a light: direction with green. "
    "Click a light to follow its agent."
)
BUTTONS = {
    "first": ("First step (Home)", "M4 3h2v10H4zM13 3v10L6.5 8z"),
    "back": ("One step back (left arrow)", "M11.5 3v10L5 8z"),
    "play": ("Play or pause (space)", "M4 2.5v11L13 8z"),
    "on": ("One step on (right arrow)", "M4.5 3v10L11 8z"),
    "last": ("Last step (End)", "M10 3h2v10h-2zM3 3v10l6.5-5z"),
}


@dataclass(frozen=True, slots=True)
class Replay:
    """Episodes as plain data, and a film of them where there is a drawing."""

    content: dict[str, Any]  # for the page's script
    film: Film | None = None


def animated_replay(shown: ShownRun) -> Replay:
    """The replay for an animation; InputError without a model or simulator."""
    if shown.source is None or isinstance(shown.source, Episodes):
        why = shown.missing or "it was learned from recorded episodes; use --problem to name a problem to play"
        raise InputError(f"{shown.run.folder}: nothing to draw: {why}")
    replay = performance_of(shown).replay
    assert replay is not None  # noqa: S101 - there is something to play on
    return replay_from(replay, shown.run.team, shown.source)


def replay_from(played: Trajectories, team: Team, source: Source, numbers: tuple[int, ...] = ()) -> Replay:
    """Episodes as the page's script wants them."""
    ends = np.cumsum(played.lengths)[:-1]
    columns = (np.split(column, ends) for column in (played.observations, played.nodes, played.actions, played.rewards))
    episodes: list[dict[str, Any]] = [
        {
            "seen": seen.tolist(),
            "nodes": nodes.tolist(),
            "actions": actions.tolist(),
            "rewards": [float(f"{reward:.6g}") for reward in rewards],
        }
        for seen, nodes, actions, rewards in zip(*columns, strict=True)
    ]
    for episode, name in zip(episodes, numbers, strict=False):
        episode["number"] = name
    agents = [{"name": a.name, "actions": a.actions, "observations": a.observations} for a in team.agents]
    content: dict[str, Any] = {"agents": agents, "discount": source.discount, "episodes": episodes}
    film = None
    if isinstance(source, DecPOMDP):
        film = grid_film(source, played.moments)
        if film is None:
            used = sorted({state for episode in played.moments for state in episode})
            content["states"] = {str(state): source.states[state] for state in used}
            for episode, states in zip(episodes, played.moments, strict=True):
                episode["states"] = states
    elif isinstance(source, OnStreets):
        film = street_film(source.street_map(), played.moments)
    return Replay(content if film is None else {**content, "moving": for_script(film)}, film)


def panel(team: Team, key: str, replay: Replay) -> Markup:
    """Controls, the scene, a card per agent and the rewards; the script fills them in."""
    buttons = [
        tag("button", _icon(shape), type="button", data_go=name, aria_label=words, title=words)
        for name, (words, shape) in BUTTONS.items()
    ]
    slider = tag("input", type="range", id="step", min="0", max="0", value="0", aria_label="Step")
    choice = tag("label", "Episode ", tag("select", id="episode"))
    bar = tag("div", choice, tag("span", *buttons, class_="buttons"), slider, tag("output", id="now"), class_="bar")
    bars = tag("svg", id="rewards", role="img", aria_label="Rewards of the episode")
    earned = tag("div", tag("p", id="range", class_="note"), bars, class_="earned")
    look, scene = _scene(replay)
    stage = tag("div", scene, tag("div", *_cards(team, key), class_="cards"), class_=look)
    player = {"id": "player", "class_": "player", "tabindex": "0", "aria_label": "Replay", "role": "group"}
    return tag("div", tag("div", bar, stage, earned, **player), data("replay-data", replay.content))


def _scene(replay: Replay) -> tuple[str, Markup | None]:
    """The drawing, or a place for the state's name; recorded episodes have neither."""
    if replay.film is not None:
        streets = replay.film.of_streets
        legend = tag("p", LEGEND, class_="note") if streets else None
        inside = (for_page(replay.film), tag("p", id="caption", class_="label"), legend)
        return "stage streets" if streets else "stage", tag("div", *inside, id="scene", class_="scene")
    if "states" in replay.content:
        plain = tag("div", "state", tag("b", id="state"), class_="plain")
        return "stage plainly", tag("div", plain, id="scene", class_="scene")
    return "stage alone", None


def _cards(team: Team, key: str) -> list[Markup]:
    """One per agent or, of many agents, one for the chosen agent."""
    if len(team.agents) <= FEW:
        return [_card(team, n, f"{key}-agent{n}", tag("h3", agent.name)) for n, agent in enumerate(team.agents)]
    options = [tag("option", agent.name, value=n) for n, agent in enumerate(team.agents)]
    return [_card(team, 0, f"{key}-agent0", tag("label", "Agent ", tag("select", *options, id="agent"), class_="bar"))]


def _card(team: Team, n: int, key: str, title: Markup) -> Markup:
    facts = [
        tag("div", tag("dt", words), tag("dd", data_what=name))
        for name, words in (("seen", "saw"), ("node", "is in node"), ("action", "does"))
    ]
    drawn = team.controllers[n].nodes <= MOST_NODES
    small = tag("svg", tag("use", href=f"#{key}"), class_="small", aria_hidden="true") if drawn else None
    return tag("article", title, tag("dl", *facts), small, class_="card", data_agent=n)


def _icon(shape: str) -> Markup:
    return tag("svg", tag("path", d=shape), viewBox="0 0 16 16", width=16, height=16, aria_hidden="true")
