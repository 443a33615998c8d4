"""Brute force for one sweep of variational Bayes: every node path is listed, no recursion; numpy alone.

One agent's episode: observations[t] is seen before actions[t] and after actions[t-1]; observations[0] is -1 when
nothing is seen before the first action. A controller is (initial[i], first[o, i] or None, action[i, a],
move[i, a, o, j]); its rows may sum to less than one. first[o] replaces initial when observations[0] = o >= 0; a
controller with first = None starts from initial whatever is seen.

Episodes: dicts with actions[t, n], observations[t, n], behaviour[t, n], rewards[t]. Step weights: one float[t] per
episode, discount and shift included, none negative. For tiny sizes only: the cost is Z ** T.
"""

import itertools

import numpy as np
from oracles.special import (
    beta_density,
    digamma,
    dirichlet_density,
    log_beta,
    log_gamma,
    over_unit_interval,
)

# ---- node paths of one agent ----


def path_likelihoods(controller, actions, observations):
    """[t] {path z_0..z_t: p(a_0..a_t, z_0..z_t | o_0..o_t)}, each a plain product along its path."""
    initial, first, action, move = controller
    start = initial if first is None or observations[0] < 0 else first[observations[0]]
    result = []
    for t in range(len(actions)):
        paths = {}
        for path in itertools.product(range(len(initial)), repeat=t + 1):
            p = start[path[0]] * action[path[0], actions[0]]
            for s in range(1, t + 1):
                p *= move[path[s - 1], actions[s - 1], observations[s], path[s]] * action[path[s], actions[s]]
            paths[path] = p
        result.append(paths)
    return result


def prefix_likelihoods(controller, actions, observations):
    """[t]: p(a_0..a_t | o_0..o_t), the sum over all node paths."""
    return np.array([sum(paths.values()) for paths in path_likelihoods(controller, actions, observations)])


def step_probabilities(controller, actions, observations):
    """[t]: p_t = p(a_t | h_t) = p(a_0..a_t | o) / p(a_0..a_{t-1} | o); 0 from the first impossible action on."""
    joint = [1.0, *prefix_likelihoods(controller, actions, observations)]
    return np.array([later / earlier if earlier > 0 else 0.0 for earlier, later in itertools.pairwise(joint)])


def posterior(controller, actions, observations, t):
    """{path: p(z_0..z_t | a_0..a_t, o_0..o_t)}."""
    paths = path_likelihoods(controller, actions, observations)[t]
    total = sum(paths.values())
    return {path: p / total for path, p in paths.items()}


def phi(controller, actions, observations, t, tau):
    """[i]: p(z_tau = i | a_0..a_t, o_0..o_t), tau <= t."""
    result = np.zeros(len(controller[0]))
    for path, p in posterior(controller, actions, observations, t).items():
        result[path[tau]] += p
    return result


def xi(controller, actions, observations, t, tau):
    """[i, j]: p(z_tau = i, z_{tau+1} = j | a_0..a_t, o_0..o_t), tau < t."""
    result = np.zeros((len(controller[0]), len(controller[0])))
    for path, p in posterior(controller, actions, observations, t).items():
        result[path[tau], path[tau + 1]] += p
    return result


# ---- value, re-weighted rewards, counts ----


def shifted_rewards(episodes, discount, floor):
    """Step weights discount^t (r_t - floor), a list of float[t]."""
    return [
        np.array([discount**t * (reward - floor) for t, reward in enumerate(episode["rewards"])])
        for episode in episodes
    ]


def terms(episodes, controllers, step_weights):
    """The summands of the value: weight_t prod_n p(a_0..a_t | o) / prod_{tau<=t} p_b, a list of float[t]."""
    result = []
    for episode, weights in zip(episodes, step_weights, strict=True):
        term = np.array(weights, float)
        for n, controller in enumerate(controllers):
            joint = prefix_likelihoods(controller, episode["actions"][:, n], episode["observations"][:, n])
            for t in range(len(term)):
                term[t] *= joint[t] / np.prod(episode["behaviour"][: t + 1, n])
        result.append(term)
    return result


def value_of_weights(episodes, controllers, step_weights):
    """V~ = (1/K) sum_k sum_t weight_t^k prod_{tau<=t} prod_n p / p_b."""
    return sum(term.sum() for term in terms(episodes, controllers, step_weights)) / len(episodes)


def value(episodes, controllers, discount, floor):
    """V~ = (1/K) sum_k sum_t discount^t (r_t - floor) prod_{tau<=t} prod_n p / p_b."""
    return value_of_weights(episodes, controllers, shifted_rewards(episodes, discount, floor))


