"""EM for planning with a known model: Kumar & Zilberstein (UAI 2010), for any number of agents.

Stochastic controllers of a fixed size are improved by expectation maximisation on the exact model, from random starts
or from a given team. F and V are solved exactly, each from its last answer; the exact value never falls. The equations
of F and V are in `chain.py`.

ABREAST climbs run concurrently. One step advances each by STRETCH iterations, on threads; rows of the trace are in the
order of the climbs' values, and new climbs replace finished ones. The result does not depend on the number of threads
or their speed.

The code is for controllers in layers, because `periem` uses it too. The value of shifted rewards r~ >= 0 is, up to a
factor, a likelihood: the probability of a "reward" event at the end of a trajectory of geometrically distributed
length. Its expected counts have closed forms in F (occupancy) and V (value to go), both exact. For agent n,

  action[i, a]     counts  sum_{s, q: q_n = i, u: u_n = a} F(s, q) pi(u | q) [r~(s, u) + discount E V(s1, q1)]
  move[i, a, o, j] counts  the part of discount F pi E V that goes through a, o and j
  initial[i]       counts  sum_{s, q: q_n = i} start(s) initial(q) V(s, q)

and the new tables of all agents are the normalised counts. The exact value never falls.

A longer stride raises every ratio count / old probability to a power before normalising. The value may then fall, so
a longer stride is accepted only if the exact value does not fall. Stride 1 is plain EM.

Every climb solves for the exact value of its team. If this is an improvement, the evaluator computes the value again,
and the trace reports the evaluator's value.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from decpomdp.core import DecPOMDP, Fit, Row, Team, checks
from decpomdp.core.minimal import simplified
from decpomdp.core.run import Cut, Inputs, Now
from decpomdp.engines import threads as engine
from decpomdp.kernels.backup import count_moves
from decpomdp.planners.common import ValuedTeam, check_model, first_team, per_agent, toy_model, valued
from decpomdp.planners.em.chain import Floats, LayeredChain, LayeredController, ShiftedModel, flattened, one_layer
from decpomdp.planners.em.settings import Em

ABREAST = 4  # concurrent climbs
STRETCH = 5  # iterations of a climb in one step of the method
GAIN = 1e-9  # relative: teams with a smaller gain are not evaluated
PATIENCE = 10  # iterations over which a gain is measured
SLACK = 1e-12  # relative: a smaller fall is rounding
RESTARTS = 10  # climbs if neither their number nor the time is limited


class Iterate(NamedTuple):
    """The state between two iterations."""

    team: tuple[LayeredController, ...]
    value: float  # exact, unshifted
    v: Floats  # [m, s, q]
    f: Floats | None  # [m, s, q] of the previous team: an initial guess
    stride: float


def first_iterate(shifted: ShiftedModel, team: Sequence[LayeredController]) -> Iterate:
    """The state before the first iteration."""
    chain = LayeredChain(shifted, team)
    v = chain.values()
    return Iterate(tuple(team), chain.value(v), v, None, 1.0)


def next_iterate(shifted: ShiftedModel, state: Iterate, longest: float) -> Iterate:
    """One iteration: strides up to `longest` are tried, and the value never falls."""
    chain = LayeredChain(shifted, state.team)
    f = chain.occupancies(None if state.f is None else state.f[0])
    counts = expected_counts(chain, f, state.v)
    stride = min(state.stride, longest)
    while True:
        team = tuple(updated(old, new, stride) for old, new in zip(state.team, counts, strict=True))
        following = LayeredChain(shifted, team)
        v = following.values(state.v[0])
        value = following.value(v)
        if stride == 1.0 or value >= state.value - SLACK * abs(state.value):
            return Iterate(team, value, v, f, min(longest, 1.5 * stride))
        stride = max(1.0, stride / 4)


def expected_counts(chain: LayeredChain, f: Floats, v: Floats) -> list[LayeredController]:
    """The expected counts of every agent, shaped like its tables."""
    agents = range(len(chain.team))
    out = [LayeredController(*(np.zeros_like(table) for table in tables)) for tables in chain.team]
    for m in range(chain.layers):
        chain.shifted.check()
        flat = np.zeros_like(chain.moves[m].table)
        count_moves(chain.shifted.factored, chain.moves[m], f[m], v[(m + 1) % chain.layers], flat)
        earned = (f[m].T @ chain.shifted.reward.T) * chain.acts[m]  # [q, u]
        for n in agents:
            width, actions, observations, _ = chain.team[n].move[m].shape
            first, size = int(chain.moves[m].place[n]), actions * observations * width * width
            table = flat[first : first + size].reshape(actions, observations, width, width)
            out[n].move[m] = table.transpose(3, 0, 1, 2)
            out[n].action[m] = out[n].move[m].sum(axis=(2, 3)) + _marginal(earned, chain.team, n)
    for n in agents:
        started = (chain.first * v[0]).sum(axis=0)[:, None]  # [q, 1]
        out[n].initial[:] = _own(started, chain.team, n)[:, 0]
    return out


def updated(old: LayeredController, counts: LayeredController, stride: float) -> LayeredController:
    """The new tables."""
    return LayeredController._make(_normalised(table, count, stride) for table, count in zip(old, counts, strict=True))


def _own(table: Floats, team: Sequence[LayeredController], n: int) -> Floats:
    """[i, column] of agent n from [q, column], the others' nodes summed out."""
    widths = [tables.shape[1] for tables in team]
    before, after = math.prod(widths[:n]), math.prod(widths[n + 1 :])
    return table.reshape(before, widths[n], after, -1).sum(axis=(0, 2))


