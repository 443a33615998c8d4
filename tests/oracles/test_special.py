"""The oracles' special functions and integrals against exact values and the standard library."""

import math

import numpy as np
import pytest
from oracles import special

EULER = 0.57721566490153286061
POINTS = np.geomspace(1e-9, 1e9, 200)


def test_log_gamma_is_the_standard_librarys():
    for x in POINTS:
        assert special.log_gamma(x) == pytest.approx(math.lgamma(x), rel=2e-14, abs=2e-14)


def test_digamma_at_known_points():
    harmonic = 0.0
    for n in range(1, 40):
        assert special.digamma(float(n)) == pytest.approx(harmonic - EULER, rel=1e-14, abs=1e-14)
        harmonic += 1 / n
    assert special.digamma(0.5) == pytest.approx(-EULER - 2 * math.log(2), rel=1e-14, abs=0)
    assert special.digamma(0.25) == pytest.approx(-EULER - math.pi / 2 - 3 * math.log(2), rel=1e-14, abs=0)


def test_digamma_satisfies_its_recurrence_and_is_a_slope():
    assert special.digamma(POINTS + 1) - special.digamma(POINTS) == pytest.approx(1 / POINTS, rel=1e-12, abs=1e-13)
    x, step = np.geomspace(0.1, 100, 50), 1e-5
    slope = (special.log_gamma(x + step) - special.log_gamma(x - step)) / (2 * step)
    assert special.digamma(x) == pytest.approx(slope, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize(("s", "e"), [(1.0, 0.5), (0.2, 3.0), (4.0, 6.0)])
def test_beta_densities_and_their_integrals(s, e):
    def moment(power):
        return special.over_unit_interval(
            lambda x, rest: (np.exp(power * x), special.beta_density(x, rest, s, e)), min(s, e)
        )

    assert moment(0) == pytest.approx(1, rel=1e-12)
    assert moment(1) == pytest.approx(s / (s + e), rel=1e-12)
    assert moment(2) == pytest.approx(s / (s + e) * (s + 1) / (s + e + 1), rel=1e-12)


@pytest.mark.parametrize(("shape", "rate"), [(0.1, 1e6), (1.1, 1e-6), (2.5, 1.5), (40.0, 10.0)])
def test_gamma_densities_and_their_integrals(shape, rate):
    def moment(power):
        return special.over_half_line(lambda x: (np.exp(power * x), special.gamma_density(x, shape, rate)), shape, rate)

    x, weight = special.gamma_rule(shape, rate)
    assert weight.sum() == pytest.approx(1, rel=1e-13)
    assert moment(0) == pytest.approx(1, rel=1e-11)
    assert moment(1) == pytest.approx(shape / rate, rel=1e-10)
    assert (weight * x).sum() == pytest.approx(shape / rate, rel=1e-10)
    assert (weight * np.log(x)).sum() == pytest.approx(special.digamma(shape) - np.log(rate), rel=1e-10)


def test_a_dirichlet_of_two_is_a_beta():
    x = np.log([[0.3, 0.7], [0.9, 0.1]])
    assert special.dirichlet_density(x, [1.4, 2.2]) == pytest.approx(
        special.beta_density(x[:, 0], x[:, 1], 1.4, 2.2), rel=1e-13
    )
