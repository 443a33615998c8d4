"""Every arrow of the sweep against enumeration of all node paths."""

from dataclasses import replace

import numpy as np
import pytest
from learners import data
from oracles import sweeps

from decpomdp.core import Agent, Episodes
from decpomdp.filtering.filter import filtered, lay_out
from decpomdp.learners import ExpectationMaximisation, Fixed, StickBreaking, dirichlet_process
from decpomdp.learners.sweep import agent_bounds, count, evaluate, update

EXACT = 1e-10
MILD = {"c": 1.5, "d": 2.0, "reading": "rate"}  # concentrations of order one: every term of the bound counts
PRIORS = {
    "stick-breaking": StickBreaking(**MILD),
    "sigma 2.5": StickBreaking(sigma=2.5, **MILD),
    "dp": dirichlet_process(**MILD),
    "fixed": Fixed(3),
    "em": ExpectationMaximisation(3),
}
CASES = [(1, False), (2, False), (2, True), (3, False)]


def controllers(evaluated, shown):
    """The sub-normalised controllers in the oracle's layout."""
    result = []
    for agent, tables in zip(evaluated.posterior, evaluated.tables, strict=True):
        z, a, o = agent.nodes, len(agent.agent.actions), len(agent.agent.observations)
        move = tables.move.reshape(a, o, z, z).transpose(2, 0, 1, 3)
        result.append((tables.initial[0], tables.initial[1:] if shown else None, tables.act.T, move))
    return result


def setting(name, agents, first, seed=0, alpha=1.0):
    rng = np.random.default_rng(seed)
    episodes = data.episodes(rng, agents, first=first)
    work = data.task(episodes, alpha=alpha)
    return episodes, work, data.posterior(rng, episodes, PRIORS[name], first=first)


def behaved(work, episodes):
    """What the bound leaves out at alpha = 0: the behaviour's own log likelihood, times the evidence."""
    weights = work.steps.gain / work.steps.gain.sum()
    return 0.0 if work.power > 0 else work.evidence * float(weights @ work.steps.log_behaviour)


@pytest.mark.parametrize("name", PRIORS)
@pytest.mark.parametrize(("agents", "first"), CASES)
@pytest.mark.parametrize(("seed", "alpha"), [(0, 1.0), (1, 0.4), (1, 0.0)])
def test_likelihoods_weights_and_counts(name, agents, first, seed, alpha):
    episodes, work, posterior = setting(name, agents, first, seed, alpha)
    found = evaluate(work, posterior)
    brute = controllers(found, first)
    dicts, weights = data.as_dicts(episodes), data.step_weights(work, episodes)
    logs, _ = filtered(work.layout, found.tables, keep=False)
    for k, episode in enumerate(dicts):
        part = slice(episodes.offsets[k], episodes.offsets[k + 1])
        for n in range(agents):
            wanted = sweeps.step_probabilities(brute[n], episode["actions"][:, n], episode["observations"][:, n])
            assert np.exp(logs[part, n]) == pytest.approx(wanted, rel=EXACT)
    mean = found.weighed.log_mean - behaved(work, episodes) / work.evidence
    assert np.exp(mean) == pytest.approx(sweeps.power_mean(dicts, brute, weights, alpha), rel=EXACT)
    assert found.weighed.nu == pytest.approx(
        np.concatenate(sweeps.reweighted(dicts, brute, weights, alpha)), rel=EXACT, abs=EXACT
    )
    for n, counted in enumerate(count(work, found)):
        visits, moves, firsts = sweeps.counts(dicts, brute, weights, n, alpha)
        assert counted.visits == pytest.approx(3.0 * visits, rel=EXACT, abs=EXACT)
        assert counted.moves == pytest.approx(3.0 * moves, rel=EXACT, abs=EXACT)
        assert counted.firsts == pytest.approx(3.0 * firsts, rel=EXACT, abs=EXACT)


