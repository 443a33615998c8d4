"""The bound never falls, for every prior on every problem; its gradient vanishes where a fit ends."""

import dataclasses
import functools

import numpy as np
import pytest
from learners import data
from learners.logged import fitted

import decpomdp as dp
from decpomdp.core.errors import LearningWarning
from decpomdp.domains import registry
from decpomdp.learners import (
    ExpectationMaximisation,
    Fixed,
    StickBreaking,
    dirichlet_process,
)
from decpomdp.learners.sweep import count

PRIORS = {
    "default": StickBreaking(),
    "paper, scale": StickBreaking(d=1e-6),
    "paper, rate": StickBreaking(d=1e-6, reading="rate"),
    "sigma 0.1": StickBreaking(sigma=0.1),
    "sigma 2, rate 1": StickBreaking(sigma=2.0, c=0.5, d=1.0, reading="rate"),
    "dp": dirichlet_process(),
    "dp, rate 1": dirichlet_process(c=1.0, d=1.0, reading="rate"),
    "fixed": Fixed(4),
    "em": ExpectationMaximisation(4),
}


PROBLEMS = [*registry.PAPER, "traffic:2"]
BEGINNINGS = ["best", "random"]


def cases():
    """Every prior and every problem, each with another one of the other; evidence and beginning take turns."""
    names = list(PRIORS)
    for k in range(2 * len(PROBLEMS)):
        yield PROBLEMS[k % len(PROBLEMS)], names[(k + k // len(PROBLEMS)) % len(names)], (1.0, None)[k % 2], k // 2 % 2


@functools.cache
def played(problem):
    model = dp.load(problem)
    return dp.simulate(model, dp.Team.uniform(model), 60, 6, seed=3)


@pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning")
@pytest.mark.parametrize(("problem", "name", "evidence", "begin"), list(cases()))
def test_never_falls(problem, name, evidence, begin):
    nodes = 6 if PRIORS[name].nodes is None else None
    settings = {"evidence": evidence, "truncation": nodes, "sweeps": 11, "tolerance": 0.0, "starts": 1, "judge": False}
    settings |= {"alpha": (0.0, 0.3, 1.0)[len(problem) % 3], "utility": ("return", "reward")[begin]}
    fit = fitted(played(problem), PRIORS[name], BEGINNINGS[begin], settings=settings, seed=1, threads=1)
    bounds = np.array([row["bound"] for row in fit.trace])
    rises = np.diff(bounds)
    assert len(rises) == 11 or fit.stopped == "converged"
    assert (rises >= -1e-10 * np.maximum(1, np.abs(bounds[1:]))).all(), rises.min()
    assert bounds[-1] > bounds[0]


@pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning")
@pytest.mark.parametrize(("shown", "name"), [(k % 2 == 0, name) for k, name in enumerate(PRIORS)])
def test_never_falls_whatever_the_episodes(name, shown):
    """Of different lengths, seen first or not, some ended by themselves; with starts and merges before."""
    episodes = data.episodes(np.random.default_rng(5), 3, count=60, longest=6, first=shown, ended=True)
    truncation = 4 if PRIORS[name].nodes is None else None
    for preset in ("default", "as-printed"):
        settings = {"truncation": truncation, "sweeps": 10, "preset": preset}
        bounds = np.array([row["bound"] for row in fitted(episodes, PRIORS[name], settings=settings, threads=1).trace])
        assert (np.diff(bounds) >= -1e-10 * np.maximum(1, np.abs(bounds[1:]))).all()


@pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning")
def test_a_fall_is_told(monkeypatch):
    """A wrong update is found out: here the moves are counted backwards."""
    model = dp.load("dectiger")
    episodes = dp.simulate(model, dp.Team.uniform(model), 60, 6, seed=3)
    monkeypatch.setattr("decpomdp.learners.method.count", _wrong_count)
    settings = {"sweeps": 10, "tolerance": 0.0, "starts": 1, "judge": False}
    with pytest.warns(LearningWarning, match=r"the bound fell at sweep \d+: from .* to "):
        fitted(episodes, Fixed(4), "random", settings=settings)


def _wrong_count(task, evaluated):
    return [dataclasses.replace(c, moves=c.moves[..., ::-1], visits=c.visits[:, ::-1]) for c in count(task, evaluated)]
