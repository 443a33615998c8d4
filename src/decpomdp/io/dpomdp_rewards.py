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
from decpomdp.io.dpomdp_fields import ALL, SOME, Axis, Selection, one_or_all
from decpomdp.io.dpomdp_log import SCALAR, Records, obey

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
    for actions in _blocks(np.flatnonzero(rich.any(axis=1)), cells * reward.shape[1]):
        window = _Window(axes[0], reward.shape[0], actions)
        about = window.restrict(records, 0)
        for states in _blocks(np.flatnonzero(rich[actions].any(axis=0)), cells * len(actions)):
            here = np.ix_(actions, states)
            part = _Window(axes[1], reward.shape[1], states).restrict(about, 1)
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


class _Window:
    """Some of the indices of an axis, known by their place among these."""

    def __init__(self, whole: Axis, size: int, chosen: Indices) -> None:
        self._whole = whole
        self._position = np.full(size, -1)
        self._position[chosen] = np.arange(len(chosen))

    def select(self, code: int) -> Selection:
        """What `code` selects of the window; an index is already a place in it."""
        if code > SOME:
            return one_or_all(code)
        return self._inside(code)

    def _inside(self, code: int) -> Indices:
        places = self._position[self._whole.select(code)]
        return places[places >= 0]

    def restrict(self, records: Records, axis: int) -> Records:
        """The statements that touch the window (a copy), their indices on `axis` turned into places in it."""
        codes = records.places[:, axis]
        moved = np.where(codes >= 0, self._position[np.maximum(codes, 0)], codes)
        kept = (codes < 0) | (moved >= 0)
        for code in np.unique(codes[codes <= SOME]).tolist():
            if not len(self._inside(code)):
                kept &= codes != code
        result = records.take(kept)
        result.places[:, axis] = moved[kept]
        return result


def _blocks(indices: Indices, cells: int) -> Iterator[Indices]:
    """`indices` in blocks that take at most CELLS numbers if each takes `cells`; at least one per block."""
    step = max(1, CELLS // cells)
    return (indices[at : at + step] for at in range(0, len(indices), step))
