"""EM for planning with a known model: Kumar & Zilberstein (UAI 2010), for any number of agents.

`em` improves stochastic controllers of a fixed size by expectation-maximisation on the exact model, from random starts
or from a given team. F and V are solved exactly, each from its last answer; the exact value never falls. The step is
in `em_step.py`, the equations in `em_chain.py`, one climb and the record of a run in `em_run.py`, the running of
restarts in `em_rounds.py`.
"""

from collections.abc import Sequence

import numpy as np

from decpomdp.core import DecPOMDP, Fit, Row, Team, Watch, checks, unwatched
from decpomdp.core.keeping import UNKEPT, Keeper
from decpomdp.engines import threads as engine
from decpomdp.planners.arguments import at_least, checked, endless, finite, sizes
from decpomdp.planners.em.chain import Tables, World, one_layer
from decpomdp.planners.em_rounds import Rounds
from decpomdp.planners.em.climbs import EmClimb, EmRun
from decpomdp.planners.em_state import EmPlanState, go_on, run_again, state_of
from decpomdp.planners.em.step import LONGEST, begun, iterated

RESTARTS = 10  # climbs when neither their number nor the time is limited


def em(
    model: DecPOMDP,
    *,
    nodes: int | Sequence[int] = 3,
    iterations: int = 1000,
    restarts: int | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    threads: int | None = None,
    watch: Watch = unwatched,
    begin: Team | None = None,
    least: float = 1e-7,
    stride: float = LONGEST,
    keeper: Keeper = UNKEPT,
) -> Fit:
    """Plan by EM: controllers of `nodes` nodes (one number, or one per agent), the best of `restarts` random starts.

    `restarts`: None for as many as the time allows, RESTARTS without a time limit. `iterations`: of one start, at most.
    `begin`: start from this team instead, once. `least`: relative gain over ten iterations below which a climb has
    converged. `stride`: the longest step tried, 1 for EM itself; see `em_step`.
    `keeper` is offered the state between stretches of the climbs, and gives back the one to go on from.
    """
    clock = checked(model, seed, time_limit, threads, watch)
    endless(model)
    given = sizes(model, nodes)
    count = _count(model, begin, restarts, clock.limit)
    most, longest = checks.whole("iterations", iterations, 0, 2**31), at_least("stride", stride, 1)
    gain = finite("least", least, 0)
    run = EmRun(model, clock, watch)
    kept = keeper.restore(EmPlanState)
    if kept is not None:
        run_again(run, kept.run)  # at once: from here on there is something to return

    def climbs() -> str:
        world = World.of(model, clock.check)
        clock.rehearse(lambda: rehearse(world), run.say)

        def make(k: int) -> EmClimb:
            own = one_layer(begin) if begin is not None else random_team(model, given, np.random.default_rng([seed, k]))
            return EmClimb(world, own, most, gain, longest, clock)

        rounds = Rounds(make, run.tell, count, lambda: keeper.offer(lambda: state_of(run, rounds)))
        if kept is not None:
            go_on(run, rounds, kept)
        return rounds.run(clock)

    stopped = run.guarded(climbs)
    stopped = "iterations" if stopped == "converged" and run.cut else stopped
    settings: Row = {
        "method": "em",
        "nodes": given,
        "iterations": most,
        "restarts": count,
        "seed": seed,
        "time_limit": clock.limit,
        "stride": longest,
    }
    return run.finished(stopped, settings)


def _count(model: DecPOMDP, begin: Team | None, restarts: int | None, limit: float | None) -> int | None:
    """How many starts; None: as many as the time allows."""
    if begin is not None:
        checks.of_kind("begin", begin, Team).check_fits(model)
        return 1
    count = RESTARTS if restarts is None and limit is None else restarts
    return None if count is None else checks.whole("restarts", count, 1, 2**31)


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
