"""Controllers in words: "node 3: listen; on hear-left go to 5, on hear-right go to 4".

Every line is one line, whatever the labels hold: control characters are written out.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Agent, Controller, Team
from decpomdp.core.text import plain

RARE = 0.005  # choices less likely than this are left out
FEW = 5  # choices that are named where all are rarer


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
        seen = zip(agent.observations, controller.initial_given, strict=True)
        lines = [f"start in {_nodes(row)} if {label} is seen first" for label, row in seen]
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
    """Where the observations lead; those that lead to the same place together."""
    goals: dict[str, list[str]] = {}
    for label, row in zip(agent.observations, rows, strict=True):
        goals.setdefault(_nodes(row), []).append(label)
    if len(goals) == 1:
        return f"then go to {next(iter(goals))}"
    return ", ".join(f"on {' or '.join(labels)} go to {goal}" for goal, labels in goals.items())


def _nodes(row: NDArray[np.float64]) -> str:
    return _chosen(range(len(row)), row)


def _likely(row: NDArray[np.float64]) -> NDArray[np.int64]:
    """The choices to name, the likeliest first; only a few where all are rare."""
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