@pytest.mark.parametrize("name", PRIORS)
@pytest.mark.parametrize("end", range(4))
def test_phi_and_xi(name, end):
    """Every action occurs once, so the counts of (node, action) tell the steps apart; only step `end` has weight."""
    agent = Agent("x", ("a", "b", "c", "d"), ("o", "p"))
    did, saw = np.array([2, 0, 3, 1]), np.array([-1, 1, 0, 1])
    rewards = np.eye(4)[end]
    episodes = Episodes(
        (agent,), np.array([0, 4]), saw[:, None], did[:, None], np.full((4, 1), 0.25), rewards, discount=0.9
    )
    work = data.task(episodes, evidence=1.0)
    found = evaluate(work, data.posterior(np.random.default_rng(3), episodes, PRIORS[name]))
    (brute,) = controllers(found, shown=False)
    (counted,) = count(work, found)
    for tau in range(4):
        wanted = sweeps.phi(brute, did, saw, end, tau) if tau <= end else np.zeros(3)
        assert counted.visits[:, did[tau]] == pytest.approx(wanted, rel=EXACT, abs=EXACT)
    for tau in range(3):
        wanted = sweeps.xi(brute, did, saw, end, tau) if tau < end else np.zeros((3, 3))
        assert counted.moves[:, did[tau], saw[tau + 1]] == pytest.approx(wanted, rel=EXACT, abs=EXACT)
        assert counted.moves[:, did[tau], 1 - saw[tau + 1]].sum() == 0


@pytest.mark.parametrize("name", ["stick-breaking", "sigma 2.5", "dp", "fixed"])
@pytest.mark.parametrize(("agents", "first"), CASES)
@pytest.mark.parametrize("alpha", [1.0, 0.3, 0.0])
def test_bound_has_every_term(name, agents, first, alpha):
    if name == "dp" and first:
        first = False  # the oracle knows one concentration per agent; first nodes have their own
    episodes, work, posterior = setting(name, agents, first, alpha=alpha)
    told = [data.as_oracle(agent) for agent in posterior]
    wanted = sweeps.bound(data.as_dicts(episodes), told, data.step_weights(work, episodes), kappa=3.0, alpha=alpha)
    assert evaluate(work, posterior).bound - behaved(work, episodes) == pytest.approx(wanted, rel=EXACT)


@pytest.mark.parametrize("name", ["stick-breaking", "dp", "fixed"])
def test_the_bounds_of_the_agents_sum_to_the_bound(name):
    rng = np.random.default_rng(4)
    episodes = data.episodes(rng, 3)
    for work in (data.weighted_task(rng, episodes), data.task(episodes, alpha=0.0)):
        posterior = data.posterior(rng, episodes, PRIORS[name])
        each = agent_bounds(work, posterior)
        assert sum(each) == pytest.approx(evaluate(work, posterior).bound, rel=EXACT)
        (alone,) = agent_bounds(replace(work, layout=lay_out(only(episodes, 1), 3)), posterior[1:2])
        assert alone == pytest.approx(each[1], rel=EXACT)


def only(episodes, n):
    """The same episodes of one agent."""
    columns = {name: getattr(episodes, name)[:, [n]] for name in ("observations", "actions", "behaviour")}
    return replace(episodes, agents=episodes.agents[n : n + 1], **columns)


@pytest.mark.parametrize("name", PRIORS)
def test_every_arrow_is_a_pure_function(name):
    """The same in gives the same out, bit by bit, and what went in is as it was."""
    _, work, posterior = setting(name, 2, True)
    before = [np.array(agent.counts.moves) for agent in posterior]
    found, again = evaluate(work, posterior), evaluate(work, posterior)
    assert found.bound == again.bound
    nu, tables = found.weighed.nu.copy(), [table.copy() for table in found.tables[0]]
    once, twice = count(work, found), count(work, found)
    for one, other in zip(once, twice, strict=True):
        assert np.array_equal(one.visits, other.visits)
        assert np.array_equal(one.moves, other.moves)
    kept = [counts.moves.copy() for counts in once]
    first, second = update(found, once), update(found, once)
    assert evaluate(work, first).bound == evaluate(work, second).bound != found.bound
    assert all(np.array_equal(a, b) for a, b in zip(kept, (c.moves for c in once), strict=True))
    assert all(np.array_equal(a, b.counts.moves) for a, b in zip(before, posterior, strict=True))
    assert np.array_equal(nu, found.weighed.nu)
    assert all(np.array_equal(a, b) for a, b in zip(tables, found.tables[0], strict=True))


