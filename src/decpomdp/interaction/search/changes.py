"""Ways to change a machine without episodes: more memory at no loss, and random mutations.

More memory: the product with a skeleton remembers what the machine does and what the skeleton does; splitting by
incoming edge remembers how a node was reached. Both act as before until something is learned on them, so nothing is
lost; afterwards `minimise.fold` takes away what was of no use.
"""

import numpy as np

from decpomdp.interaction.search.machines import Machine
from decpomdp.interaction.search.memories import BEGIN, Follow, Memory, unfold
from decpomdp.kernels.machines import ROOT


def product(machine: Machine, memory: Follow, largest: int) -> Machine | None:
    """The machine that also keeps `memory`; None if that takes more than `largest` nodes."""

    def follow(pair: Memory, symbol: int | None) -> Memory:
        node, kept = pair if isinstance(pair, tuple) else (ROOT, BEGIN)
        return int(machine.move[node, -1 if symbol is None else symbol]), memory(kept, symbol)

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
    """[i]: steps since the start, modulo `period`, at which a machine that keeps such a clock is in node i."""
    found = np.full(len(machine.action), -1)
    reached, hour = {int(node) for node in machine.move[ROOT]}, 0
    while any(found[node] < 0 for node in reached):
        found[list(reached)] = hour
        reached = {int(node) for node in machine.move[list(reached)].ravel()}
        hour = (hour + 1) % period
    return found


def mutate(machine: Machine, actions: int, rng: np.random.Generator) -> Machine:
    """One random entry replaced: an action, where an edge leads, or an edge to a new node that acts differently."""
    action, move = machine.action.copy(), machine.move.copy()
    node, edge = int(rng.integers(1, len(action))), (rng.integers(len(action)), rng.integers(move.shape[1]))
    kind = rng.random()
    if kind < 0.4:
        action[node] = rng.integers(actions)
    elif kind < 0.9:
        move[edge] = node
    else:
        move[edge] = len(action)
        action, move = np.append(action, rng.integers(actions)), np.vstack([move, machine.move[node]])
    return Machine(action, move)
