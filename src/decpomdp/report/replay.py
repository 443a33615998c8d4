"""A few episodes to step through: plain data for the page's script, the drawing that it moves, and the controls.

Problems without a drawing show the names of their states; recorded episodes have neither.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from string import Template
from typing import Any

import numpy as np

from decpomdp.core import DecPOMDP, Episodes, InputError, Team
from decpomdp.core.scene import OnStreets
from decpomdp.report.controllers import FEW, MOST_DRAWN
from decpomdp.report.drawing import Film, for_page, for_script
from decpomdp.report.graph import graph_of
from decpomdp.report.markup import Markup, data, own_file, tag, trusted
from decpomdp.report.performance import ShownRun, Source, Trajectories, Use
from decpomdp.report.scenes import grid_film, street_film


@dataclass(frozen=True, slots=True)
class Replay:
    """Episodes as plain data, and a film of them if the problem has a drawing."""

    content: dict[str, Any]  # for the page's script
    film: Film | None = None


def animated_replay(shown: ShownRun) -> Replay:
    """The replay for an animation; InputError without a model or simulator."""
    if shown.source is None or isinstance(shown.source, Episodes):
        why = shown.missing or "it was learned from recorded episodes; use --problem to name a problem to play"
        raise InputError(f"{shown.run.folder}: nothing to draw: {why}")
    replay = shown.performance.replay
    assert replay is not None  # noqa: S101 - models and simulators have a replay
    return replay_from(replay, shown.run.team, shown.source)


def replay_from(played: Trajectories, team: Team, source: Source) -> Replay:
    """Episodes as data for the page's script."""
    rows = played.episodes
    columns = (
        np.split(column, rows.offsets[1:-1]) for column in (rows.observations, played.nodes, rows.actions, rows.rewards)
    )
    episodes: list[dict[str, Any]] = [
        {
            "seen": seen.tolist(),
            "nodes": nodes.tolist(),
            "actions": actions.tolist(),
            "rewards": [float(f"{reward:.6g}") for reward in rewards],
        }
        for seen, nodes, actions, rewards in zip(*columns, strict=True)
    ]
    for episode, name in zip(episodes, played.numbers, strict=False):
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


def panel(team: Team, uses: Sequence[Use], replay: Replay) -> Markup:
    """The scene and a card per agent inside the controls of replay.html; the script fills them in."""
    look, scene = _scene(replay)
    stage = tag("div", scene, tag("div", *_cards(team, uses), class_="cards"), class_=look)
    player = Template(own_file("replay.html")).substitute(stage=stage)
    return tag("div", trusted(player), data("replay-data", replay.content))


def _scene(replay: Replay) -> tuple[str, Markup | None]:
    """The drawing, or an element for the state's name; recorded episodes have neither."""
    if replay.film is not None:
        legend = replay.film.legend
        note = tag("p", legend, class_="note") if legend else None
        inside = (for_page(replay.film), tag("p", id="caption", class_="label"), note)
        return "stage streets" if legend else "stage", tag("div", *inside, id="scene", class_="scene")
    if "states" in replay.content:
        plain = tag("div", "state", tag("b", id="state"), class_="plain")
        return "stage plainly", tag("div", plain, id="scene", class_="scene")
    return "stage alone", None


def _cards(team: Team, uses: Sequence[Use]) -> list[Markup]:
    """One per agent or, of many agents, one that shows the chosen agent."""
    graphs = [_small_graph(team, n, use) for n, use in enumerate(uses[:MOST_DRAWN])]
    if len(team.agents) <= FEW:
        titles = (tag("h3", agent.name) for agent in team.agents)
        return [_card(n, title, graph) for n, (title, graph) in enumerate(zip(titles, graphs, strict=True))]
    options = [tag("option", agent.name, value=n) for n, agent in enumerate(team.agents)]
    return [_card(0, tag("label", "Agent ", tag("select", *options, id="agent"), class_="bar"), *graphs)]


def _small_graph(team: Team, n: int, use: Use) -> Markup | None:
    graph = graph_of(team.agents[n], team.controllers[n], use, f"small-agent{n}", small=True)
    return None if graph is None else tag("div", graph.drawn, class_="graph-of", data_agent=n)


def _card(n: int, title: Markup, *graphs: Markup | None) -> Markup:
    facts = [
        tag("div", tag("dt", words), tag("dd", data_what=name))
        for name, words in (("seen", "saw"), ("node", "is in node"), ("action", "does"))
    ]
    return tag("article", title, tag("dl", *facts), *graphs, class_="card", data_agent=n)
