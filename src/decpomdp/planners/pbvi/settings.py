"""Point-based value iteration on the centralised problem (Pineau, Gordon, Thrun 2003).

One agent sees every joint observation and takes the joint actions. Its beliefs are bounded from below by vectors and
from above by a sawtooth; both bounds are backed up at the beliefs of a set that grows. One iteration:

  explore  walks from the start along the action that the upper bound prefers and the observation after which the bounds
           are furthest apart (Smith and Simmons 2004), backed up on the way home
  expand   the successor furthest from the set, for every belief of the set whose bounds still differ (Pineau et al.)
  sweep    backs up both bounds at the whole set, deepest beliefs first
  graph    turns the vectors into a policy graph; its exact values are vectors again

The result is the best policy graph, a one-agent team for `centralised(model)`, with the value that the evaluator gives
it. The upper bound holds for every team. One run is in `pbvi_run`, the first three steps in `pbvi_growth`, the bounds
in `pbvi_bounds`, the graph in `pbvi_graph`.
"""

from dataclasses import dataclass, field

from decpomdp.core import DecPOMDP, Fit, Row, Watch, checks, unwatched
from decpomdp.core.keeping import UNKEPT, Keeper
from decpomdp.planners.arguments import checked, endless, finite
from decpomdp.planners.pbvi.policy import AlphaPolicy as AlphaPolicy
from decpomdp.planners.pbvi.method import Pbvi

TABLE = 8_000_000  # numbers in the controller of the result, which is held as a dense table [i, a, o, j]


@dataclass(frozen=True, slots=True)
class PbviFit(Fit):
    """A fit with the vectors it came from. `team` is a policy graph: one agent, for `centralised(model)`."""

    policy: AlphaPolicy = field(kw_only=True)
    lower: float = field(kw_only=True)
    upper: float = field(kw_only=True)


def pbvi(
    model: DecPOMDP,
    *,
    epsilon: float = 0.01,
    beliefs: int = 5000,
    nodes: int | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    threads: int | None = None,
    watch: Watch = unwatched,
    keeper: Keeper = UNKEPT,
) -> PbviFit:
    """Plan for one agent that sees and does everything, until the bounds at the start are `epsilon` apart.

    At most `beliefs` beliefs are kept, and the policy graph has at most `nodes` nodes (default: as many as a dense
    controller of moderate size can have). A time limit or an interrupt (Ctrl-C) returns the best so far; a time limit
    of 0 the first team. `keeper` is offered the state before every iteration, and gives back the one to go on from.
    """
    clock = checked(model, seed, time_limit, threads, watch)
    endless(model)
    largest = _largest(model) if nodes is None else checks.whole("nodes", nodes, 1, 100_000)
    gap, most = finite("epsilon", epsilon, 0, beyond=True), checks.whole("beliefs", beliefs, 1, 10_000_000)
    run = Pbvi(model, (gap, most, largest), clock, seed, watch, keeper)
    stopped = run.run()
    settings: Row = {"method": "pbvi", "seed": seed, "time_limit": clock.limit, "epsilon": gap, "beliefs": most}
    return PbviFit(
        team=run.incumbent.team,
        trace=tuple(run.trace),
        stopped=stopped,
        seconds=clock.seconds(),
        settings={**settings, "nodes": largest},
        policy=run.policy,
        lower=run.incumbent.value,
        upper=run.upper,
    )


def _largest(model: DecPOMDP) -> int:
    return max(1, int((TABLE / (model.joint_actions * model.joint_observations)) ** 0.5))
