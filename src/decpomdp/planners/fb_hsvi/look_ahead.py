"""The first steps of a plan, searched for rather than taken greedily: a finite horizon with an estimate beyond it.

The next few steps are a problem of their own, with lossless compression and the exact bounds of `points`, if one says
what the states are worth after them. Here: what one mind could earn from there, less what the best team so far falls
short of that at the start. An estimate, so what is found is a way to begin a walk, and no bound on anything.
"""

import math
from collections.abc import Callable

import numpy as np

from decpomdp.core import DecPOMDP
from decpomdp.planners.fb_hsvi.bounds import central_bound
from decpomdp.planners.fb_hsvi.occupancy import Rule
from decpomdp.planners.fb_hsvi.points import Point, Points
from decpomdp.planners.fb_hsvi.sketches import Sketcher

POINTS = 300  # to visit
TRIALS = 400
CLOSE = 1e-3  # relative: a gap this small will do


def look_ahead(model: DecPOMDP, sketcher: Sketcher, steps: int, value: float, check: Callable[[], None]) -> list[Rule]:
    """The best decision rules found for the first `steps` steps; `value`: of the best team so far."""
    above = sketcher.central.at(None).max(axis=0)  # [s]
    start = sketcher.start
    short = max(0.0, float(start.weight @ above[start.state]) - value)
    central = central_bound(model, sketcher.dynamics, steps, np.asarray(above - short), check)
    points = Points(sketcher.dynamics, central, sketcher.sizes, model.discount, 0.0, check)
    root = points.point(start, steps)

    def is_open(point: Point, earned: float, fade: float) -> bool:
        check()
        gap = CLOSE * max(1.0, abs(value))
        return point.left != 0 and fade * (point.upper - point.lower) > gap and earned + fade * point.upper > root.lower

    for _ in range(TRIALS):
        if len(points) > POINTS or not is_open(root, 0.0, 1.0):
            break
        points.trial(root, is_open)
    return [edge.rule for edge in points.best_edges(root)] if root.lower > -math.inf else []
