"""Filter and count in single precision: as in double to six digits, and never silently less."""

import numpy as np
import pytest
from learners import data
from learners.logged import fitted

from decpomdp.core import Agent, Episodes
from decpomdp.core.errors import LearningWarning
from decpomdp.learners import ExpectationMaximisation, StickBreaking
from decpomdp.learners.posterior import Counts, updated
from decpomdp.learners.sweep import DOUBLE, SINGLE, Imprecise, count, evaluate

NEAR = 2e-5  # forty steps of rounding at 6e-8 each, several roundings a step


def both(episodes, posterior):
    work = data.task(episodes)
    for precision in (DOUBLE, SINGLE):
        task = type(work)(work.layout, work.steps, 3.0, 1.0, None, precision)
        yield task, evaluate(task, posterior)


@pytest.mark.parametrize("seed", range(3))
def test_single_is_near_double(seed):
    rng = np.random.default_rng(seed)
    episodes = data.episodes(rng, 2, count=300, longest=40)
    (task, exact), (single, near) = both(episodes, data.posterior(rng, episodes, StickBreaking(), nodes=7))
    assert {table.dtype for table in near.tables[0]} == {np.dtype(np.float32)}
    assert near.bound == pytest.approx(exact.bound, rel=NEAR)
    assert near.bound != exact.bound  # it was another computation
    assert near.weighed.nu == pytest.approx(exact.weighed.nu, rel=40 * NEAR, abs=NEAR)
    for wanted, got in zip(count(task, exact), count(single, near), strict=True):
        assert got.visits == pytest.approx(wanted.visits, rel=40 * NEAR, abs=NEAR)
        assert got.moves == pytest.approx(wanted.moves, rel=40 * NEAR, abs=NEAR)


def two_regimes():
    """Thirty times a, then thirty times b: in single precision the node that likes b is forgotten on the way."""
    agent = Agent("x", ("a", "b"), ("o",))
    actions = np.repeat([0, 1], 30)[:, None]
    seen = np.zeros((60, 1), int)
    seen[0] = -1
    rewards = np.zeros(60)
    rewards[-1] = 1.0
    episodes = Episodes((agent,), np.array([0, 60]), seen, actions, np.full((60, 1), 0.5), rewards, 0.9)
    likes = np.array([[0.5, 0.5], [0.999, 0.001], [0.001, 0.999]])
    moves = np.array([[0.0, 0.5, 0.5], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    counts = Counts(np.zeros((1, 3)), likes, np.tile(moves[:, None, None, :], (1, 2, 1, 1)))
    return episodes, updated(agent, ExpectationMaximisation(3).priors(agent), counts)


def test_lost_weight_is_noticed():
    episodes, posterior = two_regimes()
    (task, exact), (single, near) = both(episodes, (posterior,))
    assert near.bound < exact.bound - 0.1
    count(task, exact)
    with pytest.raises(Imprecise):
        count(single, near)


def test_a_fit_goes_on_in_double(monkeypatch):
    episodes, posterior = two_regimes()
    monkeypatch.setattr("decpomdp.learners.method.beginning", lambda *_: (posterior,))
    prior = ExpectationMaximisation(3)
    exact = fitted(episodes, prior, settings={"sweeps": 3, "starts": 1})
    with pytest.warns(LearningWarning, match="continuing in double precision"):
        near = fitted(episodes, prior, settings={"sweeps": 3, "starts": 1, "precision": "single"})
    assert near.trace[-1]["bound"] == pytest.approx(exact.trace[-1]["bound"], rel=1e-12)
