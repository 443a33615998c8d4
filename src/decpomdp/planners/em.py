"""EM for planning with a known model: Kumar & Zilberstein (UAI 2010), for any number of agents.

`em` improves stochastic controllers of a fixed size by expectation-maximisation on the exact model, from random starts
or from a given team. F and V are solved exactly, each from its last answer; the exact value never falls. The step is
in `em_step.py`, the equations in `em_chain.py`, the running of restarts in `em_rounds.py`.
"""

import math
from collections.abc import Sequence

import numpy as np

from decpomdp.core import DecPOMDP, Fit, InputError, Team
from decpomdp.core.checks import whole
from decpomdp.core.fit import Row, Watch, unwatched
from decpomdp.core.minimal import minimised
from decpomdp.engines import threads as engine
from decpomdp.engines.clock import Clock
from decpomdp.evaluation import exact_value
from decpomdp.planners.em_chain import Tables, World, flattened, one_layer
from decpomdp.planners.em_rounds import Rounds
from decpomdp.planners.em_step import LONGEST, EmState, begun, iterated

STRETCH = 5  # iterations between two looks at all climbs
GAIN = 1e-9  # relative: less than this is no better team
PATIENCE = 10  # iterations over which a gain is measured


class EmClimb:
    """EM from one start. A gain below `least` (relative) over PATIENCE iterations ends it."""

    def __init__(
        self, world: World, begin: Sequence[Tables], iterations: int, least: float, longest: float, clock: Clock
    ) -> None:
        self.world, self.begin, self.clock = world, begin, clock
        self.iterations, self.least, self.longest = iterations, least, longest
        self.state: EmState | None = None
        self.values: list[float] = []  # before the first iteration, after it, ...
        self.told = 0  # of the values
        self.converged = False

    def advance(self) -> bool:
        """Up to STRETCH iterations."""
        with engine.serial_products():
            if self.state is None:
                self._take(begun(self.world, self.begin))
            for _ in range(STRETCH):
                if self.clock.over() or self.over():
                    break
                self._take(iterated(self.world, self._now(), self.longest))
        return self.over()

    def over(self) -> bool:
        """Whether it has converged or used up its iterations."""
        if len(self.values) > PATIENCE:
            gain = self.values[-1] - self.values[-1 - PATIENCE]
            self.converged = gain <= self.least * max(1e-12, abs(self.values[-1] - self.world.base))
        return self.converged or len(self.values) > self.iterations

    def team(self) -> Team:
        """The team so far."""
        return flattened(self.world.model, self._now().team)

    def _take(self, state: EmState) -> None:
        self.state = state
        self.values.append(state.value)

    def _now(self) -> EmState:
        if self.state is None:
            raise RuntimeError("the climb has not begun")
        return self.state


class EmRun:
    """One call of `em`: the best team so far and the trace."""

    def __init__(self, clock: Clock, watch: Watch) -> None:
        self.clock, self.watch = clock, watch
        self.best: Team | None = None
        self.value = -np.inf
        self.cut = False  # a climb ended without converging
        self.trace: list[Row] = []

    def tell(self, climb: EmClimb, phase: str = "em") -> None:
        """Take over what is better; one row per iteration."""
        if climb.values and climb.values[-1] - self.value > GAIN * abs(climb.values[-1]):
            self.best, self.value = climb.team(), climb.values[-1]
        self.cut |= climb.over() and not climb.converged
        told, climb.told = climb.told, len(climb.values)
        for iteration in range(told, climb.told):
            self.record(iteration, phase, climb.values[iteration], tuple(math.prod(t.shape) for t in climb.begin))

    def record(self, iteration: int, phase: str, value: float, nodes: tuple[int, ...]) -> None:
        """A row of the trace."""
        row: Row = {
            "seconds": round(self.clock.seconds(), 3),
            "iteration": iteration,
            "phase": phase,
            "value": value,
            "lower": value,
            "upper": None,
            "nodes": nodes,
        }
        self.trace.append(row)
        self.watch(row)


