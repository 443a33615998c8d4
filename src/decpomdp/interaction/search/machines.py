"""Deterministic Moore machines, one per agent, and generic memories for them.

In addition to its acting nodes a machine has a root, node 0, in which an episode begins before any observation. With
the root, the start is an ordinary edge, with or without a first observation, and is split, mutated, learned and folded
like the others. The root never acts and does not count as a node of the controller.

Memories: the useful memory is nearly always one of the last few observations (windows), the time within a
period (clocks) or since the start (openings), or all observations since the period began (trees). A machine gets more
memory at no loss: its product with a memory tracks both, and splitting nodes by incoming edge remembers how a node was
reached. The larger machine acts as before until something is learned on it; `moves.fold` removes unused nodes later.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Controller, Team
from decpomdp.core.controller import HasAgents
from decpomdp.kernels.machines import ROOT, Machines

NONE = -1  # an entry that is not changed


class Machine(NamedTuple):
    """One agent's deterministic policy."""

    action: NDArray[np.int64]  # [i]; action[ROOT] is not used
    move: NDArray[np.int64]  # [i, o]; the last column: no observation (only used from the root)

    @property
    def nodes(self) -> int:
        """Acting nodes."""
        return len(self.action) - 1

    @property
    def observations(self) -> int:
        """Size of the observation alphabet."""
        return self.move.shape[1] - 1

    def edited(self, node: int, symbol: int, target: int, action: int) -> "Machine":
        """One entry changed: the action of `node`, if `symbol` is NONE; otherwise where its edge on `symbol` leads.

        That is `target` or, unless `action` is NONE, a new node that is like `target` and takes `action`.
        """
        changed, move = self.action.copy(), self.move.copy()
        if symbol == NONE:
            changed[node] = action
        elif action == NONE:
            move[node, symbol] = target
        else:
            move[node, symbol] = len(changed)
            changed, move = np.append(changed, action), np.vstack([move, self.move[target]])
        return Machine(changed, move)


Plan = tuple[Machine, ...]
Memory = Hashable
BEGIN = "begin"  # the memory of the root
Follow = Callable[[Memory, int | None], Memory]  # (memory, observation) -> next memory


def sizes(plan: Plan) -> tuple[int, ...]:
    """Acting nodes of every agent."""
    return tuple(machine.nodes for machine in plan)


def constant(problem: HasAgents, choices: Sequence[int] | None = None) -> Plan:
    """Every agent always takes the same action: one node."""
    chosen = [0] * len(problem.agents) if choices is None else choices
    return tuple(
        Machine(np.array([0, choice]), np.ones((2, len(agent.observations) + 1), np.int64))
        for agent, choice in zip(problem.agents, chosen, strict=True)
    )


def pack(plan: Plan, problem: HasAgents) -> Machines:
    """The plan as padded arrays, for the kernels."""
    nodes = max(len(machine.action) for machine in plan)
    symbols = max(machine.observations for machine in plan)
    action = np.zeros((len(plan), nodes), np.int32)
    move = np.zeros((len(plan), nodes, symbols + 1), np.int32)
    for n, machine in enumerate(plan):
        action[n, : len(machine.action)] = machine.action
        move[n, : len(machine.action), : machine.observations] = machine.move[:, :-1]
        move[n, : len(machine.action), -1] = machine.move[:, -1]
    return Machines(action, move, np.array([len(agent.actions) for agent in problem.agents], np.int64))


def team_of(plan: Plan, problem: HasAgents, shown: bool) -> Team:
    """The plan as controllers; `shown`: there is an observation before the first action."""
    controllers = [
        _controller(machine, len(agent.actions), shown) for machine, agent in zip(plan, problem.agents, strict=True)
    ]
    return Team.of(problem, controllers)


def plan_of(team: Team) -> Plan:
    """The likeliest choices of a team as a plan."""
    return tuple(_machine(controller) for controller in team.controllers)


def _machine(controller: Controller) -> Machine:
    nodes, action = np.arange(controller.nodes), controller.action.argmax(axis=1)
    start = 1 + int(controller.initial.argmax())
    firsts = np.full(controller.observations, start)
    if controller.initial_given is not None:
        firsts = 1 + controller.initial_given.argmax(axis=1)
    moves = 1 + controller.transition[nodes, action].argmax(axis=-1)
    unseen = np.append(start, moves[:, 0])  # nodes do not use it
    return Machine(np.append(0, action), np.column_stack([np.vstack([firsts, moves]), unseen]))


