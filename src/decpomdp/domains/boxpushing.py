"""Cooperative box pushing: two robots, two small boxes that one robot can push, and a large one that needs both.

The grid: a row of four cells, walls to the south and at both ends. A small box is north of cell 1 and of cell 4, a
large box as wide as two cells is north of cells 2 and 3; the goal is behind the boxes.
States: four goal states, then s<cell><heading><cell><heading> for the left robot (agent 1) and the right one (agent 2),
headings N, E, S, W. They never pass each other. Start: s1E4W, at the two ends, facing each other.
Actions: turnLeft, turnRight, moveForward, stay. Observations: what is in the cell ahead (emptyField, wall,
otherAgent, smallBox, largeBox), without error; emptyField in the goal states.

Dynamics: each robot's action succeeds with probability 0.9, independently, otherwise that robot stays as it is.
    - Turning changes the heading by 90 degrees. Moving into a wall or into the other robot's current cell, even if the
      other leaves it in this step, changes nothing. Two robots that enter the same empty cell both stay where they are.
    - Moving forward against a small box pushes it to the goal; both robots against the large box push that one. The
      episode is then in leftBoxAtGoal, rightBoxAtGoal, bothSmallAtGoal or largeBoxAtGoal.
    - A goal state returns to the start after any action, so the problem never ends.

Rewards, paid for the attempt, whether or not it succeeds: -0.1 per robot and step; moving forward brings 10 against a
small box and -5 against a wall, the other robot, the large box alone, or an empty cell that the other robot wants to
enter too; 100 for both against the large box. The step spent in a goal state pays 0.

One misprint of the published table is kept, for comparable values: from s2E4W with both moving forward, when only the
left robot succeeds, the right one ends up heading S (s3E4S) where the rules say W.

Source: S. Seuken, S. Zilberstein. Improved memory-bounded dynamic programming for decentralized POMDPs. UAI 2007.
"""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from decpomdp.core import DecPOMDP
from decpomdp.domains.rules import from_rules

ACTIONS = ("turnLeft", "turnRight", "moveForward", "stay")
OBSERVATIONS = ("emptyField", "wall", "otherAgent", "smallBox", "largeBox")
GOALS = ("leftBoxAtGoal", "rightBoxAtGoal", "bothSmallAtGoal", "largeBoxAtGoal")
CELLS = (1, 2, 3, 4)
HEADINGS = "NESW"
STEPS = {"E": 1, "W": -1}
START = "s1E4W"

SUCCESS = 0.9
STEP_COST = -0.1
LARGE_BOX_TOGETHER = 100.0
MEETS = {"emptyField": 0.0, "wall": -5.0, "otherAgent": -5.0, "smallBox": 10.0, "largeBox": -5.0}
CONTESTED = -5.0  # both robots want to enter the same empty cell
MISPRINT = ("s2E4W", ("moveForward", "moveForward"), (True, False), "s3E4S")  # state, actions, successes, next state


class Pose(NamedTuple):
    """Cell and heading of one robot."""

    cell: int
    heading: str


Poses = tuple[Pose, Pose]
Pair = tuple[str, str]


def build(discount: float = 0.9) -> DecPOMDP:
    """Two robots push small boxes alone or a large box together to the goal; then everything starts again.

    Each sees what is in the cell ahead. Actions succeed with probability 0.9. The large box pays 100, a small one 10,
    and running into something costs 5.
    """
    places = {_label(poses): poses for poses in _all_poses()}

    def transition(state: str, actions: Pair) -> dict[str, float]:
        return {START: 1.0} if state in GOALS else _outcomes(places[state], actions)

    def observation(agent: int, next_state: str) -> str:
        return "emptyField" if next_state in GOALS else _ahead(places[next_state])[agent]

    return from_rules(
        states=(*GOALS, *places),
        actions=ACTIONS,
        observations=OBSERVATIONS,
        start=START,
        transition=transition,
        observation=observation,
        reward=lambda state, actions: 0.0 if state in GOALS else _reward(places[state], actions),
        discount=discount,
        name="boxpushing",
        scene=lambda state: _scene(state, places.get(state, ())),
    )


