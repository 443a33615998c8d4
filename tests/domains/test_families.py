"""Families of the field: exact finite-horizon optima as published, and what their rules promise.

Undiscounted optima: FireFighting and Hotel in F. Oliehoek, M. Spaan, C. Amato, S. Whiteson. Incremental clustering and
expansion for faster optimal planning in Dec-POMDPs. JAIR 46, 2013; Grid 3x3 corners and MABC in J. Dibangoye, C. Amato,
O. Buffet, F. Charpillet. Optimally solving Dec-POMDPs as continuous-state MDPs. JAIR 55, 2016. The published file of
FireFighting has rounded probabilities, which moves its optima by up to 4e-4.
"""

from itertools import product

import numpy as np
import pytest

import decpomdp as dp
from decpomdp.domains import registry

slow = pytest.mark.slow


def optimum(name: str, horizon: int) -> float:
    fit = dp.plan(name, dp.FbHsvi(horizon=horizon, epsilon=1e-7), discount=1.0)
    assert fit.facts["upper"] - fit.facts["lower"] < 1e-6
    return fit.facts["lower"]


@pytest.mark.parametrize(
    ("name", "horizon", "published", "digits"),
    [
        ("firefighting", 2, -4.383496, 4e-4),
        ("firefighting", 3, -5.736969, 4e-4),
        pytest.param("firefighting", 4, -6.578834, 4e-4, marks=slow),
        ("gridcorners", 3, 0.1332, 1e-4),
        pytest.param("gridcorners", 4, 0.4330, 1.1e-4, marks=slow),
        ("broadcast:mabc", 3, 2.99, 1e-9),
        ("broadcast:mabc", 5, 4.79, 1e-9),
    ],
)
def test_optima_are_those_published(name, horizon, published, digits):
    assert optimum(name, horizon) == pytest.approx(published, abs=digits)


@pytest.mark.parametrize("agents", [2, 3, 4])
def test_dectiger_for_more_agents(agents):
    model = registry.build(f"dectiger:{agents}")
    assert len(model.agents) == agents
    assert model.reward[0].tolist() == [-agents, -agents]  # all listen
    both = [sum(a * 3 ** (agents - 1 - n) for n in range(agents)) for a in (1, 2)]  # all open left, right
    assert model.reward[both[0]].tolist() == [-50, 10 * agents]
    assert model.reward[both[1]].tolist() == [10 * agents, -50]
    assert model.observation[0, 0, 0] == pytest.approx(0.85**agents, abs=1e-12)


@pytest.mark.parametrize("name", ["firefighting:3,3,3", "firegraph:3,3", "firefighting:2,4,2"])
def test_fires(name):
    model = registry.build(name)
    houses = len(model.states[0].split("-"))
    levels = [tuple(map(int, state.split("-"))) for state in model.states]
    joint = list(product(*([int(a[5:]) - 1 for a in agent.actions] for agent in model.agents)))
    rng = np.random.default_rng(0)
    for u, s in zip(rng.integers(len(joint), size=100), rng.integers(len(levels), size=100), strict=True):
        reached = [levels[t] for t in np.flatnonzero(model.transition[u, s])]
        for house in range(houses):
            after, before, there = {r[house] for r in reached}, levels[s][house], joint[u].count(house)
            if there >= 2:
                assert after == {0}
            elif there == 1:
                assert after <= {before, max(before - 1, 0)}
            else:
                assert min(after) == before
        mean = sum(p * -sum(levels[t]) for t, p in enumerate(model.transition[u, s]))
        assert model.reward[u, s] == pytest.approx(mean)


def test_wireless_packets_leave_only_if_one_transmits():
    """Entries of the public file; states are 32 source2 + 16 source1 + 4 packets2 + packets1, and 0 transmits."""
    model = registry.build("wireless")
    both, first, second, none = model.transition
    assert [table[6].argmax() for table in (both, first, second, none)] == [6, 5, 2, 6]
    assert both[4].argmax() == 4  # a collision even if one has no packet
    assert first[18, [2, 18, 34, 50]].tolist() == pytest.approx([0.0198, 0.9702, 0.0002, 0.0098])
    assert both[63, 63] == pytest.approx(0.9604)  # full buffers: packets are lost
    assert model.start[[0, 16, 32, 48]].tolist() == [0.25] * 4
    seen = model.observation.reshape(4, 64, 6, 6)  # joint action, next state, observations
    assert [seen[u, 1].max() for u in range(4)] == pytest.approx([0.81] * 4)
    assert [np.unravel_index(seen[u, 1].argmax(), (6, 6)) for u in range(4)] == [(5, 2), (4, 1), (4, 1), (3, 0)]
    assert (model.reward == [-(s % 4) - s // 4 % 4 for s in range(64)]).all()
