"""From good episodes to machines: chains for a start, grafts for a change.

A chain makes a machine of one episode: node t does what was done at step t and goes on to node t + 1, the last one
back to the first. It needs no gradient to find a long coordinated sequence of actions, which random play meets once in
thousands of episodes and gradients never.

A graft changes all agents of a running team at once, which single changes cannot do when each alone makes things
worse. The team explores together in a short stretch of time; from one of the best such episodes every agent gets a
side path that does what was done there while its own observations agree, and goes back to what it would have done
otherwise. Elites are drawn at random: the one that looks best on average is usually the one that changes nothing.
"""

import numpy as np

from decpomdp.interaction.players import Arena
from decpomdp.interaction.search.machines import Machine, Plan, constant
from decpomdp.kernels.machines import ROOT, Played, Window


def chain(arena: Arena, length: int, episodes: int, seed: int) -> Plan:
    """The best of many random episodes of `length` steps, as a cycle."""
    everything = Window(0, length, np.ones(len(arena.agents)))
    played = arena.elites(constant(arena), everything, episodes, length, seed, 1)
    steps = int(played.lengths[0])
    return tuple(
        _cycle(played.actions[0, :steps, n].astype(np.int64), len(agent.observations))
        for n, agent in enumerate(arena.agents)
    )


def _cycle(actions: np.ndarray, observations: int) -> Machine:
    following = np.roll(np.arange(len(actions)), -1) + 1
    move = np.repeat(np.append(ROOT + 1, following)[:, None], observations + 1, axis=1)
    return Machine(np.append(0, actions), move)


def stretch(rng: np.random.Generator, agents: int, longest: int, discount: float, horizon: int) -> Window:
    """Where to explore: sooner matters more (as the discount says); mostly everybody, sometimes only some."""
    latest = max(1, horizon // 2)
    begin = min(int(rng.geometric(max(1 - discount, 1 / latest))) - 1, latest - 1)
    length = int(rng.integers(1, longest + 1))
    rates = np.full(agents, rng.uniform(0.3, 1.0))
    if agents > 1 and rng.random() < 0.3:
        rates *= rng.permutation(agents) < rng.integers(1, agents)
    return Window(begin, min(begin + length, horizon), rates)


def graft(plan: Plan, played: Played, number: int, window: Window, once: bool = False) -> Plan:
    """The plan with every agent's side path along episode `number`.

    A side path begins where the episode left the machine's way, and is taken whenever the machine comes by there. If it
    is to be taken `once`, it begins at the start instead: what pays in the first few steps need not pay later.
    """
    end = min(window.end, int(played.lengths[number]))
    return tuple(
        _side_path(
            machine,
            played.observations[number, :end, n].astype(np.int64),
            played.actions[number, :end, n].astype(np.int64),
            played.nodes[number, :end, n].astype(np.int64),
            once,
        )
        for n, machine in enumerate(plan)
    )


def _side_path(machine: Machine, seen: np.ndarray, actions: np.ndarray, nodes: np.ndarray, once: bool) -> Machine:
    """New nodes from the first (or the start) to the last step at which the agent did not do as its machine says."""
    others = np.flatnonzero(actions != machine.action[nodes])
    if len(others) == 0:
        return machine
    first, last = 0 if once else int(others[0]), int(others[-1])
    added = np.arange(last - first + 1) + len(machine.action)
    move = np.vstack([machine.move, machine.move[nodes[first : last + 1]]])
    move[added[:-1], seen[first + 1 : last + 1]] = added[1:]
    move[nodes[first - 1] if first > 0 else ROOT, seen[first]] = added[0]
    return Machine(np.append(machine.action, actions[first : last + 1]), move)
