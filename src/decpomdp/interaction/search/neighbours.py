"""Neighbours: all plans that differ from a plan in a single entry, and a contest between them.

Random hops find the large gains. Near an optimum, gains of a thousandth from changing one of a thousand entries remain,
which random changes rarely try and short races cannot detect. So all neighbours of a stuck plan are evaluated.
Most are clearly worse after a few hundred episodes; the others are played on, four times as long every time, and the
one whose gain is most certain is proposed.

A neighbour has another action in one node, or one edge that leads to another node or to a modified copy of a node.
Nodes and edges that are never visited have no neighbours. If polishing fails, one agent gets more memory, without loss,
and its neighbours are those with another action in one node (`refine`).
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.interaction.episode_player import draw_seed
from decpomdp.interaction.search.machines import NONE, Machine, Plan
from decpomdp.interaction.search.moves import expanded, settle
from decpomdp.interaction.search.players import Player
from decpomdp.interaction.search.sizes import Sizes
from decpomdp.interaction.search.trial import ReturnSums
from decpomdp.kernels.machines import ROOT

MORE = 4  # factor of episodes from one heat to the next
WORSE = 1.0  # standard errors below zero at which a neighbour drops out
DEAREST = 2  # times the steps of a heat, at most, for the last remaining neighbour
PROMISING = 1.0  # standard errors above zero at which the best one is worth a test


class Change(NamedTuple):
    """One entry of one agent's machine, see `Machine.edited`."""

    agent: int
    node: int
    symbol: int
    target: int
    action: int


def polish(player: Player, plan: Plan, sizes: Sizes, rng: np.random.Generator, share: tuple[int, int]) -> Plan:
    """The best neighbour of a share (number, number of shares) of all neighbours."""
    visits = _visits(player, plan, sizes, rng)
    parts = [(n, machine, visits[n], len(player.agents[n].actions)) for n, machine in enumerate(plan)]
    changes = [change for part in parts for change in (*action_changes(*part), *move_changes(*part))]
    return settle(player, contest(player, plan, changes[share[0] :: share[1]], sizes, rng), sizes, rng)


def refine(player: Player, plan: Plan, sizes: Sizes, rng: np.random.Generator) -> Plan:
    """More memory for one agent, and the best plan in which it acts differently somewhere."""
    n = int(rng.integers(len(plan)))
    larger = (*plan[:n], expanded(plan[n], sizes.tuning.skeleton_nodes, rng), *plan[n + 1 :])
    visits = _visits(player, larger, sizes, rng)[n]
    changes = list(action_changes(n, larger[n], visits, len(player.agents[n].actions)))
    return settle(player, contest(player, larger, changes, sizes, rng), sizes, rng)


def _visits(player: Player, plan: Plan, sizes: Sizes, rng: np.random.Generator) -> list[NDArray[np.int64]]:
    return player.visits(plan, sizes.fold_episodes, sizes.testing, draw_seed(rng))


def action_changes(agent: int, machine: Machine, visits: NDArray[np.int64], actions: int) -> Iterator[Change]:
    """Other actions of visited nodes; visits[i, o]: how often node i was left on o."""
    for i in np.flatnonzero(visits[ROOT + 1 :].any(axis=1)) + ROOT + 1:
        yield from (Change(agent, int(i), NONE, NONE, a) for a in range(actions) if a != machine.action[i])


def move_changes(agent: int, machine: Machine, visits: NDArray[np.int64], actions: int) -> Iterator[Change]:
    """Other targets of visited edges."""
    nodes = range(ROOT + 1, len(machine.action))
    for i, o in np.argwhere(visits > 0):
        node, symbol = int(i), int(o)
        yield from (Change(agent, node, symbol, j, NONE) for j in nodes if j != machine.move[node, symbol])
        for j in nodes:
            yield from (Change(agent, node, symbol, j, a) for a in range(actions) if a != machine.action[j])


def changed(plan: Plan, change: Change) -> Plan:
    """The plan with the change made."""
    agent = change.agent
    return (*plan[:agent], plan[agent].edited(*change[1:]), *plan[agent + 1 :])


class Runner(NamedTuple):
    """A neighbour, and its gains over the plan, episode by episode."""

    plan: Plan
    gains: ReturnSums = ReturnSums()

    @property
    def certainty(self) -> float:
        """The mean gain in standard errors; infinite if it never varies."""
        gains = self.gains
        if gains.deviation > 0:
            return float(gains.mean / gains.deviation * np.sqrt(gains.episodes))
        return np.inf if gains.mean > 0 else -np.inf


def contest(player: Player, plan: Plan, changes: Sequence[Change], sizes: Sizes, rng: np.random.Generator) -> Plan:
    """The changed plan whose gain is most certain; the plan itself if there is none.

    Heats are played on the same episodes by all, none longer than `sizes.contest` steps; clearly worse ones drop out.
    """
    first = max(1, sizes.stages.first // MORE)
    chosen = rng.permutation(len(changes))[: _most(first, sizes)]
    runners = [Runner(changed(plan, changes[int(i)])) for i in chosen]
    seed, episodes = draw_seed(rng), 0
    for heat in range(sizes.stages.looks + 1):
        more = first * MORE**heat - episodes
        if not runners or more * sizes.testing > DEAREST * sizes.contest:
            break
        runners = runners[: _most(more, sizes)]
        old = player.returns(plan, more, sizes.testing, seed, episodes)
        runners = [_further(player, runner, old, sizes.testing, seed, episodes) for runner in runners]
        episodes += more
        fitting = [runner for runner in runners if runner.certainty > -WORSE]
        runners = sorted(fitting, key=lambda runner: -runner.certainty)
        if len(runners) == 1 and runners[0].certainty > PROMISING:
            break
    return next((runner.plan for runner in runners if episodes > 0 and runner.certainty > PROMISING), plan)


def _most(episodes: int, sizes: Sizes) -> int:
    """Runners in a heat of so many episodes."""
    return int(min(10**6, max(1, sizes.contest / (episodes * sizes.testing))))


def _further(player: Player, runner: Runner, old: NDArray[np.float64], horizon: int, seed: int, first: int) -> Runner:
    gains = player.returns(runner.plan, len(old), horizon, seed, first) - old
    return Runner(runner.plan, runner.gains.plus(ReturnSums.of(gains)))
