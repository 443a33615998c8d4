"""The writer of `.dpomdp` files: one line per number that is not zero, with all digits.

Labels that are the numbers from 0 are written as a count, and so are agents called agent1, agent2, ... Every other
label must be a name of the format, because a reader could not tell it from something else.
"""

import gzip
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from itertools import chain

import numpy as np

from decpomdp.core import checks
from decpomdp.core.agent import numbered
from decpomdp.core.checks import Floats
from decpomdp.core.errors import InputError
from decpomdp.core.model import DecPOMDP
from decpomdp.io.dpomdp.header import default_name
from decpomdp.io.dpomdp.text import is_name
from decpomdp.io.files import FilePath, path_of, replacing


def write_dpomdp(model: DecPOMDP, path: FilePath) -> None:
    """Write `model` to `path`, completely or not at all; compressed if the name ends in `.gz`."""
    checks.of_kind("model", model, DecPOMDP, "load it first: dp.load(name)")
    compresses = path_of(path).endswith(".gz")
    pieces = _pieces(model)
    header = next(pieces)  # raises the errors about labels before a file is created
    with replacing(path) as temporary, temporary.open("wb") as file:
        packed = gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) if compresses else nullcontext(file)
        with packed as target:
            for piece in chain((header,), pieces):
                target.write(piece.encode())


def format_dpomdp(model: DecPOMDP) -> str:
    """`model` as the text of a `.dpomdp` file."""
    return "".join(_pieces(model))


def _pieces(model: DecPOMDP) -> Iterator[str]:
    """The text in pieces: the header, then one piece per table and joint action."""
    yield _header(model)
    actions = _joint_labels([agent.actions for agent in model.agents])
    observations = _joint_labels([agent.observations for agent in model.agents])
    for action, table in zip(actions, model.transition, strict=True):
        yield _entries(f"T: {action} :", model.states, model.states, table)
    for action, table in zip(actions, model.observation, strict=True):
        yield _entries(f"O: {action} :", model.states, observations, table)
    for action, rewards in zip(actions, model.reward, strict=True):
        yield _entries(f"R: {action} :", model.states, ["* : *"], rewards[:, None])


def _header(model: DecPOMDP) -> str:
    names = [agent.name for agent in model.agents]
    counted = names == [default_name(n) for n in range(len(names))]
    return "\n".join(
        (
            f"agents: {len(names) if counted else _names('agents', names)}",
            f"discount: {model.discount!r}",
            "values: reward",
            f"states: {_labels('states', model.states)}",
            "start:",
            " ".join(map(repr, model.start.tolist())),
            "actions:",
            *(_labels(f"actions of {agent.name}", agent.actions) for agent in model.agents),
            "observations:",
            *(_labels(f"observations of {agent.name}", agent.observations) for agent in model.agents),
            "",
        )
    )


def _labels(what: str, labels: Sequence[str]) -> str:
    return str(len(labels)) if labels == numbered(len(labels)) else _names(what, labels)


def _names(what: str, labels: Sequence[str]) -> str:
    for label in labels:
        if not is_name(label):
            raise InputError(
                f"{what}: expected names that a .dpomdp file can hold (no spaces, ':', '#' or '\"', neither '*' nor a "
                f"number), got {label!r}"
            )
    return " ".join(labels)


def _joint_labels(parts: Sequence[Sequence[str]]) -> list[str]:
    """The labels of all joint indices, the last agent changing fastest."""
    joint = list(parts[0])
    for labels in parts[1:]:
        joint = [f"{left} {right}" for left in joint for right in labels]
    return joint


def _entries(start: str, rows: Sequence[str], columns: Sequence[str], table: Floats) -> str:
    """One line for every number of `table` that is not zero."""
    row, column = np.nonzero(table)
    values = table[row, column].tolist()
    return "".join(
        f"{start} {rows[r]} : {columns[c]} : {value!r}\n"
        for r, c, value in zip(row.tolist(), column.tolist(), values, strict=True)
    )
