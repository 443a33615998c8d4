"""What the paper's loop needs to go on after a kill: the best team, where it is, and the round that is under way.

A round has its window of batches with it: ten batches of fifty episodes, or two larger ones of many agents (see
`sbpr_crowd.ROOM`). That bounds the state.
"""

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from decpomdp.core import Episodes, Team
from decpomdp.core.keeping import KeptRow, kept_rows
from decpomdp.interaction.explore import Exploration
from decpomdp.interaction.sbpr_crowd import CrowdRound, CrowdWindow
from decpomdp.interaction.sbpr_play import GroundState, Tested
from decpomdp.interaction.sbpr_round import Round, Start
from decpomdp.interaction.sbpr_window import Batch, Window
from decpomdp.learners.posterior import Counts
from decpomdp.learners.rows import Floats

if TYPE_CHECKING:
    from decpomdp.interaction.sbpr import Loop

Either = TypeVar("Either", Round, CrowdRound)


class KeptWindow(NamedTuple):
    """The batches of a round, oldest first; of a crowd the episodes are all."""

    episodes: list[Episodes]
    own: list[Floats]
    relative: list[list[Floats]]
    behaviours: list[Team]


class KeptRound(NamedTuple):
    """A round that is under way."""

    number: int  # of its next iteration
    failures: int  # of its tests in a row (a crowd's)
    counts: list[Counts]
    exploration: Exploration
    window: KeptWindow


class SbprState(NamedTuple):
    """Between two iterations."""

    ground: GroundState
    best: tuple[Team, float, float]  # with its value and error
    belief: list[Counts]  # of its posterior
    wins: int
    pool: list[Team]  # replays
    values: list[float]  # of the starts that had their round
    turn: int
    failures: int
    before: int  # wins when the round began
    round: KeptRound
    trace: list[KeptRow]


def state_of(loop: "Loop", number: int, failures: int, state: Round | CrowdRound) -> SbprState:
    """The state before the iteration `number` of a round."""
    return SbprState(
        ground=loop.ground.state(),
        best=(loop.best.team, loop.best.value, loop.best.error),
        belief=[agent.counts for agent in loop.posterior.agents],
        wins=loop.wins,
        pool=loop.pool,
        values=loop.values,
        turn=loop.turn,
        failures=loop.failures,
        before=loop.before,
        round=KeptRound(number, failures, state.counts, state.exploration, _kept(state.window)),
        trace=kept_rows(loop.trace),
    )


def go_on(loop: "Loop", kept: SbprState) -> None:
    """As if everything up to then had been done just now; the round is gone on with when the loop comes to it."""
    loop.ground.go_on(kept.ground)
    loop.best = Tested(*kept.best)
    loop.posterior = loop.learner.posterior(kept.belief)
    loop.wins, loop.before, loop.turn, loop.failures = kept.wins, kept.before, kept.turn, kept.failures
    loop.pool, loop.values, loop.trace = kept.pool, kept.values, list(kept.trace)
    loop.under_way = kept.round


def begun(loop: "Loop", begin: Callable[[Start], Either], start: Start) -> tuple[Either, int, int]:
    """A round, the number of its next iteration, and its failures: the round under way if there is one."""
    state, kept = begin(start), loop.under_way
    if kept is None:
        loop.before = loop.wins
        return state, 0, 0
    loop.under_way = None
    _fill(state.window, kept.window)
    return state._replace(counts=kept.counts, exploration=kept.exploration), kept.number, kept.failures


def _fill(window: Window | CrowdWindow, kept: KeptWindow) -> None:
    """Put the batches back into an empty window."""
    if isinstance(window, CrowdWindow):
        for episodes in kept.episodes:
            window.add(episodes)
        return
    each = zip(kept.episodes, kept.own, kept.relative, strict=True)
    window.batches = [Batch(episodes, own, deque(relative)) for episodes, own, relative in each]
    window.behaviours = kept.behaviours


def _kept(window: Window | CrowdWindow) -> KeptWindow:
    if isinstance(window, CrowdWindow):
        return KeptWindow(list(window.batches), [], [], [])
    batches = window.batches
    relative = [list(batch.relative) for batch in batches]
    return KeptWindow([b.episodes for b in batches], [b.own for b in batches], relative, window.behaviours)
