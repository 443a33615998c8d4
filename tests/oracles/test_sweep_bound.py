"""The oracle of the bound: no update lowers it, it is level where the sweep stands still, and below the evidence.

Every kind of check is also run once on a deliberately wrong variant, which it must reject.
"""

import itertools

import numpy as np
import pytest
from oracles import sweeps
from oracles.special import log_beta, log_gamma
from oracles.sweep_cases import DISCOUNT, FLOOR, agree, differ, random_episodes

PRIOR = {"rho": 0.5, "rows": 0.4, "observations": 2}
STICKS = {"sigma": 1.3, "eta": [0.3, 1.0, 4.0], "chance": [0.5, 0.3, 0.2]}
KINDS = ["each", "shared", "dirichlet"]


@pytest.fixture
def rng():
    return np.random.default_rng(20)


def random_posterior(rng, kind, nodes=2, actions=2, seen=2, first=True):
    rows = nodes * actions * seen + (seen if first else 0)
    agent = {**PRIOR, "initial": np.eye(nodes)[0], "rho_hat": rng.uniform(0.5, 2, size=(nodes, actions))}
    if kind == "dirichlet":
        return {**agent, "rows_hat": rng.uniform(0.4, 2, size=(rows, nodes))}
    agent |= {**STICKS, "shared": kind == "shared"}
    return agent | {name: rng.uniform(0, 3, size=(rows, nodes - 1)) for name in ("here", "beyond")}


def with_counts(agent, counts, kappa):
    """q(pi) and q(V, eta) given the soft counts."""
    visits, moves, firsts = counts
    own, nodes = moves.size // len(visits), len(visits)
    rows = kappa * np.concatenate([moves.reshape(own, nodes), firsts])
    agent = {**agent, "rho_hat": agent["rho"] + kappa * visits}
    if "rows_hat" in agent:
        return {**agent, "rows_hat": agent["rows"] + rows[: len(agent["rows_hat"])]}
    rows = rows[: len(agent["here"])]
    above = np.array([[row[j + 1 :].sum() for j in range(nodes - 1)] for row in rows])
    return {**agent, "here": rows[:, :-1], "beyond": above}


def sweep(episodes, agents, weights, kappa, alpha=1.0):
    """All agents' posteriors together from one set of counts, which is one joint maximisation given the paths."""
    controllers = [sweeps.expected_controller(agent) for agent in agents]
    found = [sweeps.counts(episodes, controllers, weights, n, alpha) for n in range(len(agents))]
    return [with_counts(agent, counts, kappa) for agent, counts in zip(agents, found, strict=True)]


def setting(rng, kind, first=True):
    episodes = random_episodes(rng, lengths=(3, 2))
    agents = [random_posterior(rng, kind, nodes=nodes, first=first) for nodes in (2, 3)]
    return episodes, agents, sweeps.shifted_rewards(episodes, DISCOUNT, FLOOR)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("kappa", "alpha"), [(1.0, 1.0), (20.0, 1.0), (20.0, 0.3), (5.0, 0.0)])
def test_no_update_lowers_the_bound(rng, kind, kappa, alpha):
    episodes, agents, weights = setting(rng, kind)
    bounds = [sweeps.bound(episodes, agents, weights, kappa, alpha)]
    for _ in range(18):
        agents = sweep(episodes, agents, weights, kappa, alpha)
        bounds.append(sweeps.bound(episodes, agents, weights, kappa, alpha))
    assert np.all(np.diff(bounds) >= -1e-10)
    assert bounds[-1] > bounds[0] + 0.1
    worse = sweep(episodes, agents, weights, 3 * kappa, alpha)  # counts three times too large
    assert sweeps.bound(episodes, worse, weights, kappa, alpha) < bounds[-1] - 1e-3


def test_power_means_rise_with_the_power(rng):
    """From the geometric mean to the empirical value, relative to that of the behaviour."""
    episodes, agents, weights = setting(rng, "dirichlet")
    team = [sweeps.expected_controller(agent) for agent in agents]
    means = [sweeps.power_mean(episodes, team, weights, alpha) for alpha in (0.0, 1e-6, 0.2, 0.7, 1.0)]
    assert np.all(np.diff(means) > 0)
    agree(means[1], means[0], 1e-5)
    whole = sum(map(np.sum, weights)) / len(episodes)
    agree(means[-1], sweeps.value_of_weights(episodes, team, weights) / whole)


def steepest(name, episodes, agents, weights, extra):
    """Largest |d bound / d ln x| over the entries x of one table of the first agent's posterior; the same + extra."""
    result, step = np.zeros(2), 1e-4
    for at in np.ndindex(np.shape(agents[0][name])):
        tops = []
        for sign in (1, -1):
            table = np.array(agents[0][name], float)
            table[at] *= np.exp(sign * step)
            changed = {**agents[0], name: table}
            bound = sweeps.bound(episodes, [changed, *agents[1:]], weights)
            tops.append(np.array([bound, bound + extra(changed)]))
        result = np.maximum(result, abs(tops[0] - tops[1]) / (2 * step))
    return result


