"""Everything that FB-HSVI compiles, compiled: a tiny search with as many agents, and a game that takes a search."""

import numpy as np

from decpomdp.core import unwatched
from decpomdp.core.agent import joint_table
from decpomdp.planners.fb_hsvi.method import Search
from decpomdp.planners.fb_hsvi.rules import game_of, solve
from decpomdp.planners.stopping import RehearsalClock
from decpomdp.planners.tiny import tiny


def rehearse(count: int) -> None:
    """Compile for `count` agents, so that a time limit is for the work alone."""
    search = Search(tiny(count), None, (1e-3, 0.0), RehearsalClock(), 1, 0, unwatched)
    search.prepare()
    search.search()
    counts, rng = (4,) * count, np.random.default_rng(0)
    hard = game_of(rng.normal(size=(4**count, 2**count)), joint_table(counts), counts, [2] * count)
    solve(hard, nodes=10, exact=False)  # a game that its bound does not settle
