"""The oracles of the sweep against hand-worked numbers, exact identities, derivatives, quadrature and sampling.

Every kind of check is also run once on a deliberately wrong variant, which it must reject.
"""

import itertools

import numpy as np
import pytest
from oracles import sweeps
from oracles.special import digamma, gamma_density, gamma_rule, log_beta, log_gamma

DISCOUNT, FLOOR = 0.9, -1.5


def agree(got, want, tolerance=1e-12):
    """Equal to rounding: relative and absolute 1e-12 unless the check itself is coarser."""
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


def differ(got, want, tolerance=1e-12):
    """The comparison above must notice."""
    with pytest.raises(AssertionError):
        agree(got, want, tolerance)


def random_controller(rng, nodes=2, actions=2, seen=2, first=True, total=1.0):
    """Rows that sum to `total`."""
    return (
        rng.dirichlet(np.ones(nodes)),
        rng.dirichlet(np.ones(nodes), size=seen) if first else None,
        total * rng.dirichlet(np.ones(actions), size=nodes),
        total * rng.dirichlet(np.ones(nodes), size=(nodes, actions, seen)),
    )


def random_episodes(rng, lengths=(3, 1, 4), agents=2, actions=2, seen=2):
    """Every other episode shows nothing before the first action."""
    episodes = []
    for k, length in enumerate(lengths):
        observations = rng.integers(seen, size=(length, agents))
        observations[0] = -1 if k % 2 else observations[0]
        episodes.append(
            {
                "actions": rng.integers(actions, size=(length, agents)),
                "observations": observations,
                "behaviour": rng.uniform(0.2, 0.9, size=(length, agents)),
                "rewards": rng.uniform(-1, 2, size=length),
            }
        )
    return episodes


@pytest.fixture
def rng():
    return np.random.default_rng(20)


# ---- node paths ----

HAND = (
    np.array([0.6, 0.4]),
    np.array([[1.0, 0.0], [0.5, 0.5]]),
    np.array([[0.9, 0.1], [0.2, 0.8]]),
    np.array(
        [[[[0.7, 0.3], [0.1, 0.9]], [[0.5, 0.5], [0.4, 0.6]]], [[[0.3, 0.7], [0.8, 0.2]], [[1.0, 0.0], [0.0, 1.0]]]]
    ),
)


def test_paths_by_hand():
    _, both = sweeps.path_likelihoods(HAND, [0, 1], [-1, 1])
    # initial, action 0, move after (0, o=1), action 1
    want = {
        (0, 0): 0.6 * 0.9 * 0.1 * 0.1,
        (0, 1): 0.6 * 0.9 * 0.9 * 0.8,
        (1, 0): 0.4 * 0.2 * 0.8 * 0.1,
        (1, 1): 0.4 * 0.2 * 0.2 * 0.8,
    }
    assert both.keys() == want.keys()
    for path, p in want.items():
        agree(both[path], p)
    differ(both[0, 0], sweeps.path_likelihoods(HAND, [0, 1], [-1, 0])[1][0, 0])  # an observation one place off
    agree(sweeps.step_probabilities(HAND, [0, 1], [-1, 1]), [0.62, sum(want.values()) / 0.62])
    agree(sweeps.phi(HAND, [0, 1], [-1, 1], 1, 0)[1], (want[1, 0] + want[1, 1]) / sum(want.values()))
    agree(sweeps.xi(HAND, [0, 1], [-1, 1], 1, 0)[0, 1], want[0, 1] / sum(want.values()))


def test_first_observation_chooses_the_start():
    agree(sweeps.step_probabilities(HAND, [0], [-1]), [0.6 * 0.9 + 0.4 * 0.2])
    agree(sweeps.step_probabilities(HAND, [0], [0]), [0.9])
    agree(sweeps.step_probabilities(HAND, [0], [1]), [0.5 * 0.9 + 0.5 * 0.2])
    agree(sweeps.step_probabilities((HAND[0], None, *HAND[2:]), [0], [1]), [0.62])


def test_impossible_action():
    sure = (np.ones(1), None, np.array([[1.0, 0.0]]), np.ones((1, 2, 1, 1)))
    agree(sweeps.step_probabilities(sure, [0, 1, 0], [-1, 0, 0]), [1, 0, 0])


@pytest.mark.parametrize("start", [-1, 0, 1])
def test_all_actions_together_are_certain(rng, start):
    seen = [start, 1, 0, 1]

    def everything(controller):
        return sum(
            sweeps.prefix_likelihoods(controller, actions, seen)[-1] for actions in itertools.product((0, 1), repeat=4)
        )

    agree(everything(random_controller(rng, nodes=3)), 1)
    differ(everything(random_controller(rng, nodes=3, total=0.99)), 1)