def ratios(episodes, controllers):
    """prod_n p(a_0..a_t | o) / prod_{tau<=t} p_b, a list of float[t]."""
    return terms(episodes, controllers, [np.ones(len(episode["rewards"])) for episode in episodes])


def power_mean(episodes, controllers, step_weights, alpha=1.0):
    """(sum weight ratio^alpha / sum weight)^(1/alpha); alpha = 0: the geometric mean."""
    found, weights = np.concatenate(ratios(episodes, controllers)), np.concatenate(step_weights)
    shares = weights[weights > 0] / weights.sum()
    logs = np.log(found[weights > 0])
    return np.exp(shares @ logs) if alpha == 0 else (shares @ np.exp(alpha * logs)) ** (1 / alpha)


def reweighted(episodes, controllers, step_weights, alpha=1.0):
    """nu_t^k = K weight ratio^alpha / sum of the same, a list of float[t]; (1/K) sum_{k,t} nu = 1."""
    found = zip(step_weights, ratios(episodes, controllers), strict=True)
    parts = [np.array(weights, float) * ratio**alpha for weights, ratio in found]
    return [len(episodes) * part / sum(map(np.sum, parts)) for part in parts]


def counts(episodes, controllers, step_weights, agent, alpha=1.0):
    """Soft counts of one agent, without kappa and without prior: (visits[i, a], moves[i, a, o, j], firsts[o, i]).

    visits = (1/K) sum_k sum_t nu_t sum_{tau<=t} 1[a_tau = a] phi_{t,tau}(i)
    moves  = (1/K) sum_k sum_t nu_t sum_{tau<t} 1[a_tau = a, o_{tau+1} = o] xi_{t,tau}(i, j)
    firsts = (1/K) sum_k 1[o_0 = o] sum_t nu_t phi_{t,0}(i)
    """
    controller = controllers[agent]
    visits, moves = np.zeros_like(controller[2]), np.zeros_like(controller[3])
    firsts = np.zeros((moves.shape[2], moves.shape[0]))
    for episode, nus in zip(episodes, reweighted(episodes, controllers, step_weights, alpha), strict=True):
        did, saw = episode["actions"][:, agent], episode["observations"][:, agent]
        for t in np.flatnonzero(nus):
            for path, p in posterior(controller, did, saw, t).items():
                share = nus[t] * p / len(episodes)
                firsts[saw[0], path[0]] += share if saw[0] >= 0 else 0.0
                for tau in range(t + 1):
                    visits[path[tau], did[tau]] += share
                for tau in range(t):
                    moves[path[tau], did[tau], saw[tau + 1], path[tau + 1]] += share
    return visits, moves, firsts


# ---- divergences ----


def kl_dirichlet(q, p):
    """[...]: KL(Dir(q) || Dir(p)) = ln B(p) - ln B(q) + sum_a (q_a - p_a) (psi(q_a) - psi(sum q)), B the constant."""
    q, p = np.asarray(q, float), np.broadcast_to(np.asarray(p, float), np.shape(q))
    constants = log_gamma(p).sum(-1) - log_gamma(p.sum(-1)) - log_gamma(q).sum(-1) + log_gamma(q.sum(-1))
    return constants + np.sum((q - p) * (digamma(q) - digamma(q.sum(-1, keepdims=True))), axis=-1)


def kl_beta(s, e, sigma, eta):
    """KL(Beta(s, e) || Beta(sigma, eta)); works on arrays element by element."""
    expected = (s - sigma) * digamma(s) + (e - eta) * digamma(e) + (sigma - s + eta - e) * digamma(s + e)
    return log_beta(sigma, eta) - log_beta(s, e) + expected


def kl_beta_by_quadrature(s, e, sigma, eta):
    """KL(Beta(s, e) || Beta(sigma, eta)): the integral of q ln(q / p) over (0, 1)."""

    def parts(log_x, log_rest):
        q = beta_density(log_x, log_rest, s, e)
        return q - beta_density(log_x, log_rest, sigma, eta), q

    return over_unit_interval(parts, min(s, e))


def kl_dirichlet_by_quadrature(q, p, points=100):
    """KL between Dirichlet distributions on three numbers: the integral of q ln(q / p) over the triangle.

    The square (u, v) covers it by x = (u, (1 - u) v, (1 - u)(1 - v)), area element 1 - u; Gauss-Legendre on both.
    """
    nodes, weights = np.polynomial.legendre.leggauss(points)
    u, v = np.meshgrid((nodes + 1) / 2, (nodes + 1) / 2, indexing="ij")
    logs = np.log(np.stack([u, (1 - u) * v, (1 - u) * (1 - v)], axis=-1))
    area = np.outer(weights, weights) / 4 * (1 - u)
    log_q, log_p = dirichlet_density(logs, q), dirichlet_density(logs, p)
    return np.sum(area * np.exp(log_q) * (log_q - log_p))


