"""A controller as the integers that a program needs: a plain table if it is deterministic, else alias tables.

Deterministic: node i takes action[i] and moves to move[i][o]. Stochastic: the alias tables from which rollouts draw,
one row per distribution, so that the program takes the very same decisions. A row (first, count) owns the entries from
first to first + count - 1; 64 random bits choose the entry by their upper half and decide by their lower half (below
`cut`: the entry's own outcome, else the other one).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from string import Template

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Controller, Team
from decpomdp.rollouts.runner import Entry, alias_rows, start_table


@dataclass(frozen=True, slots=True)
class SureTables:
    """A controller that never draws."""

    start: list[int]  # [1] or [1 + o]: first node; after o
    action: list[int]  # [i]
    move: list[list[int]]  # [i][o]


@dataclass(frozen=True, slots=True)
class ChanceTables:
    """A controller that does. Rows: starts, then acts [i], then moves [i, a, o]."""

    starts: int  # rows of starts: 1 or 1 + o
    rows: list[tuple[int, int]]  # first entry, number of entries
    entries: list[Entry]


def sure_tables(controller: Controller) -> SureTables | None:
    """The plain table; None if any choice that can be met is left to chance."""
    starts, taken = start_table(controller), controller.action.argmax(axis=1)
    moves = controller.transition[np.arange(controller.nodes), taken]  # [i, o, j]
    if not all(_is_sure(table) for table in (starts, controller.action, moves)):
        return None
    return SureTables(starts.argmax(axis=1).tolist(), taken.tolist(), moves.argmax(axis=2).tolist())


def chance_tables(controller: Controller) -> ChanceTables:
    """Alias tables; moves after actions that a node never takes lead to node 0, in one entry each."""
    moves = controller.transition.copy()
    moves[controller.action == 0] = np.eye(controller.nodes)[0]
    starts = start_table(controller)
    rows: list[tuple[int, int]] = []
    entries: list[Entry] = []
    for table in (starts, controller.action, moves.reshape(-1, controller.nodes)):
        for row in alias_rows(table):
            rows.append((len(entries), len(row)))
            entries += row
    return ChanceTables(len(starts), rows, entries)


def filled(templates: Sequence[str], **values: object) -> str:
    """Templates one after the other, with their ${names} replaced; nothing in a value is replaced again."""
    folder = files("decpomdp.report.export").joinpath("templates")
    return Template("".join(folder.joinpath(name).read_text(encoding="utf-8") for name in templates)).substitute(values)


def identifier(team: Team, place: int) -> str:
    """A C identifier from an agent's name, different for every agent of the team."""
    taken: set[str] = set()
    for n, agent in enumerate(team.agents[: place + 1]):
        plain = re.sub(r"[^A-Za-z0-9]+", "_", agent.name).strip("_")
        name = plain if plain[:1].isalpha() else f"agent_{plain}".rstrip("_")
        if name != agent.name or name in taken:
            name = f"{name}_{n + 1}"
        while name in taken:
            name += "_"
        taken.add(name)
    return name


def _is_sure(table: NDArray[np.float64]) -> bool:
    return bool(np.all(table.max(axis=-1) == 1.0))