def _marginal(table: Floats, team: Sequence[LayeredController], n: int) -> Floats:
    """[i, a] of agent n from [q, u]."""
    actions = [tables.action.shape[2] for tables in team]
    before, after = math.prod(actions[:n]), math.prod(actions[n + 1 :])
    own = _own(table, team, n)
    return own.reshape(len(own), before, actions[n], after).sum(axis=(1, 3))


def _normalised(old: Floats, counts: Floats, stride: float) -> Floats:
    """Rows of old * (counts / old)^stride that sum to one; a row without counts stays."""
    positive = np.maximum(counts, 0.0)  # the solver may return -1e-17 for a count of 0
    ratio = np.divide(positive, old, out=np.zeros_like(old), where=old > 0)
    highest = ratio.max(axis=-1, keepdims=True)
    known = highest > 0
    new = old * np.divide(ratio, highest, out=np.zeros_like(ratio), where=known) ** stride
    total = new.sum(axis=-1, keepdims=True)
    return np.where(total > 0, np.divide(new, total, out=np.zeros_like(new), where=total > 0), old)


class Climb(NamedTuple):
    """EM from one start."""

    number: int
    iterate: Iterate | None = None  # None before the first solve
    values: tuple[float, ...] = ()  # before the first iteration, after it, ...

    @property
    def value(self) -> float:
        return self.values[-1] if self.values else -np.inf

    def after(self, iterate: Iterate) -> "Climb":
        return self._replace(iterate=iterate, values=(*self.values, iterate.value))


class Climber(NamedTuple):
    """Advances climbs on a model."""

    shifted: ShiftedModel
    iterations: int  # most of one climb
    least: float  # relative gain over PATIENCE iterations below which a climb has converged
    stride: float  # the longest

    def advanced(self, climb: Climb, start: Callable[[int], Sequence[LayeredController]]) -> Climb:
        """The climb after up to STRETCH iterations; an interrupted iteration is dropped."""
        with suppress(Cut), engine.serial_products():
            if climb.iterate is None:
                climb = climb.after(first_iterate(self.shifted, start(climb.number)))
            for _ in range(STRETCH):
                if climb.iterate is None or self.over(climb):
                    break
                climb = climb.after(next_iterate(self.shifted, climb.iterate, self.stride))
        return climb

    def converged(self, climb: Climb) -> bool:
        """Whether the last iterations gained too little."""
        if len(climb.values) <= PATIENCE:
            return False
        gain = climb.values[-1] - climb.values[-1 - PATIENCE]
        return gain <= self.least * max(1e-12, abs(climb.value - self.shifted.base))

    def over(self, climb: Climb) -> bool:
        """Whether the climb has converged or used up its iterations."""
        return self.converged(climb) or len(climb.values) > self.iterations


class Incumbent(NamedTuple):
    """The best team so far."""

    best: ValuedTeam
    claimed: float = -np.inf  # value of the best team by its climb's own solve; -inf: no climb has a team
    reported: int = 0  # rows in the trace

    @classmethod
    def first(cls, model: DecPOMDP) -> "Incumbent":
        return cls(valued(model, first_team(model)))

    def offered(self, model: DecPOMDP, team: Team, claimed: float) -> "Incumbent":
        """The incumbent after evaluating a team whose climb claims an improvement."""
        new = valued(model, team)
        return self._replace(best=new if new.value > self.best.value else self.best, claimed=claimed)

    def with_climb(self, model: DecPOMDP, climb: Climb, gain: float = GAIN) -> "Incumbent":
        """The incumbent after a climb of EM; its team is evaluated if it claims a gain above `gain` (relative)."""
        if climb.iterate is None or climb.value - self.claimed <= gain * abs(climb.value):
            return self
        return self.offered(model, flattened(model, climb.iterate.team), climb.value)

    def row(self, iteration: int, phase: str) -> Row:
        value, nodes = self.best.value, self.best.team.nodes
        return {
            "iteration": iteration,
            "phase": phase,
            "value": value,
            "lower": value,
            "upper": None,
            "nodes": nodes,
        }

    def result(self, model: DecPOMDP) -> tuple[Team, Row]:
        """The best team, minimised, and the last row of the trace."""
        team = simplified(self.best.team)
        best = self.best if team.nodes == self.best.team.nodes else valued(model, team)
        return best.team, self._replace(best=best).row(self.reported, "result")