def betas(agent):
    """Both parameters of q(V | eta_g) of every stick, [r, Z-1, g]: sigma + here, eta_g + beyond."""
    right = np.asarray(agent["eta"], float) + np.asarray(agent["beyond"])[..., None]
    return np.broadcast_to(agent["sigma"] + np.asarray(agent["here"])[..., None], right.shape), right


def concentrations(agent):
    """[r, Z-1, g]: q(eta_g) of every stick: p(eta_g) times the probability of its counts (shared: of all counts)."""
    left, right = betas(agent)
    logs = log_beta(left, right) - log_beta(agent["sigma"], np.asarray(agent["eta"], float))
    if agent["shared"]:
        logs = np.broadcast_to(logs.sum(axis=(0, 1)), logs.shape)
    logs = logs + np.log(agent["chance"])
    weights = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def sticks_divergence(agent):
    """KL of q(V | eta) q(eta) from the prior: E KL(q(V | eta) || Beta(sigma, eta)) + KL(q(eta) || p(eta))."""
    q = concentrations(agent)
    total = np.sum(q * kl_beta(*betas(agent), agent["sigma"], np.asarray(agent["eta"], float)))
    each = np.sum(q * np.log(q / agent["chance"]), axis=-1)
    return total + (each.flat[0] if agent["shared"] else each.sum())


# ---- expectations of the posterior ----


def expected_log_dirichlet(hat):
    """[..., a]: E ln pi_a = psi(hat_a) - psi(sum hat)."""
    return digamma(hat) - digamma(np.sum(hat, axis=-1, keepdims=True))


def expected_log_sticks(agent):
    """[r, Z]: E ln W_j = E ln V_j + sum_{m<j} E ln(1 - V_m), over q(V | eta) q(eta); the last stick is 1."""
    q, (left, right) = concentrations(agent), betas(agent)
    both = digamma(left + right)
    taken, passed = np.sum(q * (digamma(left) - both), axis=-1), np.sum(q * (digamma(right) - both), axis=-1)
    result = np.zeros((len(q), q.shape[1] + 1))
    for m in range(q.shape[1]):
        result[:, m] += taken[:, m]
        result[:, m + 1 :] += passed[:, m, None]
    return result


def expected_controller(agent):
    """The sub-normalised controller exp(E ln pi), exp(E ln W) of an agent's posterior; see `bound` for its layout."""
    action = np.exp(expected_log_dirichlet(agent["rho_hat"]))
    logs = expected_log_dirichlet(agent["rows_hat"]) if "rows_hat" in agent else expected_log_sticks(agent)
    (nodes, actions), seen = action.shape, agent["observations"]
    own = nodes * actions * seen
    move = np.exp(logs[:own]).reshape(nodes, actions, seen, nodes)
    first = np.exp(logs[own:]).reshape(seen, nodes) if len(logs) > own else agent.get("first")
    return np.asarray(agent["initial"]), first, action, move


def divergence(agent):
    """Everything the bound subtracts for one agent: KL of actions and of rows."""
    total = kl_dirichlet(agent["rho_hat"], agent["rho"]).sum()
    if "rows_hat" in agent:
        return total + kl_dirichlet(agent["rows_hat"], agent["rows"]).sum()
    return total + sticks_divergence(agent)


def bound(episodes, agents, step_weights, kappa=1.0, alpha=1.0):
    """LB = kappa ln M~ - sum KL(q(pi) || Dir(rho)) - sum KL(q(V, eta) || p(V, eta)).

    M~ is the power mean of the ratios of the sub-normalised controllers. One dict per agent:
      initial[i] held fixed; observations: how many symbols; first[o, i] optional, held fixed
      rho_hat[i, a], rho: number or [a]                                            actions
    and then either Dirichlet rows
      rows_hat[r, Z], rows: number or [Z]
    or sticks, whose concentration is eta[g] with the probability chance[g], one for each stick or one that all share
      here[r, Z-1], beyond[r, Z-1] soft counts; sigma, eta[g], chance[g], shared
    Row r = (i A + a) O + o holds the move from i after a and o; O more rows, when there, are learned first-node rows.
    """
    controllers = [expected_controller(agent) for agent in agents]
    attained = kappa * np.log(power_mean(episodes, controllers, step_weights, alpha))
    return attained - sum(divergence(agent) for agent in agents)
