"""FB-HSVI: heuristic search value iteration over occupancy states, for any number of agents.

Feature-based heuristic search value iteration (Dibangoye, Amato, Buffet, Charpillet 2013, 2014, 2016) treats a
decentralised problem as a deterministic one over occupancy states (`occupancy`). Here:

    trial     from the start follow the rule that the upper bound likes best, until the gap that is left is small
    home      back up the bounds of the points visited, last one first (`points`)
    sketch    a policy graph along the trial's rules and on, polished and closed to a loop (`sketching`)

The lower bound is the exact value of the team that is returned; the upper bound is certified whatever the sketches do.
docs/fb_hsvi.md says what is proved, what is approximated and what was measured.
"""

from decpomdp.core import DecPOMDP, Fit, Watch, checks, unwatched
from decpomdp.core.keeping import UNKEPT, Keeper
from decpomdp.planners.arguments import checked, endless, finite
from decpomdp.planners.fb_hsvi.method import Search

LONGEST = 10_000  # steps of a finite horizon
ROUNDS = 100  # when neither a time limit nor a number of rounds is given


def fb_hsvi(
    model: DecPOMDP,
    *,
    horizon: int | None = None,
    epsilon: float = 0.01,
    tolerance: float = 0.0,
    time_limit: float | None = None,
    iterations: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    watch: Watch = unwatched,
    keeper: Keeper = UNKEPT,
) -> Fit:
    """The best team that is found for `model` over `horizon` steps or for ever, with a certified gap.

    Stops when upper - lower <= `epsilon`, after `time_limit` seconds (0: with the first team), after `iterations`
    rounds of trials and sketches (100 if neither is given), or on an interrupt (Ctrl-C), always with the best team.
    `tolerance`: mass that one merging of labels may move in the certified search; 0 keeps it lossless.
    `keeper` is offered the state before every round and every trial, and gives back the one to go on from.
    """
    clock = checked(model, seed, time_limit, threads, watch)
    gaps = finite("epsilon", epsilon, 0), finite("tolerance", tolerance, 0)
    if horizon is None:
        endless(model, "; give a horizon")
    else:
        horizon = checks.whole("horizon", horizon, 1, LONGEST)
    rounds = ROUNDS if iterations is None and clock.limit is None else iterations
    if rounds is not None:
        checks.whole("iterations", rounds, 1, 2**31)
    return Search(model, horizon, gaps, clock, rounds, seed, watch, keeper).run()
