"""Meeting on a 3x3 grid, in one of two corners: two robots that see exactly where they are, but not each other.

States: the cells of both robots, numbered row by row from 0 (top left) to 8 (bottom right). Agent 1 starts top right,
agent 2 bottom left. Actions: up, down, left, right, stay. Observations: the robot's own cell.

Dynamics: as on the 2x2 grid (`gridsmall`): a wanted move succeeds with probability 0.6, goes in each of the other
directions with 0.1 and nowhere with 0.1; walls hold; staying succeeds.

Rewards: 1 for every step that begins with both robots top left or both bottom right.

Source: C. Amato, J. Dibangoye, S. Zilberstein. Incremental policy generation for finite-horizon DEC-POMDPs. ICAPS 2009;
rules and numbers as in the published file Grid3x3corners.dpomdp.
"""

from itertools import product

from decpomdp.core import DecPOMDP
from decpomdp.domains.gridsmall import ACTIONS, moved
from decpomdp.domains.rules import from_rules

SIDE = 3
CELLS = range(SIDE * SIDE)
CORNERS = {(0, 0), (8, 8)}


def build(discount: float = 0.9) -> DecPOMDP:
    """Two robots on a 3x3 grid earn 1 for every step in which both are top left or both bottom right.

    They start in the other two corners. Each sees its own cell only; moves go astray with probability 0.4.
    """
    return from_rules(
        states=product(CELLS, CELLS),
        actions=ACTIONS,
        observations=CELLS,
        start=(2, 6),
        transition=lambda agent, state, action: moved(state[agent], action, SIDE),
        observation=lambda agent, next_state: next_state[agent],
        reward=lambda state: float(state in CORNERS),
        discount=discount,
        name="gridcorners",
        scene=_scene,
    )


def _scene(state: tuple[int, int]) -> list[dict[str, object]]:
    corners = [{"kind": "site", "column": place, "row": place, "label": "meet"} for place in (0, SIDE - 1)]
    robots = [{"kind": "agent", "column": cell % SIDE, "row": cell // SIDE} for cell in state]
    return [*corners, *robots]