def terms_of_the_bound(kind):
    """(table, a divergence that its entries enter): what a wrong bound might leave out."""
    yield "rho_hat", lambda agent: sweeps.kl_dirichlet(agent["rho_hat"], agent["rho"]).sum()
    if kind == "dirichlet":
        yield "rows_hat", lambda agent: sweeps.kl_dirichlet(agent["rows_hat"], agent["rows"]).sum()
        return
    for name in ("here", "beyond"):
        yield name, sweeps.sticks_divergence


@pytest.mark.parametrize("kind", KINDS)
def test_the_bound_is_stationary_where_the_sweep_stands_still(rng, kind):
    """Leaving out, doubling or miscounting a divergence would move the top of the bound away from the updates."""
    episodes = random_episodes(rng, lengths=(2, 2))
    agents = [random_posterior(rng, kind), random_posterior(rng, "dirichlet")]  # only the first is changed
    weights = sweeps.shifted_rewards(episodes, DISCOUNT, FLOOR)
    for _ in range(200):
        agents = sweep(episodes, agents, weights, 1.0)
    for name, term in terms_of_the_bound(kind):
        right, wrong = steepest(name, episodes, agents, weights, term)
        assert right < 1e-6  # what central differences and the last sweep leave
        assert wrong > 1e-3  # a thousand times as much


def log_moment(alpha, extra):
    """ln E prod x^extra under Dir(alpha)."""
    both = alpha + extra
    return log_gamma(both).sum() - log_gamma(both.sum()) - log_gamma(alpha).sum() + log_gamma(alpha.sum())


def path_evidence(agent, kind, visits, rows):
    """E_prior of the product of all pi and W along one node path, given how often each is used."""
    rho = np.full(visits.shape[1], agent["rho"])
    actions = np.exp(sum(log_moment(rho, used) for used in visits))
    if kind == "dirichlet":
        prior = np.full(rows.shape[1], agent["rows"])
        return actions * np.exp(sum(log_moment(prior, used) for used in rows))
    pairs = [(row[j], row[j + 1 :].sum()) for row in rows for j in range(len(row) - 1) if row[j:].sum() > 0]
    eta, weights, sigma = np.array(agent["eta"]), np.array(agent["chance"]), agent["sigma"]
    factors = [np.exp(log_beta(sigma + taken, eta + left) - log_beta(sigma, eta)) for taken, left in pairs]
    if kind == "shared":  # one concentration: expectation of the product; otherwise product of expectations
        return actions * np.sum(weights * np.prod(factors, axis=0)) if factors else actions
    return actions * np.prod([np.sum(weights * factor) for factor in factors])


def evidence(episodes, agents, weights, kind):
    """E_prior V(D; Theta): every node path of every agent integrated against its prior exactly."""
    total = 0.0
    for episode, steps in zip(episodes, weights, strict=True):
        for t, weight in enumerate(steps):
            term = weight
            for n, agent in enumerate(agents):
                did, saw = episode["actions"][:, n], episode["observations"][:, n]
                (nodes, actions), seen = agent["rho_hat"].shape, agent["observations"]
                part = 0.0
                for path in itertools.product(range(nodes), repeat=t + 1):
                    visits, rows = np.zeros((nodes, actions)), np.zeros((nodes * actions * seen + seen, nodes))
                    np.add.at(visits, (list(path), did[: t + 1]), 1)
                    for s in range(t):
                        rows[(path[s] * actions + did[s]) * seen + saw[s + 1], path[s + 1]] += 1
                    if saw[0] >= 0:
                        rows[nodes * actions * seen + saw[0], path[0]] += 1
                    elif path[0] != 0:  # the fixed start is node 0
                        continue
                    part += path_evidence(agent, kind, visits, rows)
                term *= part / np.prod(episode["behaviour"][: t + 1, n])
            total += term
    return total / len(episodes)


@pytest.mark.parametrize("kind", KINDS)
def test_the_bound_stays_below_the_evidence(rng, kind):
    episodes = random_episodes(rng, lengths=(2, 2))
    agents = [random_posterior(rng, kind) for _ in range(2)]
    weights = sweeps.shifted_rewards(episodes, DISCOUNT, FLOOR)
    for _ in range(30):
        agents = sweep(episodes, agents, weights, 1.0)
    whole = np.log(sum(map(np.sum, weights)) / len(episodes))  # of the behaviour
    bound, truth = sweeps.bound(episodes, agents, weights), np.log(evidence(episodes, agents, weights, kind)) - whole
    assert bound < truth
    wrong = bound + 2 * sum(sweeps.divergence(agent) for agent in agents)  # divergences added, not subtracted
    assert wrong > truth


def test_the_bound_is_the_evidence_when_one_path_explains_everything(rng):
    """One node, one weighted step: the posterior is exact, and ln E_prior V is attained."""
    episodes = random_episodes(rng, lengths=(4,), agents=1)
    weights = [np.array([0, 0, 0, 2.5])]
    agents = [random_posterior(rng, "dirichlet", nodes=1)]
    agents = sweep(episodes, agents, weights, 1.0)
    truth = np.log(evidence(episodes, agents, weights, "dirichlet") / 2.5)
    agree(sweeps.bound(episodes, agents, weights), truth)
    differ(sweeps.bound(episodes, [{**agents[0], "rho_hat": agents[0]["rho_hat"] + 0.1}], weights), truth)