def test_marginals_of_the_posterior_fit_together(rng):
    given = random_controller(rng, nodes=3, total=0.8), [0, 1, 1, 0], [1, 0, 1, 1]
    for t in range(4):
        for tau in range(t):
            pair = sweeps.xi(*given, t, tau)
            agree(pair.sum(), 1)
            agree(pair.sum(axis=1), sweeps.phi(*given, t, tau))
            agree(pair.sum(axis=0), sweeps.phi(*given, t, tau + 1))
    differ(sweeps.xi(*given, 3, 1).sum(axis=0), sweeps.phi(*given, 3, 1))
    differ(sweeps.phi(*given, 3, 1), sweeps.phi(*given, 2, 1))  # later actions matter


# ---- value, re-weighted rewards, counts ----


def every_action_sequence(length=3):
    """All joint action sequences of two agents under uniform behaviour, observations and rewards always the same."""
    sequences = itertools.product(itertools.product((0, 1), repeat=2), repeat=length)
    return [
        {
            "actions": np.array(sequence),
            "observations": np.array([[-1, -1], [0, 1], [1, 1]])[:length],
            "behaviour": np.full((length, 2), 0.5),
            "rewards": np.array([2.0, -1.0, 0.5])[:length],
        }
        for sequence in sequences
    ]


def test_value_when_reward_does_not_depend_on_actions(rng):
    episodes = every_action_sequence()
    want = 3.5 + 0.9 * 0.5 + 0.81 * 2.0  # discount^t (r_t + 1.5): importance ratios average to one
    agree(sweeps.value(episodes, [random_controller(rng), random_controller(rng, nodes=3)], DISCOUNT, FLOOR), want)
    for episode in episodes:
        episode["behaviour"] = np.full((3, 2), 0.6)
    differ(sweeps.value(episodes, [random_controller(rng), random_controller(rng)], DISCOUNT, FLOOR), want)


def test_value_is_a_product_of_step_ratios(rng):
    episodes, controllers = random_episodes(rng), [random_controller(rng, total=0.7), random_controller(rng, nodes=3)]

    def by_steps(last):
        total = 0.0
        for episode in episodes:
            ratios = np.ones(len(episode["rewards"]))
            for n, controller in enumerate(controllers):
                columns = episode["actions"][:, n], episode["observations"][:, n]
                ratios *= sweeps.step_probabilities(controller, *columns) / episode["behaviour"][:, n]
            for t, reward in enumerate(episode["rewards"]):
                total += DISCOUNT**t * (reward - FLOOR) * np.prod(ratios[: t + last])
        return total / len(episodes)

    agree(sweeps.value(episodes, controllers, DISCOUNT, FLOOR), by_steps(1))
    differ(sweeps.value(episodes, controllers, DISCOUNT, FLOOR), by_steps(0))  # the ratio of step t left out


def test_reweighted_rewards_average_to_one(rng):
    episodes, controllers = random_episodes(rng), [random_controller(rng), random_controller(rng)]
    weights = sweeps.shifted_rewards(episodes, DISCOUNT, FLOOR)
    agree(weights[0][2], 0.81 * (episodes[0]["rewards"][2] + 1.5))
    nus = sweeps.reweighted(episodes, controllers, weights)
    agree(np.concatenate(nus).sum() / len(episodes), 1)
    differ(np.concatenate(nus).sum(), 1)
    scaled = sweeps.reweighted(episodes, controllers, [7 * weight for weight in weights])
    agree(np.concatenate(scaled), np.concatenate(nus))


def slopes(episodes, controllers, weights, agent, table):
    """d ln V~ / d ln x for every entry x of one table of a controller, by central differences."""
    original, step = controllers[agent][table], 1e-5
    result = np.zeros_like(original)
    for at in np.ndindex(original.shape):
        logs = []
        for sign in (1, -1):
            changed = original.copy()
            changed[at] *= np.exp(sign * step)
            parts = list(controllers[agent])
            parts[table] = changed
            team = [*controllers[:agent], tuple(parts), *controllers[agent + 1 :]]
            logs.append(np.log(sweeps.value_of_weights(episodes, team, weights)))
        result[at] = (logs[0] - logs[1]) / (2 * step)
    return result


