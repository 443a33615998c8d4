"""Models and teams laid out for the rollout kernels."""

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import DecPOMDP, InputError, Team
from decpomdp.kernels import sampling
from decpomdp.kernels.rollout import Players, World
from decpomdp.kernels.sampling import Sampler


def world_of(model: DecPOMDP) -> World:
    """The tables of a model: one constant-time draw gives next state and joint observation together."""
    entries = np.empty((sampling.dynamics_entries(model.transition, model.observation), 4), np.uint32)
    rows = np.empty((model.joint_actions * len(model.states), 2), np.int32)
    bits = (model.joint_observations - 1).bit_length()
    sampling.fill_dynamics(model.transition, model.observation, rows, entries, bits)
    sizes = [len(agent.actions) for agent in model.agents]
    strides = np.append(np.cumprod(sizes[:0:-1])[::-1], 1).astype(np.int64)
    return World(
        start=sampler([model.start[None, :]]),
        dynamics=Sampler(rows, entries),
        reward=model.reward,
        observation_parts=model.observation_table().astype(np.int16),
        action_strides=strides,
        observation_bits=bits,
    )


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


def sampler(tables: list[NDArray[np.float64]]) -> Sampler:
    """Alias tables of the rows of several dense tables [row, outcome], one after the other."""
    entries = np.empty((sum(sampling.table_entries(table) for table in tables), 4), np.uint32)
    rows = np.empty((sum(len(table) for table in tables), 2), np.int32)
    row, entry = 0, 0
    for table in tables:
        entry = sampling.fill_table(table, rows[row : row + len(table)], entries, entry)
        row += len(table)
    return Sampler(rows, entries)


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
