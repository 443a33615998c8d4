"""Maintenance of a k-out-of-n system: each agent maintains one component; the system runs while k of n work.

States: the condition of every component: new, worn or failed; all new at the start.
Actions: run, inspect, repair. Observations: good or bad.

Dynamics: a component that is not repaired wears one step with probability 0.2 (new to worn) or 0.3 (worn to failed). A
repair makes it new for the next step. Observations: after `inspect` the agent sees whether its component is new, right
with probability 0.9; otherwise it sees `bad` with probability 0.4 if the component has failed and 0.1 if not. Rewards:
2 for every step in which at least k components have not failed and are not being repaired, otherwise -8; an inspection
costs 0.2, a repair 1.

A reconstruction: k-out-of-n systems are a standard case of decentralised inspection and maintenance (see P. Andriotis,
K. Papakonstantinou. Deep reinforcement learning driven inspection and maintenance planning under incomplete information
and constraints. Reliability Engineering & System Safety 212, 2021); the numbers are ours.
"""

from itertools import product

from decpomdp.core import DecPOMDP
from decpomdp.core.errors import InputError
from decpomdp.domains.rules import from_rules

CONDITIONS = ("new", "worn", "failed")
WEARS = {"new": 0.2, "worn": 0.3}
SEEN_BAD = {True: {"new": 0.1, "worn": 0.9, "failed": 0.9}, False: {"new": 0.1, "worn": 0.1, "failed": 0.4}}
RUNNING, DOWN = 2.0, -8.0
COSTS = {"run": 0.0, "inspect": -0.2, "repair": -1.0}


def build(n: int = 3, k: int = 2, discount: float = 0.9, name: str = "maintenance") -> DecPOMDP:
    """Each of n agents runs, inspects or repairs one component of a system that runs while k components work.

    Components wear unseen; inspection shows the condition with accuracy 0.9. The system earns 2 per step while it runs
    and loses 8 otherwise; a component under repair does not work. A reconstruction: the numbers are ours.
    """
    if k > n:
        raise InputError(f"maintenance: expected k of at most n = {n}, got {k}")

    def transition(agent: int, state: tuple[str, ...], action: str) -> object:
        condition = state[agent]
        if action == "repair":
            return "new"
        if condition == "failed":
            return "failed"
        wears = WEARS[condition]
        return {CONDITIONS[CONDITIONS.index(condition) + 1]: wears, condition: 1 - wears}

    def observation(agent: int, action: str, next_state: tuple[str, ...]) -> dict[str, float]:
        bad = SEEN_BAD[action == "inspect"][next_state[agent]]
        return {"good": 1 - bad, "bad": bad}

    def system(state: tuple[str, ...], actions: tuple[str, ...]) -> float:
        working = sum(c != "failed" and a != "repair" for c, a in zip(state, actions, strict=True))
        return RUNNING if working >= k else DOWN

    return from_rules(
        agents=n,
        states=product(CONDITIONS, repeat=n),
        actions=tuple(COSTS),
        observations=("good", "bad"),
        start=("new",) * n,
        transition=transition,
        observation=observation,
        reward=[system, lambda action: COSTS[action]],
        discount=discount,
        name=name,
    )