@pytest.mark.parametrize("agent", [0, 1, 2])
def test_counts_are_logarithmic_derivatives_of_the_value(rng, agent):
    episodes = random_episodes(rng, agents=3, lengths=(3, 2, 1))
    controllers = [random_controller(rng, nodes=nodes, total=0.9) for nodes in (2, 3, 1)]
    weights = sweeps.shifted_rewards(episodes, DISCOUNT, FLOOR)
    visits, moves, firsts = sweeps.counts(episodes, controllers, weights, agent)
    tolerance = 1e-8  # of central differences with step 1e-5
    agree(visits, slopes(episodes, controllers, weights, agent, 2), tolerance)
    agree(moves, slopes(episodes, controllers, weights, agent, 3), tolerance)
    agree(firsts, slopes(episodes, controllers, weights, agent, 1), tolerance)
    differ(1.001 * moves, slopes(episodes, controllers, weights, agent, 3), tolerance)
    differ(visits, slopes(episodes, controllers, weights[:1] + [0 * w for w in weights[1:]], agent, 2), tolerance)


def test_counts_are_sums_of_marginals(rng):
    episodes, controllers = random_episodes(rng), [random_controller(rng), random_controller(rng, nodes=3, first=False)]
    weights = sweeps.shifted_rewards(episodes, DISCOUNT, FLOOR)
    nus = sweeps.reweighted(episodes, controllers, weights)
    visits, moves, firsts = np.zeros((3, 2)), np.zeros((3, 2, 2, 3)), np.zeros((2, 3))
    for episode, nu in zip(episodes, nus, strict=True):
        did, saw = episode["actions"][:, 1], episode["observations"][:, 1]
        for t in range(len(nu)):
            for tau in range(t + 1):
                visits[:, did[tau]] += nu[t] / 3 * sweeps.phi(controllers[1], did, saw, t, tau)
            for tau in range(t):
                moves[:, did[tau], saw[tau + 1]] += nu[t] / 3 * sweeps.xi(controllers[1], did, saw, t, tau)
            if saw[0] >= 0:
                firsts[saw[0]] += nu[t] / 3 * sweeps.phi(controllers[1], did, saw, t, 0)
    got = sweeps.counts(episodes, controllers, weights, 1)
    for mine, want in zip(got, (visits, moves, firsts), strict=True):
        agree(mine, want)
    agree(got[0].sum(), sum(nu @ np.arange(1, len(nu) + 1) for nu in nus) / 3)
    agree(got[1].sum(), sum(nu @ np.arange(len(nu)) for nu in nus) / 3)
    differ(got[0].sum(), got[1].sum())  # an end point more in the visits


def test_episodes_without_weight_do_not_count(rng):
    sure = (np.ones(1), None, np.array([[1.0, 0.0]]), np.ones((1, 2, 2, 1)))
    episodes = random_episodes(rng, lengths=(2, 2), agents=1)
    episodes[0]["actions"][:], episodes[1]["actions"][:] = 0, 1  # the second is impossible
    visits, _, _ = sweeps.counts(episodes, [sure], [np.ones(2), np.ones(2)], 0)
    agree(visits[0, 1], 0)
    agree(visits[0, 0], np.dot([1, 2], sweeps.reweighted(episodes, [sure], [np.ones(2), np.ones(2)])[0]) / 2)


# ---- divergences ----

BETAS = [(1.0, 0.5, 1.0, 2.0), (3.2, 1.7, 1.0, 0.4), (1.4, 6.0, 2.0, 2.5)]
GAMMAS = [(1.1, 0.5, 0.5, 2.0), (2.0, 3.0, 1.5, 0.7), (7.5, 0.2, 1.0, 0.1)]


@pytest.mark.parametrize(("s", "e", "sigma", "eta"), BETAS)
def test_beta_divergence(s, e, sigma, eta):
    want = sweeps.kl_beta_by_quadrature(s, e, sigma, eta)
    agree(sweeps.kl_beta(s, e, sigma, eta), want, 1e-10)
    agree(sweeps.kl_beta(s, e, sigma, eta), sweeps.kl_dirichlet([s, e], [sigma, eta]))
    differ(sweeps.kl_beta(sigma, eta, s, e), want, 1e-7)  # the two the wrong way round


@pytest.mark.parametrize(("shape", "rate", "c", "b"), GAMMAS)
def test_gamma_divergence(shape, rate, c, b):
    agree(sweeps.kl_gamma(shape, rate, c, b), sweeps.kl_gamma_by_quadrature(shape, rate, c, b), 1e-10)
    differ(sweeps.kl_gamma(shape, rate, c, b), sweeps.kl_gamma_by_quadrature(shape, rate, c, 1 / b), 1e-7)  # a scale


def test_dirichlet_divergence():
    q, p = np.array([2.0, 3.5, 2.2]), np.array([1.5, 1.0, 2.0])
    want = sweeps.kl_dirichlet_by_quadrature(q, p)
    agree(sweeps.kl_dirichlet(q, p), want, 1e-6)  # q ln q is not smooth at the edges
    differ(sweeps.kl_dirichlet(p, q), want, 1e-6)
    agree(sweeps.kl_dirichlet(q, 0.3), sweeps.kl_dirichlet(q, [0.3, 0.3, 0.3]))


