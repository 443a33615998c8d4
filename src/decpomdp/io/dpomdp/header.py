"""The header of a `.dpomdp` file: agents, discount, values, states, start, actions, observations, each once, in order.

Sizes multiply: the tables of a model with u joint actions, s states and y joint observations take about
8 u s (s + y) bytes. Whether they fit the limit is asked at every count and before anything of that size is made,
labels included; what is not known yet counts as one.
"""

from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from decpomdp.core.agent import Agent
from decpomdp.core.checks import ACCEPTED, Floats
from decpomdp.io.dpomdp.text import Lines
from decpomdp.io.dpomdp.words import Alphabet, number, probabilities, read_labels, shown, whole

ORDER = ("agents", "discount", "values", "states", "start", "actions", "observations")
LARGEST = 2**31 - 1  # codes of places are kept in 32 bits


@dataclass(frozen=True, slots=True)
class Header:
    """What the header says."""

    agents: tuple[Agent, ...]
    discount: float
    cost: bool  # the numbers of R are to be paid, not earned
    states: tuple[str, ...]
    start: Floats  # [s]


def default_name(n: int) -> str:
    """The name of the n-th agent (from 0) in a file that only counts its agents."""
    return f"agent{n + 1}"


def read_header(lines: Lines) -> Header:
    """Reads the lines up to the observations of the last agent."""
    room = _Room(lines)
    names = _agents(lines, room)
    discount = _discount(lines)
    cost = _cost(lines)
    states = read_labels(lines, _entry(lines, "states"), "states", room.states)
    start = _start(lines, states)
    _bare(lines, "actions")
    actions = [
        read_labels(lines, lines.next(f"the actions of {name}"), f"actions of {name}", room.actions) for name in names
    ]
    _bare(lines, "observations")
    observations = [
        read_labels(lines, lines.next(f"the observations of {name}"), f"observations of {name}", room.observations)
        for name in names
    ]
    agents = tuple(Agent(*parts) for parts in zip(names, actions, observations, strict=True))
    return Header(agents, discount, cost, states, start)


class _Room:
    """Keeps count of the sizes met so far and complains when the model becomes too large."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._states = self._actions = self._observations = 1

    def agents(self, count: int) -> None:
        most = self._lines.limits.agents
        if count > most:
            raise self._lines.wrong(f"expected at most {most} agents, found {_count(count)}")

    def states(self, count: int) -> None:
        self._states = count
        self._check()

    def actions(self, count: int) -> None:
        self._actions *= count
        self._check()

    def observations(self, count: int) -> None:
        self._observations *= count
        self._check()

    def _check(self) -> None:
        u, s, y = self._actions, self._states, self._observations
        need = 8 * s * (1 + u * (s + y + 2))  # start, transition, observation, reward, lines of T and O rows
        if need > self._lines.limits.table_bytes or max(u, s, y) > LARGEST:
            raise self._lines.wrong(
                f"expected a model with tables of at most {self._lines.limits.table_bytes} bytes, found one that "
                f"needs {_size(need)} ({_count(s)} states, {_count(u)} joint actions, {_count(y)} joint observations)"
            )


def _count(number: int) -> str:
    """A count for a complaint: huge ones by their size."""
    return str(number) if number < 10**15 else _size(number)


def _size(number: int) -> str:
    """About how much a number is, however large."""
    return f"{Decimal(number):.2e}" if number >= 1000 else str(number)


def _entry(lines: Lines, key: str) -> str:
    """The text after `key:` on the next line."""
    line = lines.next(f"'{key}:'")
    head, colon, text = line.partition(":")
    if head.split() != [key] or not colon:
        raise _out_of_order(lines, key, line)
    return text


def _out_of_order(lines: Lines, key: str, line: str) -> Exception:
    return lines.wrong(f"expected '{key}:' (the header is {', '.join(ORDER)}, in this order), found {shown(line)}")


def _bare(lines: Lines, key: str) -> None:
    text = _entry(lines, key)
    if text.strip():
        raise lines.wrong(f"expected a new line after '{key}:' and then one line per agent, found {shown(text)}")


def _agents(lines: Lines, room: _Room) -> tuple[str, ...]:
    text = _entry(lines, "agents")
    labels = read_labels(lines, text, "agents", room.agents)
    return labels if number(text) is None else tuple(default_name(n) for n in range(len(labels)))


def _discount(lines: Lines) -> float:
    text = _entry(lines, "discount")
    value = number(text)
    if value is None or not 0.0 <= value <= 1.0:
        raise lines.wrong(f"expected a discount from 0 to 1, found {shown(text)}")
    return value


def _cost(lines: Lines) -> bool:
    text = _entry(lines, "values")
    if text.strip() not in ("reward", "cost"):
        raise lines.wrong(f"expected 'reward' or 'cost', found {shown(text)}")
    return text.strip() == "cost"


def _start(lines: Lines, states: tuple[str, ...]) -> Floats:
    """[s]: the distribution of the first state, in any of the forms of `start`."""
    line = lines.next("'start:'")
    head, colon, text = line.partition(":")
    form, words = head.split(), text.split()
    if form[:1] != ["start"] or form[1:] not in ([], ["include"], ["exclude"]) or not colon:
        raise _out_of_order(lines, "start", line)
    find = Alphabet(lines, "a state", states).find
    if form[1:]:
        if not words:
            raise lines.wrong(f"expected the states to {form[1]}, found nothing")
        return _subset(lines, {find(word) for word in words}, len(states), form[1] == "include")
    if not words:
        return _vector(lines, lines.next(f"uniform or {len(states)} probabilities"), len(states))
    # One word names a state. Tolerated: uniform, or a vector, that stands on this line and not on the next.
    fraction = number(words[0]) is not None and whole(words[0]) is None
    if len(words) > 1 or fraction or (words == ["uniform"] and "uniform" not in states):
        return _vector(lines, text, len(states))
    return _subset(lines, {find(words[0])}, len(states), True)


def _subset(lines: Lines, chosen: set[int], states: int, include: bool) -> Floats:
    """[s]: uniform over the chosen states, or over all others."""
    inside = np.full(states, not include)
    inside[list(chosen)] = include
    if not inside.any():
        raise lines.wrong("expected at least one state to start in, found all of them excluded")
    return inside / inside.sum()


def _vector(lines: Lines, text: str, states: int) -> Floats:
    """[s]: `uniform`, or a probability for every state."""
    if text.split() == ["uniform"]:
        return np.full(states, 1.0 / states)
    start = probabilities(lines).row(text, states)
    if abs(start.sum() - 1.0) > ACCEPTED:
        raise lines.wrong(f"start sums to {start.sum():.9g}, expected 1")
    return start
