"""The Kronrod rule by hand: what it is exact for, SciPy's integrals, and errors that are never too small.

It is by hand because `scipy.integrate.quad_vec` asks for one point at a time, and for one range of all integrals; here
thousands of integrals over ranges of their own are halved together, each where it is rough.
"""

from collections.abc import Callable

import mpmath as mp
import numpy as np
import pytest
from scipy import integrate

from divulge.noise.quadrature import adaptive, integral, integrals, panels

ROUGH: dict[str, tuple[Callable[[np.ndarray], np.ndarray], tuple[float, float]]] = {
    "smooth": (lambda x: np.exp(-x * x) * np.cos(3 * x), (-2.0, 5.0)),
    "a kink": (lambda x: np.abs(x - 0.3), (0.0, 1.0)),
    "a jump": (lambda x: np.where(x > 0.7, 1.0, 0.0), (0.0, 1.0)),
    "a singular end": (lambda x: 1 / np.sqrt(x), (0.0, 1.0)),
    "a narrow peak": (lambda x: 1e-3 / (1e-6 + (x - 0.4) ** 2), (0.0, 1.0)),
}


@pytest.mark.parametrize("degree", range(0, 23, 2))
def test_the_rule_is_exact_for_polynomials(degree: int) -> None:
    value, error = panels(lambda x: x**degree, np.array([-1.0]), np.array([1.0]))
    assert value[0] == pytest.approx(2 / (degree + 1), rel=4e-16)
    assert error[0] < 1e-14 or degree > 13  # the Gauss rule inside is exact up to 13


@pytest.mark.parametrize("name", ROUGH)
def test_errors_hold_what_mpmath_and_scipy_find(name: str) -> None:
    f, (low, high) = ROUGH[name]
    with mp.workdps(40):
        exact = {
            "smooth": mp.quad(lambda x: mp.exp(-x * x) * mp.cos(3 * x), [-2, 0, 2, 5]),
            "a kink": mp.mpf(0.3) ** 2 / 2 + (1 - mp.mpf(0.3)) ** 2 / 2,
            "a jump": 1 - mp.mpf(0.7),
            "a singular end": mp.mpf(2),
            "a narrow peak": mp.atan(mp.mpf(600)) + mp.atan(mp.mpf(400)),
        }[name]
    value, error = integral(f, np.linspace(low, high, 5))
    assert abs(value - float(exact)) <= error <= 1e-5
    several, errors = adaptive(lambda x: np.stack([f(x), 2 * f(x)]), np.linspace(low, high, 5))
    assert (np.abs(several - float(exact) * np.array([1, 2])) <= errors + 1e-15).all()
    peer, off = integrate.quad(f, low, high, points=[0.3, 0.4, 0.7], limit=200)
    assert abs(value - peer) <= error + off + 1e-12


def test_rows_are_integrated_apart_and_relative_to_their_size() -> None:
    edges = np.linspace(0.0, 1.0, 3) * np.array([[1.0], [2.0]])
    values, errors = integrals(lambda x, row: np.where(row == 0, 1.0, 1e-20) * np.exp(x), edges)
    assert values == pytest.approx([np.expm1(1), 1e-20 * np.expm1(2)], rel=1e-14)
    assert (errors <= 1e-10 * values).all()
