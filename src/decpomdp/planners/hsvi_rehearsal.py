"""Everything that FB-HSVI compiles, compiled: a tiny search with as many agents, and a game that takes a search."""

import numpy as np

from decpomdp.core import Agent, DecPOMDP, unwatched
from decpomdp.core.agent import joint_table
from decpomdp.planners.decision_rules import game_of, solve
from decpomdp.planners.hsvi_search import Search
from decpomdp.planners.stopping import RehearsalClock


def rehearse(count: int) -> None:
    """Compile for `count` agents, so that a time limit is for the work alone."""
    agents = tuple(Agent(f"agent{n}", ("0", "1"), ("0", "1")) for n in range(count))
    joint = 2 ** len(agents)
    rng = np.random.default_rng(0)
    tiny = DecPOMDP(
        agents=agents,
        states=("0", "1"),
        start=np.array([0.5, 0.5]),
        transition=rng.dirichlet(np.ones(2), (joint, 2)),
        observation=rng.dirichlet(np.ones(joint), (joint, 2)),
        reward=rng.normal(size=(joint, 2)),
        discount=0.5,
    )
    search = Search(tiny, None, (1e-3, 0.0), RehearsalClock(), 1, 0, unwatched)
    search.prepare()
    search.search()
    counts = (4,) * len(agents)
    hard = game_of(rng.normal(size=(4 ** len(agents), joint)), joint_table(counts), counts, [2] * len(agents))
    solve(hard, nodes=10, exact=False)  # a game that its bound does not settle
