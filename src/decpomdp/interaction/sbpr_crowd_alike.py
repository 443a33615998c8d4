"""Agents that are alike share one controller, and learn it from what every one of them went through.

A simulator may say that its agents are alike by offering `play_own`: every agent's part of every episode as an episode
of one agent, rewarded with what is the agent's own. N agents then give N times the data, and none has to find its part
in a reward that is mostly the others' doing. A few episodes of a slow simulator teach something that way; learned one
by one, they teach a crowd nothing. The result is a team like any other, with equal controllers, and is tested by the
team's own reward.
"""

from dataclasses import replace
from typing import Protocol, runtime_checkable

from decpomdp.core import Episodes, Team, concatenate
from decpomdp.interaction.sbpr_crowd import CrowdWindow, Learnt
from decpomdp.interaction.sbpr_play import Ground
from decpomdp.kernels.rollout import Players
from decpomdp.rollouts.tables import players_of


@runtime_checkable
class Alike(Protocol):
    """A simulator whose agents are alike."""

    def play_own(
        self, players: Players, episodes: int, horizon: int, seed: int, first: int = 0, threads: int | None = None
    ) -> Episodes:
        """Every agent's part of episodes first, first + 1, ... as an episode of the first, rewarded with its own."""
        ...


def shares(ground: Ground, team: Team) -> bool:
    """Whether the agents are alike, and the team to begin with has one controller for all of them."""
    first = team.controllers[0]
    return isinstance(ground.simulator, Alike) and all(controller == first for controller in team.controllers)


def play_own(ground: Ground, team: Team, episodes: int, horizon: int) -> Episodes:
    """Every agent's part of episodes of `team`, within the limits."""
    simulator = ground.simulator
    assert isinstance(simulator, Alike)  # noqa: S101 - `shares` has looked
    ground.check(episodes * horizon)
    seed, engine = ground.seed(), ground.engine
    if engine is None:
        played = simulator.play_own(players_of(team), episodes, horizon, seed, threads=ground.threads)
    else:
        shared = engine.share(f"simulator {simulator.name}", simulator), engine.share("team", team)
        size = getattr(simulator, "piece", 1)
        pieces = ((first, min(size, episodes - first)) for first in range(0, episodes, size))
        played = concatenate(list(engine.in_order(_elsewhere, ((*shared, *piece, horizon, seed) for piece in pieces))))
    ground.steps += played.steps // len(team.agents)
    return played


def _elsewhere(simulator: Alike, team: Team, first: int, episodes: int, horizon: int, seed: int) -> Episodes:
    """On a worker of a cluster."""
    return simulator.play_own(players_of(team), episodes, horizon, seed, first, threads=1)


def learn_own(window: CrowdWindow, team: Team) -> Learnt:
    """What the window says to the one controller, told to everybody."""
    one = Team(team.agents[:1], team.controllers[:1], window.batches[-1].discount)
    learnt, many = window.learn(one), len(team.agents)
    return replace(learnt, visits=learnt.visits * many, gains=learnt.gains * many)
