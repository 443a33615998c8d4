"""Likelihoods, weights and counts with sixty digits and exponents without limit, by the plain recursions.

Here nothing is scaled and nothing is a log until the very end, so that nothing can be lost on the way.
"""

from decimal import Context, Decimal, localcontext

import numpy as np

DIGITS = Context(prec=60, Emin=-999_999_999, Emax=999_999_999)


def exact(table):
    """Floats as decimals, to the last bit."""
    return np.vectorize(Decimal, otypes=[object])(np.asarray(table, float))


def forward(controller, actions, seen):
    """[t, i]: probability of the actions up to t and of node i at t, given what was seen."""
    initial, act, move = (exact(table) for table in controller)
    with localcontext(DIGITS):
        alpha = [initial * act[:, actions[0]]]
        for t in range(1, len(actions)):
            alpha.append((alpha[-1] @ move[:, actions[t - 1], seen[t]]) * act[:, actions[t]])
        return np.array(alpha)


def prefix_logs(controller, actions, seen):
    """[t]: ln p(actions up to t)."""
    with localcontext(DIGITS):
        return [row.sum().ln() for row in forward(controller, actions, seen)]


def visits(controller, actions, seen, weights):
    """[t, i]: sum over the ends e >= t of weights[e] p(node i at t | actions up to e)."""
    _, act, move = (exact(table) for table in controller)
    alpha = forward(controller, actions, seen)
    with localcontext(DIGITS):
        later = np.zeros(alpha.shape[1], object)  # [i] sum over the ends of weight / p(up to e) * p(what follows t | i)
        found = np.zeros(alpha.shape, object)
        for t in range(len(actions) - 1, -1, -1):
            if t + 1 < len(actions):
                later = move[:, actions[t], seen[t + 1]] @ (act[:, actions[t + 1]] * later)
            later = later + Decimal(float(weights[t])) / alpha[t].sum()
            found[t] = alpha[t] * later
        return found


def weights(gains, logs, episodes):
    """(nu [r], ln V) from decimals: nu = gain exp(log) / V, V = sum of gain exp(log) / episodes."""
    with localcontext(DIGITS):
        terms = [gain * log.exp() if gain else Decimal(0) for gain, log in zip(gains, logs, strict=True)]
        value = sum(terms) / episodes
        return [term / value for term in terms], value.ln()


def self_normalised(rewards, logs):
    """sum of exp(log) reward / sum of exp(log), and the effective sample size (sum w)^2 / sum w^2."""
    with localcontext(DIGITS):
        ratios = [log.exp() for log in logs]
        total = sum(ratios)
        mean = sum(ratio * reward for ratio, reward in zip(ratios, rewards, strict=True)) / total
        return mean, total * total / sum(ratio * ratio for ratio in ratios)


BERNOULLI = ("1/6", "-1/30", "1/42", "-1/30", "5/66", "-691/2730", "7/6", "-3617/510", "43867/798", "-174611/330")


def gamma_rise(start, rise):
    """ln Gamma and its derivative at start + rise, less those at start: Stirling's series beyond 200."""
    with localcontext(DIGITS):
        begin = Decimal(start)
        low, high = _stirling(begin), _stirling(begin + Decimal(rise))
        return high[0] - low[0], high[1] - low[1]


def _stirling(x):
    value = slope = Decimal(0)
    while x < 200:  # Gamma(x) = Gamma(x + 1) / x
        value, slope, x = value - x.ln(), slope - 1 / x, x + 1
    value += (x - Decimal("0.5")) * x.ln() - x
    slope += x.ln() - 1 / (2 * x)
    for k, number in enumerate(BERNOULLI, 1):
        above, below = (Decimal(part) for part in number.split("/"))
        value += above / below / (2 * k * (2 * k - 1)) / x ** (2 * k - 1)
        slope -= above / below / (2 * k) / x ** (2 * k)
    return value, slope
