"""The size that is learned is the one that the data support, whatever the truncation and the beginning."""

import dataclasses
import functools

import numpy as np
import pytest
from learners.logged import alternating, fitted, logged, quiet

from decpomdp.core import Agent, Episodes, Team
from decpomdp.learners import (
    StickBreaking,
    dirichlet_process,
)


@quiet
def test_truncation_fifty_ends_with_the_size_the_data_support():
    _, episodes = logged("dectiger", 300, 6)
    fit = fitted(episodes, settings={"truncation": 50, "sweeps": 30})
    first, last = fit.trace[0], fit.trace[-1]
    assert first["truncation"] == 50
    assert last["mean_nodes"] < 10
    assert last["truncation"] < 14
    assert fit.posterior.sizes == tuple(int(size) for size in last["nodes"].split("+"))
    assert all(size <= wanted for size, wanted in zip(fit.team.nodes, fit.posterior.sizes, strict=True))


def test_the_truncation_grows_when_every_node_is_used():
    settings = {"truncation": 2, "sweeps": 100}
    prior = dirichlet_process(c=1.0, d=1.0, reading="rate")
    fit = fitted(alternating(), prior, "random", settings=settings)
    bounds = [row["bound"] for row in fit.trace]
    assert fit.trace[0]["truncation"] == 2
    assert max(row["truncation"] for row in fit.trace) == 3
    assert fit.trace[-1]["nodes"] == "2"
    assert bounds == sorted(bounds)
    assert fit.decided.nodes == (2,)


@pytest.mark.parametrize(
    ("truncation", "begin"),
    [
        *[(3, "random"), (50, "best")],
        *(pytest.param(*case, marks=pytest.mark.slow) for case in [(3, "best"), (10, "best")]),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in [(10, "random"), (50, "random")]),
    ],
)
def test_the_size_is_what_the_data_support_whatever_the_truncation(begin, truncation):
    fit = fitted(alternating(), begin=begin, settings={"truncation": truncation})
    assert fit.posterior.sizes == (2,)
    assert fit.trace[-1]["bound"] == pytest.approx(592.2, abs=0.5)


@quiet
@pytest.mark.parametrize("sigma", [0.5, 2.0])
@pytest.mark.parametrize("truncation", [pytest.param(3, marks=pytest.mark.slow), 50])
def test_the_size_is_the_same_with_another_sigma(sigma, truncation):
    settings = {"truncation": truncation}
    fit = fitted(alternating(), StickBreaking(sigma=sigma), settings=settings, threads=1)
    assert fit.stopped == "converged"
    assert fit.posterior.sizes == (2,)
    assert fit.decided.nodes == (2,)


@functools.cache
def end_from_ten_nodes(prior):
    return fitted(alternating(), prior, settings={"truncation": 10}).trace[-1]["bound"]


@pytest.mark.parametrize(
    ("prior", "begin"),
    [
        *(("stick-breaking", begin) for begin in ("best", "random", "team")),
        ("dp", "random"),
        pytest.param("dp", "best", marks=pytest.mark.slow),
        pytest.param("dp", "team", marks=pytest.mark.slow),
    ],
)
def test_a_single_node_grows_where_the_data_support_more(begin, prior):
    """A split gives the start node the action that was taken more often, here the wrong one to begin with."""
    episodes = alternating()
    first = Team.uniform(episodes) if begin == "team" else begin
    fit = fitted(episodes, prior, first, settings={"truncation": 1})
    bounds = np.array([row["bound"] for row in fit.trace])
    assert fit.trace[0]["truncation"] == 1
    assert fit.posterior.sizes == (2,)
    assert fit.decided.controllers[0].action.argmax(axis=1).tolist() == [0, 1]
    assert (np.diff(bounds) >= -1e-10 * np.abs(bounds[1:])).all()
    assert fit.stopped == "converged"
    assert bounds[-1] == pytest.approx(end_from_ten_nodes(prior), abs=0.5)


def test_without_a_fresh_beginning_a_single_node_stays(monkeypatch):
    monkeypatch.setattr("decpomdp.learners.method.other_sizes", lambda *_: [])
    fit = fitted(alternating(), settings={"truncation": 1})
    assert fit.posterior.sizes == (1,)


def test_a_single_node_may_grow_beyond_twice_its_truncation():
    """Rewarded is a, b, c in turn: three nodes are needed, one is given."""
    rng = np.random.default_rng(0)
    count, horizon = 600, 3
    did = rng.integers(0, 3, count * horizon)
    wanted = np.arange(count * horizon) % horizon
    episodes = Episodes(
        (Agent("x", ("a", "b", "c"), ("o",)),),
        np.arange(count + 1) * horizon,
        np.where(wanted == 0, -1, 0)[:, None],
        did[:, None],
        np.full((count * horizon, 1), 1 / 3),
        (did == wanted).astype(float),
        0.9,
    )
    ends = [fitted(episodes, settings={"truncation": nodes}) for nodes in (1, 8)]
    assert ends[0].posterior.sizes == ends[1].posterior.sizes == (3,)
    assert ends[0].trace[-1]["bound"] == pytest.approx(ends[1].trace[-1]["bound"], abs=0.5)


@quiet
def test_more_nodes_than_the_data_support_are_not_kept():
    """What is earned does not depend on memory: a single node is right, and stays, although splits are offered."""
    rng = np.random.default_rng(1)
    did = rng.integers(0, 2, 2000)
    episodes = dataclasses.replace(alternating(), actions=did[:, None], rewards=(did == 0).astype(float))
    for truncation in (1, 50):
        fit = fitted(episodes, settings={"truncation": truncation})
        assert fit.posterior.sizes == (1,)