def _all_poses() -> Iterator[Poses]:
    for left, look, right, other_look in product(CELLS, HEADINGS, CELLS, HEADINGS):
        if left < right:
            yield Pose(left, look), Pose(right, other_look)


def _label(poses: Poses) -> str:
    return "s" + "".join(f"{pose.cell}{pose.heading}" for pose in poses)


def _ahead(poses: Poses) -> Pair:
    """The thing in front of each robot."""
    one, other = poses
    return _before(one, other.cell), _before(other, one.cell)


def _before(pose: Pose, other_cell: int) -> str:
    if pose.heading == "N":
        return "smallBox" if pose.cell in (1, 4) else "largeBox"
    target = pose.cell + STEPS.get(pose.heading, 0)
    if pose.heading == "S" or target not in CELLS:
        return "wall"
    return "otherAgent" if target == other_cell else "emptyField"


def _met(poses: Poses, pair: Pair) -> list[str | None]:
    """The thing in front of each robot that moves forward; None for other robots."""
    return [thing if action == "moveForward" else None for thing, action in zip(_ahead(poses), pair, strict=True)]


def _reward(poses: Poses, pair: Pair) -> float:
    met = _met(poses, pair)
    if met == ["largeBox", "largeBox"]:
        return LARGE_BOX_TOGETHER + 2 * STEP_COST
    one, other = (_turned_or_moved(pose, action, thing) for pose, action, thing in zip(poses, pair, met, strict=True))
    contested = 2 * CONTESTED if one.cell == other.cell else 0.0
    return sum(MEETS[thing] for thing in met if thing) + contested + 2 * STEP_COST


def _outcomes(poses: Poses, pair: Pair) -> dict[str, float]:
    """Every next state with its probability: each action succeeds or is replaced by stay."""
    outcomes: dict[str, float] = {}
    for success in product((True, False), repeat=2):
        one, other = (action if done else "stay" for action, done in zip(pair, success, strict=True))
        misprinted = (_label(poses), pair, success) == MISPRINT[:3]
        after = MISPRINT[3] if misprinted else _after(poses, (one, other))
        chance = SUCCESS ** sum(success) * (1 - SUCCESS) ** (2 - sum(success))
        outcomes[after] = outcomes.get(after, 0.0) + chance
    return outcomes


def _after(poses: Poses, pair: Pair) -> str:
    """The next state when both actions take effect."""
    met = _met(poses, pair)
    if met == ["largeBox", "largeBox"]:
        return "largeBoxAtGoal"
    if "smallBox" in met:
        both = met == ["smallBox", "smallBox"]
        pusher = poses[met.index("smallBox")]
        return "bothSmallAtGoal" if both else "leftBoxAtGoal" if pusher.cell == 1 else "rightBoxAtGoal"
    one, other = (_turned_or_moved(pose, action, thing) for pose, action, thing in zip(poses, pair, met, strict=True))
    return _label(poses if one.cell == other.cell else (one, other))


def _turned_or_moved(pose: Pose, action: str, met: str | None) -> Pose:
    if met == "emptyField":
        return Pose(pose.cell + STEPS[pose.heading], pose.heading)
    turn = {"turnLeft": -1, "turnRight": 1}.get(action, 0)
    return Pose(pose.cell, HEADINGS[(HEADINGS.index(pose.heading) + turn) % 4])


def _scene(state: str, poses: Poses | tuple[()]) -> list[dict[str, object]]:
    """The things to draw; there are no robots in a goal state."""
    moved = {"left": ("leftBoxAtGoal", "bothSmallAtGoal"), "right": ("rightBoxAtGoal", "bothSmallAtGoal")}
    shown: list[dict[str, object]] = [
        {"kind": "zone", "column": 0, "row": 0, "width": 4, "label": "goal"},
        {"kind": "box", "column": 0, "row": int(state not in moved["left"]), "width": 1, "label": "small"},
        {"kind": "box", "column": 1, "row": int(state != "largeBoxAtGoal"), "width": 2, "label": "large"},
        {"kind": "box", "column": 3, "row": int(state not in moved["right"]), "width": 1, "label": "small"},
    ]
    return shown + [
        {"kind": "agent", "column": pose.cell - 1, "row": 2, "turn": 90 * HEADINGS.index(pose.heading), "label": n + 1}
        for n, pose in enumerate(poses)
    ]
