"""Controllers in words: "node 3: listen; on hear-left go to 5, on hear-right go to 4".

Every line is one line, whatever the labels hold: control characters are written out.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Agent, Controller, Team
from decpomdp.core.checks import of_kind
from decpomdp.core.plain import plain

RARE = 0.005  # choices less likely than this are left out


def team_in_words(team: Team) -> list[str]:
    """Lines that say what every agent does.

    Parameters
    ----------
    team
        Who.

    Returns
    -------
    list of str
        For every agent its name, where it starts, and a line for every node.

    Raises
    ------
    InputError
        It is no team.

    Examples
    --------
    >>> import decpomdp as dp
    >>> waiting = dp.Controller.deterministic([0, 1], [[0, 1], [0, 0]], 3)
    >>> for line in dp.team_in_words(dp.Team.of(dp.load("dectiger"), [waiting, waiting]))[:4]:
    ...     print(line)
    agent1 (2 nodes)
      start in 0
      node 0: listen; on hear-left go to 0, on hear-right go to 1
      node 1: open-left; then go to 0
    """
    of_kind("team", team, Team)
    lines = []
    for agent, controller in zip(team.agents, team.controllers, strict=True):
        lines += [f"{plain(agent.name)} ({controller.nodes} node{'s' if controller.nodes > 1 else ''})"]
        lines += [f"  {line}" for line in controller_in_words(agent, controller)]
    return lines


def controller_in_words(agent: Agent, controller: Controller) -> list[str]:
    """Lines that say where one agent starts, what each node does and where it goes."""
    lines = [f"start in {_nodes(controller.initial)}"]
    if controller.initial_given is not None:
        seen = zip(agent.observations, controller.initial_given, strict=True)
        lines = [f"start in {_nodes(row)} if {label} is seen first" for label, row in seen]
    lines += [f"node {i}: {'; '.join(_node(agent, controller, i))}" for i in range(controller.nodes)]
    return [plain(line) for line in lines]


def _node(agent: Agent, controller: Controller, i: int) -> Iterator[str]:
    taken = [a for a in range(controller.actions) if controller.action[i, a] >= RARE]
    yield _chosen([(agent.actions[a], controller.action[i, a]) for a in taken])
    rows = [controller.transition[i, a] for a in taken]
    if all(np.allclose(row, rows[0]) for row in rows):
        yield _moves(agent, rows[0])
        return
    for a, row in zip(taken, rows, strict=True):
        yield f"after {agent.actions[a]} {_moves(agent, row)}"


def _moves(agent: Agent, rows: NDArray[np.float64]) -> str:
    """Where the observations lead; those that lead to the same place are said together."""
    goals: dict[str, list[str]] = {}
    for label, row in zip(agent.observations, rows, strict=True):
        goals.setdefault(_nodes(row), []).append(label)
    if len(goals) == 1:
        return f"then go to {next(iter(goals))}"
    return ", ".join(f"on {' or '.join(labels)} go to {goal}" for goal, labels in goals.items())


def _nodes(row: NDArray[np.float64]) -> str:
    return _chosen([(str(j), p) for j, p in enumerate(row) if p >= RARE])


def _chosen(choices: list[tuple[str, float]]) -> str:
    """A sure choice by its name, others with their probabilities, likeliest first."""
    if len(choices) == 1:
        return choices[0][0]
    ordered = sorted(choices, key=lambda choice: -choice[1])
    return " or ".join(f"{name} ({p:.2f})" for name, p in ordered)
