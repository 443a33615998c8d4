"""A few episodes to step through, as plain data for the page's script.

On a model the team is played anew, so that states and nodes are known. Recorded episodes hold neither: their likeliest
nodes are filtered from what each agent saw and did.
"""

from typing import Any

import numpy as np

from decpomdp.core import DecPOMDP, Episodes, Team
from decpomdp.report.pictures import picture_of
from decpomdp.report.playing import filtered, play, recorded

EPISODES = 5
STEPS = 40


def replay_on_model(model: DecPOMDP, team: Team, seed: int = 0) -> dict[str, Any]:
    """Played episodes, with a drawing of every state where the problem has one."""
    played = play(model, team, EPISODES, STEPS, seed)
    episodes = [
        {
            "states": played.states[k].tolist(),
            "seen": played.observations[k].tolist(),
            "nodes": played.nodes[k].tolist(),
            "actions": played.actions[k].tolist(),
            "rewards": [_short(reward) for reward in played.rewards[k]],
        }
        for k in range(EPISODES)
    ]
    shown = {int(s) for s in np.unique(played.states)}
    names = {str(s): model.states[s] for s in sorted(shown)}
    return {**_told(team), "states": names, "episodes": episodes, "picture": picture_of(model, shown)}


def replay_of_episodes(episodes: Episodes, team: Team) -> dict[str, Any]:
    """Recorded episodes, the best ones of the first thousand, with the likeliest nodes."""
    observations, actions, rewards, lengths = recorded(episodes, 1000, STEPS)
    discounts = episodes.discount ** np.arange(rewards.shape[1])
    best = np.argsort(-(rewards * discounts).sum(axis=1), kind="stable")[:EPISODES]
    nodes = [
        filtered(c, observations[best, :, n], actions[best, :, n]).argmax(axis=2)  # [k, t]
        for n, c in enumerate(team.controllers)
    ]
    told = []
    for place, k in enumerate(best):
        end = int(lengths[k])
        told.append(
            {
                "number": int(k),
                "seen": observations[k, :end].tolist(),
                "nodes": np.stack([node[place, :end] for node in nodes], axis=1).tolist(),
                "actions": actions[k, :end].tolist(),
                "rewards": [_short(reward) for reward in rewards[k, :end]],
            }
        )
    return {**_told(team), "episodes": told}


def _told(team: Team) -> dict[str, Any]:
    agents = [
        {"name": agent.name, "actions": list(agent.actions), "observations": list(agent.observations)}
        for agent in team.agents
    ]
    return {"agents": agents, "discount": team.discount}


def _short(reward: float) -> float:
    return float(f"{reward:.6g}")
