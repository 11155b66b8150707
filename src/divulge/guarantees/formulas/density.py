"""The bounds of the theorems on python-flint balls. What cannot be told from a pole is +inf."""

from functools import cache
from typing import Any


@cache
def INFINITY() -> Any:
    """Return +inf as a ball."""
    import flint

    return flint.arb("inf")


def pmc_of_pml(epsilon: Any, p: Any) -> Any:
    """Return log[p / (1 - e^epsilon (1 - p))], as -log1p[-(1 - p)/p expm1(epsilon)]; +inf from the edge on."""
    if p == 1:
        return epsilon * 0 if epsilon.is_finite() else p * 0
    spent = (1 - p) / p * epsilon.expm1()
    return -(-spent).log1p() if spent < 1 else INFINITY()


def pml_of_pmc(epsilon: Any, p: Any) -> Any:
    """Return log[(1 - e^-epsilon (1 - p)) / p] = log1p[(1 - p)/p (1 - e^-epsilon)], at most log 1/p."""
    return ((1 - p) / p * -(-epsilon).expm1()).log1p()


def pml_of_ldp(epsilon: Any, p: Any) -> Any:
    """Return -log(p + (1 - p) e^-epsilon) = -log1p[(1 - p) expm1(-epsilon)]."""
    return log_inverse(p) if not epsilon.is_finite() else -((1 - p) * (-epsilon).expm1()).log1p()


def pmc_of_ldp(epsilon: Any, p: Any) -> Any:
    """Return log(p + (1 - p) e^epsilon) = log1p[(1 - p) expm1(epsilon)]."""
    return p * 0 if p == 1 else ((1 - p) * epsilon.expm1()).log1p()


def bayes_capacity_of_ldp(epsilon: Any, n: Any) -> Any:
    """Return N / (1 + (N - 1) e^-epsilon)."""
    return n / (1 + (n - 1) * (-epsilon).exp())


def bayes_capacity_of_adp(epsilon: Any, delta: Any, n: Any) -> Any:
    """Return N (e^epsilon + (N - 1) delta) / (e^epsilon + N - 1), at most N."""
    if not epsilon.is_finite():
        return n
    return n * (1 + (n - 1) * delta * (-epsilon).exp()) / (1 + (n - 1) * (-epsilon).exp())


def cost_leakage_of_adp(epsilon: Any, delta: Any, n: Any) -> Any:
    """Return log[(1 + (N - 1) e^epsilon) / (N (1 - (N - 1) delta))], +inf where that is nothing positive."""
    left = 1 - (n - 1) * delta
    return cost_leakage_of_ldp(epsilon, n) - left.log() if left > 0 and epsilon.is_finite() else INFINITY()


def cost_leakage_of_capacity(ratio: Any, n: Any) -> Any:
    """Return -log(N - (N - 1) ratio), +inf where that is nothing positive."""
    left = n - (n - 1) * ratio
    return -left.log() if left > 0 else INFINITY()


def cost_leakage_of_ldp(epsilon: Any, n: Any) -> Any:
    """Return log[(1 + (N - 1) e^epsilon) / N] = log1p[(N - 1)/N expm1(epsilon)]."""
    return n * 0 if n == 1 else ((n - 1) / n * epsilon.expm1()).log1p()


def chord(lower: Any, upper: Any) -> Any:
    """Return the chord of v log v over [l, u] at v = 1, l = e^-lower, u = e^upper; upper when lower is infinite."""
    if not (lower.is_finite() and upper.is_finite()):
        return upper
    if lower + upper == 0:
        return lower * 0
    low, inverse = (-lower).exp(), (-upper).exp()  # l and 1/u
    return ((1 - low) * upper - (1 - inverse) * low * lower) / (1 - low * inverse)


def mean_growth(mean: Any, p: Any) -> Any:
    """Return 1 + mean (1/p - 1) / log 1/p, at most 1/p: the chord of e^v over [0, log 1/p] at the mean of v."""
    if p == 1:
        return p
    return 1 / p if not mean < log_inverse(p) else 1 + mean * (1 / p - 1) / log_inverse(p)


def two_level_information(epsilon: Any) -> Any:
    """Return D - 1 - log D with D = epsilon / (1 - e^-epsilon); 0 at 0."""
    if epsilon == 0 or not epsilon.is_finite():
        return epsilon
    spread = epsilon / -(-epsilon).expm1()
    return spread - 1 - spread.log()


def log_inverse(p: Any) -> Any:
    """Return log 1/p."""
    return -p.log()


def average_with_tail(usual: Any, worst: Any, delta: Any) -> Any:
    """Return (1 - delta) min(usual, worst) + delta worst."""
    return (1 - delta) * least(usual, worst) + delta * worst


def least(first: Any, second: Any) -> Any:
    """Return the smaller of two balls; what is not a number (0/0, inf/inf) counts as larger."""
    import flint

    first = flint.arb(first)
    return first if second.is_nan() or not second < first else second


def one_if(condition: Any) -> Any:
    """Return the ball 1 or 0."""
    import flint

    return flint.arb(1 if condition else 0)


def entropy(prior: Any) -> Any:
    """Return sum of p log 1/p over a list of balls p > 0."""
    return sum((-p * p.log() for p in prior), start=0 * prior[0])
