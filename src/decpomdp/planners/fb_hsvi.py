"""FB-HSVI: heuristic search value iteration over occupancy states, for any number of agents.

Feature-based heuristic search value iteration (Dibangoye, Amato, Buffet, Charpillet 2013, 2014, 2016) treats a
decentralised problem as a deterministic one over occupancy states (`occupancy`). Here:

    trial     from the start follow the rule that the upper bound likes best, until the gap that is left is small
    home      back up the bounds of the points visited, last one first (`points`)
    sketch    a policy graph along the trial's rules and on, polished and closed to a loop (`sketching`)

The lower bound is the exact value of the team that is returned; the upper bound is certified whatever the sketches do.
docs/fb_hsvi.md says what is proved, what is approximated and what was measured.
"""

import math

from decpomdp.core import DecPOMDP, InputError
from decpomdp.core.checks import whole
from decpomdp.core.fit import Fit, Watch, unwatched
from decpomdp.engines.clock import Clock
from decpomdp.planners.hsvi_search import Search

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
) -> Fit:
    """The best team that is found for `model` over `horizon` steps or for ever, with a certified gap.

    Stops when upper - lower <= `epsilon`, after `time_limit` seconds, after `iterations` rounds of trials and sketches
    (100 if neither is given), or on an interrupt (Ctrl-C), always with the best team so far. `tolerance`: mass that
    one merging of labels may move in the certified search; 0 keeps it lossless.
    """
    _check(model, horizon, epsilon, tolerance, time_limit, iterations)
    rounds = ROUNDS if iterations is None and time_limit is None else iterations
    return Search(model, horizon, epsilon, tolerance, Clock(time_limit), rounds, seed, threads, watch).run()


def _check(
    model: DecPOMDP,
    horizon: int | None,
    epsilon: float,
    tolerance: float,
    time_limit: float | None,
    iterations: int | None,
) -> None:
    if not isinstance(model, DecPOMDP):
        raise InputError(f"fb_hsvi: expected a model (DecPOMDP), got {type(model).__name__}")
    if horizon is None and model.discount >= 1:
        raise InputError(f"an infinite horizon needs a discount below 1, got {model.discount}; give a horizon")
    if horizon is not None:
        whole("horizon", horizon, 1, LONGEST)
    if iterations is not None:
        whole("iterations", iterations, 1, 2**31)
    for name, value in (("epsilon", epsilon), ("tolerance", tolerance)):
        if not (isinstance(value, int | float) and 0 <= value < math.inf):
            raise InputError(f"{name}: expected a number of at least 0, got {value!r}")
    if time_limit is not None and not (isinstance(time_limit, int | float) and time_limit > 0):
        raise InputError(f"time_limit: expected a number of seconds above 0, got {time_limit!r}")
