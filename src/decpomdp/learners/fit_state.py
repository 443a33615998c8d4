"""What a fit needs to go on after a kill: the posteriors of the last and of the best sweep.

A sweep that tries other sizes, which can take as long as all sweeps before, can be cut in the middle: what was tried is
kept, with the best of it, and a fit of another size that is under way with its own last and best sweep.

What the data say about a posterior (its likelihoods, weights and bound) is computed again from it, to the same numbers.
A posterior is kept by its counts and by what its rows hold beside the prior, which the learner has anyway.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from decpomdp.core import InputError
from decpomdp.core.keeping import KeptRow, State, kept_rows
from decpomdp.learners.concentration import Concentration
from decpomdp.learners.posterior import AgentPosterior, Counts
from decpomdp.learners.rows import Dirichlet, DirichletPrior, Floats, Point, PointPrior, RowPrior, Rows
from decpomdp.learners.sticks import Sticks, SticksPrior
from decpomdp.learners.sweep import DOUBLE, SINGLE, Evaluated, Task, evaluate

if TYPE_CHECKING:
    from decpomdp.learners.loop import Loop


class KeptAgent(NamedTuple):
    """One agent's posterior."""

    counts: Counts
    action: list[Floats]
    move: list[Floats]
    first: list[Floats] | None


class KeptPosterior(NamedTuple):
    """A team's posterior, and whether it was evaluated in double precision."""

    agents: list[KeptAgent]
    double: bool


class SweepsState(NamedTuple):
    """Between two sweeps, or between two trials of other sizes within one."""

    now: KeptPosterior
    best: KeptPosterior | None  # None: it is the last one
    double: bool  # the precision from here on
    offered: list[tuple[str, tuple[int, ...]]]
    since: int
    falls: list[tuple[int, float, float]]
    seconds: float
    trace: list[KeptRow]
    ahead: KeptPosterior | None  # the best of what the sweep under way has tried; None: it has not begun
    ending: bool | None  # whether the fit is about to end; None: not known yet


class FitState(NamedTuple):
    """A fit, and the one of another size that it has under way."""

    own: SweepsState
    fresh: SweepsState | None


class Within:
    """Keeps the state of a fit that another one has under way: as part of that one's."""

    def __init__(self, loop: "Loop") -> None:
        self.loop = loop

    def restore(self, kind: type[State]) -> State | None:
        """The one that a kill left, once."""
        fresh, self.loop.fresh = self.loop.fresh, None
        return None if fresh is None else cast(State, FitState(fresh, None))

    def offer(self, state: Callable[[], Any]) -> None:
        """Both, if it is time."""
        self.loop.keeper.offer(lambda: FitState(_sweeps(self.loop), state().own))


def state_of(loop: "Loop") -> FitState:
    """The state now."""
    return FitState(_sweeps(loop), loop.fresh)


def _sweeps(loop: "Loop") -> SweepsState:
    return SweepsState(
        now=_kept(loop.now),
        best=None if loop.best is loop.now or loop.best is None else _kept(loop.best),
        double=loop.task.precision == DOUBLE,
        offered=sorted(loop.offered),
        since=loop.since,
        falls=loop.falls,
        seconds=loop.seconds(),
        trace=kept_rows(loop.trace),
        ahead=None if loop.ahead is None else _kept(loop.ahead),
        ending=loop.ending,
    )


def go_on(loop: "Loop", state: FitState, like: Sequence[AgentPosterior]) -> None:
    """As if all sweeps up to then had been made just now; `like` has the agents and their priors."""
    kept, loop.fresh = state
    loop.use(DOUBLE if kept.double else SINGLE)
    loop.now = _again(loop.task, kept.now, like)
    # nothing is counted with the best one again: what was filtered for it can go
    loop.best = loop.now if kept.best is None else replace(_again(loop.task, kept.best, like), kept=[])
    loop.ahead = None if kept.ahead is None else _again(loop.task, kept.ahead, like)
    loop.offered, loop.since, loop.falls, loop.ending = set(kept.offered), kept.since, kept.falls, kept.ending
    loop.trace = list(kept.trace)
    loop.elapsed(kept.seconds)


def _kept(found: Evaluated) -> KeptPosterior:
    double = found.tables[0].act.dtype == DOUBLE
    return KeptPosterior([_kept_agent(agent) for agent in found.posterior], double)


def _kept_agent(agent: AgentPosterior) -> KeptAgent:
    first = None if agent.first is None else _parts(agent.first)
    return KeptAgent(agent.counts, _parts(agent.action), _parts(agent.move), first)


def _again(task: Task, kept: KeptPosterior, like: Sequence[AgentPosterior]) -> Evaluated:
    posterior = tuple(_agent(old, own) for old, own in zip(kept.agents, like, strict=True))
    return evaluate(replace(task, precision=DOUBLE if kept.double else SINGLE), posterior)


def _agent(kept: KeptAgent, like: AgentPosterior) -> AgentPosterior:
    priors = like.priors
    first = None if kept.first is None else _rows(priors.move, kept.first)
    action, move = _rows(priors.action, kept.action), _rows(priors.move, kept.move)
    return AgentPosterior(like.agent, priors, kept.counts, action, move, first)


def _parts(rows: Rows) -> list[Floats]:
    """What a belief holds beside its prior."""
    if isinstance(rows, Dirichlet):
        return [rows.weights]
    if isinstance(rows, Point):
        return [rows.table]
    if isinstance(rows, Sticks):
        return [rows.left, rows.right, rows.eta.shape, rows.eta.rate]
    raise InputError(f"keeper: expected a prior of this package, got one whose beliefs are {type(rows).__name__}")


def _rows(prior: RowPrior, parts: list[Floats]) -> Rows:
    """The belief again."""
    if isinstance(prior, DirichletPrior):
        return Dirichlet(parts[0], prior.weight)
    if isinstance(prior, PointPrior):
        return Point(parts[0])
    if isinstance(prior, SticksPrior):
        return Sticks(prior, parts[0], parts[1], Concentration(parts[2], parts[3]))
    raise InputError(f"keeper: expected a prior of this package, got {type(prior).__name__}")