def _controller(machine: Machine, actions: int, shown: bool) -> Controller:
    start, moves = machine.move[ROOT] - 1, machine.move[1:, :-1] - 1
    first = int(np.bincount(start[:-1]).argmax()) if shown else int(start[-1])  # an unused default when shown
    plain = Controller.deterministic(machine.action[1:], moves, actions, first)  # type: ignore[arg-type]
    if not shown:
        return plain
    return Controller(plain.initial, plain.action, plain.transition, np.eye(machine.nodes)[start[:-1]])


# ---- memories


def unfold(begin: Memory, follow: Follow, observations: int, limit: int) -> tuple[list[Memory], Machine] | None:
    """The machine over all memories that can be reached from `begin`, or None beyond `limit` acting nodes.

    The first memory is follow(begin, o) after a first observation and follow(begin, None) after none.
    """
    places: dict[Memory, int] = {}

    def place(memory: Memory) -> int:
        return places.setdefault(memory, ROOT + 1 + len(places))

    rows = [[place(follow(begin, symbol)) for symbol in (*range(observations), None)]]
    while len(rows) <= len(places) <= limit:
        memory = list(places)[len(rows) - 1]
        following = [place(follow(memory, symbol)) for symbol in range(observations)]
        rows.append([*following, following[0]])  # a node always sees something: the last column is not used
    if len(places) > limit:
        return None
    return list(places), Machine(np.zeros(len(rows), np.int64), np.array(rows, np.int64))


def tree(depth: int) -> Follow:
    """All observations since the period began; the period has `depth` actions."""

    def follow(memory: Memory, symbol: int | None) -> Memory:
        if symbol is None or not isinstance(memory, tuple):
            return () if symbol is None or depth == 1 else (symbol,)
        return (*memory, symbol) if len(memory) + 1 < depth else ()

    return follow


def window(width: int) -> Follow:
    """The last `width` observations."""

    def follow(memory: Memory, symbol: int | None) -> Memory:
        before = memory if isinstance(memory, tuple) else ()
        return (*before, symbol)[-width:] if symbol is not None else before

    return follow


def clock(period: int, width: int) -> Follow:
    """The time modulo `period` and the last `width` observations."""
    return _timed(lambda hour: (hour + 1) % period, width)


def opening(steps: int, width: int) -> Follow:
    """The time since the start, up to `steps`, and the last `width` observations."""
    return _timed(lambda hour: min(hour + 1, steps), width)


def _timed(onward: Callable[[int], int], width: int) -> Follow:
    recent = window(width) if width else None

    def follow(memory: Memory, symbol: int | None) -> Memory:
        hour, seen = memory if isinstance(memory, tuple) else (-1, ())
        return onward(hour), recent(seen, symbol) if recent else ()

    return follow


def product(machine: Machine, memory: Follow, largest: int) -> Machine | None:
    """The machine that also keeps `memory`; None if that takes more than `largest` nodes."""

    def follow(pair: Memory, symbol: int | None) -> Memory:
        node, memorised = pair if isinstance(pair, tuple) else (ROOT, BEGIN)
        return int(machine.move[node, -1 if symbol is None else symbol]), memory(memorised, symbol)

    return _acting(machine, unfold(BEGIN, follow, machine.observations, largest))


def split(machine: Machine, chosen: set[int], largest: int) -> Machine | None:
    """The machine with a copy of every `chosen` node for each edge that leads to it."""

    def follow(pair: Memory, symbol: int | None) -> Memory:
        node = pair[0] if isinstance(pair, tuple) else ROOT
        column = -1 if symbol is None else symbol
        target = int(machine.move[node, column])
        return (target, (node, column)) if target in chosen else (target, None)

    return _acting(machine, unfold(BEGIN, follow, machine.observations, largest))


def _acting(machine: Machine, built: tuple[list[Memory], Machine] | None) -> Machine | None:
    """Actions of the nodes that the memories (node, ...) come from."""
    if built is None:
        return None
    memories, larger = built
    nodes = [memory[0] for memory in memories if isinstance(memory, tuple)]
    return Machine(machine.action[[ROOT, *nodes]], larger.move)


def hours(machine: Machine, period: int) -> np.ndarray:
    """[i]: steps since the start, modulo `period`, at which a machine with such a clock is in node i."""
    hour_of = np.full(len(machine.action), -1)
    reached, hour = {int(node) for node in machine.move[ROOT]}, 0
    while any(hour_of[node] < 0 for node in reached):
        hour_of[list(reached)] = hour
        reached = {int(node) for node in machine.move[list(reached)].ravel()}
        hour = (hour + 1) % period
    return hour_of
