"""Teams laid out for the rollout kernels."""

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import InputError, Team
from decpomdp.kernels.rollout import Players
from decpomdp.kernels.sampling import Sampler, sampler


def players_of(team: Team) -> Players:
    """The tables of a team."""
    controllers = team.controllers
    if max(team.nodes) > np.iinfo(np.int16).max:
        raise InputError(f"team: expected at most {np.iinfo(np.int16).max} nodes per controller, got {max(team.nodes)}")
    starts, initial = _starts(team)
    moves = [controller.transition.reshape(-1, controller.nodes) for controller in controllers]
    acts = [controller.action for controller in controllers]
    flat_moves = [np.ascontiguousarray(c.transition.transpose(1, 2, 0, 3)).ravel() for c in controllers]
    flat_acts = [np.ascontiguousarray(c.action.T).ravel() for c in controllers]
    return Players(
        starts=starts,
        moves=sampler(moves),
        acts=sampler(acts),
        first_move=_places([len(table) for table in moves]),
        first_act=_places([len(table) for table in acts]),
        start_stride=initial.shape[1],
        nodes=np.array(team.nodes, np.int64),
        actions=np.array([controller.actions for controller in controllers], np.int64),
        observations=np.array([controller.observations for controller in controllers], np.int64),
        initial=initial,
        move=np.concatenate(flat_moves),
        act=np.concatenate(flat_acts),
        move_place=_places([len(table) for table in flat_moves]),
        act_place=_places([len(table) for table in flat_acts]),
    )


def _starts(team: Team) -> tuple[Sampler, NDArray[np.float64]]:
    """First nodes: row 0 without a first observation, row 1 + o after o (a controller may ignore it)."""
    stride = 1 + max(controller.observations for controller in team.controllers)
    initial = np.zeros((len(team.controllers), stride, max(team.nodes)))
    for n, controller in enumerate(team.controllers):
        initial[n, :, : controller.nodes] = controller.initial
        if controller.initial_given is not None:
            initial[n, 1 : 1 + controller.observations, : controller.nodes] = controller.initial_given
    return sampler(list(initial)), initial


def _places(sizes: list[int]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
