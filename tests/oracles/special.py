"""Special functions, densities and integrals for the oracles, from their definitions and numpy alone.

Gamma functions: the argument is raised to at least 15 by Gamma(x + 1) = x Gamma(x), where eight terms of Stirling's
series leave less than 1e-18. Integrals of densities: the trapezoidal rule in a variable in which the integrand is
smooth and falls exponentially on both sides, where it converges faster than any power of the step.
"""

import numpy as np

LARGE = 15.0  # from here on Stirling's series
LOG_GAMMA = (
    1 / 12,
    -1 / 360,
    1 / 1260,
    -1 / 1680,
    1 / 1188,
    -691 / 360360,
    1 / 156,
    -3617 / 122400,
)  # of x^-1, x^-3 ..
DIGAMMA = (-1 / 12, 1 / 120, -1 / 252, 1 / 240, -1 / 132, 691 / 32760, -1 / 12, 3617 / 8160)  # of x^-2, x^-4 ..
NEGLIGIBLE = 50.0  # a density is followed down to exp(-50) of its peak


def log_gamma(x):
    """ln Gamma(x), x > 0."""
    raised, product = np.array(x, float), np.ones(np.shape(x))
    for _ in range(int(LARGE)):
        small = raised < LARGE
        product, raised = np.where(small, product * raised, product), np.where(small, raised + 1, raised)
    return (raised - 0.5) * np.log(raised) - raised + 0.5 * np.log(2 * np.pi) + _tail(raised) - np.log(product)


def digamma(x):
    """psi(x) = d ln Gamma(x) / dx, x > 0."""
    raised, lost = np.array(x, float), np.zeros(np.shape(x))
    for _ in range(int(LARGE)):
        small = raised < LARGE
        lost, raised = np.where(small, lost + 1 / raised, lost), np.where(small, raised + 1, raised)
    series = sum(factor * raised ** (-2.0 * (k + 1)) for k, factor in enumerate(DIGAMMA))
    return np.log(raised) - 0.5 / raised + series - lost


def log_beta(a, b):
    """ln B(a, b), a, b > 0. For a large b the large parts of ln Gamma(b) - ln Gamma(a + b) are taken together."""
    a, b = np.minimum(a, b), np.maximum(a, b)
    big = np.maximum(b, LARGE)
    together = a - a * np.log(a + big) - (big - 0.5) * np.log1p(a / big) + _tail(big) - _tail(a + big)
    return log_gamma(a) + np.where(b < LARGE, log_gamma(b) - log_gamma(a + b), together)


def _tail(x):
    return sum(factor * x ** (-2.0 * k - 1) for k, factor in enumerate(LOG_GAMMA))


# ---- densities, in logs ----


def beta_density(log_x, log_rest, s, e):
    """ln Beta(x; s, e), given ln x and ln(1 - x)."""
    return (s - 1) * log_x + (e - 1) * log_rest - log_beta(s, e)


def gamma_density(log_x, shape, rate):
    """ln Gamma(x; shape, rate), given ln x."""
    return shape * np.log(rate) - log_gamma(shape) + (shape - 1) * log_x - rate * np.exp(log_x)


def dirichlet_density(log_x, weights):
    """[...]: ln Dir(x; weights), given ln x[..., a]."""
    weights = np.asarray(weights, float)
    return log_gamma(weights.sum()) - log_gamma(weights).sum() + ((weights - 1) * log_x).sum(axis=-1)


# ---- integrals ----


def over_unit_interval(logs, slowest, points=4001):
    """The integral of f over (0, 1); logs(ln x, ln(1 - x)) gives (f / weight, ln weight) of a positive weight.

    x = 1 / (1 + e^-y): dx = x (1 - x) dy. `slowest` is the smallest power with which weight dx falls at an end.
    """
    y = np.linspace(-1, 1, points) * (NEGLIGIBLE / slowest + NEGLIGIBLE)
    log_x, log_rest = -np.logaddexp(0, -y), -np.logaddexp(0, y)
    factor, log_weight = logs(log_x, log_rest)
    return np.trapezoid(factor * np.exp(log_weight + log_x + log_rest), y)


def over_half_line(logs, shape, rate, points=4001):
    """The integral of f over (0, inf); logs(ln x) gives (f / weight, ln weight), the weight about Gamma(shape, rate).

    x = e^y: dx = x dy.
    """
    y = log_gamma_points(shape, points) + np.log(shape / rate)
    factor, log_weight = logs(y)
    return np.trapezoid(factor * np.exp(log_weight + y), y)


def log_gamma_points(shape, points):
    """[p]: values of ln(x / mean) that cover Gamma(shape, .); there its density is shape (1 + y - e^y), in logs."""
    a = NEGLIGIBLE / shape  # both ends lie where the exponent is below -NEGLIGIBLE
    return np.linspace(-a - np.sqrt(2 * a), np.sqrt(2 * a), points)


def gamma_rule(shape, rate, points=2001):
    """(x[p], weight[p]): sum of weight f(x) is E f under Gamma(shape, rate), for a smooth f of ln x; shape >= 0.1."""
    y = log_gamma_points(shape, points)
    density = np.exp(shape * (1 + y - np.exp(y)))
    density[[0, -1]] /= 2
    return np.exp(y) * shape / rate, density / density.sum()