def em(
    model: DecPOMDP,
    *,
    nodes: int | Sequence[int] = 3,
    iterations: int = 1000,
    restarts: int = 10,
    seed: int = 0,
    time_limit: float | None = None,
    threads: int | None = None,
    watch: Watch = unwatched,
    begin: Team | None = None,
    least: float = 1e-7,
    stride: float = LONGEST,
) -> Fit:
    """Plan by EM: controllers of `nodes` nodes (one number, or one per agent), the best of `restarts` random starts.

    `begin`: start from this team instead, once. `least`: relative gain over ten iterations below which a climb has
    converged. `stride`: the longest step tried, 1 for EM itself; see `em_step`.
    """
    check_discount(model)
    sizes = checked_nodes(model, nodes)
    count = 1 if begin is not None else whole("restarts", restarts, 1, 2**31)
    if begin is not None:
        begin.check_fits(model)
    most = whole("iterations", iterations, 0, 2**31)
    clock = Clock(checked_limit(time_limit))
    world = World.of(model)
    whole("seed", seed, 0, 2**63 - 1)
    run = EmRun(clock, watch)

    def make(k: int) -> EmClimb:
        start = one_layer(begin) if begin is not None else random_team(model, sizes, np.random.default_rng([seed, k]))
        return EmClimb(world, start, most, least, stride, clock)

    stopped = Rounds(make, run.tell, count).run(clock, threads, lambda: rehearse(world))
    stopped = "iterations" if stopped == "converged" and run.cut else stopped
    settings: Row = {
        "method": "em",
        "nodes": sizes,
        "iterations": most,
        "restarts": count,
        "seed": seed,
        "stride": stride,
    }
    return finished(model, run, stopped, settings)


def finished(model: DecPOMDP, run: EmRun, stopped: str, settings: Row) -> Fit:
    """The fit: the best team made minimal, and its value by the evaluator as the last row."""
    team = minimised(run.best if run.best is not None else Team.uniform(model))
    value = exact_value(model, team).value
    run.record(len(run.trace), "result", value, team.nodes)
    return Fit(team, tuple(run.trace), stopped, run.clock.seconds(), settings)


def random_team(model: DecPOMDP, nodes: Sequence[int], rng: np.random.Generator) -> list[Tables]:
    """Every row drawn uniformly from the distributions there are."""
    return [
        Tables(
            rng.dirichlet(np.ones(z)),
            rng.dirichlet(np.ones(len(agent.actions)), size=(1, z)),
            rng.dirichlet(np.ones(z), size=(1, z, len(agent.actions), len(agent.observations))),
        )
        for z, agent in zip(nodes, model.agents, strict=True)
    ]


def rehearse(world: World) -> None:
    """One iteration on the smallest team: compiles everything."""
    with engine.serial_products():
        iterated(world, begun(world, random_team(world.model, [1] * len(world.model.agents), np.random.default_rng(0))))


def check_discount(model: DecPOMDP) -> None:
    """An infinite horizon needs a discount below 1."""
    if model.discount >= 1:
        raise InputError(f"an infinite horizon needs a discount below 1, got {model.discount}")


def checked_limit(limit: float | None) -> float | None:
    """Seconds above 0, or None."""
    if limit is not None and not (isinstance(limit, int | float) and limit > 0):
        raise InputError(f"time_limit: expected seconds above 0, got {limit!r}")
    return limit


def checked_nodes(model: DecPOMDP, nodes: int | Sequence[int], name: str = "nodes") -> tuple[int, ...]:
    """One size per agent."""
    if not isinstance(nodes, Sequence):
        return (whole(name, nodes, 1, 1000),) * len(model.agents)
    if len(nodes) != len(model.agents):
        raise InputError(f"{name}: expected one number for each of {len(model.agents)} agents, got {len(nodes)}")
    return tuple(whole(f"{name}[{n}]", size, 1, 1000) for n, size in enumerate(nodes))
