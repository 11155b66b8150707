"""The bounds between divergences, on python-flint balls.

Replace a pair (P, Q) by itself and its reverse, each with probability 1/2: symmetric divergences stay what they are,
others become the mean of both orders. With v = ((p - q) / (p + q))^2 every divergence is then E[A(v)] for one function
A on [0, 1], and A(v) is the divergence of randomized response of total variation sqrt(v). So what one divergence says
of another is the upper concave envelope of the curve (A_f(v), A_g(v)): the curve itself where g is less convex in v, by
randomized response, and its chord where g is more convex, by saying the secret or nothing.
"""

from typing import Any

from divulge.dp.loss.divergences import DIVERGENCES
from divulge.guarantees.formulas.density import INFINITY, least
from divulge.guarantees.formulas.loss import ball, inverse

_ORDER = list(DIVERGENCES)


def _of_ratio(f: str, ratio: Any) -> Any:
    """Return the divergence of randomized response whose odds are `ratio`."""
    g = DIVERGENCES[f].ball
    return (g(ratio) + ratio * g(1 / ratio)) / (1 + ratio)


def of_variation(f: str, distance: Any) -> Any:
    """Return the divergence of randomized response of this total variation."""
    if not distance < 1:
        return ball(DIVERGENCES[f].largest)
    return ball(0) if distance == 0 else _of_ratio(f, (1 + distance) / (1 - distance))


def of_pure(f: str, epsilon: Any) -> Any:
    """Return [f(e^epsilon) + e^epsilon f(e^-epsilon)] / (1 + e^epsilon), that of randomized response."""
    largest = ball(DIVERGENCES[f].largest)
    return least(largest, _of_ratio(f, epsilon.exp())) if epsilon.is_finite() else largest


def of_approximate(f: str, epsilon: Any, delta: Any) -> Any:
    """Return delta (f(0) + slope) + (1 - delta) times that of randomized response."""
    return (
        of_pure(f, epsilon) if delta == 0 else delta * ball(DIVERGENCES[f].largest) + (1 - delta) * of_pure(f, epsilon)
    )


def of_gaussian(f: str, mu: Any) -> Any:
    """Return the divergence of N(0, 1) and N(mu, 1); +inf where it has no closed form."""
    closed = DIVERGENCES[f].gaussian
    return closed(mu) if closed is not None and mu.is_finite() else INFINITY()


def variation_of(f: str, value: Any) -> Any:
    """Return the total variation of the randomized response with this divergence: no pair has more."""
    if not value < ball(DIVERGENCES[f].largest):
        return ball(1)
    return 0 * value if value == 0 else inverse(lambda t: of_variation(f, t), value, 1)


def of_another(wanted: str, f: str, value: Any) -> Any:
    """Return the largest `wanted` divergence when that of f is `value` in both orders; +inf where nothing is known."""
    goal, known = DIVERGENCES[wanted], DIVERGENCES[f]
    if wanted == f:
        return value
    if not goal.symmetric:
        return INFINITY()
    if _ORDER.index(wanted) < _ORDER.index(f):
        return of_variation(wanted, variation_of(f, value))
    return (value * ball(goal.largest) / ball(known.largest)).min(ball(goal.largest))


def ternary_of_pure(epsilon: Any, alpha: Any) -> Any:
    """Return (e^e - 1) max(2/(e^e + 2), (1 + e^((1 - a) e))/(1 + e^e))^(1/a), of randomized response on 3 or 2 answers.

    P/R and Q/R lie in a hexagon with corners (e^e, e^e), (e^e, 1), ...; what is convex is largest on its corners.
    """
    if not epsilon.is_finite():
        return INFINITY()
    grown = epsilon.exp()
    if not (epsilon > 0 and alpha.is_finite()):
        return epsilon.expm1()
    two, three = (1 + ((1 - alpha) * epsilon).exp()) / (1 + grown), 2 / (grown + 2)
    return epsilon.expm1() * two.max(three) ** (1 / alpha)
