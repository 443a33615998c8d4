"""How a team uses its controllers: the share of time in every node, and how often every move is made.

Shares of time are discounted: step t counts discount^t. They come from episodes played on the model or the simulator
or, where there is neither, from recorded episodes, in which each agent's node is filtered. What observations can follow
what a node does is known only then; without any episodes every observation counts as equally likely.
"""

from dataclasses import dataclass

import numpy as np

from decpomdp.core import Controller, DecPOMDP, Episodes, Team
from decpomdp.core.horizon import horizon_of
from decpomdp.report.playing import Floats, Played, filtered, play, recorded

EPISODES = 1000  # to play, or recorded ones to read
LONGEST, SHORTEST = 200, 40  # steps of them
FORGOTTEN = 0.001  # a step whose discount is below this is not worth playing


@dataclass(frozen=True, slots=True)
class Use:
    """One agent's use of its controller."""

    nodes: Floats | None  # [i] share of time; None: not known
    moves: Floats  # [i, o, j] how often node i saw o next and moved to j, per step


def played_steps(discount: float) -> int:
    """Steps of an episode that is played to see how controllers are used."""
    return max(horizon_of(discount, FORGOTTEN, LONGEST), SHORTEST)


def use_on_model(model: DecPOMDP, team: Team, seed: int = 0, episodes: int = EPISODES) -> tuple[Use, ...]:
    """From episodes played on the model."""
    return use_in(play(model, team, episodes, played_steps(model.discount) + 1, seed), team, model.discount)


def use_in(played: Played, team: Team, discount: float) -> tuple[Use, ...]:
    """From episodes whose nodes are known; the last step of each is where its last move leads."""
    horizon = played.rewards.shape[1] - 1
    if horizon < 1:
        return use_unknown(team)
    inside = np.arange(horizon) < played.lengths[:, None] - 1  # [k, t]
    weights = inside * _weights(discount, horizon)
    if not weights.sum() > 0:
        return use_unknown(team)
    weights = weights / weights.sum()
    return tuple(_counted(c, played.nodes[..., n], played.observations[..., n], weights) for n, c in _agents(team))


def use_in_episodes(episodes: Episodes, team: Team) -> tuple[Use, ...]:
    """From recorded episodes."""
    team.check_fits(episodes)
    observations, actions, _, lengths = recorded(episodes, EPISODES, LONGEST)
    inside = np.arange(actions.shape[1]) < lengths[:, None]
    weights = inside * _weights(episodes.discount, actions.shape[1])
    weights /= weights.sum()
    return tuple(_filtered_use(c, observations[..., n], actions[..., n], weights, inside) for n, c in _agents(team))


def use_unknown(team: Team) -> tuple[Use, ...]:
    """From the controllers alone."""
    return tuple(Use(None, moves_of(controller) / controller.observations) for controller in team.controllers)


def moves_of(controller: Controller) -> Floats:
    """[i, o, j]: probability of moving from i to j on seeing o, over the actions that i takes."""
    return np.einsum("ia,iaoj->ioj", controller.action, controller.transition)


def _agents(team: Team) -> list[tuple[int, Controller]]:
    return list(enumerate(team.controllers))


def _weights(discount: float, horizon: int) -> Floats:
    """[t]: what each step counts; sums to one."""
    weights = np.full(horizon, float(discount)) ** np.arange(horizon)
    return weights / weights.sum()


def _counted(controller: Controller, nodes: np.ndarray, observations: np.ndarray, weights: Floats) -> Use:
    shape = (controller.nodes, controller.observations, controller.nodes)
    counted = weights > 0
    steps = (nodes[:, :-1][counted], observations[:, 1:][counted], nodes[:, 1:][counted])
    found = np.bincount(np.ravel_multi_index(steps, shape), weights[counted], int(np.prod(shape)))
    moves = found.reshape(shape).astype(np.float64)  # [i, o, j]
    return Use(moves.sum(axis=(1, 2)), moves)


def _filtered_use(
    controller: Controller, observations: np.ndarray, actions: np.ndarray, weights: Floats, inside: np.ndarray
) -> Use:
    belief = filtered(controller, observations, actions)  # [k, t, i]
    moves = np.zeros((controller.observations, controller.nodes, controller.nodes))
    weighted = (belief * weights[..., None])[:, :-1]
    seen, taken, going_on = observations[:, 1:], actions[:, :-1], inside[:, 1:]
    for a, o in {(int(a), int(o)) for a, o in zip(taken[going_on], seen[going_on], strict=True)}:
        here = going_on & (taken == a) & (seen == o)
        moves[o] += weighted[here].sum(axis=0)[:, None] * controller.transition[:, a, o]
    return Use(np.einsum("kti,kt->i", belief, weights), moves.transpose(1, 0, 2))
