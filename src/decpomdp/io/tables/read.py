"""Reading long tables: each column is checked, then the rows are ordered by episode, step and agent.

Numbers as observations (of one column, or of columns `observation_x`, `observation_y`, ...) are put into bins of about
equal size, whose labels hold the name of the column and their edges, so that a team which learned from such a table can
be fed with numbers (`Discretiser.of`). Edges are quantiles of the agent's own numbers.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import NO_OBSERVATION, Agent, Episodes, FormatError, InputError, checks
from decpomdp.core.agent import edges_of, numbered, ranges, team_of_agents
from decpomdp.io.episodes import MOST_LABELS
from decpomdp.io.files import FilePath, path_of
from decpomdp.io.tables.columns import PART, Cells, Columns, Numbers, load_table, whole_text

MOST = 1000  # bins
Edges = Mapping[str, Sequence[float] | NDArray[np.float64]]  # of the bins of every column of observations
FLAGS = ("terminated", "truncated")
LOOKS_NUMERIC = re.compile(r"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*")
NUMBER = re.compile(r"(?:0|[1-9][0-9]{0,8})(?:\.0+)?")


def binned(
    columns: Columns, order: NDArray[np.int64], bins: int, known: Sequence[Agent], edges: list[Edges]
) -> "Symbols":
    """The symbol of every observation, -1 if it is empty, and the labels of every agent.

    An observation of several columns is one symbol per combination of their bins, the last column fastest. The bins
    of `known` agents have the edges in their labels.
    """
    names = [columns.names[name].removeprefix(PART).replace(", ", " ") for name in columns.observations]
    numbers = dict[str, NDArray[np.float64]]()  # of every column [r, n]
    for name, column in zip(names, columns.observations, strict=True):
        cells = columns.labels(column, allow_empty=True)
        values = np.array([_number(label) for label in cells.labels] + [np.nan])[cells.codes]
        columns.reject(np.isinf(values), column, "a finite number to put into bins")
        numbers[name] = values[order]
    symbols, alphabets = np.zeros(order.shape, np.int64), list[tuple[str, ...]]()
    for n in range(order.shape[1]):
        own = edges[n] if edges else {name: _edges(values[:, n], bins) for name, values in numbers.items()}
        if set(own) != set(names):
            message = f"expected columns of the observations {', '.join(own)}, got {', '.join(names)}"
            raise FormatError(columns.source, None, message)
        for name, ends in own.items():
            symbols[:, n] = symbols[:, n] * (len(ends) + 1) + np.searchsorted(ends, numbers[name][:, n], side="right")
        labels = tuple(map(", ".join, product(*(ranges(name, ends) for name, ends in own.items()))))
        if known and set(labels) != set(known[n].observations):
            raise FormatError(
                columns.source, None, f"agent {known[n].name}: expected ranges that hold every number once"
            )
        if known:
            symbols[:, n] = np.array([known[n].observations.index(label) for label in labels])[symbols[:, n]]
        alphabets.append(known[n].observations if known else labels)
        if len(alphabets[-1]) > MOST_LABELS:
            message = f"expected at most {MOST_LABELS} combinations of bins, got {len(alphabets[-1])}"
            raise FormatError(columns.source, None, f"{message}; use fewer bins")
    symbols[np.isnan(list(numbers.values())).any(axis=0)] = NO_OBSERVATION
    return Symbols(symbols, alphabets)


def _known_edges(known: Sequence[Agent]) -> list[Edges]:
    """The edges in the labels of every agent; empty if the labels are not ranges of numbers."""
    try:
        return [edges_of(agent) for agent in known]
    except InputError:
        return []


def _edges(values: NDArray[np.float64], bins: int) -> NDArray[np.float64]:
    """Quantiles, rounded to six digits; no bin lies below the smallest number."""
    known = values[~np.isnan(values)]
    if not len(known):
        return np.zeros(0)
    middle = np.quantile(known, np.arange(1, bins) / bins, method="higher")
    edges = np.unique([float(f"{edge:.6g}") for edge in middle])
    return edges[edges > known.min()]


def _number(label: str) -> float:
    """NaN: empty; infinite: not a number."""
    try:
        return float(label)
    except ValueError:
        return np.inf


class Symbols(NamedTuple):
    """A column as symbols."""

    symbols: NDArray[np.int64]  # [r, n]
    alphabets: list[tuple[str, ...]]  # [n]


class Members(NamedTuple):
    """The agents of a table."""

    names: list[str]
    of_row: NDArray[np.int64]  # [row] index of the agent


def read_table(
    path: FilePath,
    discount: float,
    agents: Sequence[Agent] | None = None,
    name: str = "",
    columns: Mapping[str, str] | None = None,
    bins: int | None = None,
) -> Episodes:
    """The episodes in a long table: one row per agent and step, in any order.

    `agents` are names and alphabets in order (None: those that occur); `columns` maps standard column names to
    different names in the file. `bins`: observations are numbers, put into at most so many bins.
    """
    source, known = path_of(path), () if agents is None else team_of_agents(agents)
    if bins is not None and known:
        raise InputError(f"bins: expected none with known agents, got {bins}")
    edges = _known_edges(known)
    table = load_table(source, {} if columns is None else columns, bins is not None or bool(edges))
    episode, times = table.labels("episode"), table.times("t")
    members = members_of(table, table.labels("agent"), known)
    rows = _sort(table, members, episode, times)
    observed = _observed(table, rows, members, known, bins or 0, edges)
    actions = symbols_of("action", table, rows, members, table.labels("action"), known)
    rewards, behaviour = _rewards(table, rows, table.numbers("reward")), _behaviour(table)
    terminated = _terminated(table, rows)
    facts = {"imported from": Path(source).name}
    if table.unused:
        facts["columns not used"] = ", ".join(table.unused)
    if bins is not None:
        sizes = zip(members.names, observed.alphabets, strict=True)
        facts["binned"] = ", ".join(f"{agent} {len(alphabet)}" for agent, alphabet in sizes)
    try:
        return Episodes(
            agents=known or tuple(map(Agent, members.names, actions.alphabets, observed.alphabets)),
            offsets=rows.offsets,
            observations=observed.symbols.astype(np.int16),
            actions=actions.symbols.astype(np.int16),
            behaviour=behaviour[rows.order],
            rewards=rewards,
            discount=discount,
            terminated=terminated,
            name=name,
            facts=facts,
        )
    except InputError as error:
        raise FormatError(source, None, str(error)) from None


def column_errors(source: str, columns: Mapping[str, str] | None, in_parts: bool) -> list[FormatError]:
    """The first error of every column of a long table that can be checked without the others."""
    table, errors = load_table(source, {} if columns is None else columns, in_parts), list[FormatError]()
    checks: dict[str, Callable[[Columns, str], object]] = {
        **dict.fromkeys(("episode", "agent", "action"), Columns.labels),
        "t": Columns.times,
        "reward": Columns.numbers,
        "action_prob": _behaviour,
        **dict.fromkeys(FLAGS, Columns.flags),
    }
    for name in table.names:
        try:
            if name in checks and (name not in FLAGS or table.has(name)):
                checks[name](table, name)
        except FormatError as error:
            errors.append(error)
    return errors


class _Rows(NamedTuple):
    """The rows of a table in the order of episode, step and agent."""

    order: NDArray[np.int64]  # [r, n] row of the file
    offsets: NDArray[np.int64]  # [k + 1] in steps

    def first(self, wrong: NDArray[np.bool_]) -> int:
        """The first row of the file with wrong[r, n]."""
        return int(self.order[wrong].min())


def _sort(columns: Columns, members: Members, episode: Cells, times: NDArray[np.int64]) -> _Rows:
    """The order of the rows; FormatError unless there is one row per agent and step, from t = 0."""
    names, size = members.names, len(members.names)
    order = np.lexsort((members.of_row, times, episode.codes))
    k, t, n = episode.codes[order], times[order], members.of_row[order]
    starts = np.flatnonzero(np.concatenate([[True], np.diff(k) != 0]))
    lengths = np.diff(np.append(starts, len(k)))
    place = np.arange(len(k)) - np.repeat(starts, lengths)  # within the episode
    wrong = np.flatnonzero((t != place // size) | (n != place % size))
    ends = (starts + lengths - 1)[lengths % size != 0]  # last row of episodes without the last agents
    if len(wrong) or len(ends):
        at = int(wrong[0] if len(wrong) else ends[0])
        due = int(place[at]) + (not len(wrong))
        expected = f"one row per agent and step: {names[due % size]} at t = {due // size}"
        got = f"{names[n[at]]} at t = {t[at]}" if len(wrong) else "the end"
        raise columns.error(int(order[at]), "t", expected, f"{got} of episode {episode.labels[k[at]]}")
    return _Rows(order.reshape(-1, size), np.append(starts, len(k)) // size)


def _observed(
    columns: Columns, rows: _Rows, members: Members, known: Sequence[Agent], bins: int, edges: list[Edges]
) -> Symbols:
    """Observations, in bins or as labels; only the first of an episode may be empty."""
    if bins or (edges and _holds_numbers(columns)):
        bins = checks.whole("bins", bins, 2, MOST) if bins else 0
        observed = binned(columns, rows.order, bins, known, edges)
    else:
        cells = columns.labels("observation", allow_empty=True)
        observed = symbols_of("observation", columns, rows, members, cells, known)
    empty = observed.symbols == NO_OBSERVATION
    empty[rows.offsets[:-1]] = False
    if empty.any():
        raise columns.error(rows.first(empty), columns.observations[0], "an observation (empty only at t = 0)")
    return observed


def _holds_numbers(columns: Columns) -> bool:
    if not columns.has("observation"):
        return True  # several columns
    labels = columns.labels("observation", allow_empty=True).labels
    return all(LOOKS_NUMERIC.fullmatch(label) for label in labels if label)


def _behaviour(columns: Columns, name: str = "action_prob") -> NDArray[np.float32]:
    """[row]: NaN if unknown."""
    if not columns.has(name):
        return np.full(len(columns.table), np.nan, np.float32)
    values, missing = columns.numbers(name, allow_nan=True)
    with np.errstate(over="ignore"):  # becomes inf and is rejected
        single = values.astype(np.float32)
    columns.reject(~missing & ~((single > 0) & (single <= 1)), name, "a probability above 0 and up to 1")
    return np.where(missing, np.float32(np.nan), single)


def _rewards(columns: Columns, rows: _Rows, cells: Numbers) -> NDArray[np.float64]:
    """[r]: the reward of every step, on one or more of its rows."""
    values, missing = cells[0][rows.order], cells[1][rows.order]  # [r, n]
    none = missing & missing.all(axis=1, keepdims=True)
    if none.any():
        raise columns.error(rows.first(none), "reward", "a number on at least one row of the step")
    rewards = values[np.arange(len(values)), np.argmin(missing, axis=1)]  # of the first agent that has one
    other = ~missing & (values != rewards[:, None])
    if other.any():
        raise columns.error(rows.first(other), "reward", "the same reward of the team on all rows of a step")
    large = np.abs(np.where(missing, 0.0, values)) > checks.LARGEST_REWARD
    if large.any():
        raise columns.error(rows.first(large), "reward", f"a number up to {checks.LARGEST_REWARD:g}")
    return rewards


def _terminated(columns: Columns, rows: _Rows) -> NDArray[np.bool_]:
    """[k]: whether each episode terminated (False: truncated)."""
    last = np.zeros((len(rows.order), 1), bool)
    last[rows.offsets[1:] - 1] = True
    flags = {name: columns.flags(name)[rows.order] for name in FLAGS if columns.has(name)}
    for name, values in flags.items():
        if (values & ~last).any():
            raise columns.error(rows.first(values & ~last), name, "false before the last step of an episode")
        differs = values != values[:, :1]
        if differs.any():
            raise columns.error(rows.first(differs), name, "the same for all agents of a step")
    if len(flags) == 2:
        neither = last & ~(flags["terminated"] | flags["truncated"])
        if neither.any():
            raise columns.error(
                rows.first(neither), "terminated", "terminated or truncated to be true on the last step"
            )
    ended = flags["terminated"] if "terminated" in flags else ~flags["truncated"] if flags else np.zeros_like(last)
    return ended[rows.offsets[1:] - 1, 0]


def members_of(columns: Columns, cells: Cells, known: Sequence[Agent]) -> Members:
    """The agents in the column `agent`; without known agents, those that occur."""
    if not known:
        return Members(cells.labels, cells.codes)
    names = [agent.name for agent in known]
    of_row = np.array(_find(cells.labels, names))[cells.codes]
    columns.reject(of_row < 0, "agent", f"one of {_list(names)}")
    return Members(names, of_row)


def symbols_of(
    what: str, columns: Columns, rows: _Rows, members: Members, cells: Cells, known: Sequence[Agent]
) -> Symbols:
    """The symbol of every cell of the column `what` (observation or action), and the alphabet of every agent."""
    if what == "observation":  # -1 and NaN mean no observation, unless they are labels
        labels = {label for agent in known for label in agent.observations}
        empty = [whole_text(label).lower() in ("nan", "-1") and label not in labels for label in cells.labels]
        cells = Cells(cells.labels, np.where(np.array([*empty, True])[cells.codes], -1, cells.codes))
    codes = cells.codes[rows.order]  # [r, n]
    symbols, alphabets = np.empty_like(codes), list[tuple[str, ...]]()
    for n, name in enumerate(members.names):
        used, inverse = np.unique(codes[:, n], return_inverse=True)
        own = [cells.labels[code] for code in used if code >= 0]
        if not known:
            alphabet, places, expected = _occurring(what, name, own, columns)
        else:
            alphabet = known[n].observations if what == "observation" else known[n].actions
            places, expected = _find(own, alphabet), f"an {what} of {name} ({_list(alphabet)})"
        symbols[:, n] = np.array([NO_OBSERVATION] * (len(used) - len(own)) + places)[inverse]
        wrong = (codes[:, n] >= 0) & (symbols[:, n] < 0)
        if wrong.any():
            raise columns.error(int(rows.order[wrong, n].min()), what, expected)
        alphabets.append(alphabet)
    return Symbols(symbols, alphabets)


def _find(cells: Sequence[str], labels: Sequence[str]) -> list[int]:
    """The index of the label of each cell; -1: none."""
    numeric = any(LOOKS_NUMERIC.fullmatch(label) for label in labels)
    places = {} if numeric else {str(place): place for place in range(len(labels))}
    places |= {label: place for place, label in enumerate(labels)}
    return [places.get(cell, places.get(whole_text(cell), -1)) for cell in cells]


def _occurring(what: str, name: str, labels: list[str], columns: Columns) -> tuple[tuple[str, ...], list[int], str]:
    """The alphabet of an agent, the symbol of each label (-1: ambiguous), and the expected form for error messages."""
    numbers = ", or put numbers into bins with --bins or bins=" if what == "observation" else ""
    hint = f"(or list all {what}s with decpomdp data convert --like, or agents={numbers})"
    numeric = [LOOKS_NUMERIC.fullmatch(label) is not None for label in labels]
    if any(numeric) and not all(numeric):
        return (), [-1 if each else 0 for each in numeric], f"labels or whole numbers, not both {hint}"
    if any(numeric) or not labels:
        symbols = [int(label.partition(".")[0]) if NUMBER.fullmatch(label) else -1 for label in labels]
        count = max(symbols, default=0) + 1
    else:
        place = {label: symbol for symbol, label in enumerate(sorted(labels))}
        symbols, count = [place[label] for label in labels], len(labels)
    if count > MOST_LABELS:
        message = f"expected at most {MOST_LABELS} different {what}s of {name}, got {count}"
        raise FormatError(columns.source, None, f"column {columns.names[what]}: {message}")
    alphabet = numbered(count) if any(numeric) or not labels else tuple(place)
    return alphabet, symbols, f"a label, or a whole number such as 12 {hint}"


def _list(labels: Sequence[str]) -> str:
    return ", ".join(labels[:8]) + (" ..." if len(labels) > 8 else "")
