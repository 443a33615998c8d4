"""Ascent: natural gradients from a softened team, then the likeliest choice everywhere.

With fixed memory the moves of the start are fixed and only actions are learned. With free memory (`free`) moves are
learned too, which only works from a start that already uses its memory: if all nodes act alike, moves have no gradient.

Episodes are on-policy and recorded with their node paths, so learning needs neither importance weights nor a
forward-backward pass and costs little more than playing.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.interaction.search.machines import Machine, Plan
from decpomdp.interaction.search.players import Player
from decpomdp.kernels import advantage
from decpomdp.kernels.machines import ROOT, Soft

RATE = 0.2  # logits per update and unit of normalised advantage
EXPLORING = 0.7  # share of the updates during which actions are explored


class Slope(NamedTuple):
    """Logits of every agent and buffers for their gradients, padded to the largest agent."""

    act: NDArray[np.float64]  # [n, i, a]
    hop: NDArray[np.float64]  # [n, i, o, j]; empty unless free
    soft: Soft
    act_sum: NDArray[np.float64]
    act_weight: NDArray[np.float64]
    hop_sum: NDArray[np.float64]
    hop_weight: NDArray[np.float64]


class AscentSize(NamedTuple):
    """The size of one ascent."""

    updates: int
    episodes: int
    horizon: int
    exploration: float  # uniform share of actions at first
    confidence: float  # initial probability of the choices of the start; 0: uniform


def ascend(player: Player, start: Plan, effort: AscentSize, seed: int, *, free: bool) -> Plan:
    """The team after `effort.updates` updates from `start`."""
    slope = slope_from(start, player, free, effort.confidence)
    togo = np.empty((effort.episodes, effort.horizon))
    for update in range(effort.updates):
        left = max(0.0, 1 - update / (EXPLORING * effort.updates))
        soften(slope, effort.exploration * left)
        played = player.sample(slope.soft, effort.episodes, effort.horizon, seed + update)
        advantage.gather(played, player.discount, free, togo, *slope[3:])
        climb(slope, RATE)
    return harden(slope, start)


def slope_from(start: Plan, player: Player, free: bool, confidence: float) -> Slope:
    """Logits that give the choices of the plan the probability `confidence` (0: uniform)."""
    agents, nodes = len(start), max(len(machine.action) for machine in start)
    actions = max(len(agent.actions) for agent in player.agents)
    symbols = max(machine.observations for machine in start) + 1
    act = np.zeros((agents, nodes, actions))
    hop = np.zeros((agents, nodes, symbols, nodes) if free else (0, 0, 0, 0))
    move = np.zeros((agents, nodes, symbols), np.int32)
    for n, machine in enumerate(start):
        rows = np.arange(len(machine.action))
        act[n, rows, machine.action] = _logit(confidence, len(player.agents[n].actions))
        columns = np.append(np.arange(machine.observations), symbols - 1)
        move[n, rows[:, None], columns] = machine.move
        if free:
            hop[n, rows[:, None], columns, machine.move] = _logit(confidence, machine.nodes)
    soft = Soft(
        act=np.zeros(act.shape, np.int64),
        hop=np.zeros(hop.shape, np.int64),
        move=move,
        nodes=np.array([len(machine.action) for machine in start], np.int64),
        actions=np.array([len(agent.actions) for agent in player.agents], np.int64),
        free=free,
    )
    return Slope(act, hop, soft, *(np.zeros_like(table) for table in (act, act, hop, hop)))


def _logit(confidence: float, choices: int) -> float:
    """The logit that gives one of `choices` the probability `confidence` if the others are 0."""
    return float(np.log(confidence / (1 - confidence) * (choices - 1))) if confidence > 0 and choices > 1 else 0.0


def soften(slope: Slope, exploration: float) -> None:
    """Fill the alias tables from the logits."""
    for n, (nodes, actions) in enumerate(zip(slope.soft.nodes, slope.soft.actions, strict=True)):
        advantage.soften(slope.act[n], 0, actions, exploration, slope.soft.act[n])
        if slope.soft.free:
            width = slope.hop.shape[3]
            logits, tables = slope.hop[n].reshape(-1, width), slope.soft.hop[n].reshape(-1, width)
            advantage.soften(logits, ROOT + 1, nodes, 0.0, tables)


def climb(slope: Slope, rate: float) -> None:
    """One update of all logits from the gathered gradients."""
    for n, (nodes, actions) in enumerate(zip(slope.soft.nodes, slope.soft.actions, strict=True)):
        advantage.nudge(slope.act_sum[n], slope.act_weight[n], slope.act[n], 0, actions, rate)
        if slope.soft.free:
            width = slope.hop.shape[3]
            sums, weights, logits = (t[n].reshape(-1, width) for t in (slope.hop_sum, slope.hop_weight, slope.hop))
            advantage.nudge(sums, weights, logits, ROOT + 1, nodes, rate)


def harden(slope: Slope, start: Plan) -> Plan:
    """The most likely choices."""
    plan = []
    for n, machine in enumerate(start):
        nodes, actions = len(machine.action), int(slope.soft.actions[n])
        action = slope.act[n, :nodes, :actions].argmax(axis=-1)
        move = machine.move
        if slope.soft.free:
            columns = np.append(np.arange(machine.observations), slope.hop.shape[2] - 1)
            move = slope.hop[n, :nodes, columns, ROOT + 1 : nodes].argmax(axis=-1).T + ROOT + 1
        plan.append(Machine(action, np.ascontiguousarray(move)))
    return tuple(plan)
