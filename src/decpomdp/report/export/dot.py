"""A controller as a graph for Graphviz. Every label is quoted; all moves between two nodes are one edge."""

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Agent, Controller
from decpomdp.report.performance import moves_of
from decpomdp.report.text import RARE

CERTAIN = 0.995  # a choice at least this likely is named without its probability


def dot_source(agent: Agent, controller: Controller) -> str:
    """The graph: boxes name actions, edges observations."""
    lines = [f"digraph {dot_quoted(agent.name)} {{", "  node [shape=box, style=rounded];"]
    lines += [f"  n{i} [label={_node(agent, controller, i)}];" for i in range(controller.nodes)]
    lines += [f"  start{i} [shape=point]; start{i} -> n{i}{words};" for i, words in _starts(agent, controller)]
    lines += [f"  n{i} -> n{j} [label={words}];" for i, j, words in _edges(agent, controller)]
    return "\n".join([*lines, "}"]) + "\n"


def dot_quoted(*parts: str) -> str:
    """A quoted string of Graphviz, one line per part: nothing in it is read as an escape or an entity."""
    kept = (re.sub("[\x00-\x1f\x7f]", "\ufffd", part.replace("\n", " ")) for part in parts)
    safe = (part.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;") for part in kept)
    return '"' + "\\n".join(safe) + '"'


def _node(agent: Agent, controller: Controller, i: int) -> str:
    likely = [int(a) for a in np.argsort(-controller.action[i], kind="stable") if controller.action[i, a] >= RARE]
    return dot_quoted(*(_said(agent.actions[a], controller.action[i, a]) for a in likely), f"node {i}")


def _edges(agent: Agent, controller: Controller) -> Iterator[tuple[int, int, str]]:
    moves = moves_of(controller)  # [i, o, j]
    for i, j in np.argwhere(moves.max(axis=1) >= RARE).tolist():
        yield i, j, dot_quoted(*_reasons(agent, moves[i, :, j]))


def _starts(agent: Agent, controller: Controller) -> Iterator[tuple[int, str]]:
    given = controller.initial_given
    table = np.repeat(controller.initial[None], len(agent.observations), axis=0) if given is None else given  # [o, i]
    for i in np.flatnonzero(table.max(axis=0) >= RARE).tolist():
        reasons = _reasons(agent, table[:, i])
        yield i, "" if reasons == ["any"] else f" [label={dot_quoted(*reasons)}]"


def _reasons(agent: Agent, chances: NDArray[np.float64]) -> list[str]:
    """The observations that lead there, with their probabilities; "any" when all of them do alike."""
    if chances.min() >= RARE and np.ptp(chances) < RARE:
        return [_said("any", float(chances[0]))]
    return [_said(label, p) for label, p in zip(agent.observations, chances.tolist(), strict=True) if p >= RARE]


def _said(label: str, chance: float) -> str:
    return label if chance >= CERTAIN else f"{label} ({chance:.2f})"
