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
"""

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Agent, DecPOMDP
from decpomdp.core.agent import numbered
from decpomdp.domains.independent import side_by_side

DIRECTIONS = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}  # row, column
ACTIONS = (*DIRECTIONS, "stay")
OBSERVATIONS = ("nnnnnynnn", "nnnynnnnn")  # left column, right column
CELLS = 4

WANTED = 0.6  # chance to go where the robot wants to
STRAY = 0.1  # chance of each other direction, and of not moving


def build(discount: float = 0.9) -> DecPOMDP:
    """Two robots on a 2x2 grid earn 1 for every step that ends with both in the same cell.

    Each sees only which column it is in; moves go astray with probability 0.4.
    """
    agents = tuple(Agent(name, ACTIONS, OBSERVATIONS) for name in ("agent1", "agent2"))
    transition = side_by_side(_moves(), _moves())  # [u, s, s1]
    sees = np.eye(2)[[cell % 2 for cell in range(CELLS)]]  # [cell, observation]
    observation = np.tile(side_by_side(sees, sees), (len(ACTIONS) ** 2, 1, 1))  # [u, s1, y]
    meeting = np.eye(CELLS).ravel()  # [s1]
    reward = np.einsum("ust,t->us", transition, meeting)  # [u, s]
    start = np.zeros(CELLS * CELLS)
    start[1 * CELLS + 2] = 1.0
    return DecPOMDP(agents, numbered(CELLS**2), start, transition, observation, reward, discount, "gridsmall")


def _moves() -> NDArray[np.float64]:
    """[action, cell, cell after]: one robot."""
    moves = np.zeros((len(ACTIONS), CELLS, CELLS))
    for cell in range(CELLS):
        moves[ACTIONS.index("stay"), cell, cell] = 1.0
        for a, wanted in enumerate(DIRECTIONS):
            moves[a, cell, cell] += STRAY
            for direction in DIRECTIONS:
                moves[a, cell, _beside(cell, direction)] += WANTED if direction == wanted else STRAY
    return moves


def _beside(cell: int, direction: str) -> int:
    row, column = (
        min(max(place + step, 0), 1) for place, step in zip(divmod(cell, 2), DIRECTIONS[direction], strict=True)
    )
    return 2 * row + column


def things(state: int) -> list[dict[str, object]]:
    """What stands where, for drawings."""
    places = [divmod(cell, 2) for cell in divmod(state, CELLS)]
    return [{"kind": "agent", "column": column, "row": row, "label": n + 1} for n, (row, column) in enumerate(places)]
