"""The oracle of the bound: no update lowers it, it is level where the sweep stands still, and below the evidence.

Every kind of check is also run once on a deliberately wrong variant, which it must reject.
"""

import itertools

import numpy as np
import pytest
from oracles import sweeps
from oracles.special import digamma, gamma_rule, log_beta, log_gamma
from oracles.sweep_cases import DISCOUNT, FLOOR, agree, differ, random_episodes

PRIOR = {"rho": 0.5, "c": 1.2, "b": 0.8, "rows": 0.4, "observations": 2}
KINDS = ["each", "shared", "dirichlet"]


@pytest.fixture
def rng():
    return np.random.default_rng(20)


def random_posterior(rng, kind, nodes=2, actions=2, seen=2, first=True):
    rows = nodes * actions * seen + (seen if first else 0)
    agent = {**PRIOR, "initial": np.eye(nodes)[0], "rho_hat": rng.uniform(0.5, 2, size=(nodes, actions))}
    if kind == "dirichlet":
        return {**agent, "rows_hat": rng.uniform(0.4, 2, size=(rows, nodes))}
    sticks = (rows, nodes - 1)
    size = sticks if kind == "each" else ()
    agent |= {"sigma_hat": rng.uniform(1, 3, size=sticks), "eta_hat": rng.uniform(0.5, 3, size=sticks)}
    return agent | {"shape": rng.uniform(1, 3, size=size), "rate": rng.uniform(0.5, 3, size=size)}


def with_concentrations(agent):
    """q(eta) given q(V): shape c + sticks, rate b - sum E ln(1 - V)."""
    if "rows_hat" in agent:
        return agent
    left = digamma(agent["eta_hat"]) - digamma(agent["sigma_hat"] + agent["eta_hat"])
    if np.ndim(agent["shape"]):
        return {**agent, "shape": np.full(left.shape, agent["c"] + 1), "rate": agent["b"] - left}
    return {**agent, "shape": agent["c"] + left.size, "rate": agent["b"] - left.sum()}


def with_counts(agent, counts, kappa):
    """q(pi) and q(V) given the soft counts and q(eta)."""
    visits, moves, firsts = counts
    own, nodes = moves.size // len(visits), len(visits)
    rows = kappa * np.concatenate([moves.reshape(own, nodes), firsts])
    agent = {**agent, "rho_hat": agent["rho"] + kappa * visits}
    if "rows_hat" in agent:
        return {**agent, "rows_hat": agent["rows"] + rows[: len(agent["rows_hat"])]}
    rows = rows[: len(agent["sigma_hat"])]
    above = np.array([[row[j + 1 :].sum() for j in range(nodes - 1)] for row in rows])
    return {**agent, "sigma_hat": 1 + rows[:, :-1], "eta_hat": agent["shape"] / agent["rate"] + above}


def sweep(episodes, agents, weights, kappa):
    """All agents' q(pi), q(V) together from one set of counts, which is one joint maximisation given the paths."""
    controllers = [sweeps.expected_controller(agent) for agent in agents]
    found = [sweeps.counts(episodes, controllers, weights, n) for n in range(len(agents))]
    return [with_counts(agent, counts, kappa) for agent, counts in zip(agents, found, strict=True)]


def setting(rng, kind, first=True):
    episodes = random_episodes(rng, lengths=(3, 2))
    agents = [random_posterior(rng, kind, nodes=nodes, first=first) for nodes in (2, 3)]
    return episodes, agents, sweeps.shifted_rewards(episodes, DISCOUNT, FLOOR)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kappa", [1.0, 20.0])
def test_no_update_lowers_the_bound(rng, kind, kappa):
    episodes, agents, weights = setting(rng, kind)
    bounds = [sweeps.bound(episodes, agents, weights, kappa)]
    for _ in range(3):
        agents = sweep(episodes, agents, weights, kappa)
        bounds.append(sweeps.bound(episodes, agents, weights, kappa))
        agents = [with_concentrations(agent) for agent in agents]
        bounds.append(sweeps.bound(episodes, agents, weights, kappa))
    assert np.all(np.diff(bounds) >= -1e-10)
    assert bounds[-1] > bounds[0] + 0.1
    worse = sweep(episodes, agents, weights, 3 * kappa)  # counts three times too large
    assert sweeps.bound(episodes, worse, weights, kappa) < bounds[-1] - 1e-3


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
    yield "rho_hat", lambda agent: sum(sweeps.kl_dirichlet(row, agent["rho"]) for row in agent["rho_hat"])
    if kind == "dirichlet":
        yield "rows_hat", lambda agent: sum(sweeps.kl_dirichlet(row, agent["rows"]) for row in agent["rows_hat"])
        return
    for name in ("shape", "rate"):
        yield name, lambda agent: np.sum(sweeps.kl_gamma(agent["shape"], agent["rate"], agent["c"], agent["b"]))
    for name in ("sigma_hat", "eta_hat"):
        yield name, lambda agent: sweeps.kl_beta(agent["sigma_hat"], agent["eta_hat"], 1, 2.0).sum()


@pytest.mark.parametrize("kind", KINDS)
def test_the_bound_is_stationary_where_the_sweep_stands_still(rng, kind):
    """Leaving out, doubling or miscounting a divergence would move the top of the bound away from the updates."""
    episodes = random_episodes(rng, lengths=(2, 2))
    agents = [random_posterior(rng, kind), random_posterior(rng, "dirichlet")]  # only the first is changed
    weights = sweeps.shifted_rewards(episodes, DISCOUNT, FLOOR)
    for _ in range(200):
        agents = [with_concentrations(agent) for agent in sweep(episodes, agents, weights, 1.0)]
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
    eta, weights = gamma_rule(agent["c"], agent["b"])
    factors = [np.exp(log_beta(1 + taken, eta + left) - log_beta(1, eta)) for taken, left in pairs]
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
        agents = [with_concentrations(agent) for agent in sweep(episodes, agents, weights, 1.0)]
    bound, truth = sweeps.bound(episodes, agents, weights), np.log(evidence(episodes, agents, weights, kind))
    assert bound < truth
    wrong = bound + 2 * sum(sweeps.divergence(agent) for agent in agents)  # divergences added, not subtracted
    assert wrong > truth


def test_the_bound_is_the_evidence_when_one_path_explains_everything(rng):
    """One node, one weighted step: the posterior is exact, and ln E_prior V is attained."""
    episodes = random_episodes(rng, lengths=(4,), agents=1)
    weights = [np.array([0, 0, 0, 2.5])]
    agents = [random_posterior(rng, "dirichlet", nodes=1)]
    agents = sweep(episodes, agents, weights, 1.0)
    truth = np.log(evidence(episodes, agents, weights, "dirichlet"))
    agree(sweeps.bound(episodes, agents, weights), truth)
    differ(sweeps.bound(episodes, [{**agents[0], "rho_hat": agents[0]["rho_hat"] + 0.1}], weights), truth)


def test_rows_of_first_nodes_are_optional(rng):
    episodes, agents, weights = setting(rng, "each", first=False)
    fixed = [{**agent, "first": np.full((2, len(agent["initial"])), 1 / len(agent["initial"]))} for agent in agents]
    assert sweeps.expected_controller(agents[0])[1] is None
    agree(sweeps.divergence(fixed[0]), sweeps.divergence(agents[0]))
    differ(sweeps.bound(episodes, fixed, weights), sweeps.bound(episodes, agents, weights))
    assert sweeps.expected_controller(random_posterior(rng, "each"))[1].shape == (2, 2)
