"""The bound never falls, for every prior on every problem; its gradient vanishes where a fit ends."""

import dataclasses
import functools

import msgspec
import numpy as np
import pytest
from learners import data
from learners.logged import fitted

import decpomdp as dp
from decpomdp import domains
from decpomdp.core.errors import LearningWarning
from decpomdp.learners import (
    ExpectationMaximisation,
    Fixed,
    StickBreaking,
    dirichlet_process,
)
from decpomdp.learners.concentration import Concentration
from decpomdp.learners.posterior import AgentPosterior
from decpomdp.learners.sticks import Sticks
from decpomdp.learners.sweep import count, evaluate, update

PRIORS = {
    "paper, scale": StickBreaking(),
    "paper, rate": StickBreaking(reading="rate"),
    "sigma 0.1": StickBreaking(sigma=0.1),
    "sigma 2, rate 1": StickBreaking(sigma=2.0, c=0.5, d=1.0, reading="rate"),
    "dp": dirichlet_process(),
    "dp, rate 1": dirichlet_process(c=1.0, d=1.0, reading="rate"),
    "fixed": Fixed(4),
    "em": ExpectationMaximisation(4),
}


@pytest.fixture
def begun_once(monkeypatch):
    """A function: from here on nothing begins afresh, which takes most of the time and is a fit like any other."""
    return lambda: monkeypatch.setattr("decpomdp.learners.method.other_sizes", lambda *_: [])


PROBLEMS = [*domains.PAPER, "traffic:2"]
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


def rising(fit):
    bounds = np.array([row["bound"] for row in fit.trace])
    rises = np.diff(bounds)
    assert len(rises) == 11 or fit.stopped == "converged"
    assert (rises >= -1e-10 * np.maximum(1, np.abs(bounds[1:]))).all(), rises.min()
    assert bounds[-1] > bounds[0]


@pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning")
@pytest.mark.parametrize(("problem", "name", "evidence", "begin"), list(cases()))
def test_never_falls(problem, name, evidence, begin, begun_once):
    begun_once()
    nodes = 6 if PRIORS[name].nodes is None else None
    settings = {"evidence": evidence, "truncation": nodes, "sweeps": 11, "tolerance": 0.0}
    rising(fitted(played(problem), PRIORS[name], BEGINNINGS[begin], settings=settings, seed=1, threads=1))


@pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning")
@pytest.mark.parametrize("begin", BEGINNINGS)
@pytest.mark.parametrize("name", ["paper, scale", "sigma 2, rate 1", "dp"])
def test_never_falls_when_begun_afresh(name, begin):
    settings = {"truncation": 6, "sweeps": 11, "tolerance": 0.0}
    rising(fitted(played("broadcast"), PRIORS[name], begin, settings=settings, seed=1, threads=1))


@pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning")
@pytest.mark.parametrize("name", PRIORS)
@pytest.mark.parametrize("shown", [False, True])
def test_never_falls_whatever_the_episodes(name, shown, begun_once):
    """Of different lengths, seen first or not, some ended by themselves; from one node up where sizes are inferred."""
    if name != "paper, scale" or shown:
        begun_once()
    episodes = data.episodes(np.random.default_rng(5), 3, count=60, longest=6, first=shown, ended=True)
    for nodes in (1, 6):
        truncation = nodes if PRIORS[name].nodes is None else None
        settings = {"truncation": truncation, "sweeps": 10}  # other sizes are tried at the fifth and at the last
        bounds = np.array([row["bound"] for row in fitted(episodes, PRIORS[name], settings=settings, threads=1).trace])
        assert (np.diff(bounds) >= -1e-10 * np.maximum(1, np.abs(bounds[1:]))).all()


@pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning")
@pytest.mark.parametrize("sigma", [0.5, 2.0])
def test_long_fits_stay_bounded(sigma, begun_once):
    """Hundreds of sweeps with empty sticks: what they cost stays, and nothing pays."""
    begun_once()
    episodes = dp.simulate("broadcast", "random", episodes=60, horizon=4, seed=1)
    settings = {"truncation": 6, "sweeps": 320, "tolerance": 0.0}
    fit = fitted(episodes, StickBreaking(sigma=sigma), settings=settings, threads=1)
    bounds = np.array([row["bound"] for row in fit.trace])
    assert len(bounds) == 321
    assert np.isfinite(bounds).all()
    assert (np.diff(bounds) >= -1e-10 * np.maximum(1, np.abs(bounds[1:]))).all()
    assert bounds[-1] - bounds[-50] < 0.01 * abs(bounds[-1])
    assert bounds[-1] <= 60 * np.log(episodes.rewards.sum() / 60 * 2.0**8)  # without a prior, at the largest ratios


@pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning")
def test_a_sigma_next_to_one_is_as_one(begun_once):
    begun_once()
    episodes = dp.simulate("broadcast", "random", episodes=100, horizon=4, seed=1)
    settings = {"truncation": 6, "sweeps": 300}
    fits = [
        fitted(episodes, StickBreaking(sigma=sigma), settings=settings, threads=1)
        for sigma in (1.0, 1 - 1e-6, 1 + 1e-6)
    ]
    assert {fit.stopped for fit in fits} == {"converged"}
    assert len({fit.posterior.sizes for fit in fits}) == 1
    ends = [fit.trace[-1]["bound"] for fit in fits]
    assert ends[1:] == pytest.approx([ends[0]] * 2, rel=1e-5)


@pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning")
def test_a_fall_is_told(monkeypatch):
    """A wrong update is found out: here the moves are counted backwards."""
    model = dp.load("dectiger")
    episodes = dp.simulate(model, dp.Team.uniform(model), 60, 6, seed=3)
    monkeypatch.setattr("decpomdp.learners.method.count", _wrong_count)
    settings = {"sweeps": 10, "tolerance": 0.0}
    with pytest.warns(LearningWarning, match=r"the bound fell at sweep \d+: from .* to "):
        fitted(episodes, Fixed(4), "random", settings=settings)


def _wrong_count(task, evaluated):
    return [dataclasses.replace(c, moves=c.moves[..., ::-1], visits=c.visits[:, ::-1]) for c in count(task, evaluated)]


@pytest.mark.parametrize(
    "prior",
    [
        StickBreaking(c=1.5, d=2.0, reading="rate"),
        StickBreaking(sigma=0.5, c=1.5, d=2.0, reading="rate"),
        StickBreaking(sigma=2.0, c=1.5, d=2.0, reading="rate"),
        dirichlet_process(c=1.5, d=2.0, reading="rate"),
        Fixed(2),
    ],
)
def test_gradient_vanishes_at_a_fixed_point(prior):
    rng = np.random.default_rng(2)
    episodes = data.episodes(rng, 2, count=8)
    work = data.task(episodes, evidence=8.0)
    posterior = data.posterior(rng, episodes, prior, nodes=2)
    for _ in range(200):
        posterior = update((found := evaluate(work, posterior)), count(work, found))
    here = evaluate(work, posterior).bound
    for changed, size in _changes(posterior[0], rng):
        slope = (
            evaluate(work, (changed(+1), *posterior[1:])).bound - evaluate(work, (changed(-1), *posterior[1:])).bound
        ) / size
        assert abs(slope) < 1e-4 * max(1, abs(here))
    moved, size = next(iter(_changes(data.posterior(rng, episodes, prior, nodes=2)[0], rng)))
    away = (
        evaluate(work, (moved(+1), *posterior[1:])).bound - evaluate(work, (moved(-1), *posterior[1:])).bound
    ) / size
    assert abs(away) > 1e-3  # elsewhere the gradient is seen


def _changes(agent: AgentPosterior, rng):
    """Small changes of each kind of parameter, as functions of the sign."""
    step = 1e-5

    def scaled(table, sign, direction):
        return table * np.exp(sign * step * direction)

    a = rng.normal(size=agent.action.weights.shape)
    yield (
        (
            lambda sign: dataclasses.replace(
                agent, action=msgspec.structs.replace(agent.action, weights=scaled(agent.action.weights, sign, a))
            )
        ),
        2 * step,
    )
    if not isinstance(agent.move, Sticks):
        w = rng.normal(size=agent.move.weights.shape)
        yield (
            (
                lambda sign: dataclasses.replace(
                    agent, move=msgspec.structs.replace(agent.move, weights=scaled(agent.move.weights, sign, w))
                )
            ),
            2 * step,
        )
        return
    d = rng.normal(size=agent.move.left.shape)
    for field in ("left", "right"):
        yield (
            (
                lambda sign, field=field: dataclasses.replace(
                    agent,
                    move=msgspec.structs.replace(agent.move, **{field: scaled(getattr(agent.move, field), sign, d)}),
                )
            ),
            2 * step,
        )
    eta = agent.move.eta

    def changed(sign):
        one = d if eta.shape.size > 1 else d[:1, :1]
        both = Concentration(scaled(eta.shape, sign, one), scaled(eta.rate, sign, -0.5 * one))
        return dataclasses.replace(agent, move=msgspec.structs.replace(agent.move, eta=both))

    yield changed, 2 * step