class EmState(NamedTuple):
    """The state between two steps."""

    record: Incumbent
    climbs: list[Climb]  # unfinished
    made: int = 0  # climbs begun
    cut: bool = False  # whether a climb ended without converging
    steps: int = 0
    iterations: int = 0
    stopped: str = ""


class EmMethod:
    """`em` on a model."""

    state = EmState

    def __init__(self, model: DecPOMDP, settings: Em, inputs: Inputs) -> None:
        check_model(model)
        if inputs.begin is not None:
            checks.of_kind("begin", inputs.begin, Team).check_fits(model)
        self.model, self.settings, self.inputs = model, settings, inputs
        self.nodes = per_agent(model, "nodes", settings.nodes)
        self.shifted: ShiftedModel | None = None  # prepared in the first step

    def toy(self) -> "EmMethod":
        return EmMethod(toy_model(len(self.model.agents)), Em(nodes=1, iterations_per_start=1, restarts=1), Inputs())

    def init(self, now: Now) -> EmState:
        return EmState(Incumbent.first(self.model), [])

    def step(self, state: EmState, now: Now) -> tuple[EmState, list[Row]]:
        """Advance all climbs; a row for each."""
        starts = self._starts(now)
        state, rows = self._advanced(state, starts, now)
        done = not state.climbs and state.made == starts
        return state._replace(stopped=("iterations" if state.cut else "converged") if done else ""), rows

    def result(self, state: EmState) -> tuple[Fit, Row]:
        team, row = state.record.result(self.model)
        return Fit(team, facts={"starts": state.made}), row

    def _starts(self, now: Now) -> int | None:
        """The number of climbs; None: as many as the time limit allows."""
        if self.inputs.begin is not None:
            return 1
        return RESTARTS if self.settings.restarts is None and math.isinf(now.seconds) else self.settings.restarts

    def _advanced(self, state: EmState, starts: int | None, now: Now) -> tuple[EmState, list[Row]]:
        climber = self._climber(now)
        new = ABREAST - len(state.climbs) if starts is None else min(ABREAST - len(state.climbs), starts - state.made)
        made = state.made + new
        begun = [*state.climbs, *(Climb(number) for number in range(state.made, made))]
        climbs = engine.run(lambda k: climber.advanced(begun[k], self._start), len(begun), self.inputs.threads)
        record, rows = state.record, list[Row]()
        for climb in sorted(climbs, key=lambda climb: -climb.value):
            if climb.values:  # otherwise interrupted before its first solve
                record = record.with_climb(self.model, climb)
                rows.append(record.row(len(climb.values) - 1, "em"))
        state = state._replace(
            record=record._replace(reported=record.reported + len(rows)),
            climbs=[climb for climb in climbs if not climber.over(climb)],
            made=made,
            cut=state.cut or any(climber.over(climb) and not climber.converged(climb) for climb in climbs),
            iterations=state.iterations + 1,
        )
        return state, rows

    def _climber(self, now: Now) -> Climber:
        if self.shifted is None:
            self.shifted = ShiftedModel.of(self.model)
        chosen = self.settings
        return Climber(self.shifted._replace(stop=now.stop), chosen.iterations_per_start, chosen.least, chosen.stride)

    def _start(self, number: int) -> list[LayeredController]:
        if self.inputs.begin is not None:
            return one_layer(self.inputs.begin)
        return random_team(self.model, self.nodes, np.random.default_rng([self.inputs.seed, number]))


def random_team(model: DecPOMDP, nodes: tuple[int, ...], rng: np.random.Generator) -> list[LayeredController]:
    """Every row drawn uniformly from all distributions."""
    return [
        LayeredController(
            rng.dirichlet(np.ones(z)),
            rng.dirichlet(np.ones(len(agent.actions)), size=(1, z)),
            rng.dirichlet(np.ones(z), size=(1, z, len(agent.actions), len(agent.observations))),
        )
        for z, agent in zip(nodes, model.agents, strict=True)
    ]
