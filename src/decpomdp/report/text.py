"""Controllers in words: "node 3: listen; on hear-left go to 5, on hear-right go to 4".

Control characters in labels are escaped. Bins of numbers that lead to the same node are joined: "on x < 2 go to 5".
"""

from collections.abc import Iterable, Iterator, Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Agent, Controller, InputError, Team
from decpomdp.core.agent import edges_of
from decpomdp.core.text import plain

RARE = 0.005  # choices less likely than this are left out
FEW = 5  # named choices if all are rare; named observations that lead to the same node, at most


def team_in_words(team: Team) -> list[str]:
    """For every agent its name, its start and a line per node."""
    lines = []
    for agent, controller in zip(team.agents, team.controllers, strict=True):
        lines += [f"{plain(agent.name)} ({controller.nodes} node{'s' if controller.nodes > 1 else ''})"]
        lines += [f"  {line}" for line in controller_in_words(agent, controller)]
    return lines


def controller_in_words(agent: Agent, controller: Controller) -> list[str]:
    """The start of one agent, then the actions and moves of every node."""
    lines = [f"start in {_nodes(controller.initial)}"]
    if controller.initial_given is not None:
        goals = _goals(agent, controller.initial_given)
        lines = [f"start in {goal}{f' if {seen} is seen first' * bool(seen)}" for goal, seen in goals]
    lines += [f"node {i}: {'; '.join(_node(agent, controller, i))}" for i in range(controller.nodes)]
    return [plain(line) for line in lines]


def _node(agent: Agent, controller: Controller, i: int) -> Iterator[str]:
    row = controller.action[i]
    taken = _likely(row)
    yield _chosen(agent.actions, row)
    alike = taken if row.max() >= RARE else np.flatnonzero(row)
    moves = controller.transition[i]
    if all(np.allclose(moves[a], moves[taken[0]]) for a in alike):
        yield _moves(agent, moves[taken[0]])
        return
    for a in taken:
        yield f"after {agent.actions[a]} {_moves(agent, moves[a])}"


def _moves(agent: Agent, rows: NDArray[np.float64]) -> str:
    """Where the observations lead."""
    goals = _goals(agent, rows)
    if len(goals) == 1:
        return f"then go to {goals[0][0]}"
    return ", ".join(f"on {seen} go to {goal}" if seen else f"otherwise go to {goal}" for goal, seen in goals)


def _goals(agent: Agent, rows: NDArray[np.float64]) -> list[tuple[str, str]]:
    """(node, the observations that lead there) of rows[o, j]; the last entry may be for all others, with "" as text."""
    places: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        places.setdefault(_nodes(row), []).append(place)
    rest = max(places, key=lambda goal: len(places[goal]))
    goals = [(goal, _observations(agent, seen)) for goal, seen in places.items() if goal != rest]
    if not goals or len(places[rest]) > FEW:
        return [*goals, (rest, "")]
    return [(goal, _observations(agent, seen)) for goal, seen in places.items()]


def _observations(agent: Agent, places: Sequence[int]) -> str:
    """The labels at these places; neighbouring bins of numbers are joined."""
    try:
        edges = edges_of(agent)
    except InputError:
        edges = {}
    sizes = [len(ends) + 1 for ends in edges.values()]
    if prod(sizes) != len(agent.observations):
        return " or ".join(agent.observations[place] for place in places)
    boxes = [[(int(bin), int(bin)) for bin in np.unravel_index(place, sizes)] for place in places]
    for axis in reversed(range(len(sizes))):
        boxes = _joined(boxes, axis)
    return " or ".join(" and ".join(_sides(edges, box)) for box in boxes)


def _joined(boxes: list[list[tuple[int, int]]], axis: int) -> list[list[tuple[int, int]]]:
    """Boxes of bins, [axis] (first, last), with neighbours along one axis joined."""
    result: list[list[tuple[int, int]]] = []
    for box in sorted(boxes, key=lambda box: (box[:axis], box[axis + 1 :], box[axis])):
        last = result[-1] if result else None
        other = [side for i, side in enumerate(box) if i != axis]
        if last and other == [side for i, side in enumerate(last) if i != axis] and last[axis][1] + 1 == box[axis][0]:
            last[axis] = (last[axis][0], box[axis][1])
        else:
            result.append(list(box))
    return sorted(result)


def _sides(edges: dict[str, list[float]], box: Iterable[tuple[int, int]]) -> Iterator[str]:
    """The range of every number in a box of bins; unbounded numbers are left out."""
    for (name, ends), (first, last) in zip(edges.items(), box, strict=True):
        low = f"{ends[first - 1]:.6g}" if first > 0 else ""
        high = f"{ends[last]:.6g}" if last < len(ends) else ""
        if low and high:
            yield f"{low} <= {name} < {high}"
        elif low or high:
            yield f"{name} >= {low}" if low else f"{name} < {high}"


def _nodes(row: NDArray[np.float64]) -> str:
    return _chosen(range(len(row)), row)


def _likely(row: NDArray[np.float64]) -> NDArray[np.int64]:
    """The choices to name, the likeliest first; only a few if all are rare."""
    ordered = np.argsort(-row, kind="stable")
    return ordered[row[ordered] >= RARE] if row.max() >= RARE else ordered[:FEW]


def _chosen(names: Sequence[object], row: NDArray[np.float64]) -> str:
    """A certain choice by its name, others with their probabilities, likeliest first."""
    ordered = _likely(row)
    if row.max() < RARE:
        few = [f"{names[k]} ({row[k]:.2g})" for k in ordered]
        return " or ".join([*few, f"{np.count_nonzero(row) - len(few)} others"])
    if len(ordered) == 1:
        return str(names[ordered[0]])
    return " or ".join(f"{names[k]} ({row[k]:.2f})" for k in ordered)
