"""What (xi + sqrt(rho log 1/delta), delta)-DP at every delta says of Renyi divergences, on python-flint balls."""

import math
import sys
from typing import Any

from divulge.guarantees.formulas.density import INFINITY
from divulge.guarantees.formulas.loss import at_most, ball, log_of_sum, positive, renyi_of_pure, zero

_TINY = sys.float_info.min
"""Stands in for a rho that is no double, where only the best shift is asked: it is the same for all that are tiny."""

_SHIFTS = tuple(10.0 ** (k / 2) for k in range(-4, 4))
"""Where the ratio may be cut, over sqrt(rho): every one gives a bound."""


def approximate_of_curve(xi: Any, rho: Any, delta: Any) -> Any:
    """Return xi + sqrt(rho log 1/delta), at least 0."""
    if not delta > 0:
        return positive(xi) if rho == 0 else INFINITY()
    return positive(xi + (rho * -delta.log()).sqrt()) if rho.is_finite() else INFINITY()


def renyi_of_curve(xi: Any, rho: Any, alpha: Any) -> Any:
    """Return a bound on D_alpha from delta(e) <= e^(-(e - xi)^2 / rho) for e >= xi and 0.

    With b = alpha - 1 and any k >= xi, 0 it is k + log E_Q f(P/Q) / b, f(g) = g max(1, g e^-k)^b. f is convex, and
    linear up to e^k, so that E_Q f = 1 + b delta(k) + alpha b e^(-b k) int_k^inf e^(b e) delta(e) de. The best k of
    `_SHIFTS` is told in doubles.
    """
    import flint

    if rho == 0:
        return renyi_of_pure(positive(xi), alpha)
    if not (rho.is_finite() and alpha.is_finite()):
        return INFINITY()
    root, b = rho.sqrt(), alpha - 1
    k = positive(xi) + ball(_best_shift(float(xi), float(rho), float(alpha))) * root.mid()
    away = (k - xi) / root
    tail = (b * (xi - k) + b**2 * rho / 4).exp() * (flint.arb.pi() * rho).sqrt() / 2 * (away - b * root / 2).erfc()
    grown = (-(away**2)).exp() + alpha * tail
    found = k + ((b * grown).log1p() / b if b > 0 else grown)
    return found if found.is_finite() else INFINITY()


def _best_shift(xi: float, rho: float, alpha: float) -> float:
    """Return the shift at which the bound of `renyi_of_curve` is about least, from logarithms of its parts."""
    root, b = math.sqrt(max(rho, _TINY)), alpha - 1
    half, scale = b * root / 2, math.log(alpha) + math.log(root * math.sqrt(math.pi) / 2)

    def bound(shift: float) -> float:
        k = max(xi, 0.0) + shift * root
        away = (k - xi) / root
        grown = log_of_sum(-away * away, scale + b * (xi - k) + half * half + _log_erfc(away - half))
        return k + (log_of_sum(0.0, math.log(b) + grown) / b if b > 0 else math.exp(grown))

    return min(_SHIFTS, key=bound)


def _log_erfc(x: float) -> float:
    """Return log erfc(x), of large x by its first term."""
    return math.log(math.erfc(x)) if x < 25 else -x * x - math.log(x * math.sqrt(math.pi))


def concentrated_of_curve(xi: Any, rho: Any, wanted: Any) -> Any:
    """Return the rho' of (wanted, rho')-zCDP by (xi - rho/4 + 5 rho^(1/4), rho/4)-zCDP, for xi and rho in [0, 1]."""
    if xi < 0 or xi > 1 or not rho.is_finite() or rho > 1:
        return INFINITY()
    return rho / 4 + positive(xi - rho / 4 + 5 * rho.sqrt().sqrt() - wanted)


def curve_of_line(xi: Any, rho: Any, wanted: Any) -> Any:
    """Return 4 rho: (xi, rho)-zCDP gives xi + rho + 2 sqrt(rho log 1/delta); inf if xi + rho is above that wanted."""
    return 4 * rho if at_most(positive(xi + rho), wanted) else INFINITY()


def curve_of_pure(epsilon: Any, wanted: Any) -> Any:
    """Return (epsilon - wanted)^2 / -log tanh(epsilon/2): no epsilon' > 0 is needed from delta = tanh(epsilon/2) on."""
    if epsilon <= wanted or epsilon == 0:
        return zero()
    return (epsilon - wanted) ** 2 / -(epsilon / 2).tanh().log() if epsilon.is_finite() else INFINITY()
