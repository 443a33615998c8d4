"""What the R statements of a `.dpomdp` file are worth before the step is taken.

A file may let the reward depend on the next state and the joint observation; a model keeps its expectation
    reward[u, s] = sum_{s1, y} transition[u, s, s1] observation[u, s1, y] R[u, s, s1, y].
R is never held as a whole. Statements that hold for every s1 and y set reward[u, s] directly. R is laid out only for
the joint actions and states that some other statement touches, block by block, and without the axis y where nothing
depends on it.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from decpomdp.core.checks import Floats
from decpomdp.io.dpomdp.fields import ALL, SOME, Axis, Selection, one_or_all
from decpomdp.io.dpomdp.log import LEAST, SCALAR, Records, check_work, obey

CELLS = 1 << 22  # numbers of R laid out together, unless one joint action and state alone need more

Indices = NDArray[np.intp]


def expected_rewards(records: Records, transition: Floats, observation: Floats, axes: Sequence[Axis]) -> Floats:
    """[u, s]: the expectation of R after all statements; `axes` are the fields of an R statement."""
    reward: Floats = np.zeros(transition.shape[:2])
    plain = (records.given == SCALAR) & np.all(records.places[:, 2:] == ALL, axis=1)
    obey(reward, records.take(plain).leading(2), axes[:2])
    rich = np.zeros(reward.shape, bool)  # [u, s] whether something depends on s1 or y
    marks = records.take(~plain).leading(2)
    obey(rich, marks._replace(values=np.ones_like(marks.values)), axes[:2])
    cells, work = observation[0].size, 0  # of R for one joint action and state; set so far
    by_action = _Cut(axes[0], np.logical_or.reduce(rich, axis=1), cells * reward.shape[1])
    for window, actions, about in by_action.blocks(records, 0):
        by_state = _Cut(axes[1], np.logical_or.reduce(rich[actions], axis=0), cells * len(actions))
        for _, states, part in by_state.blocks(about, 1):
            here = np.ix_(actions, states)
            near = transition[here], observation[actions]
            expected, work = _expectation(part, *near, (window, *axes[1:]), work)
            reward[here] = np.where(rich[here], expected, reward[here])
    return reward


def _expectation(
    records: Records, transition: Floats, observation: Floats, axes: Sequence[Axis], work: int
) -> tuple[Floats, int]:
    """[u, s]: the sum over s1 and y for the joint actions and states that `transition` and `observation` are of.

    `work`: entries set so far, counted on.
    """
    seen = np.any(records.given != SCALAR) or np.any(records.places[:, 3] != ALL)
    if not seen:
        records.places[:, 3] = 0
    laid_out = np.zeros((*transition.shape, observation.shape[2] if seen else 1))  # [u, s, s1, y]
    work = obey(laid_out, records, axes, work)
    with np.errstate(over="ignore", invalid="ignore"):  # the model refuses rewards that are not finite
        after = np.einsum("uty,usty->ust", observation, laid_out) if seen else laid_out[..., 0]
        return np.einsum("ust,ust->us", transition, after), work


class _Cut:
    """The wanted indices of an axis, cut into blocks that are laid out one after the other."""

    def __init__(self, whole: Axis, wanted: NDArray[np.bool_], cells: int) -> None:
        """`cells`: numbers that each index takes; at most CELLS together make a block, one at least."""
        self._whole = whole
        self._chosen, self._step = np.flatnonzero(wanted), max(1, CELLS // cells)
        self._count = -(-len(self._chosen) // self._step)
        self._block, self._place = np.full((2, len(wanted)), -1)  # [index] in which block it is, and where in that
        self._block[self._chosen], self._place[self._chosen] = np.divmod(np.arange(len(self._chosen)), self._step)

    def blocks(self, records: Records, axis: int) -> Iterator[tuple["_Window", Indices, Records]]:
        """Each block with its indices, and the statements that touch it, their indices on `axis` places in it.

        No statement is looked at for blocks that it does not touch: a file may have many of both.
        """
        codes = records.places[:, axis]
        everywhere = np.flatnonzero(codes == ALL)
        touched, block = self._touched(codes, records.lines)
        ends = np.searchsorted(block, np.arange(self._count + 1))
        for number in range(self._count):
            own = np.sort(np.concatenate([everywhere, touched[ends[number] : ends[number + 1]]]))
            part = records.take(own)
            one = codes[own] >= 0
            part.places[one, axis] = self._place[codes[own][one]]
            chosen = self._chosen[number * self._step : (number + 1) * self._step]
            yield _Window(self._whole, np.where(self._block == number, self._place, -1)), chosen, part

    def _touched(self, codes: Indices, lines: Indices) -> tuple[Indices, Indices]:
        """Pairs of a statement that does not hold for all, and a block that it touches, in the order of the blocks."""
        one = np.flatnonzero(codes >= 0)
        pairs, work = [(one, self._block[codes[one]])], 0
        some = np.flatnonzero(codes <= SOME)
        some = some[np.argsort(codes[some], kind="stable")]
        for alike in np.split(some, np.flatnonzero(np.diff(codes[some])) + 1) if len(some) else ():
            selected = self._block[self._whole.select(int(codes[alike[0]]))]
            blocks = np.unique(selected)
            work += len(selected) + LEAST * len(alike) * len(blocks)
            check_work(work, int(lines[alike[0]]))
            pairs.append((np.repeat(alike, len(blocks)), np.tile(blocks, len(alike))))
        touched, block = (np.concatenate(each) for each in zip(*pairs, strict=True))
        order = np.argsort(block, kind="stable")
        order = order[block[order] >= 0]
        return touched[order], block[order]


class _Window:
    """Some of the indices of an axis, known by their place among these."""

    def __init__(self, whole: Axis, places: Indices) -> None:
        self._whole, self._places = whole, places  # [index] -1: not in it

    def select(self, code: int) -> Selection:
        """What `code` selects of the window; an index is already a place in it."""
        if code > SOME:
            return one_or_all(code)
        places = self._places[self._whole.select(code)]
        return places[places >= 0]
