"""The reader of `.dpomdp` files.

It reads the complete format: start in every form, joint actions and observations by index, by names or with `*`,
numbers, rows, matrices, uniform and identity, later statements overwriting earlier ones, rewards that depend on the
next state and observation (the model keeps their expectation), costs, comments, quoted words, gzip. Errors are
`file:line: expected ..., got ...`. The sizes announced by the header are bounded before memory is allocated.

Statements are T, O and R lines, and the rows, matrices and keywords that may follow them.

    T: joint action : state : next state : probability     a number
    T: joint action : state :                              a row on the next line, or uniform
    T: joint action :                                      a matrix on the next lines, uniform or identity

O is the same with next state and joint observation in place of state and next state. R has one more field: a number
for joint action, state, next state and joint observation, a row over joint observations, or a matrix of next states
by joint observations. The colon at the end of a line may be omitted, and a keyword may follow it. Later statements
overwrite earlier ones.

Every field becomes a numpy index: an integer, ALL for `*`, or an array of joint indices if only some agents have a
`*` (such as `listen *`). The arrays of joint actions have the shape [m, 1], so that they broadcast against those of
joint observations, [k], and against rows and matrices.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from math import prod
from operator import getitem
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from decpomdp.core.agent import joint_parts
from decpomdp.core.checks import ACCEPTED, Floats, freeze
from decpomdp.core.checks import probabilities as checked_probabilities
from decpomdp.core.errors import FormatError, InputError
from decpomdp.core.model import DecPOMDP, checked_discount
from decpomdp.io.dpomdp.header import TABLE_BYTES, Header, read_header
from decpomdp.io.dpomdp.text import LabelIndex, Lines, Memo, Numbers, probabilities, read_data, rewards, shown, whole
from decpomdp.io.files import FilePath, path_of

ALL = slice(None)

Indices = NDArray[np.intp]
Place = int | slice | Indices


def read_tables(lines: Lines, header: Header) -> tuple[Floats, Floats, Floats]:
    """Transition [u, s, s1], observation [u, s1, y] and reward [u, s]: the statements up to the end of the file."""
    names = [agent.name for agent in header.agents]
    actions = Joint(lines, "action", names, [agent.actions for agent in header.agents])
    observations = Joint(lines, "observation", names, [agent.observations for agent in header.agents])
    states = LabelIndex(lines, "a state", header.states)
    action: Memo[Place] = Memo(lambda text: _column(actions.find(text)))
    state: Memo[Place] = Memo(lambda text: ALL if text.strip() == "*" else states.find(text.strip()))
    observation: Memo[Place] = Memo(observations.find)
    u, s, y = actions.size, len(header.states), observations.size
    moves = Table("T: joint action : state : next state", (action, state, state), lines, (u, s, s))
    sights = Table("O: joint action : next state : joint observation", (action, state, observation), lines, (u, s, y))
    pays = Rewards("R: joint action : state : next state : joint observation",
                   (action, state, state, observation), lines, (u, s, y))  # fmt: skip
    _read(lines, {"T": moves, "O": sights, "R": pays})
    transition = moves.finish(lines.source, actions, header.states)
    observed = sights.finish(lines.source, actions, header.states)
    reward = pays.expected(transition, observed)
    return transition, observed, 0.0 - reward if header.cost else reward  # not -reward, which would give -0.0


def _read(lines: Lines, letters: Mapping[str, "Statements"]) -> None:
    for line in lines:
        fields = line.split(":", 6)  # no statement has more than five colons
        statements = letters.get(fields[0]) or letters.get(fields[0].strip())
        if statements is None:
            expected = ", ".join(f"{letter}:" for letter in letters)
            raise lines.error(f"expected a statement {expected}, got {shown(line)}")
        statements.read(lines, fields)


def _column(place: Place) -> Place:
    return place[:, None] if isinstance(place, np.ndarray) else place


class Joint:
    """Joint actions or observations: `*`, a joint index, or one word per agent (name, index or `*`)."""

    def __init__(self, lines: Lines, what: str, names: Sequence[str], labels: Sequence[Sequence[str]]) -> None:
        self._lines, self._what = lines, what
        self._parts = [LabelIndex(lines, f"an {what} of {name}", own) for name, own in zip(names, labels, strict=True)]
        self._sizes = tuple(map(len, labels))
        self.size = prod(self._sizes)

    def find(self, text: str) -> Place:
        """The joint index or indices that `text` names."""
        words = text.split()
        if words and set(words) == {"*"} and len(words) in (1, len(self._parts)):
            return ALL
        if len(words) == len(self._parts):
            indices = np.zeros(1, np.intp)
            for word, part, size in zip(words, self._parts, self._sizes, strict=True):
                own = np.arange(size) if word == "*" else np.array([part.find(word)])
                indices = (indices[:, None] * size + own).reshape(-1)
            return indices if "*" in words else int(indices[0])
        index = whole(words[0]) if len(words) == 1 else None
        if index is None or index >= self.size:
            forms = f"*, an index from 0 to {self.size - 1} or {len(self._parts)} words"
            raise self._lines.error(f"expected a joint {self._what}: {forms}, got {shown(text)}")
        return index

    def label(self, index: int) -> str:
        """The labels of a joint index, such as (listen, open-left)."""
        parts = joint_parts(index, self._sizes)
        return f"({', '.join(part.labels[int(i)] for part, i in zip(self._parts, parts, strict=True))})"


class Statements(ABC):
    """The statements of one letter."""

    keywords: tuple[str, ...] = ()

    def __init__(self, form: str, axes: Sequence[Memo[Place]], numbers: Numbers, shape: tuple[int, int]) -> None:
        self.form, self.axes = form, axes
        self.numbers, self.number = numbers, Memo(numbers.read)
        self.shape = shape  # of a matrix

    @abstractmethod
    def set(self, line: int, places: tuple[Place, ...], value: float | Floats) -> None:
        """Set the entries at `places` to a number, or to a row or matrix along the axes that `places` omits."""

    def read(self, lines: Lines, fields: list[str]) -> None:
        """Read one statement: its fields, the letter first, and the following lines that belong to it."""
        if len(fields) == len(self.axes) + 2:
            places = tuple(map(getitem, self.axes, fields[1:-1]))
            self.set(lines.number, places, self.number[fields[-1]])
        else:
            self._read_block(lines, fields)

    def _read_block(self, lines: Lines, fields: list[str]) -> None:
        last = fields[-1].strip()
        given = fields[1:-1] if last in ("", *self.keywords) else fields[1:]
        missing = len(self.axes) - len(given)
        if missing not in (1, 2):
            forms = f"'{self.form} : number', or its beginning and then a row or a matrix"
            raise lines.error(f"expected {forms}, got {shown(':'.join(fields))}")
        places = tuple(map(getitem, self.axes, given))
        line = lines.number
        content = last if last in self.keywords else lines.next(self._expected(missing))
        rows, columns = self.shape
        if content in self.keywords:
            if content == "identity" and (missing == 1 or rows != columns):
                raise lines.error(f"expected {self._expected(1)}, got 'identity' where there is no square matrix")
            value = np.eye(rows) if content == "identity" else np.full(columns, 1.0 / columns)
        else:
            value = self.numbers.row(content, columns)
            if missing == 2:
                more = (lines.next(f"row {i} of {rows} of a matrix") for i in range(2, rows + 1))
                value = np.stack([value, *(self.numbers.row(row, columns) for row in more)])
        self.set(line, places, value)

    def _expected(self, missing: int) -> str:
        words = self.keywords if missing == 2 else self.keywords[:1]
        return " or ".join((*words, f"a row of {self.shape[1]} numbers"))


class Table(Statements):
    """T or O statements: probabilities [u, s, n].

    The rows are checked at the end of the file, because later statements overwrite earlier ones. The error gives the
    line of the last statement about the row.
    """

    keywords = ("uniform", "identity")

    def __init__(self, form: str, axes: Sequence[Memo[Place]], lines: Lines, shape: tuple[int, int, int]) -> None:
        super().__init__(form, axes, probabilities(lines), shape[1:])
        self._table = np.zeros(shape)
        self._touched = np.zeros(shape[:2], np.int32)  # [u, s] line of the last statement about a row, 0: none

    def set(self, line: int, places: tuple[Place, ...], value: float | Floats) -> None:
        self._table[places] = value
        self._touched[places[:2]] = line

    def finish(self, source: str, actions: Joint, states: Sequence[str]) -> Floats:
        """The table, normalised and read-only; FormatError if a row is not a distribution."""
        sums = self._table.sum(axis=-1)
        wrong = np.argwhere(np.abs(sums - 1.0) > ACCEPTED)
        if len(wrong):
            u, s = wrong[0].tolist()
            where = f"{self.form[0]} for joint action {actions.label(u)}, state {states[s]}"
            where = where if len(where) <= 300 else f"{where[:297]}..."
            line = int(self._touched[u, s])
            never = "" if line else " (no statement about it)"
            raise FormatError(source, line or None, f"{where} sums to {sums[u, s]:.9g}, expected 1{never}")
        return checked_probabilities(self.form[0], freeze(self._table), "u, s, n", self._table.shape)


class Rewards(Statements):
    """R statements, of which a model keeps the expectation

        reward[u, s] = sum_{s1, y} transition[u, s, s1] observation[u, s1, y] R[u, s, s1, y].

    Statements for all s1 and y set reward[u, s] directly. A joint action with other statements gets a table
    R[s, s1, y], without the axis y as long as nothing depends on it.
    """

    def __init__(self, form: str, axes: Sequence[Memo[Place]], lines: Lines, shape: tuple[int, int, int]) -> None:
        super().__init__(form, axes, rewards(lines), shape[1:])
        self._lines = lines
        self._reward = np.zeros(shape[:2])  # [u, s]
        self._depends = np.zeros(shape[:2], bool)  # [u, s] on s1 or y
        self._tables: dict[int, Floats] = {}  # u -> [s, s1, y], or [s, s1, 1]

    def set(self, line: int, places: tuple[Place, ...], value: float | Floats) -> None:
        action, state, following, seen = (*places, ALL, ALL)[:4]
        actions = [action] if isinstance(action, int) else np.arange(len(self._reward))[action].ravel().tolist()
        by_symbol = seen is not ALL or isinstance(value, np.ndarray)
        if following is ALL and not by_symbol:
            self._reward[action, state] = value
        else:
            self._depends[action, state] = True
            self._expand(actions, by_symbol)
        for u in actions:
            if u in self._tables:
                self._tables[u][state, following, seen] = value

    def _expand(self, actions: Sequence[int], by_symbol: bool) -> None:
        """Give these joint actions a table, with an axis y if a statement depends on it."""
        states, symbols = self.shape
        for u in actions:
            table = self._tables.get(u)
            if table is None:
                self._check_size(states * states)
                table = self._tables[u] = np.repeat(self._reward[u][:, None, None], states, axis=1)
            if by_symbol and table.shape[2] < symbols:
                self._check_size(states * states * symbols)
                self._tables[u] = np.repeat(table, symbols, axis=2)

    def _check_size(self, more: int) -> None:
        need = 8 * (sum(table.size for table in self._tables.values()) + more)
        if need > TABLE_BYTES:
            raise self._lines.error(f"expected rewards in tables of at most {TABLE_BYTES} bytes, got {need}")

    def expected(self, transition: Floats, observation: Floats) -> Floats:
        """[u, s]: the expectation of R after all statements."""
        for u, table in self._tables.items():
            with np.errstate(over="ignore", invalid="ignore"):  # the model rejects rewards that are not finite
                after = np.einsum("ty,sty->st", observation[u], table) if table.shape[2] > 1 else table[..., 0]
                mean = np.einsum("st,st->s", transition[u], after)
            self._reward[u] = np.where(self._depends[u], mean, self._reward[u])
        return self._reward


def read_dpomdp(path: FilePath, discount: float | None = None) -> DecPOMDP:
    """The model in a `.dpomdp` file, compressed with gzip or not; its name is that of the file without suffixes.

    `discount` replaces that of the file.
    """
    name = Path(path_of(path)).name.removesuffix(".gz").removesuffix(".dpomdp")
    return _model(read_data(path), path_of(path), discount, name)


def parse_dpomdp(text: str, source: str = "text", discount: float | None = None) -> DecPOMDP:
    """The model in `text`, without a name; `source` names the text in errors."""
    return _model(text.encode(), source, discount, "")


def _model(data: bytes, source: str, discount: float | None, name: str) -> DecPOMDP:
    if discount is not None:
        discount = checked_discount(discount)
    lines = Lines(data, source)
    try:
        header = read_header(lines)
        tables = read_tables(lines, header)
        discount = header.discount if discount is None else discount
        return DecPOMDP(header.agents, header.states, header.start, *tables, discount, name)
    except FormatError:
        raise
    except InputError as error:
        raise FormatError(source, None, str(error)) from None
