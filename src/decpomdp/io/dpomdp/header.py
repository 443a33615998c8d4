"""The header of a `.dpomdp` file: agents, discount, values, states, start, actions, observations, each once, in order.

The tables of a model with u joint actions, s states and y joint observations take about 8 u s (s + y) bytes. The
header announces these sizes; they are checked at every count, before labels or tables are allocated. Counts that are
not known yet count as one.
"""

from dataclasses import dataclass
from functools import partial
from math import prod

import numpy as np

from decpomdp.core.agent import Agent
from decpomdp.core.checks import ACCEPTED, Floats
from decpomdp.io.dpomdp.text import LabelIndex, Lines, number, probabilities, read_labels, shown, whole

ORDER = ("agents", "discount", "values", "states", "start", "actions", "observations")
TABLE_BYTES = 2 << 30  # of all dense tables of the model together
AGENTS = 64


@dataclass(frozen=True, slots=True)
class Header:
    """The content of the header."""

    agents: tuple[Agent, ...]
    discount: float
    cost: bool  # R statements give costs, not rewards
    states: tuple[str, ...]
    start: Floats  # [s]


def default_name(n: int) -> str:
    """The name of agent n (from 0) in a file that only counts its agents."""
    return f"agent{n + 1}"


def read_header(lines: Lines) -> Header:
    """Read the lines up to the observations of the last agent."""
    names = _agents(lines)
    text = _entry(lines, "discount")
    discount = number(text)
    if discount is None or not 0.0 <= discount <= 1.0:
        raise lines.error(f"expected a discount from 0 to 1, got {shown(text)}")
    values = _entry(lines, "values").strip()
    if values not in ("reward", "cost"):
        raise lines.error(f"expected 'reward' or 'cost', got {shown(values)}")
    states = read_labels(lines, _entry(lines, "states"), "states", partial(_check_size, lines))
    start = _start(lines, states)
    actions = _per_agent(lines, "actions", names, partial(_check_size, lines, len(states)))
    u = prod(map(len, actions))
    observations = _per_agent(lines, "observations", names, partial(_check_size, lines, len(states), u))
    agents = tuple(Agent(*parts) for parts in zip(names, actions, observations, strict=True))
    return Header(agents, discount, values == "cost", states, start)


def _check_size(lines: Lines, s: int, u: int = 1, y: int = 1) -> None:
    need = 8 * s * (1 + u * (s + y + 2))  # start, transition, observation, reward, line numbers of T and O rows
    if need > TABLE_BYTES:
        raise lines.error(
            f"expected a model with tables of at most {TABLE_BYTES} bytes, got one that needs {need} "
            f"({s} states, {u} joint actions, {y} joint observations)"
        )


def _entry(lines: Lines, key: str) -> str:
    """The text after `key:` on the next line."""
    line = lines.next(f"'{key}:'")
    head, colon, text = line.partition(":")
    if head.split() != [key] or not colon:
        raise _out_of_order(lines, key, line)
    return text


def _out_of_order(lines: Lines, key: str, line: str) -> Exception:
    return lines.error(f"expected '{key}:' (the header is {', '.join(ORDER)}, in this order), got {shown(line)}")


def _per_agent(lines: Lines, key: str, names: tuple[str, ...], check_size: partial[None]) -> list[tuple[str, ...]]:
    """The labels after `key:`, one line per agent. `check_size` takes their number for all agents so far together."""
    text = _entry(lines, key)
    if text.strip():
        raise lines.error(f"expected a new line after '{key}:' and then one line per agent, got {shown(text)}")
    labels: list[tuple[str, ...]] = []
    for name in names:
        line = lines.next(f"the {key} of {name}")
        labels.append(
            read_labels(lines, line, f"{key} of {name}", lambda count: check_size(count * prod(map(len, labels))))
        )
    return labels


def _agents(lines: Lines) -> tuple[str, ...]:
    def check_count(count: int) -> None:
        if count > AGENTS:
            raise lines.error(f"expected at most {AGENTS} agents, got {count}")

    text = _entry(lines, "agents")
    labels = read_labels(lines, text, "agents", check_count)
    return labels if number(text) is None else tuple(default_name(n) for n in range(len(labels)))


def _start(lines: Lines, states: tuple[str, ...]) -> Floats:
    """[s]: the distribution of the first state, in any of the forms of `start`."""
    line = lines.next("'start:'")
    head, colon, text = line.partition(":")
    form, words = head.split(), text.split()
    if form[:1] != ["start"] or form[1:] not in ([], ["include"], ["exclude"]) or not colon:
        raise _out_of_order(lines, "start", line)
    find = LabelIndex(lines, "a state", states).find
    if form[1:]:
        if not words:
            raise lines.error(f"expected the states to {form[1]}, got nothing")
        return _subset(lines, {find(word) for word in words}, len(states), form[1] == "include")
    if not words:
        return _vector(lines, lines.next(f"uniform or {len(states)} probabilities"), len(states))
    # One word is the name of a state. Also accepted: uniform, or a vector, on this line instead of the next.
    fraction = number(words[0]) is not None and whole(words[0]) is None
    if len(words) > 1 or fraction or (words == ["uniform"] and "uniform" not in states):
        return _vector(lines, text, len(states))
    return _subset(lines, {find(words[0])}, len(states), True)


def _subset(lines: Lines, chosen: set[int], states: int, include: bool) -> Floats:
    """[s]: uniform over the chosen states, or over all others."""
    inside = np.full(states, not include)
    inside[list(chosen)] = include
    if not inside.any():
        raise lines.error("expected at least one state to start in, got all of them excluded")
    return inside / inside.sum()


def _vector(lines: Lines, text: str, states: int) -> Floats:
    """[s]: `uniform`, or a probability for every state."""
    if text.split() == ["uniform"]:
        return np.full(states, 1.0 / states)
    start = probabilities(lines).row(text, states)
    if abs(start.sum() - 1.0) > ACCEPTED:
        raise lines.error(f"start sums to {start.sum():.9g}, expected 1")
    return start
