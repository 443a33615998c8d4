"""A few episodes to step through, as plain data for the page's script, with a film of them where there is a drawing.

On a model or a simulator the team is played anew, so that nodes are known (and states, on a model). Recorded episodes
hold neither: their likeliest nodes are filtered from what each agent saw and did.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from decpomdp.core import DecPOMDP, Episodes, Simulator, Team
from decpomdp.report.drawing import Film, for_script
from decpomdp.report.grids import grid_film
from decpomdp.report.pictures import picture_of
from decpomdp.report.playing import Played, filtered, play, recorded
from decpomdp.report.streets import street_film
from decpomdp.report.watching import Watched

EPISODES = 5
STEPS = 40
FEWEST_STEPS = 8
MOST_NUMBERS = 100_000  # of all agents and all steps together, so that the page of a large team stays small


@dataclass(frozen=True, slots=True)
class Replay:
    """What the script is told, and what it moves."""

    told: dict[str, Any]
    film: Film | None = None


def sizes(agents: int) -> tuple[int, int]:
    """Episodes and steps that fit on a page.

    >>> sizes(2), sizes(100), sizes(2500)
    ((5, 40), (5, 40), (1, 8))
    """
    steps = max(FEWEST_STEPS, min(STEPS, MOST_NUMBERS // (5 * agents)))
    return max(1, min(EPISODES, MOST_NUMBERS // (5 * agents * steps))), steps


def replay_on_model(model: DecPOMDP, team: Team, seed: int = 0) -> Replay:
    """Played episodes, with a film of the states where the problem has a drawing, else with their names."""
    played = play(model, team, *sizes(len(team.agents)), seed)
    film = film_on_model(model, played)
    told = {**_told(team), "episodes": _episodes(played)}
    if film is None and played.states is not None:
        told["states"] = {str(s): model.states[s] for s in np.unique(played.states).tolist()}
        for one, states in zip(told["episodes"], played.states.tolist(), strict=True):
            one["states"] = states
    return Replay(told if film is None else {**told, "moving": for_script(film)}, film)


def replay_on_simulator(simulator: Simulator, watched: Watched, team: Team) -> Replay:
    """Watched episodes, with a film of the streets where there are any."""
    film = film_of_streets(watched)
    told = {**_told(team), "discount": simulator.discount, "episodes": _episodes(watched.played)}
    return Replay(told if film is None else {**told, "moving": for_script(film)}, film)


def replay_of_episodes(episodes: Episodes, team: Team) -> Replay:
    """Recorded episodes, the best ones of the first thousand, with the likeliest nodes."""
    observations, actions, rewards, lengths = recorded(episodes, 1000, STEPS)
    discounts = episodes.discount ** np.arange(rewards.shape[1])
    most, _ = sizes(len(team.agents))
    best = np.argsort(-(rewards * discounts).sum(axis=1), kind="stable")[:most]
    nodes = np.stack(
        [
            filtered(c, observations[best, :, n], actions[best, :, n]).argmax(axis=2)  # [k, t]
            for n, c in enumerate(team.controllers)
        ],
        axis=2,
    )
    chosen = Played(None, observations[best], nodes, actions[best], rewards[best], lengths[best])
    told = [{"number": int(k), **one} for k, one in zip(best, _episodes(chosen), strict=True)]
    return Replay({**_told(team), "discount": episodes.discount, "episodes": told})


def film_on_model(model: DecPOMDP, played: Played) -> Film | None:
    """The states as a film; None for problems without a drawing."""
    if played.states is None:
        return None
    shown = {int(s) for s in np.unique(played.states)}
    picture = picture_of(model, shown)
    return None if picture is None else grid_film(picture, played.states.tolist(), {s: model.states[s] for s in shown})


def film_of_streets(watched: Watched) -> Film | None:
    """The scenes as a film; None for simulators without streets."""
    return None if watched.streets is None else street_film(watched.streets, watched.scenes)


def _episodes(played: Played) -> list[dict[str, Any]]:
    return [
        {
            "seen": played.observations[k, :end].tolist(),
            "nodes": played.nodes[k, :end].tolist(),
            "actions": played.actions[k, :end].tolist(),
            "rewards": [_short(reward) for reward in played.rewards[k, :end]],
        }
        for k, end in enumerate(played.lengths.tolist())
    ]


def _told(team: Team) -> dict[str, Any]:
    agents = [
        {"name": agent.name, "actions": list(agent.actions), "observations": list(agent.observations)}
        for agent in team.agents
    ]
    return {"agents": agents, "discount": team.discount}


def _short(reward: float) -> float:
    return float(f"{reward:.6g}")