def test_divergence_from_itself_is_nothing():
    agree(sweeps.kl_dirichlet([0.3, 2.0, 5.0], [0.3, 2.0, 5.0]), 0)
    agree(sweeps.kl_beta(0.3, 2.0, 0.3, 2.0), 0)
    agree(sweeps.kl_gamma(0.3, 1e-6, 0.3, 1e-6), 0)


STICKS = [
    (1.3, 2.0, 1.1, 0.5),
    (4.0, 0.3, 1.1, 1e-6),
    (1.0, 0.2, 1.1, 1e6),
    (2.0, 2.0, 40.0, 10.0),
    (1.5, 1.0, 0.1, 1.0),
]


@pytest.mark.parametrize(("s", "e", "shape", "rate"), STICKS)
def test_expected_stick_divergence_in_closed_form(s, e, shape, rate):
    # E ln q(V) - E ln p(V | eta), with ln p = ln eta + (eta - 1) ln(1 - V)
    kept, left = digamma(s) - digamma(s + e), digamma(e) - digamma(s + e)
    own = (s - 1) * kept + (e - 1) * left - log_beta(s, e)
    want = own - (digamma(shape) - np.log(rate)) - (shape / rate - 1) * left
    agree(sweeps.expected_stick_divergence(s, e, shape, rate), want, 1e-10)
    differ(sweeps.expected_stick_divergence(s, e, shape, rate), sweeps.kl_beta(s, e, 1, shape / rate), 1e-10)


@pytest.mark.parametrize("sigma", [1.0, 0.4])
def test_expected_stick_divergence_by_another_quadrature(sigma):
    nodes, weights = np.polynomial.legendre.leggauss(200)  # in u, eta = u^4: smooth enough at 0
    u = 60**0.25 * (nodes + 1) / 2
    density = np.exp(gamma_density(4 * np.log(u), 2.5, 1.5))
    terms = 4 * u**3 * density * sweeps.kl_beta(1.3, 2.0, sigma, u**4)
    want = 60**0.25 / 2 * np.sum(weights * terms)
    agree(sweeps.expected_stick_divergence(1.3, 2.0, 2.5, 1.5, sigma), want, 1e-9)


# ---- expectations ----


def test_expected_log_sticks_by_sampling(rng):
    sigma_hat, eta_hat = np.array([2.0, 3.0, 1.5]), np.array([4.0, 2.0, 2.5])
    sticks = np.hstack([rng.beta(sigma_hat, eta_hat, size=(200_000, 3)), np.ones((200_000, 1))])
    before = np.hstack([np.ones((200_000, 1)), np.cumprod(1 - sticks[:, :-1], axis=1)])
    weights = sticks * before
    agree(weights.sum(axis=1), 1)
    logs = np.log(weights)
    error = logs.std(axis=0) / np.sqrt(len(logs))
    got = sweeps.expected_log_sticks(sigma_hat, eta_hat)
    assert np.all(np.abs(got - logs.mean(axis=0)) < 5 * error)
    short = sweeps.expected_log_sticks(sigma_hat[:2], eta_hat[:2])  # as if the third stick were the last
    assert not np.all(np.abs(short - logs.mean(axis=0)[:3]) < 5 * error[:3])


def test_expected_log_sticks_row_by_row():
    sigma_hat, eta_hat = np.array([[1.0, 2.0], [3.0, 0.5]]), np.array([[0.2, 1.0], [2.0, 4.0]])
    got = sweeps.expected_log_sticks(sigma_hat, eta_hat)
    agree(got[1], sweeps.expected_log_sticks(sigma_hat[1], eta_hat[1]))
    agree(sweeps.expected_log_sticks(np.zeros((2, 0)), np.zeros((2, 0))), np.zeros((2, 1)))
    differ(got[0], got[1])


# ---- the bound ----

PRIOR = {"rho": 0.5, "c": 1.2, "b": 0.8, "rows": 0.4, "observations": 2}
KINDS = ["each", "shared", "dirichlet"]


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
    episodes = random_episodes(rng, lengths=(3, 2, 3))
    agents = [random_posterior(rng, kind, nodes=nodes, first=first) for nodes in (2, 3)]
    return episodes, agents, sweeps.shifted_rewards(episodes, DISCOUNT, FLOOR)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kappa", [1.0, 20.0])
def test_no_update_lowers_the_bound(rng, kind, kappa):
    episodes, agents, weights = setting(rng, kind)
    bounds = [sweeps.bound(episodes, agents, weights, kappa)]
    for _ in range(5):
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
    for _ in range(400):
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