def test_the_bound_test_can_fail():
    episodes, work, posterior = setting("stick-breaking", 2, False)
    told = [data.as_oracle(agent) for agent in posterior]
    told[0]["rho"] = told[0]["rho"] * (1 + 1e-6)
    wanted = sweeps.bound(data.as_dicts(episodes), told, data.step_weights(work, episodes), kappa=3.0)
    assert evaluate(work, posterior).bound != pytest.approx(wanted, rel=EXACT)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_one_chunk_is_many(monkeypatch, size):
    episodes, work, posterior = setting("stick-breaking", 2, True)
    whole = count(work, evaluate(work, posterior))
    monkeypatch.setattr("decpomdp.filtering.filter.CHUNK_EPISODES", size)
    cut = data.task(episodes)
    assert len(cut.layout.pieces) > len(work.layout.pieces)
    for one, many in zip(whole, count(cut, evaluate(cut, posterior)), strict=True):
        assert many.visits == pytest.approx(one.visits, rel=1e-12)
        assert many.moves == pytest.approx(one.moves, rel=1e-12, abs=1e-14)


def test_filtering_again_gives_the_same_as_keeping(monkeypatch):
    monkeypatch.setattr("decpomdp.learners.sweep.SMALL", 0)
    _, work, posterior = setting("stick-breaking", 2, True)
    kept = count(work, evaluate(work, posterior))
    monkeypatch.setattr("decpomdp.learners.sweep.KEPT_BYTES", 0)
    again = evaluate(work, posterior)
    assert again.kept == [None] * len(work.layout.pieces)
    for one, other in zip(kept, count(work, again), strict=True):
        assert np.array_equal(one.moves, other.moves)


def test_large_evidence_with_a_flat_prior_is_em():
    episodes, _, point = setting("em", 2, False)
    work = data.task(episodes, evidence=1e12)
    flat = Fixed(3, weight=1.0, rho=1.0)
    begin = [agent.counts for agent in point]
    from decpomdp.learners.posterior import Counts, updated

    large = tuple(
        updated(agent.agent, flat.priors(agent.agent), Counts(c.firsts, 1e12 * c.visits, 1e12 * c.moves))
        for agent, c in zip(point, begin, strict=True)
    )
    for _ in range(3):
        em, vb = evaluate(work, point), evaluate(work, large)
        point, large = update(em, count(work, em)), update(vb, count(work, vb))
        for one, other in zip(point, large, strict=True):
            assert other.action.mean() == pytest.approx(one.action.mean(), abs=1e-6)
            visited = one.counts.moves.reshape(-1, 3).sum(axis=1) > 1e8
            assert other.move.mean()[visited] == pytest.approx(one.move.mean()[visited], abs=1e-6)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_small_data_in_this_thread_give_the_bits_of_the_threads(alpha, monkeypatch):
    _, work, posterior = setting("stick-breaking", 2, True, alpha=alpha)
    assert work.small
    here = evaluate(work, posterior)
    counts = count(work, here)
    monkeypatch.setattr("decpomdp.learners.sweep.SMALL", 0)
    there = evaluate(work, posterior)
    assert (here.bound, here.weighed.nu.tobytes()) == (there.bound, there.weighed.nu.tobytes())
    for mine, theirs in zip(counts, count(work, there), strict=True):
        assert mine.moves.tobytes() == theirs.moves.tobytes()
        assert mine.visits.tobytes() == theirs.visits.tobytes()
