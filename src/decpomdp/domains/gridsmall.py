"""Meeting on a grid: two robots on 2x2 cells try to be in the same cell; each sees only where its side walls are.

States: 4 * cell of agent 1 + cell of agent 2, with the cells numbered row by row (0 top left, 1 top right, 2 bottom
left, 3 bottom right). At the start agent 1 is top right and agent 2 bottom left.
Actions: up, down, left, right, stay. Observations: nnnnnynnn in the left column (the only open side is the right one),
nnnynnnnn in the right column, without error.

Dynamics, independent for the two robots: staying succeeds. A robot that wants to move goes in the wanted direction with
probability 0.6, in each of the three other directions with probability 0.1, and does not move with probability 0.1.
Going into a wall leaves it where it is. Robots do not block each other.

Rewards: 1 for every step that ends with both robots in the same cell. The table holds the expectation over the next
state, that is, the probability that they meet.

Source: D. Bernstein, E. Hansen, S. Zilberstein. Bounded policy iteration for decentralized POMDPs. IJCAI 2005; the
version with two observations is from C. Amato, D. Bernstein, S. Zilberstein. Optimal fixed-size controllers for
decentralized POMDPs. AAMAS workshop on multi-agent sequential decision making in uncertain domains, 2006.

`corners` is the version on a 3x3 grid whose robots see exactly where they are, but not each other. States: the cells of
both robots, numbered row by row from 0 (top left) to 8 (bottom right). Agent 1 starts top right, agent 2 bottom left.
Observations: the robot's own cell. Rewards: 1 for every step that begins with both robots top left or both bottom
right. Source: C. Amato, J. Dibangoye, S. Zilberstein. Incremental policy generation for finite-horizon DEC-POMDPs.
ICAPS 2009; rules and numbers as in the published file Grid3x3corners.dpomdp.
"""

from dataclasses import replace
from itertools import product

import numpy as np

from decpomdp.core import DecPOMDP
from decpomdp.domains.rules import from_rules

DIRECTIONS = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}  # row, column
ACTIONS = (*DIRECTIONS, "stay")
OBSERVATIONS = ("nnnnnynnn", "nnnynnnnn")  # left column, right column
SIDE = 2
CELLS = SIDE * SIDE

WANTED = 0.6  # chance to go where the robot wants to
STRAY = 0.1  # chance of each other direction, and of not moving


def build(discount: float = 0.9) -> DecPOMDP:
    """Two robots on a 2x2 grid earn 1 for every step that ends with both in the same cell.

    Each sees only its own column. Moves go astray or fail with probability 0.4.
    """
    model = from_rules(
        states=range(CELLS * CELLS),
        actions=ACTIONS,
        observations=OBSERVATIONS,
        start=1 * CELLS + 2,
        transition=_transition,
        observation=lambda agent, next_state: OBSERVATIONS[divmod(next_state, CELLS)[agent] % SIDE],
        reward=lambda: 0.0,
        discount=discount,
        name="gridsmall",
        scene=_scene,
    )
    meeting = np.eye(CELLS).ravel()  # [s1]
    reward = np.einsum("ust,t->us", model.transition, meeting)  # not rounded: the digest of this table is published
    return replace(model, reward=reward)


def corners(discount: float = 0.9) -> DecPOMDP:
    """Two robots on a 3x3 grid earn 1 for every step in which both are top left or both bottom right.

    They start in the other two corners. Each sees only its own cell. Moves go astray or fail with probability 0.4.
    """
    side, last = 3, 2
    sites = [{"kind": "site", "column": place, "row": place, "label": "meet"} for place in (0, last)]
    return from_rules(
        states=product(range(side**2), repeat=2),
        actions=ACTIONS,
        observations=range(side**2),
        start=(last, side * last),
        transition=lambda agent, state, action: moved(state[agent], action, side),
        observation=lambda agent, next_state: next_state[agent],
        reward=lambda state: float(state in {(0, 0), (8, 8)}),
        discount=discount,
        name="gridcorners",
        scene=lambda state: [*sites, *({"kind": "agent", "column": c % side, "row": c // side} for c in state)],
    )


def _transition(state: int, actions: tuple[str, str]) -> dict[int, float]:
    one, other = (moved(cell, action, SIDE) for cell, action in zip(divmod(state, CELLS), actions, strict=True))
    return {CELLS * a + b: p * q for (a, p), (b, q) in product(one.items(), other.items())}


def moved(cell: int, action: str, side: int) -> dict[int, float]:
    """The cell of a robot on a square grid after one step."""
    if action == "stay":
        return {cell: 1.0}
    after = {cell: STRAY}
    for direction, steps in DIRECTIONS.items():
        row, column = (
            min(max(place + step, 0), side - 1) for place, step in zip(divmod(cell, side), steps, strict=True)
        )
        there = side * row + column
        after[there] = after.get(there, 0.0) + (WANTED if direction == action else STRAY)
    return after


def _scene(state: int) -> list[dict[str, object]]:
    places = [divmod(cell, 2) for cell in divmod(state, CELLS)]
    return [{"kind": "agent", "column": column, "row": row, "label": n + 1} for n, (row, column) in enumerate(places)]
