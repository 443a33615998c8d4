"""Whatever the truncation, a fit ends with the size that the data support: the same one, with the same bound."""

import numpy as np
import pytest
from learners.logged import fitted

import decpomdp as dp
from decpomdp.core import Agent, Episodes
from decpomdp.learners import StickBreaking

PRIORS = {
    "paper": "stick-breaking",
    "dp": "dp",
    "rate": StickBreaking(reading="rate"),
    "sigma 2": StickBreaking(sigma=2.0),
    "sigma 0.5": StickBreaking(sigma=0.5),
}


def turns(pattern, count, horizon, seed):
    """One agent, rewarded for doing what the pattern says at every step; its actions are random."""
    rng, actions = np.random.default_rng(seed), max(2, max(pattern) + 1)
    did = rng.integers(0, actions, (count, horizon))
    seen = np.where(np.arange(horizon) == 0, -1, 0) + np.zeros((count, 1), int)
    return recorded("abcd"[:actions], "o", did, seen, did == np.resize(pattern, horizon))


def echoes(lag, count, horizon, seed):
    """One agent, rewarded for doing what it saw `lag` observations ago."""
    rng = np.random.default_rng(seed)
    did, seen = rng.integers(0, 2, (count, horizon)), rng.integers(0, 2, (count, horizon))
    good = np.zeros((count, horizon), bool)
    good[:, lag:] = did[:, lag:] == seen[:, 1 : horizon - lag + 1]
    seen[:, 0] = -1
    return recorded("ab", "01", did, seen, good)


def recorded(actions, observations, did, seen, good):
    count, horizon = did.shape
    return Episodes(
        (Agent("x", tuple(actions), tuple(observations)),),
        np.arange(count + 1) * horizon,
        seen.reshape(-1, 1),
        did.reshape(-1, 1),
        np.full((count * horizon, 1), 1 / len(actions)),
        good.ravel().astype(float),
        0.9,
    )


def broadcast():
    return dp.simulate("broadcast", "random", episodes=200, horizon=5, seed=1)


def three():
    """Three agents who need one, two and three nodes: rewarded while all have been right so far."""
    rng, count, horizon = np.random.default_rng(7), 3000, 3
    agents = tuple(Agent(name, tuple("abc"[:actions]), ("o",)) for name, actions in (("x", 2), ("y", 2), ("z", 3)))
    did = np.stack([rng.integers(0, len(agent.actions), (count, horizon)) for agent in agents], axis=-1)
    wanted = np.stack([np.arange(horizon) % size for size in (1, 2, 3)], axis=-1)
    good = np.logical_and.accumulate((did == wanted).all(axis=2), axis=1)
    seen = np.tile(np.where(np.arange(horizon) == 0, -1, 0)[:, None], (count, 1, 3))
    chances = np.broadcast_to([1 / len(agent.actions) for agent in agents], (count * horizon, 3))
    offsets = np.arange(count + 1) * horizon
    return Episodes(agents, offsets, seen.reshape(-1, 3), did.reshape(-1, 3), chances, good.ravel().astype(float), 0.9)


DATA = {
    "three agents": three,
    "one": lambda: turns([0], 300, 6, 0),
    "two in turn": lambda: turns([0, 1], 300, 6, 0),
    "two twice each": lambda: turns([0, 0, 1, 1], 800, 8, 2),
    "the last one seen": lambda: echoes(1, 800, 6, 4),
    "the one before": lambda: echoes(2, 2000, 8, 5),
    "broadcast": broadcast,
}


@pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning")
@pytest.mark.parametrize(
    ("prior", "data", "most", "sizes"),
    [
        ("paper", "broadcast", 20, (1, 2)),
        pytest.param("sigma 2", "broadcast", 50, (1, 2), marks=pytest.mark.slow),
        pytest.param("dp", "the last one seen", 50, (2,), marks=pytest.mark.slow),
        pytest.param("paper", "the last one seen", 50, (2,), marks=pytest.mark.slow),
        pytest.param("paper", "three agents", 50, (1, 2, 3), marks=pytest.mark.slow),
        *(
            pytest.param(prior, data, 50, None, marks=pytest.mark.slow, id=f"{prior}, {data}")
            for prior in PRIORS
            for data in DATA
        ),
    ],
)
def test_the_size_does_not_depend_on_the_truncation(prior, data, most, sizes):
    episodes = DATA[data]()
    few, many = (fitted(episodes, PRIORS[prior], settings={"truncation": nodes}) for nodes in (3, most))
    assert (few.stopped, many.stopped) == ("converged", "converged")
    assert few.posterior.sizes == many.posterior.sizes
    assert sizes is None or many.posterior.sizes == sizes
    assert few.trace[-1]["bound"] == pytest.approx(many.trace[-1]["bound"], rel=1e-4)
